"""What a saved memory must be like before compiled code, which checks nothing, may work on it.

A file may come from anybody: an index out of range in it would read and write anywhere in the process.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memec.errors import MemecError
from memec.memory.blocks import CHAIN, FILLED, FIRST, PLACE, SIZE, blocks_in_a_run, runs_for
from memec.saved_arrays import Arrays, check_arrays, check_not_negative

LARGEST_CLOCK = 2**62


def check_memory(arrays: Arrays, actions: int, capacity: int, tables: Mapping[str, NDArray[Any]]) -> None:
    """Raise an error unless these arrays are those of a memory with such tables."""
    check_arrays(arrays, {"sizes": (np.int64, (actions,)), "clock": (np.int64, (1,))})
    sizes, clock = arrays["sizes"], int(arrays["clock"][0])
    if sizes.min() < 0 or sizes.max() > capacity:
        raise MemecError("The saved memory does not fit: it has a larger capacity.")
    check_arrays(arrays, {name: (table.dtype.type, (sizes.sum(), *table.shape[1:])) for name, table in tables.items()})
    _refuse(not 0 < clock < LARGEST_CLOCK or arrays["last_used"].max(initial=0) >= clock, "was used in its future")
    # The file holds a byte for every slot, so that it is at least as large as what is now made for them.
    check_arrays(arrays, {"search.present": (np.bool_, (actions * capacity,))})
    rows = np.arange(actions * capacity).reshape(actions, capacity) % capacity
    _refuse(
        (arrays["search.present"] != (rows < sizes[:, None]).reshape(-1)).any(), "is not present where it should be"
    )


def check_search(
    arrays: Arrays,
    candidates: tuple[int, ...],
    likely: tuple[int, ...],
    asked: tuple[int, ...],
    needed: tuple[int, ...],
    counts: int,
    slots: int,
    followers: int,
) -> None:
    """Raise an error unless these arrays are those of an approximate search; its indexes are checked on their own."""
    check_arrays(
        arrays,
        {
            "last_candidates": (np.int64, candidates),
            "likely": (np.int64, likely),
            "followers": (np.int32, (followers,)),
            "puts": (np.int64, (candidates[0],)),
            "asked": (np.float32, asked),
            "needed": (np.float32, needed),
            "counts": (np.int64, (counts,)),
            "measures": (np.float64, (4,)),
        },
    )
    for name in ("last_candidates", "likely", "followers"):
        known = arrays[name]
        _refuse((known < -1).any() or (known >= slots).any(), "has candidates that do not exist")
        _refuse(not arrays["present"][known[known >= 0]].all(), "has candidates that are not present")
    check_not_negative(arrays, "counts", "puts")
    effort = arrays["measures"][0]
    _refuse(not 0 < effort <= 1 or (arrays["measures"][[2, 3]] < 0).any(), "measures what cannot be")


def check_index(
    arrays: Arrays, slots_per_chain: int, slots: int, axes: tuple[int, int], lanes: int, points: tuple[int, ...]
) -> None:
    """Raise an error unless these arrays are those of an index with its books in order.

    The slots of the actions that are filed together, `slots_per_chain`, are in one chain of each cluster.
    """
    clusters, groups = len(arrays["centres"]), len(arrays["group_centres"])
    key_size, code_size = axes
    chains_per_cluster = -(-slots // slots_per_chain)
    chains = chains_per_cluster * clusters
    run = blocks_in_a_run(slots, max(1, chains), lanes)
    runs = runs_for(slots, chains, lanes, run)
    blocks = runs * run
    check_arrays(
        arrays,
        {
            "mean": (np.float32, (key_size,)),
            "axes": (np.float32, axes),
            "centres": (np.int8, (clusters, code_size)),
            "group_centres": (np.int8, (groups, code_size)),
            "group_begins": (np.int32, (groups + 1,)),
            "fine": (np.int32, (2,)),
            "points": (np.int8, points),
            "sketch_error": (np.float32, (1,)),
            "chains": (np.int32, (chains, 3)),
            "members": (np.int32, (blocks, lanes)),
            "nexts": (np.int32, (blocks,)),
            "places": (np.int32, (slots, 2)),
            "free": (np.int32, (runs + 1,)),
        },
    )
    _refuse(arrays["sketch_error"][0] < 0, "has sketches that are wrong by less than nothing")
    lagging = arrays["lagging_slots"]
    check_arrays(
        arrays,
        {
            "lagging_slots": (np.int64, (len(lagging),)),
            "lagging_codes": (np.int8, (len(lagging), code_size)),
        },
    )
    filed = (lagging >= 0).all() and (lagging < slots).all() and (arrays["places"][lagging, CHAIN] >= 0).all()
    _refuse(not filed, "has codes of entries that do not exist")
    begins = arrays["group_begins"]
    _refuse(clusters < 1 or begins[0] != 0 or begins[-1] != clusters or (np.diff(begins) < 0).any(), "has no groups")
    fine_clusters, fine_groups = arrays["fine"]
    divided = 0 < fine_clusters <= clusters and 0 < fine_groups <= groups and begins[fine_groups] == fine_clusters
    _refuse(not divided, "does not tell coarse clusters from others")
    chain = arrays["places"][:, CHAIN]
    own = np.arange(slots) // slots_per_chain
    _refuse(((chain >= 0) & (chain % chains_per_cluster != own)).any(), "has entries among those of other actions")
    _check_books(arrays["chains"], arrays["members"], arrays["nexts"], arrays["places"], arrays["free"])


def _check_books(
    chains: NDArray[np.int32],
    members: NDArray[np.int32],
    nexts: NDArray[np.int32],
    places: NDArray[np.int32],
    free: NDArray[np.int32],
) -> None:
    """Follow all chains at once, block by block: every entry must be where its place says, every block in one chain.

    What comes before a block in its run must come after it in its chain, for blocks are taken and given back in order.
    """
    blocks, lanes = members.shape
    run = blocks // (len(free) - 1)
    lane = np.arange(lanes)
    used = np.zeros(blocks, np.bool_)
    seen = np.zeros(len(places), np.bool_)
    sizes = np.zeros(len(chains), np.int64)
    chain = np.flatnonzero(chains[:, FIRST] >= 0)
    block, filled = chains[chain, FIRST], chains[chain, FILLED]
    _refuse((chains[chains[:, FIRST] < 0, 1:] != 0).any(), "has entries in empty chains")
    while len(chain):
        _refuse((block >= blocks).any() or used[block].any() or len(np.unique(block)) < len(block), "goes in circles")
        _refuse(((block % run > 0) & (nexts[block] != block - 1)).any(), "has runs in pieces")
        _refuse((filled < 1).any() or (filled > lanes).any(), "has blocks of impossible size")
        used[block] = True
        row, column = np.nonzero(lane < filled[:, None])
        slot = members[block[row], column]
        _refuse((slot < 0).any() or (slot >= len(places)).any(), "has entries that do not exist")
        place = block[row] * lanes + column
        _refuse((places[slot, CHAIN] != chain[row]).any() or (places[slot, PLACE] != place).any(), "is in disorder")
        seen[slot] = True
        sizes[chain] += filled
        block = nexts[block]
        chain, block = chain[block >= 0], block[block >= 0]
        filled = np.full(len(chain), lanes)
    _refuse((sizes != chains[:, SIZE]).any() or (seen != (places[:, CHAIN] >= 0)).any(), "has lost entries")
    unused = np.sort(free[1 : free[0] + 1]) if 0 <= free[0] < len(free) else free
    _refuse(not np.array_equal(unused, run * np.flatnonzero(~used[::run])), "has lost blocks")


def _refuse(wrong: bool | np.bool_, what: str) -> None:
    if wrong:
        raise MemecError(f"The saved memory does not fit: it {what}.")
