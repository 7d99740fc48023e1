"""How long a user waits for the first sign of life."""

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Row, at_most, progress, seconds


def rows() -> list[Row]:
    progress("start-up")
    memec = str(Path(sys.executable).with_name("memec"))

    def call(*arguments: str) -> float:
        return seconds(lambda: subprocess.run([memec, *arguments], check=True, capture_output=True))

    def first_step(env: str) -> float:
        with tempfile.TemporaryDirectory() as folder:
            return call("train", env, "--steps", "1", "--evaluate-every", "0", "--out", f"{folder}/run")

    first_step("CartPole-v1")  # fills the cache of compiled code
    help_seconds = statistics.median(call("--help") for _ in range(5))
    train_seconds = statistics.median(first_step("CartPole-v1") for _ in range(3))
    return [
        at_most("memec --help, seconds", help_seconds, 1.0),
        at_most("memec train CartPole-v1 to the first step and out, compiled code cached, seconds", train_seconds, 5.0),
    ]
