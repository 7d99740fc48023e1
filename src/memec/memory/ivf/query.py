"""The compiled heart of the approximate search: probing the nearest inverted lists of every action."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.compiled.handle import Rows
from memec.memory.compiled.intrinsics import LANES, prefetch, prefetch_line
from memec.memory.compiled.kernels import COMPILE, insert, rerank
from memec.memory.compiled.lists import FILLED, FIRST, LIST, PLACE
from memec.memory.ivf.contents import Contents, read_contents
from memec.memory.ivf.fast_scan import BLOCKS_AHEAD, Candidates, Query, holds, limit_of, prefetch_block, scan, take
from memec.memory.ivf.hints import Known, expect, read_hints
from memec.memory.ivf.nearest_lists import measure_lists, sort_lists
from memec.memory.ivf.product import CODEWORDS, measure, needed_margin
from memec.memory.ivf.scalar import FARTHEST, LARGEST, code_distance, encode, far_distance, squared_scale
from memec.memory.search_tuning import TUNING

# A search scans this many entries of an action however small its share; one with fewer is scanned in full.
LEAST_SCANNED = TUNING.least_scanned
BLOCKS_AT_ONCE = 64
# A search may have a k-th candidate that is a little nearer by its code than the k-th nearest, and stop sooner.
ROUNDED_UP = 1.02
# What is needed by entries that have no product code: no margin is below.
NO_MARGIN = np.float32(-1)
# The heads of lists are asked for this many lists ahead.
LISTS_AHEAD = 8


class Effort(NamedTuple):
    """How far a search looks."""

    share: float
    """Of an action's entries, those that are scanned by the time that lists are as far as the last candidate."""
    margin: float
    """How much farther than it should be an entry may be by its product code."""


class Walk(NamedTuple):
    """Where a search has come to on its way from the nearest list on."""

    away: NDArray[np.int32]
    order: NDArray[np.int32]
    blocks: NDArray[np.int32]
    """Blocks that are to be scanned next."""
    filled: NDArray[np.int32]
    goes_on: NDArray[np.bool_]
    scanned: NDArray[np.int64]
    """How many entries of each action, by tag."""
    reach: NDArray[np.float64]
    """What that times the distance of a list must not exceed for it to be probed."""


@njit(inline="always", **COMPILE)
def _reach(share: float, size: int, limit: np.int32) -> np.float64:
    """Return what a number of entries times the distance of a list must not exceed for it to be probed."""
    return np.float64(np.inf if share >= 1.0 or limit == FARTHEST else share * size * limit)


@njit(**COMPILE)
def needed(query: NDArray[np.float32], action: int, slots: NDArray[np.int64], index: Rows) -> NDArray[np.float32]:
    """Return how little share and margin a search needs to find each of these nearest."""
    keys, sizes, quantisers, codes, lists = read_contents(index)
    fine, places, counts = quantisers.fine, lists.places, codes.counts
    clusters, together = len(quantisers.planes), counts.shape[1]
    lists_per_cluster = len(counts) // clusters
    code = np.empty(2 * codes.scalar.shape[1], np.int16)
    away, order = np.empty(clusters, np.int32), np.empty(clusters, np.int32)
    distances = np.empty((quantisers.codewords.shape[2], CODEWORDS), np.float32)
    encode(query, quantisers.mean, quantisers.axes, code)
    error = max(measure(code, quantisers.codewords, distances), quantisers.error[0])
    measure_lists(quantisers.planes, fine, code, away)
    sort_lists(away, order, True)
    scale = squared_scale(quantisers.axes)
    farthest = np.int32(0)
    for slot in slots:
        if slot >= 0 and places[slot, LIST] // lists_per_cluster < fine[0]:
            farthest = max(farthest, code_distance(codes.scalar, places[slot, PLACE], code, False))
        elif slot >= 0:
            farthest = max(farthest, far_distance(keys, slot, query, scale))
    own = counts[action // together :: lists_per_cluster, action % together]
    before = _scanned_before(slots, places, lists_per_cluster, order, own)
    limit = limit_of(farthest)
    result = np.empty((2, len(slots)), np.float32)
    for at, slot in enumerate(slots):
        result[0, at], result[1, at] = 0.0, NO_MARGIN
        if slot >= 0:
            cluster = places[slot, LIST] // lists_per_cluster
            if before[cluster] >= LEAST_SCANNED:
                result[0, at] = min(ROUNDED_UP * before[cluster] * away[cluster] / (sizes[action] * limit), 1.0)
            if cluster < fine[0]:
                result[1, at] = needed_margin(distances, error, limit, codes.product, places[slot, PLACE])
    return result


@njit(**COMPILE)
def _scanned_before(
    slots: NDArray[np.int64],
    places: NDArray[np.int32],
    lists_per_cluster: int,
    order: NDArray[np.int32],
    counts: NDArray[np.int32],
) -> NDArray[np.int64]:
    """Return how many entries a search scans before it comes to each of the clusters that these slots are in."""
    before = np.full(len(order), -1, np.int64)
    left = 0
    for slot in slots:
        if slot >= 0:
            cluster = places[slot, LIST] // lists_per_cluster
            left += before[cluster] == -1
            before[cluster] = -2  # to be met
    scanned = 0
    for cluster in order:
        if left == 0:
            break
        left -= before[cluster] == -2
        before[cluster] = scanned
        scanned += counts[cluster]
    return before


@njit(**COMPILE)
def nearest(
    queries: NDArray[np.float32],
    wanted: NDArray[np.bool_],
    squared_distances: NDArray[np.float32],
    slots: NDArray[np.int64],
    remember: bool,
    effort: Effort,
    hints: Rows,
    index: Rows,
) -> None:
    """Search the wanted actions: the last candidates, what else is likely, then lists up to some share of the rest.

    That is the effort's when a list is reached that is as far as an entry may be; where they are still nearer it is
    more, where they are farther less. Counted on recorded queries of three games, that needs a fourth to a third fewer
    entries than the same share for every query. Actions whose entries are in the same lists are searched together.
    Candidates are picked by their codes and re-ranked by their keys.
    """
    contents, known = read_contents(index), read_hints(hints)
    keys, _, quantisers, codes, lists = contents
    actions, neighbours = slots.shape[1:]
    together, clusters, size = codes.counts.shape[1], len(quantisers.planes), codes.scalar.shape[1]
    code, clipped = np.empty(2 * size, np.int16), np.empty(size, np.int16)
    distances = np.empty((quantisers.codewords.shape[2], CODEWORDS), np.float32)
    tables = np.empty((len(distances) + 1, CODEWORDS), np.uint8)
    walk = Walk(
        np.empty(clusters, np.int32), np.empty(clusters, np.int32),
        np.empty(BLOCKS_AT_ONCE, np.int32), np.empty(BLOCKS_AT_ONCE, np.int32),
        np.empty(together, np.bool_), np.empty(together, np.int64), np.empty(together, np.float64),
    )  # fmt: skip
    candidate_slots = np.empty((together, known.last_candidates.shape[1]), np.int64)
    candidates = Candidates(
        np.empty(together, np.bool_), np.empty(together, np.int32),
        np.empty(candidate_slots.shape, np.int32), candidate_slots, neighbours,
    )  # fmt: skip
    scale = squared_scale(quantisers.axes)
    for row in range(len(queries)):
        # What is tried first is asked for before the lists are sorted: it has come when they are.
        _prefetch_places(wanted[row], known, lists.places)
        encode(queries[row], quantisers.mean, quantisers.axes, code)
        _prefetch_codes(wanted[row], known, lists.places, codes.scalar)
        error = max(measure(code, quantisers.codewords, distances), quantisers.error[0])
        query = Query(queries[row], code, clipped, distances, tables, error, np.float32(effort.margin), scale)
        clipped[:] = np.minimum(np.maximum(code[:size], -LARGEST), LARGEST)
        measure_lists(quantisers.planes, quantisers.fine, code, walk.away)
        in_order = sort_lists(walk.away, walk.order, False)
        for begin in range(0, actions, together):
            own = wanted[row, begin : min(begin + together, actions)]
            if not own.any():
                continue
            _begin(begin, own, effort.share, query, known, candidates, walk, contents)
            in_order = _probe(begin, in_order, effort.share, query, candidates, walk, contents)
            for tag in range(len(own)):
                if own[tag]:
                    found = candidate_slots[tag]
                    for slot in found[: _ranked(candidates.distances[tag], neighbours)]:
                        prefetch(keys, slot, keys.itemsize * keys.shape[1])
                    if len(known.followers) > 0:
                        for slot in found:
                            prefetch_line(known.followers, slot, 0)
            for tag in range(len(own)):
                if own[tag]:
                    action, found = begin + tag, candidate_slots[tag]
                    ranked = found[: _ranked(candidates.distances[tag], neighbours)]
                    rerank(queries[row], ranked, keys, squared_distances[row, action], slots[row, action])
                    if remember:
                        known.last_candidates[action] = found
        if remember and len(known.followers) > 0:
            expect(known, len(keys) // actions)


@njit(inline="always", **COMPILE)
def _prefetch_places(wanted: NDArray[np.bool_], known: Known, places: NDArray[np.int32]) -> None:
    """Ask for where the hints are in the lists."""
    for action in range(len(wanted)):
        if wanted[action]:
            for hinted in (known.last_candidates[action], known.likely[action]):
                for slot in hinted:
                    prefetch_line(places, slot, 0)


@njit(inline="always", **COMPILE)
def _prefetch_codes(
    wanted: NDArray[np.bool_], known: Known, places: NDArray[np.int32], scalar: NDArray[np.int8]
) -> None:
    """Ask for the codes of the hints."""
    for action in range(len(wanted)):
        if not wanted[action]:
            continue
        for hinted in (known.last_candidates[action], known.likely[action]):
            for slot in hinted:
                if slot >= 0:
                    prefetch(scalar, places[slot, PLACE], scalar.shape[1])


@njit(inline="always", **COMPILE)
def _begin(
    begin: int,
    wanted: NDArray[np.bool_],
    share: float,
    query: Query,
    known: Known,
    candidates: Candidates,
    walk: Walk,
    contents: Contents,
) -> None:
    """Start with the hints as candidates of the actions from `begin` on."""
    first_coarse_list = contents.quantisers.fine[0] * (len(contents.lists.heads) // len(contents.quantisers.planes))
    candidates.distances[:] = FARTHEST
    candidates.slots[:] = -1
    candidates.searched[:] = False
    walk.scanned[:] = 0
    for tag in range(len(wanted)):
        if wanted[tag]:
            candidates.searched[tag] = True
            for hinted in (known.last_candidates[begin + tag], known.likely[begin + tag]):
                _take_all(hinted, first_coarse_list, query, candidates.distances[tag], candidates.slots[tag], contents)
            candidates.limits[tag] = limit_of(candidates.distances[tag, candidates.neighbours - 1])
            walk.reach[tag] = _reach(share, contents.sizes[begin + tag], candidates.limits[tag])
    walk.goes_on[:] = candidates.searched


@njit(inline="always", **COMPILE)
def _take_all(
    hinted: NDArray[np.int64],
    first_coarse_list: int,
    query: Query,
    distances: NDArray[np.int32],
    candidates: NDArray[np.int64],
    contents: Contents,
) -> None:
    """Merge these slots into the candidates of an action; -1 is nobody."""
    keys, places, scalar, code = contents.keys, contents.lists.places, contents.codes.scalar, query.code
    count = 0
    while count < len(candidates) and candidates[count] >= 0:
        count += 1
    for slot in hinted:
        if slot >= 0:
            if places[slot, LIST] < first_coarse_list:
                distance = code_distance(scalar, places[slot, PLACE], code, False)
            else:
                distance = far_distance(keys, slot, query.key, query.scale)
            if count == len(candidates):
                take(slot, distance, distances, candidates)
            elif not holds(candidates[:count], slot):
                count += 1  # what is still free need not move aside
                insert(distances[:count], candidates[:count], distance, slot)


@njit(**COMPILE)
def _probe(
    begin: int,
    in_order: int,
    share: float,
    query: Query,
    candidates: Candidates,
    walk: Walk,
    contents: Contents,
) -> int:
    """Go from list to list until none may hold what is nearer; return how many lists are in order now."""
    away, order, blocks, filled, goes_on, scanned, reach = walk
    _, sizes, quantisers, codes, lists = contents
    heads, nexts, counts, fine_clusters = lists.heads, lists.nexts, codes.counts, quantisers.fine[0]
    together = counts.shape[1]
    lists_per_cluster = len(heads) // len(order)
    group = begin // together
    units = np.float32(0)
    todo = 0
    for rank in range(len(order)):
        if rank == in_order:
            in_order = sort_lists(away, order, True)
        cluster = order[rank]
        of = cluster * lists_per_cluster + group
        ahead = order[min(rank + LISTS_AHEAD, in_order - 1)] * lists_per_cluster + group
        prefetch_line(heads, ahead, 0)
        prefetch_line(counts, ahead, 0)
        here = anywhere = False
        for tag in range(together):
            if goes_on[tag]:
                enough = scanned[tag] >= LEAST_SCANNED and scanned[tag] * away[cluster] > reach[tag]
                goes_on[tag] = not enough
                anywhere |= not enough
                if not enough and counts[of, tag] > 0:
                    here = True
                    scanned[tag] += counts[of, tag]
        if not anywhere:
            break
        block, count = heads[of, FIRST], heads[of, FILLED]
        while here and block >= 0:
            if cluster < fine_clusters:
                blocks[todo], filled[todo] = block, count
                if todo < BLOCKS_AHEAD:
                    prefetch_block(codes.product, block, count)
                todo += 1
            else:
                _scan_coarse(block, count, begin, query, candidates, contents)
            if todo == BLOCKS_AT_ONCE:
                units = scan(blocks, filled, query, units, candidates, codes, lists.members)
                todo = 0
                candidates.searched[:] = goes_on
                for tag in range(min(together, len(sizes) - begin)):
                    reach[tag] = _reach(share, sizes[begin + tag], candidates.limits[tag])
            block, count = nexts[block], np.int32(LANES)
    scan(blocks[:todo], filled[:todo], query, units, candidates, codes, lists.members)
    return in_order


@njit(inline="always", **COMPILE)
def _scan_coarse(
    block: int,
    count: int,
    begin: int,
    query: Query,
    candidates: Candidates,
    contents: Contents,
) -> None:
    """Merge a block of keys that lie outside the codes' range, by the keys themselves."""
    keys, members, scalar = contents.keys, contents.lists.members, contents.codes.scalar
    limits = candidates.limits
    capacity = len(keys) // len(contents.sizes)
    for lane, member in enumerate(members[block, :count]):
        tag = member // capacity - begin
        if candidates.searched[tag]:
            # What was cut off both can only have brought them nearer.
            distance = code_distance(scalar, np.int64(block) * LANES + lane, query.clipped, False)
            if distance < limits[tag]:
                distance = far_distance(keys, member, query.key, query.scale)
                take(np.int64(member), distance, candidates.distances[tag], candidates.slots[tag])
                limits[tag] = limit_of(candidates.distances[tag, candidates.neighbours - 1])


@njit(inline="always", **COMPILE)
def _ranked(distances: NDArray[np.int32], neighbours: int) -> int:
    """Return how many candidates may belong to the nearest, so that their keys must tell."""
    limit = limit_of(distances[neighbours - 1])
    count = 0
    for distance in distances:  # they ascend
        count += distance <= limit and distance < FARTHEST
    return count
