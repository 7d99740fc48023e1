"""`python -m benchmarks.search.other_games [GAME ...]`: recall where no constant of the search was chosen."""

import sys

import faiss
import numpy as np

from benchmarks.recordings import recorded_keys
from benchmarks.search.search import ACTIONS, CAPACITY, recalls
from benchmarks.search.tables import HELD_OUT_STEPS, ask, filled
from memec.memory.ivf import Approximate

OTHER_GAMES = ("Asterix", "BeamRider", "Freeway", "Frostbite", "Riverraid", "SpaceInvaders")
STRETCHES = 20  # of play, for the error: queries that follow each other are alike


def main() -> None:
    faiss.omp_set_num_threads(1)
    print("| game | recall@11 | us a query |\n|---|---|---|")
    for game in sys.argv[1:] or OTHER_GAMES:
        recorded = recorded_keys(f"ALE/{game}-v5")
        table = filled(Approximate, recorded[:-HELD_OUT_STEPS], ACTIONS, CAPACITY, game)
        asked = recorded[-HELD_OUT_STEPS:]
        microseconds, found = ask(table.backend, asked, ACTIONS)
        stretches = recalls(table.keys, asked[9::10], found[9::10]).reshape(STRETCHES, -1).mean(1)
        error = stretches.std(ddof=1) / STRETCHES**0.5
        print(f"| {game} | {stretches.mean():.4f} ± {error:.4f} | {np.median(microseconds):.0f} |", flush=True)


if __name__ == "__main__":
    main()
