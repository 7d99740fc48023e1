"""How entries get into an index: as codes, in the inverted list of the nearest centroid.

Actions may share a list: their entries are tagged.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.compiled.handle import Rows
from memec.memory.compiled.kernels import COMPILE
from memec.memory.compiled.lists import LIST, PLACE, append, remove
from memec.memory.ivf.coarse import GROUPS_LOOKED_INTO
from memec.memory.ivf.contents import Codes, Quantisers, read_contents
from memec.memory.ivf.product import move, quantise, tag_at
from memec.memory.ivf.scalar import FARTHEST, LARGEST, code_distance, encode


@njit(inline="always", **COMPILE)
def _store(code: NDArray[np.int16], codewords: NDArray[np.int8], codes: Codes, place: int, tag: int) -> None:
    """Write both codes of an entry at its place."""
    for axis in range(codes.scalar.shape[1]):
        code[axis] = min(max(code[axis], -LARGEST), LARGEST)  # the product quantiser's is of what is stored
        codes.scalar[place, axis] = np.int8(code[axis])
    quantise(code, codewords, codes.product, place, tag)


@njit(inline="always", **COMPILE)
def _nearest_centroid(code: NDArray[np.int16], coarse: bool, quantisers: Quantisers) -> int:
    """Return which centroid is nearest, or one nearly as near: those of the nearest few groups are looked at."""
    centroids, group_centroids, begins = quantisers.centroids, quantisers.group_centroids, quantisers.group_begins
    fine_groups, groups = quantisers.fine[1], len(group_centroids)
    begin, end = (fine_groups, groups) if coarse else (0, fine_groups)
    group_distances = np.full(groups, FARTHEST, np.int32)
    for group in range(begin, end):
        group_distances[group] = code_distance(group_centroids, group, code, coarse)
    nearest, nearest_distance = int(begins[begin]), FARTHEST
    for _ in range(min(GROUPS_LOOKED_INTO, end - begin)):
        group = int(np.argmin(group_distances))
        group_distances[group] = FARTHEST
        for cluster in range(begins[group], begins[group + 1]):
            distance = code_distance(centroids, cluster, code, coarse)
            if distance < nearest_distance:
                nearest, nearest_distance = cluster, distance
    return nearest


@njit(**COMPILE)
def add(slots: NDArray[np.int64], index: Rows) -> None:
    """Put each slot into the list of its nearest centroid: of a coarse one where its key lies outside the codes."""
    keys, sizes, quantisers, codes, lists = read_contents(index)
    capacity = len(keys) // len(sizes)
    together = codes.counts.shape[1]
    lists_per_cluster = len(lists.heads) // len(quantisers.centroids)
    code = np.empty(2 * codes.scalar.shape[1], np.int16)
    for slot in slots:
        action = slot // capacity
        tag = action % together
        if lists.places[slot, LIST] >= 0:
            codes.counts[lists.places[slot, LIST], tag] -= 1
            source, hole = remove(slot, lists)
            codes.scalar[hole] = codes.scalar[source]
            move(codes.product, source, hole)
        outside = encode(keys[slot], quantisers.mean, quantisers.axes, code)
        coarse = outside and quantisers.fine[1] < len(quantisers.group_centroids)
        to = _nearest_centroid(code, coarse, quantisers) * lists_per_cluster + action // together
        place = append(slot, to, lists)
        codes.counts[to, tag] += 1
        _store(code, quantisers.codewords, codes, place, tag)


@njit(**COMPILE)
def not_added(sizes: NDArray[np.int64], index: Rows, begin: int, count: int) -> tuple[NDArray[np.int64], int]:
    """Return up to `count` entries from slot `begin` on that the index lacks, and where to go on after them."""
    places = read_contents(index).lists.places
    capacity = len(places) // len(sizes)
    slots = np.empty(min(count, len(places) - begin), np.int64)
    found = 0
    while begin < len(places) and found < count:
        if begin % capacity < sizes[begin // capacity] and places[begin, LIST] < 0:
            slots[found] = begin
            found += 1
        begin += 1
    return slots[:found], begin


@njit(**COMPILE)
def encode_all(index: Rows) -> None:
    """Count and write the codes of all that is in the lists, as neither is part of a checkpoint."""
    keys, sizes, quantisers, codes, lists = read_contents(index)
    capacity = len(keys) // len(sizes)
    code = np.empty(2 * codes.scalar.shape[1], np.int16)
    for slot in range(len(keys)):
        of, tag = lists.places[slot, LIST], slot // capacity % codes.counts.shape[1]
        if of >= 0:
            codes.counts[of, tag] += 1
            encode(keys[slot], quantisers.mean, quantisers.axes, code)
            _store(code, quantisers.codewords, codes, lists.places[slot, PLACE], tag)


@njit(**COMPILE)
def put_back(slots: NDArray[np.int64], scalar_codes: NDArray[np.int8], index: Rows) -> None:
    """Put back the codes of slots whose keys have moved since they were added."""
    contents = read_contents(index)
    codes, codewords, places = contents.codes, contents.quantisers.codewords, contents.lists.places
    for row, slot in enumerate(slots):
        place = places[slot, PLACE]
        codes.scalar[place] = scalar_codes[row]
        quantise(scalar_codes[row].astype(np.int16), codewords, codes.product, place, tag_at(codes.product, place))
