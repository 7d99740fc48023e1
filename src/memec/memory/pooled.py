"""The compiled half of the approximate search: filing entries as codes, and looking through the nearest clusters."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.blocks import CHAIN, FILLED, FIRST, NEXT, PLACE, SIZE, append, remove
from memec.memory.codes import PLANE, encode, plane_distance, prefetch, prefetch_nearer
from memec.memory.kernels import COMPILE, insert, squared_distance

LANES = 32
FARTHEST = np.int32(2**31 - 1)
# Rounding both codes moves a distance by about 0.4; entries this much beyond the k-th candidate are still re-ranked.
ROUNDING = np.float32(2.0)
# A float32 as an integer: 1 is this number, and 32 bins to an octave are left without its last bits.
BITS_OF_ONE, BITS_LEFT_OUT = np.int32(127 << 23), 18
SORTING_BINS = 32 * 22  # squared distances in a plane stay below 2**22
GROUPS_LOOKED_INTO = 4
# A search looks at this many entries of an action however small its share; one with fewer is searched in full.
LEAST_LOOKED_AT = 256
# A cluster whose squared distance is up to so many times that of the nearest is about as near.
ABOUT_AS_NEAR = np.int32(2)
# More of them mean no more to look at: far from everything, where a changed network's keys may be, all are.
MOST_ABOUT_AS_NEAR = 64
BLOCKS_AT_ONCE = 256
# Codes are asked for this many blocks ahead: 4 or 3 were best in a scan of blocks that are not in the cache.
BLOCKS_AHEAD = 4


@njit(inline="always", **COMPILE)
def _code_distance(codes: NDArray[np.int8], index: int, code: NDArray[np.int16]) -> np.int32:
    """Squared distance of a whole code stored in one piece."""
    total = np.int32(0)
    for begin in range(0, len(code), PLANE):
        total += plane_distance(codes, index * len(code) + begin, code, begin)
    return total


@njit(inline="always", **COMPILE)
def _store(code: NDArray[np.int16], codes: NDArray[np.int8], place: int) -> None:
    """Write a code at its place, plane by plane."""
    for plane in range(codes.shape[1]):
        for axis in range(PLANE):
            codes[place // LANES, plane, place % LANES, axis] = np.int8(code[plane * PLANE + axis])


@njit(**COMPILE)
def file(
    slots: NDArray[np.int64],
    keys: NDArray[np.float32],
    mean: NDArray[np.float32],
    axes: NDArray[np.float32],
    centres: NDArray[np.int8],
    group_centres: NDArray[np.int8],
    group_begins: NDArray[np.int32],
    codes: NDArray[np.int8],
    chains: NDArray[np.int32],
    members: NDArray[np.int32],
    places: NDArray[np.int32],
    free: NDArray[np.int32],
) -> None:
    """File each slot under its nearest centre, or one nearly as near."""
    clusters = len(centres)
    capacity = len(keys) // (len(chains) // clusters)
    planes = codes.shape[1]
    code = np.empty(planes * PLANE, np.int16)
    group_distances = np.empty(len(group_centres), np.int32)
    for slot in slots:
        if places[slot, CHAIN] >= 0:
            source, hole = remove(slot, chains, members, places, free)
            for plane in range(planes):
                for axis in range(PLANE):
                    moved = codes[source // LANES, plane, source % LANES, axis]
                    codes[hole // LANES, plane, hole % LANES, axis] = moved
        encode(keys[slot], mean, axes, code)
        for group in range(len(group_centres)):
            group_distances[group] = _code_distance(group_centres, group, code)
        nearest, nearest_distance = 0, FARTHEST
        for _ in range(min(GROUPS_LOOKED_INTO, len(group_centres))):
            group = int(np.argmin(group_distances))
            group_distances[group] = FARTHEST
            for cluster in range(group_begins[group], group_begins[group + 1]):
                distance = _code_distance(centres, cluster, code)
                if distance < nearest_distance:
                    nearest, nearest_distance = cluster, distance
        place = append(slot, slot // capacity * clusters + nearest, chains, members, places, free)
        _store(code, codes, place)


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
    codes: NDArray[np.int8],
    places: NDArray[np.int32],
) -> None:
    """Write the codes of all filed slots again, as they are not part of a checkpoint."""
    planes = codes.shape[1]
    code = np.empty(planes * PLANE, np.int16)
    for slot in range(len(places)):
        if places[slot, CHAIN] >= 0:
            encode(keys[slot], mean, axes, code)
            _store(code, codes, places[slot, PLACE])


@njit(**COMPILE)
def _sort_clusters(centre_planes: NDArray[np.int8], code: NDArray[np.int16], order: NDArray[np.int32]) -> int:
    """Order clusters from near to far, nearly, and return how many are about as near as the nearest.

    By the first plane of their centres: on keys of three games that finds the nearest entries as soon, in half the
    time. And by a counting sort, for a full one costs more than the search: its bins are the leading bits of how much
    farther a cluster is than the nearest, as a float, so they are narrow where it matters.
    """
    clusters = len(centre_planes)
    distances = np.empty(clusters, np.int32)
    least = FARTHEST
    for cluster in range(clusters):
        distances[cluster] = plane_distance(centre_planes, cluster * PLANE, code, 0)
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
    return np.int32(distance + 2 * ROUNDING * np.sqrt(np.float32(distance)) + ROUNDING * ROUNDING + 1)


@njit(inline="always", **COMPILE)
def _holds(candidates: NDArray[np.int64], slot: int) -> bool:
    known = False
    for candidate in candidates:  # without a branch, so that it vectorises
        known |= candidate == slot
    return known


@njit(inline="always", **COMPILE)
def _begin(place: np.int32, plane: int, planes: int) -> np.int64:
    """Return where in the flat codes a plane of the entry at this place begins."""
    return ((np.int64(place) // LANES * planes + plane) * LANES + np.int64(place) % LANES) * PLANE


@njit(**COMPILE)
def _scan(
    blocks: NDArray[np.int32],
    counts: NDArray[np.int32],
    todo: int,
    neighbours: int,
    code: NDArray[np.int16],
    candidate_distances: NDArray[np.int32],
    candidates: NDArray[np.int64],
    codes: NDArray[np.int8],
    members: NDArray[np.int32],
) -> None:
    """Merge the entries of some blocks into the candidates."""
    planes = codes.shape[1]
    distances = np.empty(LANES, np.int32)
    near = np.empty(LANES, np.int32)
    limit = _limit(candidate_distances[neighbours - 1])
    for index in range(todo):
        block = np.int64(blocks[index])
        count = counts[index]
        begin = block * planes * LANES * PLANE
        next_begin = np.int64(blocks[min(index + 1, todo - 1)]) * planes * LANES * PLANE
        later_begin = np.int64(blocks[min(index + BLOCKS_AHEAD, todo - 1)]) * planes * LANES * PLANE
        for lane in range(count):
            distances[lane] = plane_distance(codes, begin + lane * PLANE, code, 0)
            prefetch(codes, next_begin + lane * PLANE)
            prefetch_nearer(codes, later_begin + lane * PLANE)
        passed = 0
        for lane in range(count):  # without a branch, which would be mispredicted
            near[passed] = lane
            passed += distances[lane] < limit
        for index_near in range(passed):
            lane = near[index_near]
            distance = distances[lane]
            for plane in range(1, planes):
                distance += plane_distance(codes, begin + (plane * LANES + lane) * PLANE, code, plane * PLANE)
            if distance < limit and distance < candidate_distances[-1]:
                slot = members[block, lane]
                if not _holds(candidates, slot):
                    insert(candidate_distances, candidates, distance, slot)
                    limit = _limit(candidate_distances[neighbours - 1])


@njit(inline="always", **COMPILE)
def _spread(near: int) -> np.float64:
    """Return how many times the effort a query needs that has so many clusters about as near as the nearest."""
    return np.float64(np.sqrt(min(near, MOST_ABOUT_AS_NEAR)))


@njit(**COMPILE)
def needed_effort(
    query: NDArray[np.float32],
    action: int,
    slots: NDArray[np.int64],
    needed: NDArray[np.float64],
    mean: NDArray[np.float32],
    axes: NDArray[np.float32],
    centre_planes: NDArray[np.int8],
    chains: NDArray[np.int32],
    places: NDArray[np.int32],
    size: int,
) -> None:
    """Write the least effort at which a search comes to each of these entries of an action; 0 where there is none."""
    clusters = len(centre_planes)
    code = np.empty(axes.shape[1], np.int16)
    order = np.empty(clusters, np.int32)
    encode(query, mean, axes, code)
    spread = _spread(_sort_clusters(centre_planes, code, order))
    before = np.empty(clusters, np.int64)
    looked_at = 0
    for cluster in order:
        before[cluster] = looked_at
        looked_at += chains[action * clusters + cluster, SIZE]
    for index, slot in enumerate(slots):
        needed[index] = 0.0
        if slot >= 0:
            entries = before[places[slot, CHAIN] - action * clusters]
            if entries >= LEAST_LOOKED_AT:
                needed[index] = (entries + 2) / (size * spread)  # one more than it takes, for rounding


@njit(**COMPILE)
def nearest(
    queries: NDArray[np.float32],
    wanted: NDArray[np.bool_],
    squared_distances: NDArray[np.float32],
    slots: NDArray[np.int64],
    remember: bool,
    effort: float,
    keys: NDArray[np.float32],
    last_candidates: NDArray[np.int64],
    newest: NDArray[np.int64],
    mean: NDArray[np.float32],
    axes: NDArray[np.float32],
    centre_planes: NDArray[np.int8],
    codes: NDArray[np.int8],
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
    planes = codes.shape[1]
    code = np.empty(planes * PLANE, np.int16)
    order = np.empty(clusters, np.int32)
    blocks = np.empty(BLOCKS_AT_ONCE, np.int32)
    counts = np.empty(BLOCKS_AT_ONCE, np.int32)
    candidates = np.empty(last_candidates.shape[1], np.int64)
    candidate_distances = np.empty(last_candidates.shape[1], np.int32)
    for row in range(len(queries)):
        encode(queries[row], mean, axes, code)
        share = effort * _spread(_sort_clusters(centre_planes, code, order))
        for action in range(actions):
            if not wanted[row, action]:
                continue
            candidate_distances[:] = FARTHEST
            candidates[:] = -1
            for likely in (last_candidates[action], newest[action]):
                for slot in likely:
                    if slot >= 0:
                        prefetch(codes, _begin(places[slot, PLACE], 0, planes))
                for slot in likely:
                    if slot >= 0:
                        distance = plane_distance(codes, _begin(places[slot, PLACE], 0, planes), code, 0)
                        if distance >= candidate_distances[-1]:
                            continue
                        for plane in range(1, planes):
                            begin = _begin(places[slot, PLACE], plane, planes)
                            distance += plane_distance(codes, begin, code, plane * PLANE)
                        if distance < candidate_distances[-1] and not _holds(candidates, slot):
                            insert(candidate_distances, candidates, distance, slot)
            todo = 0
            budget = max(np.int64(share * sizes[action]), LEAST_LOOKED_AT)
            for cluster in order:
                chain = action * clusters + cluster
                block, count = chains[chain, FIRST], chains[chain, FILLED]
                budget -= chains[chain, SIZE]
                while block >= 0:
                    if todo == BLOCKS_AT_ONCE:
                        _scan(blocks, counts, todo, neighbours, code, candidate_distances, candidates, codes, members)
                        todo = 0
                    blocks[todo], counts[todo] = block, count
                    todo += 1
                    block, count = members[block, NEXT], np.int32(LANES)
                if budget <= 0:
                    break
            _scan(blocks, counts, todo, neighbours, code, candidate_distances, candidates, codes, members)
            limit = _limit(candidate_distances[neighbours - 1])
            ranked = 0
            while ranked < len(candidates) and candidates[ranked] >= 0 and candidate_distances[ranked] <= limit:
                for dimension in range(0, keys.shape[1], 16):
                    prefetch(keys, candidates[ranked] * keys.shape[1] + dimension)
                ranked += 1
            found_distances, found_slots = squared_distances[row, action], slots[row, action]
            found_distances[:] = np.inf
            found_slots[:] = -1
            for slot in candidates[:ranked]:
                distance = squared_distance(keys, slot, queries[row])
                if distance < found_distances[-1] or (distance == found_distances[-1] and slot < found_slots[-1]):
                    insert(found_distances, found_slots, distance, slot)
            if remember:
                candidates[ranked:] = -1
                last_candidates[action] = candidates
