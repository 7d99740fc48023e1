"""`python -m benchmarks.worlds.luck`: how much luck VPEC finds in a world, and whether it reckons with it."""

import argparse

from benchmarks.worlds.worlds import WORLDS
from memec import VPEC
from memec.envs.world import make

CONTINUOUS = (
    "cartpole", "acrobot", "mountaincar", "lunarlander", "cartpole-noisy", "cartpole-slippery", "cartpole-irrelevant",
)  # fmt: skip
STEPS = 10_000


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worlds.luck", description=__doc__)
    parser.add_argument("--worlds", default=",".join(CONTINUOUS), help="comma-separated")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print(f"| world | moves of similar moments stray by, after {STEPS:,} steps | luck |")
    print("| --- | --- | --- |")
    for name in asked.worlds.split(","):
        graph = VPEC(make(WORLDS[name].id), seed=asked.seed).learn(STEPS).graph
        print(f"| {name} | {graph.straying:.5f} | {'much' if graph.lucky else 'none'} |", flush=True)


if __name__ == "__main__":
    main()
