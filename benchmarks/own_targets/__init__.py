"""What was asked of memec itself, judged by recorded runs: `python -m benchmarks.own_targets results PAGE`."""
