"""Fill a search backend with recorded keys as a run would: in order, asked in between, then partly replaced."""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import progress
from memec.memory.exact import Exact
from memec.memory.ivf import Approximate

NEIGHBOURS = 11
WRITTEN_AT_ONCE = 250  # steps an episode writes
ASKED_PER_WRITE = 60
REPLACED_STEPS = 40_000
HELD_OUT_STEPS = 10_000

Backend = Exact | Approximate


@dataclass
class Filled:
    """A full table, and what it cost to write."""

    backend: Backend
    keys: NDArray[np.float32]
    microseconds_per_write: float
    longest_write_seconds: float


def filled(kind: type[Backend], recorded: NDArray[np.float32], actions: int, capacity: int, name: str = "") -> Filled:
    """Write `capacity` recorded steps into every action's table, then the rest over random rows of them.

    Where the recording is shorter than that, it is repeated with small noise.
    """
    rng = np.random.default_rng(0)
    noise = np.float32(0.02 * recorded.std())
    keys = np.zeros((actions * capacity, recorded.shape[1]), np.float32)
    backend = kind(keys, actions, NEIGHBOURS)
    offsets = np.arange(actions)[:, None] * capacity
    written, seconds, longest = 0, 0.0, 0.0
    replaced = min(REPLACED_STEPS, capacity // 2)
    for begin in range(0, capacity + replaced, WRITTEN_AT_ONCE):
        steps = np.arange(begin, min(begin + WRITTEN_AT_ONCE, capacity + replaced))
        rows = steps if steps[-1] < capacity else rng.choice(capacity, len(steps), replace=False)
        slots = (offsets + rows).ravel()
        new = recorded[np.tile(steps, actions) % len(recorded)]
        if steps[-1] >= len(recorded):
            new = new + noise * rng.standard_normal(new.shape, np.float32)
        keys[slots] = new
        start = time.perf_counter()
        backend.put(slots)
        took = time.perf_counter() - start
        seconds, longest, written = seconds + took, max(longest, took), written + len(slots)
        ask(backend, recorded[(begin + WRITTEN_AT_ONCE + np.arange(ASKED_PER_WRITE)) % len(recorded)], actions)
        if name and begin // WRITTEN_AT_ONCE % 400 == 0:
            progress(f"filling {name}: {begin:,} of {capacity + replaced:,} steps")
    return Filled(backend, keys, seconds / written * 1e6, longest)


def ask(
    backend: Backend, queries: NDArray[np.float32], actions: int
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Ask one by one as a run does; return the microseconds of each query and the squared distances found."""
    wanted = np.ones((1, actions), np.bool_)
    found = np.empty((len(queries), 1, actions, NEIGHBOURS), np.float32)
    slots = np.empty((1, actions, NEIGHBOURS), np.int64)
    microseconds = np.empty(len(queries))
    for row in range(len(queries)):
        start = time.perf_counter()
        backend.nearest(queries[row : row + 1], wanted, found[row], slots, True)
        microseconds[row] = (time.perf_counter() - start) * 1e6
    return microseconds, found[:, 0]
