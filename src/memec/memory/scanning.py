"""Looking through blocks of entries for candidates: by their sketches, and by the codes of those that pass."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.codes import FARTHEST, code_distance
from memec.memory.intrinsics import LANES_LOOKED_UP, lanes_within, lowest_bit, prefetch
from memec.memory.kernels import COMPILE, insert
from memec.memory.sketches import FEWEST_UNITS, MOST_UNITS, allowed, lanes_tagged, tabulate, tag_at

# Entries of a chain lie side by side this many at a time: what lies apart takes longer to come from memory.
LANES = 64
PARTS = LANES // LANES_LOOKED_UP
# Rounding both codes moves a distance by about 0.4; entries this much beyond the k-th candidate are still re-ranked.
ROUNDING = np.float32(2.0)
# Sketches are asked for this many blocks ahead; codes whose sketches passed, while so many others are waited for.
BLOCKS_AHEAD, WAITING = 4, 12
# Sketches of all actions pass up to this sum; what is looked up for an action is how much stricter it is.
PASSING, NEVER = np.int64(MOST_UNITS + 1), np.uint8(255)

Asked = tuple[NDArray[np.float32], NDArray[np.uint8], np.float32, np.float32]
"""What is asked of sketches: distances from all points, tables made of them, the error, the margin."""


@njit(inline="always", **COMPILE)
def limit_of(distance: np.int32) -> np.int32:
    """Return the code distance up to which an entry may belong to the nearest, given that of the k-th candidate."""
    if distance == FARTHEST:
        return FARTHEST
    most = distance + 2 * ROUNDING * np.sqrt(np.float32(distance)) + ROUNDING * ROUNDING + 1
    return np.int32(min(most, FARTHEST - 1))


@njit(inline="always", **COMPILE)
def _parts(count: int) -> int:
    """Return how many times 16 lanes of sketches hold so many entries."""
    return (count + LANES_LOOKED_UP - 1) // LANES_LOOKED_UP


@njit(inline="always", **COMPILE)
def prefetch_block(sketches: NDArray[np.uint8], block: int, count: int) -> None:
    """Ask for the sketches of so many entries of a block ahead of their use."""
    prefetch(sketches, np.int64(block) * PARTS, _parts(count) * sketches.shape[1] * LANES_LOOKED_UP)


@njit(inline="always", **COMPILE)
def holds(candidates: NDArray[np.int64], slot: int) -> bool:
    """Tell whether a slot is among the candidates."""
    known = False
    for candidate in candidates:  # without a branch, so that it vectorises
        known |= candidate == slot
    return known


@njit(inline="always", **COMPILE)
def take(
    slot: np.int64, distance: np.int32, candidate_distances: NDArray[np.int32], candidates: NDArray[np.int64]
) -> None:
    """Merge one entry into the candidates, whatever its sketch."""
    if distance < candidate_distances[-1] and not holds(candidates, slot):
        insert(candidate_distances, candidates, distance, slot)


@njit(**COMPILE)
def _adjust(
    searched: NDArray[np.bool_], limits: NDArray[np.int32], asked: Asked, units: np.float32
) -> tuple[np.float32, np.int64]:
    """Make the tables fit the limits of the actions that are still looked for.

    Returns the unit of the tables, 0 while there are none, and by a bit the actions whose entries all pass as there
    are not enough candidates yet.
    """
    distances, tables, error, margin = asked
    most = np.float32(0)
    everyone = np.int64(0)
    for tag in range(len(searched)):
        if searched[tag]:
            if limits[tag] < FARTHEST:
                most = max(most, allowed(limits[tag], error, margin))
            else:
                everyone |= np.int64(1) << tag
    if most * units > MOST_UNITS or (most > 0 and most * units < FEWEST_UNITS):
        units = tabulate(distances, most, tables)
    for tag in range(len(searched)):
        tables[len(distances), tag] = NEVER
        if searched[tag] and limits[tag] < FARTHEST:
            tables[len(distances), tag] = np.uint8(MOST_UNITS - np.floor(allowed(limits[tag], error, margin) * units))
    return units, everyone


@njit(**COMPILE)
def scan(
    blocks: NDArray[np.int32],
    counts: NDArray[np.int32],
    todo: int,
    neighbours: int,
    code: NDArray[np.int16],
    asked: Asked,
    units: np.float32,
    searched: NDArray[np.bool_],
    limits: NDArray[np.int32],
    candidate_distances: NDArray[np.int32],
    candidates: NDArray[np.int64],
    codes: NDArray[np.int8],
    sketches: NDArray[np.uint8],
    members: NDArray[np.int32],
) -> np.float32:
    """Merge the entries of some blocks into the candidates; return the unit of the tables, 0 while there are none.

    As long as an action has not enough candidates all its entries pass, later those whose sketches are near enough.
    What passed waits for its code to arrive from memory.
    """
    waiting = np.empty(WAITING + LANES, np.int64)
    waits = 0
    units, everyone = _adjust(searched, limits, asked, units)
    for index in range(todo):
        if index + BLOCKS_AHEAD < todo:
            prefetch_block(sketches, blocks[index + BLOCKS_AHEAD], counts[index + BLOCKS_AHEAD])
        passed = np.int64(0)
        for part in range(_parts(counts[index])):
            place = np.int64(blocks[index]) * PARTS + part
            lanes = lanes_within(sketches, place, asked[1], PASSING) if units > 0 else np.int64(0)
            if everyone:
                lanes |= lanes_tagged(sketches, place, everyone)
            passed |= lanes << part * LANES_LOOKED_UP
        if counts[index] < LANES:
            passed &= (np.int64(1) << np.int64(counts[index])) - 1
        while passed:
            waiting[waits] = np.int64(blocks[index]) * LANES + lowest_bit(passed)
            prefetch(codes, waiting[waits], codes.shape[1])
            waits += 1
            passed &= passed - 1
        last = index == todo - 1
        if waits >= WAITING or everyone or last:
            nearer = False
            for place in waiting[:waits]:
                distance = code_distance(codes, place, code, False)
                tag = tag_at(sketches, place)
                if distance < limits[tag] and distance < candidate_distances[tag, -1]:
                    slot = members[place // LANES, place % LANES]
                    if not holds(candidates[tag], slot):
                        insert(candidate_distances[tag], candidates[tag], distance, slot)
                        limits[tag] = limit_of(candidate_distances[tag, neighbours - 1])
                        nearer = True
            waits = 0
            if nearer:
                units, everyone = _adjust(searched, limits, asked, units)
    return units
