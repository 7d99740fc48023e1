"""Which clusters of an approximate index are near a query, from near to far."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.codes import COARSER, FARTHEST
from memec.memory.intrinsics import PLANE, plane_distance
from memec.memory.kernels import COMPILE

# A float32 as an integer: 1 is this number, and 32 bins to an octave are left without its last bits.
BITS_OF_ONE, BITS_LEFT_OUT = np.int32(127 << 23), 18
SORTING_BINS = 32 * 28  # squared distances in a plane stay below 2**28


@njit(**COMPILE)
def sort_clusters(
    centre_planes: NDArray[np.int8],
    fine: NDArray[np.int32],
    code: NDArray[np.int16],
    distances: NDArray[np.int32],
    order: NDArray[np.int32],
) -> None:
    """Write how far clusters are, and order them from near to far, nearly.

    By the first plane of their centres: on keys of three games that finds the nearest entries as soon, in half the
    time. And by a counting sort, for a full one costs more than the search: its bins are the leading bits of how much
    farther a cluster is than the nearest, as a float, so they are narrow where it matters.
    """
    clusters = len(centre_planes)
    least = FARTHEST
    for cluster in range(fine[0]):
        distances[cluster] = plane_distance(centre_planes, cluster * PLANE, code, 0)
        least = min(least, distances[cluster])
    for cluster in range(fine[0], clusters):
        distance = plane_distance(centre_planes, cluster * PLANE, code, len(code) // 2)
        distances[cluster] = distance * np.int32(COARSER * COARSER)
        least = min(least, distances[cluster])
    farther = np.empty(clusters, np.float32)
    for cluster in range(clusters):
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
