"""The compiled heart of the approximate search: looking through the nearest clusters of each action."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.blocks import CHAIN, FILLED, FIRST, PLACE
from memec.memory.codes import FARTHEST, LARGEST, code_distance, encode, far_distance, squared_scale
from memec.memory.intrinsics import prefetch, prefetch_line
from memec.memory.kernels import COMPILE, insert, squared_distance
from memec.memory.scanning import BLOCKS_AHEAD, LANES, holds, limit_of, prefetch_block, scan, take
from memec.memory.sketches import POINTS, measure, needed_margin
from memec.memory.sorting import measure_clusters, sort_clusters

# A search looks at this many entries of an action however small its share; one with fewer is searched in full.
LEAST_LOOKED_AT = 256
BLOCKS_AT_ONCE = 64
# A search may have a k-th candidate that is a little nearer by its code than the k-th nearest, and stop sooner.
ROUNDED_UP = 1.02
# What is needed by entries that are not sketched: no margin is below.
NO_MARGIN = np.float32(-1)
# The books of chains are asked for this many clusters ahead.
CHAINS_AHEAD = 8


@njit(inline="always", **COMPILE)
def _take_all(
    first: NDArray[np.int64],
    first_coarse_chain: int,
    query: NDArray[np.float32],
    code: NDArray[np.int16],
    scale: np.float32,
    candidate_distances: NDArray[np.int32],
    candidates: NDArray[np.int64],
    keys: NDArray[np.float32],
    codes: NDArray[np.int8],
    places: NDArray[np.int32],
) -> None:
    """Merge these slots into the candidates; -1 is nobody."""
    count = 0
    while count < len(candidates) and candidates[count] >= 0:
        count += 1
    for slot in first:
        if slot >= 0:
            if places[slot, CHAIN] < first_coarse_chain:
                distance = code_distance(codes, places[slot, PLACE], code, False)
            else:
                distance = far_distance(keys, slot, query, scale)
            if count == len(candidates):
                take(slot, distance, candidate_distances, candidates)
            elif not holds(candidates[:count], slot):
                count += 1  # what is still free need not move aside
                insert(candidate_distances[:count], candidates[:count], distance, slot)


@njit(inline="always", **COMPILE)
def _reach(effort: float, size: int, limit: np.int32) -> np.float64:
    """Return what a number of entries times the distance of a cluster must not exceed for it to be looked at."""
    return np.float64(np.inf if effort >= 1.0 or limit == FARTHEST else effort * size * limit)


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
    counts: NDArray[np.int32],
    places: NDArray[np.int32],
    size: int,
) -> None:
    """Write how little effort and margin a search needs to find each of these nearest."""
    clusters, together = len(centre_planes), counts.shape[1]
    chains_per_cluster = len(counts) // clusters
    chain, tag = action // together, action % together
    code = np.empty(2 * axes.shape[1], np.int16)
    away, order = np.empty(clusters, np.int32), np.empty(clusters, np.int32)
    distances = np.empty((points.shape[2], POINTS), np.float32)
    encode(query, mean, axes, code)
    error = max(measure(code, points, distances), mean_error[0])
    measure_clusters(centre_planes, fine, code, away)
    sort_clusters(away, order, True)
    before = np.full(clusters, -1, np.int64)
    scale = squared_scale(axes)
    farthest = np.int32(0)
    left = 0
    for slot in slots:
        if slot >= 0:
            cluster = places[slot, CHAIN] // chains_per_cluster
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
        looked_at += counts[cluster * chains_per_cluster + chain, tag]
    limit = limit_of(farthest)
    for index, slot in enumerate(slots):
        efforts[index], margins[index] = 0.0, NO_MARGIN
        if slot >= 0:
            cluster = places[slot, CHAIN] // chains_per_cluster
            if before[cluster] >= LEAST_LOOKED_AT:
                efforts[index] = min(ROUNDED_UP * before[cluster] * away[cluster] / (size * limit), 1.0)
            if cluster < fine[0]:
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
    likely: NDArray[np.int64],
    followers: NDArray[np.int32],
    mean: NDArray[np.float32],
    axes: NDArray[np.float32],
    centre_planes: NDArray[np.int8],
    fine: NDArray[np.int32],
    points: NDArray[np.int8],
    mean_error: NDArray[np.float32],
    codes: NDArray[np.int8],
    sketches: NDArray[np.uint8],
    counts: NDArray[np.int32],
    chains: NDArray[np.int32],
    members: NDArray[np.int32],
    nexts: NDArray[np.int32],
    places: NDArray[np.int32],
    sizes: NDArray[np.int64],
) -> None:
    """Search the wanted actions: the last candidates, what else is likely, then clusters up to some share of the rest.

    That is `effort` when a cluster is reached that is as far as an entry may be; where they are still nearer it is
    more, where they are farther less. Counted on recorded queries of three games, that needs a fourth to a third fewer
    entries than the same share for every query. Actions whose entries are filed together are searched together.
    Candidates are picked by their codes and ranked by their keys.
    """
    actions, neighbours = slots.shape[1:]
    together = counts.shape[1]
    clusters = len(centre_planes)
    chains_per_cluster = len(chains) // clusters
    capacity = len(keys) // actions
    code, within = np.empty(2 * codes.shape[1], np.int16), np.empty(codes.shape[1], np.int16)
    distances = np.empty((points.shape[2], POINTS), np.float32)
    tables = np.empty((len(distances) + 1, POINTS), np.uint8)
    away, order = np.empty(clusters, np.int32), np.empty(clusters, np.int32)
    blocks = np.empty(BLOCKS_AT_ONCE, np.int32)
    filled = np.empty(BLOCKS_AT_ONCE, np.int32)
    searched, goes_on = np.empty(together, np.bool_), np.empty(together, np.bool_)
    looked_at = np.empty(together, np.int64)
    reach = np.empty(together, np.float64)
    limits = np.empty(together, np.int32)
    candidates = np.empty((together, last_candidates.shape[1]), np.int64)
    candidate_distances = np.empty(candidates.shape, np.int32)
    scale = squared_scale(axes)
    for row in range(len(queries)):
        query = queries[row]
        # What is looked at first is asked for before the clusters are sorted: it has come when they are.
        for action in range(actions):
            if wanted[row, action]:
                for first in (last_candidates[action], likely[action]):
                    for slot in first:
                        prefetch_line(places, slot, 0)
        encode(query, mean, axes, code)
        for action in range(actions):
            if wanted[row, action]:
                for first in (last_candidates[action], likely[action]):
                    for slot in first:
                        if slot >= 0:
                            prefetch(codes, places[slot, PLACE], codes.shape[1])
        asked = (distances, tables, max(measure(code, points, distances), mean_error[0]), margin)
        within[:] = np.minimum(np.maximum(code[: len(within)], -LARGEST), LARGEST)
        measure_clusters(centre_planes, fine, code, away)
        in_order = sort_clusters(away, order, False)
        for begin in range(0, actions, together):
            end = min(begin + together, actions)
            if not wanted[row, begin:end].any():
                continue
            candidate_distances[:] = FARTHEST
            candidates[:] = -1
            searched[:] = False
            looked_at[:] = 0
            for action in range(begin, end):
                if wanted[row, action]:
                    tag = action - begin
                    searched[tag] = True
                    for first in (last_candidates[action], likely[action]):
                        _take_all(
                            first, fine[0] * chains_per_cluster, query, code, scale,
                            candidate_distances[tag], candidates[tag], keys, codes, places,
                        )  # fmt: skip
                    limits[tag] = limit_of(candidate_distances[tag, neighbours - 1])
                    reach[tag] = _reach(effort, sizes[action], limits[tag])
            goes_on[:] = searched
            units = np.float32(0)
            todo = 0
            for rank in range(clusters):
                if rank == in_order:
                    in_order = sort_clusters(away, order, True)
                cluster = order[rank]
                chain = cluster * chains_per_cluster + begin // together
                ahead = order[min(rank + CHAINS_AHEAD, in_order - 1)] * chains_per_cluster + begin // together
                prefetch_line(chains, ahead, 0)
                prefetch_line(counts, ahead, 0)
                here = anywhere = False
                for tag in range(together):
                    if goes_on[tag]:
                        enough = looked_at[tag] >= LEAST_LOOKED_AT and looked_at[tag] * away[cluster] > reach[tag]
                        goes_on[tag] = not enough
                        anywhere |= not enough
                        if not enough and counts[chain, tag] > 0:
                            here = True
                            looked_at[tag] += counts[chain, tag]
                if not anywhere:
                    break
                block, count = chains[chain, FIRST], chains[chain, FILLED]
                while here and block >= 0:
                    if cluster < fine[0]:
                        blocks[todo], filled[todo] = block, count
                        if todo < BLOCKS_AHEAD:
                            prefetch_block(sketches, block, count)
                        todo += 1
                    else:
                        for lane, member in enumerate(members[block, :count]):
                            tag = member // capacity - begin
                            if searched[tag]:
                                # What was cut off both can only have brought them nearer.
                                distance = code_distance(codes, np.int64(block) * LANES + lane, within, False)
                                if distance < limits[tag]:
                                    distance = far_distance(keys, member, query, scale)
                                    take(np.int64(member), distance, candidate_distances[tag], candidates[tag])
                                    limits[tag] = limit_of(candidate_distances[tag, neighbours - 1])
                    if todo == BLOCKS_AT_ONCE:
                        units = scan(
                            blocks, filled, todo, neighbours, code, asked, units, searched, limits,
                            candidate_distances, candidates, codes, sketches, members,
                        )  # fmt: skip
                        todo = 0
                        searched[:] = goes_on
                        for tag in range(end - begin):
                            reach[tag] = _reach(effort, sizes[begin + tag], limits[tag])
                    block, count = nexts[block], np.int32(LANES)
            scan(
                blocks, filled, todo, neighbours, code, asked, units, searched, limits,
                candidate_distances, candidates, codes, sketches, members,
            )  # fmt: skip
            for action in range(begin, end):
                if wanted[row, action]:
                    tag = action - begin
                    for slot in candidates[tag, : _ranked(candidate_distances[tag], neighbours)]:
                        prefetch(keys, slot, keys.itemsize * keys.shape[1])
                    if len(followers) > 0:
                        for slot in candidates[tag]:
                            prefetch_line(followers, slot, 0)
            for action in range(begin, end):
                if wanted[row, action]:
                    tag = action - begin
                    _rank(
                        query, candidates[tag, : _ranked(candidate_distances[tag], neighbours)], keys,
                        squared_distances[row, action], slots[row, action],
                    )  # fmt: skip
                    if remember:
                        last_candidates[action] = candidates[tag]
        if remember and len(followers) > 0:
            _expect(last_candidates, followers, capacity, likely)


@njit(**COMPILE)
def _expect(
    last_candidates: NDArray[np.int64], followers: NDArray[np.int32], capacity: int, likely: NDArray[np.int64]
) -> None:
    """Write what came after the last candidates, for the next search: the followers of the nearest ones first."""
    likely[:] = -1
    room = np.zeros(len(likely), np.int64)
    for rank in range(last_candidates.shape[1]):
        for candidates in last_candidates:
            follower = followers[candidates[rank]] if candidates[rank] >= 0 else np.int32(-1)
            if follower >= 0:
                action = follower // capacity
                if room[action] < likely.shape[1]:
                    likely[action, room[action]] = follower
                    room[action] += 1


@njit(inline="always", **COMPILE)
def _ranked(candidate_distances: NDArray[np.int32], neighbours: int) -> int:
    """Return how many candidates may belong to the nearest, so that their keys must tell."""
    limit = limit_of(candidate_distances[neighbours - 1])
    count = 0
    for distance in candidate_distances:  # they ascend
        count += distance <= limit and distance < FARTHEST
    return count


@njit(inline="always", **COMPILE)
def _rank(
    query: NDArray[np.float32],
    candidates: NDArray[np.int64],
    keys: NDArray[np.float32],
    found_distances: NDArray[np.float32],
    found_slots: NDArray[np.int64],
) -> None:
    """Fill in the nearest of the candidates, by their keys."""
    found_distances[:] = np.inf
    found_slots[:] = -1
    for slot in candidates:
        distance = squared_distance(keys, slot, query)
        if distance < found_distances[-1] or (distance == found_distances[-1] and slot < found_slots[-1]):
            insert(found_distances, found_slots, distance, slot)
