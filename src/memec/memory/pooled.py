"""The compiled heart of the approximate search: looking through the nearest clusters of each action."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.blocks import CHAIN, FILLED, FIRST, NEXT, PLACE, SIZE
from memec.memory.codes import COARSER, FARTHEST, code_distance, encode, far_distance, squared_scale
from memec.memory.intrinsics import (
    LANES_LOOKED_UP,
    PLANE,
    lanes_within,
    lowest_bit,
    plane_distance,
    prefetch,
    prefetch_line,
)
from memec.memory.kernels import COMPILE, insert, squared_distance
from memec.memory.sketches import FEWEST_UNITS, POINTS, allowed, measure, needed_margin, tabulate

# Entries of a chain lie side by side this many at a time: what lies apart takes longer to come from memory. With the
# caches emptied before each query, a search of Pong took 266 us with blocks of 16, 175 with 32 and 162 with 64.
LANES = 64
PARTS = LANES // LANES_LOOKED_UP
# Rounding both codes moves a distance by about 0.4; entries this much beyond the k-th candidate are still re-ranked.
ROUNDING = np.float32(2.0)
# A float32 as an integer: 1 is this number, and 32 bins to an octave are left without its last bits.
BITS_OF_ONE, BITS_LEFT_OUT = np.int32(127 << 23), 18
SORTING_BINS = 32 * 28  # squared distances in a plane stay below 2**28
# A search looks at this many entries of an action however small its share; one with fewer is searched in full.
LEAST_LOOKED_AT = 256
# A cluster whose squared distance is up to so many times that of the nearest is about as near.
ABOUT_AS_NEAR = np.int32(2)
# More of them mean no more to look at: far from everything, where a changed network's keys may be, all are.
MOST_ABOUT_AS_NEAR = 64
BLOCKS_AT_ONCE = 256
# What is needed by entries that are not sketched: no margin is below.
NO_MARGIN = np.float32(-1)
# Sketches are asked for this many blocks ahead; codes whose sketches passed, while so many others are waited for.
BLOCKS_AHEAD, WAITING = 4, 12
# And so are the books of chains, and of those half as far ahead where they lead on to.
CHAINS_AHEAD = 8

Asked = tuple[NDArray[np.float32], NDArray[np.uint8], np.float32, np.float32]
"""What is asked of sketches: distances from all points, tables made of them, the error, the margin."""


@njit(**COMPILE)
def _sort_clusters(
    centre_planes: NDArray[np.int8], fine: NDArray[np.int32], code: NDArray[np.int16], order: NDArray[np.int32]
) -> int:
    """Order clusters from near to far, nearly, and return how many are about as near as the nearest.

    By the first plane of their centres: on keys of three games that finds the nearest entries as soon, in half the
    time. And by a counting sort, for a full one costs more than the search: its bins are the leading bits of how much
    farther a cluster is than the nearest, as a float, so they are narrow where it matters.
    """
    clusters = len(centre_planes)
    distances = np.empty(clusters, np.int32)
    least = FARTHEST
    for cluster in range(fine[0]):
        distances[cluster] = plane_distance(centre_planes, cluster * PLANE, code, 0)
        least = min(least, distances[cluster])
    for cluster in range(fine[0], clusters):
        distance = plane_distance(centre_planes, cluster * PLANE, code, len(code) // 2)
        distances[cluster] = distance * np.int32(COARSER * COARSER)
        least = min(least, distances[cluster])
    near = 0
    farther = np.empty(clusters, np.float32)
    for cluster in range(clusters):
        near += distances[cluster] <= ABOUT_AS_NEAR * least
        farther[cluster] = np.float32(1 + distances[cluster] - least)
    bins = farther.view(np.int32)
    begins = np.zeros(SORTING_BINS + 1, np.int32)
    for cluster in range(clusters):
        bins[cluster] = (bins[cluster] - BITS_OF_ONE) >> BITS_LEFT_OUT
        begins[bins[cluster] + 1] += 1
    for place in range(SORTING_BINS):
        begins[place + 1] += begins[place]
    for cluster in range(clusters):
        place = bins[cluster]
        order[begins[place]] = cluster
        begins[place] += 1
    return near


@njit(inline="always", **COMPILE)
def _limit(distance: np.int32) -> np.int32:
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
def _holds(candidates: NDArray[np.int64], slot: int) -> bool:
    known = False
    for candidate in candidates:  # without a branch, so that it vectorises
        known |= candidate == slot
    return known


@njit(inline="always", **COMPILE)
def _threshold(limit: np.int32, asked: Asked, units: np.float32) -> tuple[np.int64, np.float32]:
    """Return the sum up to which sketches pass, and its unit; first make tables, where there are none for the limit."""
    distances, tables, error, margin = asked
    most = allowed(limit, error, margin)
    if most * units < FEWEST_UNITS:
        units = tabulate(distances, most, tables)
    return np.int64(most * units) + 1, units


@njit(**COMPILE)
def _scan(
    blocks: NDArray[np.int32],
    counts: NDArray[np.int32],
    todo: int,
    neighbours: int,
    code: NDArray[np.int16],
    asked: Asked,
    units: np.float32,
    candidate_distances: NDArray[np.int32],
    candidates: NDArray[np.int64],
    codes: NDArray[np.int8],
    sketches: NDArray[np.uint8],
    members: NDArray[np.int32],
) -> np.float32:
    """Merge the entries of some blocks into the candidates; return the unit of the tables, 0 while there are none.

    As long as there are not enough candidates every entry passes, later those whose sketches are near enough. What
    passed waits for its code to arrive from memory.
    """
    size = sketches.shape[1] * LANES_LOOKED_UP
    waiting = np.empty(WAITING + LANES, np.int64)
    waits = 0
    threshold = np.int64(0)
    limit = _limit(candidate_distances[neighbours - 1])
    if limit < FARTHEST:
        threshold, units = _threshold(limit, asked, units)
    for index in range(todo):
        ahead = min(index + BLOCKS_AHEAD, todo - 1)
        prefetch(sketches, np.int64(blocks[ahead]) * PARTS, _parts(counts[ahead]) * size)
        for part in range(_parts(counts[index])):
            first = np.int64(blocks[index]) * LANES + part * LANES_LOOKED_UP
            passed = np.int64(-1)
            if units > 0:
                passed = lanes_within(sketches, first // LANES_LOOKED_UP, asked[1], threshold)
            passed &= (np.int64(1) << min(counts[index] - part * LANES_LOOKED_UP, LANES_LOOKED_UP)) - 1
            while passed:
                waiting[waits] = first + lowest_bit(passed)
                prefetch(codes, waiting[waits], codes.shape[1])
                waits += 1
                passed &= passed - 1
        if waits >= WAITING or units == 0 or index == todo - 1:
            for place in waiting[:waits]:
                distance = code_distance(codes, place, code, False)
                if distance < limit and distance < candidate_distances[-1]:
                    slot = members[place // LANES, place % LANES]
                    if not _holds(candidates, slot):
                        insert(candidate_distances, candidates, distance, slot)
                        limit = _limit(candidate_distances[neighbours - 1])
            waits = 0
            if limit < FARTHEST:
                threshold, units = _threshold(limit, asked, units)
    return units


@njit(inline="always", **COMPILE)
def _take(
    slot: np.int64, distance: np.int32, candidate_distances: NDArray[np.int32], candidates: NDArray[np.int64]
) -> None:
    """Merge one entry into the candidates, whatever its sketch."""
    if distance < candidate_distances[-1] and not _holds(candidates, slot):
        insert(candidate_distances, candidates, distance, slot)


@njit(inline="always", **COMPILE)
def _spread(near: int) -> np.float64:
    """Return how many times the effort a query needs that has so many clusters about as near as the nearest."""
    return np.float64(np.sqrt(min(near, MOST_ABOUT_AS_NEAR)))


@njit(**COMPILE)
def needed(
    query: NDArray[np.float32],
    action: int,
    slots: NDArray[np.int64],
    efforts: NDArray[np.float32],
    margins: NDArray[np.float32],
    keys: NDArray[np.float32],
    mean: NDArray[np.float32],
    axes: NDArray[np.float32],
    centre_planes: NDArray[np.int8],
    fine: NDArray[np.int32],
    points: NDArray[np.int8],
    mean_error: NDArray[np.float32],
    codes: NDArray[np.int8],
    sketches: NDArray[np.uint8],
    chains: NDArray[np.int32],
    places: NDArray[np.int32],
    size: int,
) -> None:
    """Write how little effort and margin a search needs to find each of these nearest."""
    clusters = len(centre_planes)
    actions = len(chains) // clusters
    code = np.empty(2 * axes.shape[1], np.int16)
    order = np.empty(clusters, np.int32)
    distances = np.empty((len(points), POINTS), np.float32)
    encode(query, mean, axes, code)
    error = max(measure(code, points, distances), mean_error[0])
    spread = _spread(_sort_clusters(centre_planes, fine, code, order))
    before = np.full(clusters, -1, np.int64)
    scale = squared_scale(axes)
    farthest = np.int32(0)
    left = 0
    for slot in slots:
        if slot >= 0:
            cluster = places[slot, CHAIN] // actions
            if cluster < fine[0]:
                farthest = max(farthest, code_distance(codes, places[slot, PLACE], code, False))
            else:
                farthest = max(farthest, far_distance(keys, slot, query, scale))
            left += before[cluster] == -1
            before[cluster] = -2  # to be met
    looked_at = 0
    for cluster in order:
        if left == 0:
            break
        left -= before[cluster] == -2
        before[cluster] = looked_at
        looked_at += chains[cluster * actions + action, SIZE]
    for index, slot in enumerate(slots):
        efforts[index], margins[index] = 0.0, NO_MARGIN
        if slot >= 0:
            entries = before[places[slot, CHAIN] // actions]
            if entries >= LEAST_LOOKED_AT:
                efforts[index] = (entries + 2) / (size * spread)  # one more than it takes, for rounding
            if places[slot, CHAIN] // actions < fine[0]:
                limit = _limit(farthest)
                margins[index] = needed_margin(distances, error, limit, sketches, places[slot, PLACE])


@njit(**COMPILE)
def nearest(
    queries: NDArray[np.float32],
    wanted: NDArray[np.bool_],
    squared_distances: NDArray[np.float32],
    slots: NDArray[np.int64],
    remember: bool,
    effort: float,
    margin: np.float32,
    keys: NDArray[np.float32],
    last_candidates: NDArray[np.int64],
    newest: NDArray[np.int64],
    mean: NDArray[np.float32],
    axes: NDArray[np.float32],
    centre_planes: NDArray[np.int8],
    fine: NDArray[np.int32],
    points: NDArray[np.int8],
    mean_error: NDArray[np.float32],
    codes: NDArray[np.int8],
    sketches: NDArray[np.uint8],
    chains: NDArray[np.int32],
    members: NDArray[np.int32],
    places: NDArray[np.int32],
    sizes: NDArray[np.int64],
) -> None:
    """Search each wanted action: the last candidates, the newest entries, then clusters up to some share of the rest.

    That is `effort` where one cluster is near. Where many are about as near, the neighbours are spread over more of
    them: the share grows with the root of their number. Counted on three games and on keys of a network, that needs a
    quarter to half fewer entries than the same share for every query. Candidates are picked by their codes and
    ranked by their keys.
    """
    actions, neighbours = slots.shape[1:]
    clusters = len(centre_planes)
    code = np.empty(2 * codes.shape[1], np.int16)
    distances = np.empty((len(points), POINTS), np.float32)
    tables = np.empty((len(points), POINTS), np.uint8)
    order = np.empty(clusters, np.int32)
    blocks = np.empty(BLOCKS_AT_ONCE, np.int32)
    counts = np.empty(BLOCKS_AT_ONCE, np.int32)
    candidates = np.empty(last_candidates.shape[1], np.int64)
    candidate_distances = np.empty(last_candidates.shape[1], np.int32)
    scale = squared_scale(axes)
    for row in range(len(queries)):
        encode(queries[row], mean, axes, code)
        asked = (distances, tables, max(measure(code, points, distances), mean_error[0]), margin)
        share = effort * _spread(_sort_clusters(centre_planes, fine, code, order))
        for action in range(actions):
            if not wanted[row, action]:
                continue
            candidate_distances[:] = FARTHEST
            candidates[:] = -1
            for likely in (last_candidates[action], newest[action]):
                for slot in likely:
                    if slot >= 0:
                        prefetch(codes, places[slot, PLACE], codes.shape[1])
                for slot in likely:
                    if slot >= 0:
                        if places[slot, CHAIN] < fine[0] * actions:
                            distance = code_distance(codes, places[slot, PLACE], code, False)
                        else:
                            distance = far_distance(keys, slot, queries[row], scale)
                        _take(slot, distance, candidate_distances, candidates)
            units = np.float32(0)
            todo = 0
            budget = max(np.int64(share * sizes[action]), LEAST_LOOKED_AT)
            for rank, cluster in enumerate(order):
                prefetch_line(chains, order[min(rank + 2 * CHAINS_AHEAD, clusters - 1)] * actions + action, 0)
                soon = chains[order[min(rank + CHAINS_AHEAD, clusters - 1)] * actions + action, FIRST]
                prefetch_line(members, soon, LANES * members.itemsize)  # what leads on from there
                chain = cluster * actions + action
                block, count, left = chains[chain, FIRST], chains[chain, FILLED], chains[chain, SIZE]
                budget -= left
                while left > 0:
                    if cluster >= fine[0]:
                        for member in members[block, :count]:
                            prefetch(keys, member, keys.itemsize * keys.shape[1])
                        for member in members[block, :count]:
                            distance = far_distance(keys, member, queries[row], scale)
                            _take(np.int64(member), distance, candidate_distances, candidates)
                    else:
                        blocks[todo], counts[todo] = block, count
                        todo += 1
                    if todo == BLOCKS_AT_ONCE:
                        units = _scan(
                            blocks, counts, todo, neighbours, code, asked, units,
                            candidate_distances, candidates, codes, sketches, members,
                        )  # fmt: skip
                        todo = 0
                    left -= count
                    if left > 0:
                        block, count = members[block, NEXT], np.int32(LANES)
                if budget <= 0:
                    break
            _scan(
                blocks, counts, todo, neighbours, code, asked, units,
                candidate_distances, candidates, codes, sketches, members,
            )  # fmt: skip
            limit = _limit(candidate_distances[neighbours - 1])
            ranked = 0
            while ranked < len(candidates) and candidates[ranked] >= 0 and candidate_distances[ranked] <= limit:
                prefetch(keys, candidates[ranked], keys.itemsize * keys.shape[1])
                ranked += 1
            found_distances, found_slots = squared_distances[row, action], slots[row, action]
            found_distances[:] = np.inf
            found_slots[:] = -1
            for slot in candidates[:ranked]:
                distance = squared_distance(keys, slot, queries[row])
                if distance < found_distances[-1] or (distance == found_distances[-1] and slot < found_slots[-1]):
                    insert(found_distances, found_slots, distance, slot)
            if remember:
                last_candidates[action] = candidates
