"""How entries get into an approximate index: as a code and a sketch, in the chain of their cluster and action.

Actions may share a chain: their entries are tagged.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.blocks import CHAIN, PLACE, append, remove
from memec.memory.clusters import GROUPS_LOOKED_INTO
from memec.memory.codes import FARTHEST, LARGEST, code_distance, encode
from memec.memory.kernels import COMPILE
from memec.memory.sketches import move, sketch, tag_at


@njit(inline="always", **COMPILE)
def _store(
    code: NDArray[np.int16],
    points: NDArray[np.int8],
    codes: NDArray[np.int8],
    sketches: NDArray[np.uint8],
    place: int,
    tag: int,
) -> None:
    """Write a code and its sketch at their place."""
    for axis in range(codes.shape[1]):
        code[axis] = min(max(code[axis], -LARGEST), LARGEST)  # the sketch is of what is stored
        codes[place, axis] = np.int8(code[axis])
    sketch(code, points, sketches, place, tag)


@njit(**COMPILE)
def file(
    slots: NDArray[np.int64],
    keys: NDArray[np.float32],
    mean: NDArray[np.float32],
    axes: NDArray[np.float32],
    centres: NDArray[np.int8],
    group_centres: NDArray[np.int8],
    group_begins: NDArray[np.int32],
    fine: NDArray[np.int32],
    points: NDArray[np.int8],
    codes: NDArray[np.int8],
    sketches: NDArray[np.uint8],
    counts: NDArray[np.int32],
    capacity: int,
    chains: NDArray[np.int32],
    members: NDArray[np.int32],
    nexts: NDArray[np.int32],
    places: NDArray[np.int32],
    free: NDArray[np.int32],
) -> None:
    """File each slot under its nearest centre, or one nearly as near; those that lie outside, under a coarse one."""
    together = counts.shape[1]
    chains_per_cluster = len(chains) // len(centres)
    code = np.empty(2 * codes.shape[1], np.int16)
    fine_groups, groups = fine[1], len(group_centres)
    group_distances = np.empty(groups, np.int32)
    for slot in slots:
        action = slot // capacity
        tag = action % together
        if places[slot, CHAIN] >= 0:
            counts[places[slot, CHAIN], tag] -= 1
            source, hole = remove(slot, chains, members, nexts, places, free)
            codes[hole] = codes[source]
            move(sketches, source, hole)
        coarse = encode(keys[slot], mean, axes, code) and fine_groups < groups
        begin, end = (fine_groups, groups) if coarse else (0, fine_groups)
        group_distances[:] = FARTHEST
        for group in range(begin, end):
            group_distances[group] = code_distance(group_centres, group, code, coarse)
        nearest, nearest_distance = int(group_begins[begin]), FARTHEST
        for _ in range(min(GROUPS_LOOKED_INTO, end - begin)):
            group = int(np.argmin(group_distances))
            group_distances[group] = FARTHEST
            for cluster in range(group_begins[group], group_begins[group + 1]):
                distance = code_distance(centres, cluster, code, coarse)
                if distance < nearest_distance:
                    nearest, nearest_distance = cluster, distance
        chain = nearest * chains_per_cluster + action // together
        place = append(slot, chain, chains, members, nexts, places, free)
        counts[chain, tag] += 1
        _store(code, points, codes, sketches, place, tag)


@njit(**COMPILE)
def note_newest(slots: NDArray[np.int64], newest: NDArray[np.int64], puts: NDArray[np.int64], capacity: int) -> None:
    """Keep the slots put last, of each action, in a ring."""
    for slot in slots:
        action = slot // capacity
        newest[action, puts[action] % newest.shape[1]] = slot
        puts[action] += 1


@njit(**COMPILE)
def unfiled(
    present: NDArray[np.bool_], places: NDArray[np.int32], begin: int, count: int
) -> tuple[NDArray[np.int64], int]:
    """Return up to `count` present slots from `begin` on that are not filed, and where to go on after them."""
    slots = np.empty(min(count, len(present) - begin), np.int64)
    found = 0
    while begin < len(present) and found < count:
        if present[begin] and places[begin, CHAIN] < 0:
            slots[found] = begin
            found += 1
        begin += 1
    return slots[:found], begin


@njit(**COMPILE)
def encode_filed(
    keys: NDArray[np.float32],
    mean: NDArray[np.float32],
    axes: NDArray[np.float32],
    points: NDArray[np.int8],
    codes: NDArray[np.int8],
    sketches: NDArray[np.uint8],
    counts: NDArray[np.int32],
    capacity: int,
    places: NDArray[np.int32],
) -> None:
    """Count all filed slots and write their codes again, as neither is part of a checkpoint."""
    code = np.empty(2 * codes.shape[1], np.int16)
    for slot in range(len(places)):
        chain, tag = places[slot, CHAIN], slot // capacity % counts.shape[1]
        if chain >= 0:
            counts[chain, tag] += 1
            encode(keys[slot], mean, axes, code)
            _store(code, points, codes, sketches, places[slot, PLACE], tag)


@njit(**COMPILE)
def store(
    places: NDArray[np.int32],
    stored: NDArray[np.int8],
    points: NDArray[np.int8],
    codes: NDArray[np.int8],
    sketches: NDArray[np.uint8],
) -> None:
    """Put codes back at their places, with sketches that are tagged as before."""
    for index, place in enumerate(places):
        codes[place] = stored[index]
        sketch(stored[index].astype(np.int16), points, sketches, place, tag_at(sketches, place))
