"""`python -m benchmarks.search.large CAPACITY`: an agent with tables of this size, in a process of its own."""

import json
import sys
import time

import faiss
import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import gigabytes_held, median_ratio
from benchmarks.recordings import recorded_keys
from benchmarks.search.search import GAMES, ROMS, recalls
from benchmarks.search.tables import HELD_OUT_STEPS
from benchmarks.steps import emulator_alone, fill_in_order, paper_agent
from memec.memory import Memory

GAME = "Pong"
SETTLING_STEPS, MEASURED_STEPS, REPEATS = 2_000, 1_500, 7


def large(capacity: int) -> dict[str, float]:
    """Fill an agent's tables with keys of the game, repeated with small noise; then measure recall, and play on."""
    agent = paper_agent(GAMES[GAME], memory={"capacity": capacity})
    recorded = recorded_keys(GAMES[GAME])
    write, longest = fill_in_order(agent.memory, recorded[:-HELD_OUT_STEPS])
    microseconds, recall = held_out(agent.memory, recorded[-HELD_OUT_STEPS:], checked=250)
    agent.learn(SETTLING_STEPS)
    emulator = emulator_alone(ROMS[GAME], MEASURED_STEPS)
    ratio, step, alone = median_ratio(lambda: agent.learn(MEASURED_STEPS), emulator, REPEATS)
    return {
        "steps_of_the_emulator": ratio,
        "step": step / MEASURED_STEPS * 1e6,
        "emulator": alone / MEASURED_STEPS * 1e6,
        "search": microseconds,
        "recall": recall,
        "estimate": agent.memory.recall_estimate,
        "write": write,
        "longest": longest,
        "gigabytes": gigabytes_held(),
    }


def held_out(memory: Memory, asked: NDArray[np.float32], checked: int) -> tuple[float, float]:
    """Return the median microseconds of a recall by play not seen before, and the share of neighbours found."""
    times, found = [], []
    for key in asked:
        start = time.perf_counter()
        recalled = memory.recall(key)
        times.append(time.perf_counter() - start)
        found.append(recalled.squared_distances)
    every = len(asked) // checked
    recall = np.mean(recalls(memory.keys, asked[::every], np.array(found)[::every]))
    return float(np.median(times)) * 1e6, float(recall)


if __name__ == "__main__":
    faiss.omp_set_num_threads(1)
    print(json.dumps(large(int(sys.argv[1]))))
