"""How entries get into an approximate index: as a code and a sketch, in the chain of their action and cluster."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.blocks import CHAIN, PLACE, append, remove
from memec.memory.clusters import GROUPS_LOOKED_INTO
from memec.memory.codes import FARTHEST, LARGEST, code_distance, encode
from memec.memory.kernels import COMPILE
from memec.memory.sketches import move, sketch


@njit(inline="always", **COMPILE)
def _store(
    code: NDArray[np.int16],
    points: NDArray[np.int8],
    codes: NDArray[np.int8],
    sketches: NDArray[np.uint8],
    place: int,
) -> None:
    """Write a code and its sketch at their place."""
    for axis in range(codes.shape[1]):
        code[axis] = min(max(code[axis], -LARGEST), LARGEST)  # the sketch is of what is stored
        codes[place, axis] = np.int8(code[axis])
    sketch(code, points, sketches, place)


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
    chains: NDArray[np.int32],
    members: NDArray[np.int32],
    places: NDArray[np.int32],
    free: NDArray[np.int32],
) -> None:
    """File each slot under its nearest centre, or one nearly as near; those that lie outside, under a coarse one."""
    clusters = len(centres)
    actions = len(chains) // clusters
    capacity = len(keys) // actions
    code = np.empty(2 * codes.shape[1], np.int16)
    fine_groups, groups = fine[1], len(group_centres)
    group_distances = np.empty(groups, np.int32)
    for slot in slots:
        if places[slot, CHAIN] >= 0:
            source, hole = remove(slot, chains, members, places, free)
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
        place = append(slot, nearest * actions + slot // capacity, chains, members, places, free)
        if not coarse:
            _store(code, points, codes, sketches, place)


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
    first_coarse_chain: int,
    points: NDArray[np.int8],
    codes: NDArray[np.int8],
    sketches: NDArray[np.uint8],
    places: NDArray[np.int32],
) -> None:
    """Write the codes of all filed slots again, as they are not part of a checkpoint."""
    code = np.empty(2 * codes.shape[1], np.int16)
    for slot in range(len(places)):
        if 0 <= places[slot, CHAIN] < first_coarse_chain:
            encode(keys[slot], mean, axes, code)
            _store(code, points, codes, sketches, places[slot, PLACE])


@njit(**COMPILE)
def store(
    places: NDArray[np.int32],
    stored: NDArray[np.int8],
    points: NDArray[np.int8],
    codes: NDArray[np.int8],
    sketches: NDArray[np.uint8],
) -> None:
    """Put codes back at their places, with their sketches."""
    for index, place in enumerate(places):
        codes[place] = stored[index]
        sketch(stored[index].astype(np.int16), points, sketches, place)
