"""The fast scan: blocks of entries are gone through by their product-quantiser codes, 16 or 32 at once.

Those that pass are compared by their scalar-quantiser codes, and the nearest become candidates.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.compiled.intrinsics import LANES, LANES_LOOKED_UP, lanes_within, lowest_bit, prefetch
from memec.memory.compiled.kernels import COMPILE, insert
from memec.memory.ivf.contents import Codes
from memec.memory.ivf.product import FEWEST_UNITS, MOST_UNITS, allowed, lanes_tagged, tabulate, tag_at
from memec.memory.ivf.scalar import FARTHEST, code_distance
from memec.memory.search_tuning import TUNING

PARTS = LANES // LANES_LOOKED_UP
# Rounding both codes moves a distance by about 0.4; entries this much beyond the k-th candidate are still re-ranked.
ROUNDING = np.float32(TUNING.rounding)
# Product codes are asked for this many blocks ahead; scalar codes of what passed, while so many others are waited for.
BLOCKS_AHEAD, WAITING = 4, 12
# Sums of all actions pass up to this one; what is looked up for an action's tag is how much stricter it is.
PASSING, NEVER = np.int64(MOST_UNITS + 1), np.uint8(255)


class Query(NamedTuple):
    """A query as it is compared with codes."""

    key: NDArray[np.float32]
    code: NDArray[np.int16]
    """As far as coarse codes go, and behind it the coarse one."""
    clipped: NDArray[np.int16]
    """The code, cut off where codes of entries are."""
    distances: NDArray[np.float32]
    """[pairs, 16] from all codewords."""
    tables: NDArray[np.uint8]
    """The same in bytes, as far as they are needed; the last row is for tags."""
    error: np.float32
    """How far the query, or else an entry, is from its codewords."""
    margin: np.float32
    scale: np.float32
    """Squared units of codes to one of keys."""


class Candidates(NamedTuple):
    """The candidates of actions whose entries are in the same lists, by tag."""

    searched: NDArray[np.bool_]
    limits: NDArray[np.int32]
    """The code distance up to which an entry may belong to the nearest."""
    distances: NDArray[np.int32]
    """[tags, candidates] ascending."""
    slots: NDArray[np.int64]
    neighbours: int
    """How many are wanted; there is room for more."""


@njit(inline="always", **COMPILE)
def limit_of(distance: np.int32) -> np.int32:
    """Return the code distance up to which an entry may belong to the nearest, given that of the k-th candidate."""
    if distance == FARTHEST:
        return FARTHEST
    most = distance + 2 * ROUNDING * np.sqrt(np.float32(distance)) + ROUNDING * ROUNDING + 1
    return np.int32(min(most, FARTHEST - 1))


@njit(inline="always", **COMPILE)
def _parts(count: int) -> int:
    """Return how many times 16 lanes hold so many entries."""
    return (count + LANES_LOOKED_UP - 1) // LANES_LOOKED_UP


@njit(inline="always", **COMPILE)
def prefetch_block(product: NDArray[np.uint8], block: int, count: int) -> None:
    """Ask for the product codes of so many entries of a block ahead of their use."""
    prefetch(product, np.int64(block) * PARTS, _parts(count) * product.shape[1] * LANES_LOOKED_UP)


@njit(inline="always", **COMPILE)
def holds(candidates: NDArray[np.int64], slot: int) -> bool:
    """Tell whether a slot is among the candidates."""
    known = False
    for candidate in candidates:  # without a branch, so that it vectorises
        known |= candidate == slot
    return known


@njit(inline="always", **COMPILE)
def take(slot: np.int64, distance: np.int32, distances: NDArray[np.int32], candidates: NDArray[np.int64]) -> None:
    """Merge one entry into the candidates, whatever its product code."""
    if distance < distances[-1] and not holds(candidates, slot):
        insert(distances, candidates, distance, slot)


@njit(**COMPILE)
def _adjust(
    searched: NDArray[np.bool_], limits: NDArray[np.int32], query: Query, units: np.float32
) -> tuple[np.float32, np.int64]:
    """Make the tables fit the limits of the actions that are still looked for.

    Returns the unit of the tables, 0 while there are none, and by a bit the actions whose entries all pass as there
    are not enough candidates yet.
    """
    distances, tables, error, margin = query.distances, query.tables, query.error, query.margin
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


@njit(inline="always", **COMPILE)
def _passing(
    block: int, count: int, product: NDArray[np.uint8], tables: NDArray[np.uint8], tabulated: bool, everyone: np.int64
) -> np.int64:
    """Tell by a bit which entries of a block pass."""
    passed = np.int64(0)
    for part in range(_parts(count)):
        place = np.int64(block) * PARTS + part
        lanes = lanes_within(product, place, tables, PASSING) if tabulated else np.int64(0)
        if everyone:
            lanes |= lanes_tagged(product, place, everyone)
        passed |= lanes << part * LANES_LOOKED_UP
    if count < LANES:
        passed &= (np.int64(1) << np.int64(count)) - 1
    return passed


@njit(inline="always", **COMPILE)
def _merge(
    places: NDArray[np.int64],
    code: NDArray[np.int16],
    candidates: Candidates,
    codes: Codes,
    members: NDArray[np.int32],
) -> bool:
    """Merge what passed into the candidates, by its scalar code; tell whether a limit has become nearer."""
    _, limits, distances, slots, neighbours = candidates
    scalar, product = codes.scalar, codes.product
    nearer = False
    for place in places:
        distance = code_distance(scalar, place, code, False)
        tag = tag_at(product, place)
        if distance < limits[tag] and distance < distances[tag, -1]:
            slot = members[place // LANES, place % LANES]
            if not holds(slots[tag], slot):
                insert(distances[tag], slots[tag], distance, slot)
                limits[tag] = limit_of(distances[tag, neighbours - 1])
                nearer = True
    return nearer


@njit(**COMPILE)
def scan(
    blocks: NDArray[np.int32],
    counts: NDArray[np.int32],
    query: Query,
    units: np.float32,
    candidates: Candidates,
    codes: Codes,
    members: NDArray[np.int32],
) -> np.float32:
    """Merge the entries of some blocks into the candidates; return the unit of the tables, 0 while there are none.

    As long as an action has not enough candidates all its entries pass, later those whose product codes are near
    enough. What passed waits for its scalar code to arrive from memory.
    """
    code, tables, scalar, product = query.code, query.tables, codes.scalar, codes.product
    waiting = np.empty(WAITING + LANES, np.int64)
    waits = 0
    units, everyone = _adjust(candidates.searched, candidates.limits, query, units)
    for index in range(len(blocks)):
        if index + BLOCKS_AHEAD < len(blocks):
            prefetch_block(product, blocks[index + BLOCKS_AHEAD], counts[index + BLOCKS_AHEAD])
        passed = _passing(blocks[index], counts[index], product, tables, units > 0, everyone)
        while passed:
            waiting[waits] = np.int64(blocks[index]) * LANES + lowest_bit(passed)
            prefetch(scalar, waiting[waits], scalar.shape[1])
            waits += 1
            passed &= passed - 1
        if waits >= WAITING or everyone or index == len(blocks) - 1:
            if _merge(waiting[:waits], code, candidates, codes, members):
                units, everyone = _adjust(candidates.searched, candidates.limits, query, units)
            waits = 0
    return units
