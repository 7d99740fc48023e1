"""How much memory Atari runs take once everything they keep is full, each in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Row, at_most, gigabytes_held
from benchmarks.neural import agent_for
from benchmarks.recordings import recorded_keys
from benchmarks.steps import fill, paper_agent
from memec.agents import D3QN, NEC

NAMES_AND_LIMITS = {
    "mfec": ("resident memory of an MFEC Pong run, 100,000 entries per action, GB", 2.0),
    "d3qn": ("d3qn, Ms. Pac-Man with full replay and memory, GB", 8.0),
    "nec": ("nec, Ms. Pac-Man with full replay and memory, GB", 3.0),
}


def rows() -> list[Row]:
    return [at_most(name, gigabytes(kind), limit) for kind, (name, limit) in NAMES_AND_LIMITS.items()]


def gigabytes(kind: str) -> float:
    """Return the most memory that a process of its own took."""
    command = [sys.executable, "-c", f"from benchmarks.memory import take_memory; take_memory({kind!r})"]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def take_memory(kind: str) -> None:
    """Fill what an Atari run fills, and print the gigabytes that this process took."""
    {"mfec": _mfec, "d3qn": _d3qn, "nec": _nec}[kind]()
    print(gigabytes_held())


def _mfec() -> None:
    agent = paper_agent("ALE/Pong-v5")
    fill(agent.memory, recorded_keys("ALE/Pong-v5"))
    agent.learn(3_000)


def _d3qn() -> None:
    agent = agent_for(D3QN, "ALE/MsPacman-v5", train_start_steps=0)
    assert isinstance(agent, D3QN)
    agent.learn(60)
    for stack in _stacks(1_000_000):
        agent.replay.begin(stack, 0)


def _nec() -> None:
    agent = agent_for(NEC, "ALE/MsPacman-v5", train_start_steps=6_000)
    assert isinstance(agent, NEC)
    agent.learn(6_000)
    fill(agent.memory, recorded_keys("ALE/MsPacman-v5"))  # MFEC's keys: they take as much room as its own
    for stack in _stacks(100_000):
        agent.replay.append(stack, 0, 0.0)
    agent.learn(100)


def _stacks(count: int) -> Iterator[NDArray[np.uint8]]:
    """Frames in stacks of four, of which one is new each time."""
    stack = np.ones((4, 84, 84), np.uint8)
    for number in range(count):
        stack[:-1] = stack[1:]
        stack[-1] = number % 251 + 1
        yield stack.copy()
