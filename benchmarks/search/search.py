"""The searches on keys of real games and environments."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator

import faiss
import gymnasium
import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Row, at_least, at_most, seconds
from benchmarks.recordings import recorded_keys
from benchmarks.search.tables import HELD_OUT_STEPS, NEIGHBOURS, ask, filled
from benchmarks.steps import emulator_alone
from memec.memory.exact import Exact
from memec.memory.ivf import Approximate

GAMES = {"Pong": "ALE/Pong-v5", "Q*bert": "ALE/Qbert-v5", "Ms. Pac-Man": "ALE/MsPacman-v5"}
ROMS = {"Pong": "pong", "Q*bert": "qbert", "Ms. Pac-Man": "ms_pacman"}
ACTIONS, CAPACITY, LARGE_CAPACITY = 6, 100_000, 1_000_000
LOW_DIMENSIONAL = {"CartPole-v1": (2, 10_000), "Acrobot-v1": (3, 10_000)}


def rows() -> list[Row]:
    """Measure everything, the quick things first."""
    faiss.omp_set_num_threads(1)
    measured: list[Row] = []
    for environment, (actions, capacity) in LOW_DIMENSIONAL.items():
        measured += exact_rows(environment, actions, capacity)
    for game in GAMES:
        measured += game_rows(game)
    return [*measured, *large_rows()]


def exact_rows(environment: str, actions: int, capacity: int) -> Iterator[Row]:
    """Exact search on observations of an environment played at random."""
    table = filled(Exact, played(environment, 2 * capacity), actions, capacity)
    asked = played(environment, 3_000, seed=1)
    ask(table.backend, asked, actions)
    ours = float(np.median(ask(table.backend, asked, actions)[0]))
    ratio = faiss_microseconds(table.keys, asked, actions) / ours
    note = f"{ours:.1f} us a query, {table.microseconds_per_write:.1f} us a write"
    yield at_least(f"faiss brute force / our exact recall, {environment}", ratio, 5, note)


def game_rows(game: str) -> Iterator[Row]:
    """Approximate search on keys of a game, after filling and replacing, asked by play it has not seen."""
    recorded = recorded_keys(GAMES[game])
    table = filled(Approximate, recorded[:-HELD_OUT_STEPS], ACTIONS, CAPACITY, game)
    asked = recorded[-HELD_OUT_STEPS:]
    microseconds, found = ask(table.backend, asked, ACTIONS)
    recall = float(np.mean(recalls(table.keys, asked[9::20], found[9::20])))
    ours = float(np.median(microseconds))
    ratio = faiss_microseconds(table.keys, asked, ACTIONS) / ours
    yield at_least(f"faiss brute force / our recall, 6 x 100,000 x 128, {game}", ratio, 50, f"{ours:.0f} us a query")
    estimate = f"its own estimate {table.backend.recall_estimate:.4f}"
    yield at_least(f"recall@{NEIGHBOURS} after fill and churn, {game}", recall, 0.99, estimate)
    emulator = seconds(emulator_alone(ROMS[game], 1_000)) / 1_000 * 1e6
    share = table.microseconds_per_write / emulator
    note = f"{table.microseconds_per_write:.1f} us; longest write of an episode {table.longest_write_seconds:.2f} s"
    yield at_most(f"inserting an entry, refits included / emulator step, {game}", share, 0.1, note)


def large_rows() -> Iterator[Row]:
    """An agent with a million entries per action against one with a hundred thousand, each in a process of its own.

    A training step is all of it: emulator, key, recall, choice and writing. Each process measures it in units of the
    emulator alone, in turns, so that it does not matter how busy the machine was with either.
    """
    command = [sys.executable, "-m", "benchmarks.search.large"]
    small, large = (
        json.loads(subprocess.run([*command, str(size)], check=True, stdout=subprocess.PIPE).stdout)
        for size in (CAPACITY, LARGE_CAPACITY)
    )
    ratio = large["steps_of_the_emulator"] / small["steps_of_the_emulator"]
    note = f"{large['steps_of_the_emulator']:.2f} against {small['steps_of_the_emulator']:.2f} emulator steps; "
    note += f"recall alone {large['search'] / small['search']:.1f}x, {large['search']:.0f} us; "
    note += f"a write {large['write']:.1f} us, the longest {large['longest']:.2f} s"
    yield at_most("1,000,000 entries per action against 100,000, a whole training step", ratio, 2, note)
    estimate = f"its own estimate {large['estimate']:.4f}"
    yield at_least("1,000,000 entries per action, recall", large["recall"], 0.99, estimate)
    yield at_most("1,000,000 entries per action, gigabytes held at most", large["gigabytes"], 5)


def recalls(keys: NDArray[np.float32], queries: NDArray[np.float32], found: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return, for each query, which share of the true nearest was found."""
    best = np.stack([brute_force(keys, queries, action) for action in range(ACTIONS)], 1)
    shares: NDArray[np.float64] = (found <= best[..., -1:] * (1 + 1e-5)).mean((1, 2))
    return shares


def brute_force(keys: NDArray[np.float32], queries: NDArray[np.float32], action: int) -> NDArray[np.float32]:
    """Return the true nearest squared distances of one action; the plain differences round less than faiss does."""
    capacity = len(keys) // ACTIONS
    own = keys[action * capacity : (action + 1) * capacity]
    best = np.empty((len(queries), NEIGHBOURS), np.float32)
    for index, near in enumerate(faiss.knn(queries, own, 10 * NEIGHBOURS)[1]):
        best[index] = np.sort(((own[near] - queries[index]) ** 2).sum(1))[:NEIGHBOURS]
    return best


def faiss_microseconds(keys: NDArray[np.float32], asked: NDArray[np.float32], actions: int) -> float:
    """Return the median time faiss needs to search every action's table by brute force."""
    capacity = len(keys) // actions
    times = []
    for query in asked[:: len(asked) // 30]:
        start = time.perf_counter()
        for action in range(actions):
            faiss.knn(query[None], keys[action * capacity : (action + 1) * capacity], NEIGHBOURS)
        times.append((time.perf_counter() - start) * 1e6)
    return float(np.median(times))


def played(environment: str, steps: int, seed: int = 0) -> NDArray[np.float32]:
    """Return the observations of random play."""
    env = gymnasium.make(environment)
    env.action_space.seed(seed)
    observations = []
    observation, _ = env.reset(seed=seed)
    while len(observations) < steps:
        observations.append(np.array(observation, np.float32))
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            observation, _ = env.reset()
    env.close()
    return np.array(observations)
