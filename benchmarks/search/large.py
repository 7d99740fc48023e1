"""`python -m benchmarks.search.large CAPACITY`: one table of this size, in a process of its own for its memory."""

import json
import resource
import sys

import faiss
import numpy as np

from benchmarks.recordings import recorded_keys
from benchmarks.search.search import ACTIONS, GAMES, brute_force
from benchmarks.search.tables import HELD_OUT_STEPS, ask, filled
from memec.memory.approximate import Approximate


def large(capacity: int) -> dict[str, float]:
    """Measure one table of this size; keys of Pong, repeated with small noise."""
    recorded = recorded_keys(GAMES["Pong"])
    table = filled(Approximate, recorded[:-HELD_OUT_STEPS], ACTIONS, capacity, f"{capacity:,} entries per action")
    asked = recorded[-HELD_OUT_STEPS:]
    microseconds, found = ask(table.backend, asked, ACTIONS)
    checked = np.arange(24, len(asked), 200)
    best = np.stack([brute_force(table.keys, asked[checked], action) for action in range(ACTIONS)], 1)
    return {
        "microseconds": float(np.median(microseconds)),
        "recall": float(np.mean(found[checked] <= best[..., -1:] * (1 + 1e-5))),
        "write": table.microseconds_per_write,
        "longest": table.longest_write_seconds,
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }


if __name__ == "__main__":
    faiss.omp_set_num_threads(1)
    print(json.dumps(large(int(sys.argv[1]))))
