"""Lists of slots in small blocks: who is in which list, with append and removal in constant time.

A list belongs to one cell of space (a cluster, or a box) and one action, or several that are searched together, so a
search reads only what it was asked for and cannot rule out. Removal moves the list's newest entry into the hole; all
blocks of a list but its first are full. Blocks come in runs that lie side by side in memory, and a run belongs to one
list. What an entry looks like in its block (a float key, a code) is the search's own business: it keeps an array
beside `Lists.members`, indexed by the same place.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.compiled.kernels import COMPILE

# Columns of `Lists.heads`: the first block of a list, how many entries that holds, and how many the list has in all.
FIRST, FILLED, SIZE = 0, 1, 2
# Columns of `Lists.places`: the list of a slot (-1: none) and its place, block * lanes + lane.
LIST, PLACE = 0, 1

# What lies apart is on different pages, and each costs a look-up of where it is (a miss in the TLB); but on average
# half a run of every list is empty.
MOST_BLOCKS_IN_A_RUN = 4

Numbers = NDArray[np.int32]


class Lists(NamedTuple):
    """The lists, as plain arrays for compiled code."""

    heads: Numbers
    members: Numbers
    """[blocks, lanes] a slot per lane."""
    nexts: Numbers
    """The next block of a block's list, -1 after the last; apart from the members, so that few bytes lead on."""
    places: Numbers
    free: Numbers
    """A stack of unused runs, by their first blocks; its height is the first item."""


def empty_lists(slots: int, lists: int, lanes: int, run: int = 1) -> Lists:
    """Return lists without entries: room for `slots` however they spread over them, `lanes` to a block."""
    runs = slots // (lanes * run) + lists + 1  # one of each list may not be full
    blocks = runs * run
    free = run * np.arange(runs, -1, -1, dtype=np.int32)  # low blocks on top: memory is touched as it fills
    free[0] = runs
    return Lists(
        heads=np.tile(np.array([-1, 0, 0], np.int32), (lists, 1)),
        members=np.full((blocks, lanes), -1, np.int32),
        nexts=np.full(blocks, -1, np.int32),
        places=np.full((slots, 2), -1, np.int32),
        free=free,
    )


def blocks_in_a_run(slots: int, lists: int, lanes: int) -> int:
    """Return how many blocks of a list should lie side by side: nearly all of it, unless lists are long."""
    return min(MOST_BLOCKS_IN_A_RUN, max(1, 2 * slots // (lanes * lists)))


@njit(inline="always", **COMPILE)
def _run(lists: Lists) -> int:
    """Return how many blocks are in a run."""
    return len(lists.nexts) // (len(lists.free) - 1)


@njit(**COMPILE)
def append(slot: int, to: int, lists: Lists) -> int:
    """Put a slot at the end of a list and return its place."""
    heads, free, lanes = lists.heads, lists.free, lists.members.shape[1]
    if heads[to, FIRST] < 0 or heads[to, FILLED] == lanes:
        block = heads[to, FIRST] + 1
        if block == 0 or block % _run(lists) == 0:
            block = free[free[0]]
            free[0] -= 1
        lists.nexts[block] = heads[to, FIRST]
        heads[to, FIRST] = block
        heads[to, FILLED] = 0
    block = heads[to, FIRST]
    lane = heads[to, FILLED]
    heads[to, FILLED] += 1
    heads[to, SIZE] += 1
    place = block * lanes + lane
    lists.members[block, lane] = slot
    lists.places[slot, LIST] = to
    lists.places[slot, PLACE] = place
    return int(place)


@njit(**COMPILE)
def remove(slot: int, lists: Lists) -> tuple[int, int]:
    """Take a slot out; return (from, to), the places between which the search moves what it keeps there."""
    heads, members, places, free = lists.heads, lists.members, lists.places, lists.free
    lanes = members.shape[1]
    of = places[slot, LIST]
    hole = places[slot, PLACE]
    block = heads[of, FIRST]
    lane = heads[of, FILLED] - 1
    moved = members[block, lane]
    members[hole // lanes, hole % lanes] = moved
    places[moved, PLACE] = hole
    places[slot, LIST] = -1
    heads[of, FILLED] = lane
    heads[of, SIZE] -= 1
    if lane == 0:
        heads[of, FIRST] = lists.nexts[block]
        heads[of, FILLED] = lanes if heads[of, FIRST] >= 0 else 0
        if block % _run(lists) == 0:
            free[0] += 1
            free[free[0]] = block
    return block * lanes + lane, hole


@njit(**COMPILE)
def in_order(lists: Lists) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the slots of all lists, list after list from the oldest entry on, and how long each list is."""
    lanes = lists.members.shape[1]
    lengths = lists.heads[:, SIZE].copy()
    slots = np.empty(lengths.sum(), np.int32)
    end = 0
    for of in range(len(lengths)):
        end += lengths[of]
        at, block, filled = end, lists.heads[of, FIRST], lists.heads[of, FILLED]
        while block >= 0:  # the newest block comes first
            at -= filled
            slots[at : at + filled] = lists.members[block, :filled]
            block, filled = lists.nexts[block], np.int32(lanes)
    return slots, lengths


@njit(**COMPILE)
def append_in_order(slots: NDArray[np.int32], lengths: NDArray[np.int32], lists: Lists) -> None:
    """Fill empty lists with what `in_order` returned."""
    begin = 0
    for of in range(len(lengths)):
        for slot in slots[begin : begin + lengths[of]]:
            append(slot, of, lists)
        begin += lengths[of]
