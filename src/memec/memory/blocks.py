"""Chains of small blocks of entries: who is filed where, with append and removal in constant time.

A chain belongs to one cluster and one action, or to several that are searched together, so a search reads only what it
was asked for and cannot rule out. Removal moves the chain's newest entry into the hole; all blocks of a chain but its
first are full. Blocks come in runs that lie side by side in memory, and a run belongs to one chain. What an entry looks
like in its block (a float key, an int8 code) is the search's own business: it keeps an array beside `Blocks.members`,
indexed by the same place.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.kernels import COMPILE

# Columns of `Blocks.chains`: its first block, how many entries that holds, and how many the chain has in all.
FIRST, FILLED, SIZE = 0, 1, 2
# Columns of `Blocks.places`: the chain of a slot (-1: not filed) and its place, block * lanes + lane.
CHAIN, PLACE = 0, 1

# What lies apart is on different pages, and where a page is can take the processor as long to find out as what is on
# it. In Ms. Pac-Man a search took .96, .93, .90, .89 and .89 of the time with 2, 3, 4, 6 and 8 blocks in a run instead
# of one; but on average half a run of every chain is empty.
MOST_BLOCKS_IN_A_RUN = 4

Numbers = NDArray[np.int32]
Books = tuple[Numbers, Numbers, Numbers, Numbers, Numbers]
"""Chains, members, nexts, places, free."""


def blocks_in_a_run(slots: int, chains: int, lanes: int) -> int:
    """Return how many blocks of a chain should lie side by side: nearly all of it, unless chains are long."""
    return min(MOST_BLOCKS_IN_A_RUN, max(1, 2 * slots // (lanes * chains)))


def runs_for(slots: int, chains: int, lanes: int, run: int) -> int:
    """Return how many runs are enough for so many entries however they spread: one of each chain may not be full."""
    return slots // (lanes * run) + chains + 1


@dataclass(frozen=True)
class Blocks:
    """The books of the chains, as plain arrays for compiled code."""

    chains: NDArray[np.int32]
    members: NDArray[np.int32]
    """A slot per lane."""
    nexts: NDArray[np.int32]
    """The next block of a block's chain, -1 after the last; apart from the members, so that few bytes lead on."""
    places: NDArray[np.int32]
    free: NDArray[np.int32]
    """A stack of unused runs, by their first blocks; its height is the first item."""

    @classmethod
    def empty(cls, slots: int, chains: int, lanes: int, run: int = 1) -> "Blocks":
        """File nothing yet: room for `slots` entries however they spread over `chains`, `lanes` to a block."""
        runs = runs_for(slots, chains, lanes, run)
        blocks = runs * run
        free = run * np.arange(runs, -1, -1, dtype=np.int32)  # low blocks on top: memory is touched as it fills
        free[0] = runs
        return cls(
            chains=np.tile(np.array([-1, 0, 0], np.int32), (chains, 1)),
            members=np.full((blocks, lanes), -1, np.int32),
            nexts=np.full(blocks, -1, np.int32),
            places=np.full((slots, 2), -1, np.int32),
            free=free,
        )

    def books(self) -> Books:
        """Return all of them, in the order in which compiled code takes them."""
        return self.chains, self.members, self.nexts, self.places, self.free

    def present(self) -> NDArray[np.bool_]:
        """Tell which slots are filed."""
        return self.places[:, CHAIN] >= 0


@njit(inline="always", **COMPILE)
def _run(nexts: NDArray[np.int32], free: NDArray[np.int32]) -> int:
    """Return how many blocks are in a run."""
    return len(nexts) // (len(free) - 1)


@njit(**COMPILE)
def append(
    slot: int,
    chain: int,
    chains: NDArray[np.int32],
    members: NDArray[np.int32],
    nexts: NDArray[np.int32],
    places: NDArray[np.int32],
    free: NDArray[np.int32],
) -> int:
    """File a slot at the end of a chain and return its place."""
    lanes = members.shape[1]
    if chains[chain, FIRST] < 0 or chains[chain, FILLED] == lanes:
        block = chains[chain, FIRST] + 1
        if block == 0 or block % _run(nexts, free) == 0:
            block = free[free[0]]
            free[0] -= 1
        nexts[block] = chains[chain, FIRST]
        chains[chain, FIRST] = block
        chains[chain, FILLED] = 0
    block = chains[chain, FIRST]
    lane = chains[chain, FILLED]
    chains[chain, FILLED] += 1
    chains[chain, SIZE] += 1
    place = block * lanes + lane
    members[block, lane] = slot
    places[slot, CHAIN] = chain
    places[slot, PLACE] = place
    return int(place)


@njit(**COMPILE)
def remove(
    slot: int,
    chains: NDArray[np.int32],
    members: NDArray[np.int32],
    nexts: NDArray[np.int32],
    places: NDArray[np.int32],
    free: NDArray[np.int32],
) -> tuple[int, int]:
    """Take a filed slot out; return (from, to), the places between which the search moves what it keeps there."""
    lanes = members.shape[1]
    chain = places[slot, CHAIN]
    hole = places[slot, PLACE]
    block = chains[chain, FIRST]
    lane = chains[chain, FILLED] - 1
    moved = members[block, lane]
    members[hole // lanes, hole % lanes] = moved
    places[moved, PLACE] = hole
    places[slot, CHAIN] = -1
    chains[chain, FILLED] = lane
    chains[chain, SIZE] -= 1
    if lane == 0:
        chains[chain, FIRST] = nexts[block]
        chains[chain, FILLED] = lanes if chains[chain, FIRST] >= 0 else 0
        if block % _run(nexts, free) == 0:
            free[0] += 1
            free[free[0]] = block
    return block * lanes + lane, hole
