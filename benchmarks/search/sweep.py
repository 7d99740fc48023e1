"""`python -m benchmarks.search.sweep NAME VALUE ... [--games Pong,Qbert] [--capacity N]`: try values of its tuning.

Fills tables with recorded play, replaces a part, asks by play not seen before, once for each value and game, and writes
benchmarks/search/sweeps/NAME.csv: recall@11, and times in microseconds and as a share of faiss's brute force.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import fields
from pathlib import Path

import faiss
import numpy as np

from benchmarks.measure import progress
from benchmarks.recordings import recorded_keys
from benchmarks.search.search import ACTIONS, faiss_microseconds, recalls
from benchmarks.search.tables import HELD_OUT_STEPS, ask, filled
from memec.memory.ivf import Approximate
from memec.memory.search_tuning import SearchTuning

SWEEPS = Path(__file__).with_name("sweeps")
COMPILED_IN = {"rounding", "least_scanned", "groups_looked_into"}
ONE = """
from memec.memory import search_tuning
search_tuning.TUNING = search_tuning.SearchTuning({name}={value})
from benchmarks.search.sweep import measure
measure({game!r}, {capacity})
"""


def measure(game: str, capacity: int) -> None:
    """Print how the search does with the tuning that it was imported with."""
    faiss.omp_set_num_threads(1)
    recorded = recorded_keys(f"ALE/{game}-v5")
    table = filled(Approximate, recorded[:-HELD_OUT_STEPS], ACTIONS, capacity)
    asked = recorded[-HELD_OUT_STEPS:]
    microseconds, found = ask(table.backend, asked, ACTIONS)
    ours, brute_force = float(np.median(microseconds)), faiss_microseconds(table.keys, asked, ACTIONS)
    row = {
        "recall": round(float(np.mean(recalls(table.keys, asked[9::20], found[9::20]))), 5),
        "microseconds": round(ours, 1),
        "of_brute_force": round(ours / brute_force, 5),
        "microseconds_per_write": round(table.microseconds_per_write, 2),
    }
    print(json.dumps(row))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=[field.name for field in fields(SearchTuning)])
    parser.add_argument("values", nargs="+", type=float)
    parser.add_argument("--games", default="Pong,Qbert,MsPacman")
    parser.add_argument("--capacity", type=int, default=100_000)
    asked = parser.parse_args()
    kind = type(getattr(SearchTuning(), asked.name))
    rows = []
    for value in map(kind, asked.values):
        with tempfile.TemporaryDirectory() as home:
            # Compiled code holds the value it was compiled with.
            own = {"NUMBA_CACHE_DIR": home} if asked.name in COMPILED_IN else {}
            for game in asked.games.split(","):
                progress(f"{asked.name}={value}, {game}")
                code = ONE.format(name=asked.name, value=value, game=game, capacity=asked.capacity)
                command = [sys.executable, "-c", code]
                done = subprocess.run(command, env=os.environ | own, check=True, stdout=subprocess.PIPE)
                about = {"value": value, "game": game, "entries_per_action": asked.capacity}
                rows.append(about | json.loads(done.stdout))
                print(rows[-1], flush=True)
    SWEEPS.mkdir(exist_ok=True)
    with (SWEEPS / f"{asked.name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
