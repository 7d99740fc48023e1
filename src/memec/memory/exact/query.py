"""Compiled pieces of the exact search: putting keys into cells and blocks, and finding the nearest of every action."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.compiled.handle import Handle, Rows, cube, five_dimensional, matrix, vector
from memec.memory.compiled.intrinsics import LANES, lanes_at_most, lowest_bit
from memec.memory.compiled.kernels import COMPILE, LARGEST, squared_distance
from memec.memory.compiled.lists import FILLED, FIRST, LIST, Lists, append, remove
from memec.memory.exact.cells import cell_of

# Squared distances carry a relative rounding error of about (dimensions + 2) * 6e-8; ruling out allows for more.
SLACK = np.float32(1 + 1e-4)

# Found entries as numbers: a distance's bits before a slot's; nobody is infinitely far.
SLOT = np.int64(2**32 - 1)
LARGEST_BITS = np.int32(LARGEST.view(np.int32))
NOBODY = np.int64(np.float32(np.inf).view(np.int32)) << 32


class Filing(NamedTuple):
    """Keys and where they are filed: in which cell of space, and in which block of its list."""

    keys: NDArray[np.float32]
    cut_dimensions: NDArray[np.int32]
    cut_values: NDArray[np.float32]
    boxes: NDArray[np.float32]
    """[actions, groups of cells, dimensions, 2, lanes] the least and the most of each cell."""
    block_keys: NDArray[np.float32]
    """[blocks, dimensions, lanes] the keys once more, so that 64 distances are computed at once."""
    lists: Lists
    """One for each cell of each action."""


def filed(filing: Filing, last_found: NDArray[np.int64]) -> Handle:
    """Hand over what a search needs: how keys are filed, and what it found last."""
    *arrays, lists = filing
    return Handle(last_found, *arrays, *lists)


@njit(inline="always", **COMPILE)
def read_filed(rows: Rows) -> tuple[Filing, NDArray[np.int64]]:
    """Return what `filed` was given."""
    lists = Lists(
        matrix(rows, 6, np.int32), matrix(rows, 7, np.int32), vector(rows, 8, np.int32),
        matrix(rows, 9, np.int32), vector(rows, 10, np.int32),
    )  # fmt: skip
    filing = Filing(
        matrix(rows, 1, np.float32), vector(rows, 2, np.int32), vector(rows, 3, np.float32),
        five_dimensional(rows, 4, np.float32), cube(rows, 5, np.float32), lists,
    )  # fmt: skip
    return filing, cube(rows, 0, np.int64)


@njit(**COMPILE)
def file_keys(slots: NDArray[np.int64], filing: Filing) -> int:
    """Put each slot into the list of its cell, whose box grows to hold it; return how many were new."""
    keys, boxes, block_keys, lists = filing.keys, filing.boxes, filing.block_keys, filing.lists
    places = lists.places
    cells = len(filing.cut_values) + 1
    capacity = len(keys) // len(boxes)
    new = 0
    for slot in slots:
        if places[slot, LIST] >= 0:
            source, hole = remove(slot, lists)
            for dimension in range(keys.shape[1]):
                moved = block_keys[source // LANES, dimension, source % LANES]
                block_keys[hole // LANES, dimension, hole % LANES] = moved
        else:
            new += 1
        action = slot // capacity
        cell = cell_of(keys[slot], filing.cut_dimensions, filing.cut_values)
        place = append(slot, action * cells + cell, lists)
        box = boxes[action, cell // LANES]
        for dimension in range(keys.shape[1]):
            value = keys[slot, dimension]
            block_keys[place // LANES, dimension, place % LANES] = value
            box[dimension, 0, cell % LANES] = min(box[dimension, 0, cell % LANES], value)
            box[dimension, 1, cell % LANES] = max(box[dimension, 1, cell % LANES], value)
    return new


@njit(inline="always", **COMPILE)
def box_distances(boxes: NDArray[np.float32], query: NDArray[np.float32], distances: NDArray[np.float32]) -> None:
    """Squared distances of 64 boxes to the query: 0 inside, infinite for a box around nothing."""
    for lane in range(LANES):
        distances[lane] = np.float32(0)
    for dimension in range(boxes.shape[0]):
        value = query[dimension]
        for lane in range(LANES):
            gap = max(max(boxes[dimension, 0, lane] - value, value - boxes[dimension, 1, lane]), np.float32(0))
            distances[lane] += gap * gap


@njit(inline="always", **COMPILE)
def block_distances(
    block_keys: NDArray[np.float32], block: int, query: NDArray[np.float32], distances: NDArray[np.float32]
) -> None:
    """Squared distances of 64 keys to the query, four dimensions at a time to spare loads of the sums."""
    for start in range(0, len(query), 4):
        for lane in range(LANES):
            first = block_keys[block, start, lane] - query[start]
            second = block_keys[block, start + 1, lane] - query[start + 1]
            third = block_keys[block, start + 2, lane] - query[start + 2]
            fourth = block_keys[block, start + 3, lane] - query[start + 3]
            total = first * first + second * second + third * third + fourth * fourth
            distances[lane] = total if start == 0 else distances[lane] + total


@njit(inline="always", **COMPILE)
def _scan(
    head: NDArray[np.int32],
    query: NDArray[np.float32],
    bound: np.float32,
    best: NDArray[np.int64],
    block_keys: NDArray[np.float32],
    members: NDArray[np.int32],
    nexts: NDArray[np.int32],
    distances: NDArray[np.float32],
) -> np.float32:
    """Merge a list into the best found so far; return the distance up to which an entry still matters."""
    bits = distances.view(np.int32)
    block, filled = head[FIRST], head[FILLED]
    while block >= 0:
        block_distances(block_keys, block, query, distances)
        near = lanes_at_most(distances, bound)
        if filled < LANES:
            near &= (np.int64(1) << filled) - 1
        while near != 0:
            lane = lowest_bit(near)
            near &= near - 1
            entry = np.int64(min(bits[lane], LARGEST_BITS)) << 32 | members[block, lane]
            if entry < best[-1]:
                for place in range(len(best)):  # without a branch: what is larger moves on
                    before = best[place]
                    best[place] = min(before, entry)
                    entry = max(before, entry)
        if best[-1] < np.int64(LARGEST_BITS) << 32:
            bits[0] = best[-1] >> 32
            bound = min(bound, distances[0])
        block = nexts[block]
        filled = np.int32(LANES)
    return bound


@njit(inline="always", **COMPILE)
def _cells_within(
    bound: np.float32,
    home: int,
    query: NDArray[np.float32],
    boxes: NDArray[np.float32],
    heads: NDArray[np.int32],
    distances: NDArray[np.float32],
    away: NDArray[np.float32],
    near: NDArray[np.int64],
) -> int:
    """List an action's filled cells, but for `home`, that may hold an entry within the bound; and how far `away`."""
    groups, cells = len(boxes), len(heads)
    count = 0
    for group in range(groups):
        box_distances(boxes[group], query, distances)
        within = lanes_at_most(distances, bound)
        while within != 0:
            lane = lowest_bit(within)
            within &= within - 1
            cell = group * LANES + lane
            if cell < cells and cell != home and heads[cell, FIRST] >= 0:
                away[count] = distances[lane]
                near[count] = cell
                count += 1
    return count


@njit(**COMPILE)
def find_nearest(
    queries: NDArray[np.float32],
    wanted: NDArray[np.bool_],
    squared_distances: NDArray[np.float32],
    slots: NDArray[np.int64],
    last_found: NDArray[np.int64],
    filing: Filing,
) -> None:
    """Search each wanted action: the query's own cell, then the nearest until k are found, then all that may matter.

    What was found is kept in order as whole numbers: the bits of a distance, which are in the order of the distances,
    before its slot.
    """
    keys, cut_dimensions, cut_values, boxes, block_keys, (all_heads, members, nexts, _, _) = filing
    actions = len(boxes)
    cells = len(all_heads) // actions
    away = np.empty(cells, np.float32)
    near = np.empty(cells, np.int64)
    distances = np.empty(LANES, np.float32)
    query = np.zeros(block_keys.shape[1], np.float32)
    best = np.empty(slots.shape[2], np.int64)
    for row in range(len(queries)):
        query[: keys.shape[1]] = queries[row]
        home = cell_of(queries[row], cut_dimensions, cut_values)
        for action in range(actions):
            if not wanted[row, action]:
                continue
            best[:] = NOBODY
            bound = np.float32(np.inf)
            last = last_found[row % len(last_found), action]
            if last[-1] >= 0:
                bound = np.float32(0)
                for slot in last:
                    bound = max(bound, squared_distance(keys, slot, queries[row]))
                bound *= SLACK
            heads = all_heads[action * cells : (action + 1) * cells]
            bound = _scan(heads[home], query, bound, best, block_keys, members, nexts, distances)
            left = _cells_within(bound * SLACK, home, query, boxes[action], heads, distances, away, near)
            while left > 0:
                at = left - 1
                if best[-1] == NOBODY:
                    for other in range(left):
                        if away[other] < away[at]:
                            at = other
                if away[at] <= bound * SLACK:
                    bound = _scan(heads[near[at]], query, bound, best, block_keys, members, nexts, distances)
                left -= 1
                away[at], near[at] = away[left], near[left]
            found_bits = squared_distances[row, action].view(np.int32)
            for place, entry in enumerate(best):
                found_bits[place] = entry >> 32
                slots[row, action, place] = entry & SLOT if entry != NOBODY else -1
            last[:] = slots[row, action]
