"""The coarse quantiser: centroids in two levels, fitted to a sample: groups of clusters, and the clusters of each.

k-means is written out because the fits must not depend on how many threads a linear algebra library happens to use.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.compiled.kernels import COMPILE, squared_distance
from memec.memory.search_tuning import TUNING

ITERATIONS = 5
GROUPS_LOOKED_INTO = TUNING.groups_looked_into
GROUPED_BY = 8_192  # points that find the groups: there are few of them


@dataclass(frozen=True)
class Coarse:
    """Centroids sorted by group, so that finding a nearest one means looking into the nearest few groups."""

    centroids: NDArray[np.float32]
    group_centroids: NDArray[np.float32]
    group_begins: NDArray[np.int32]
    """Where each group begins among the centroids, and at the end their number."""

    @classmethod
    def fit(cls, points: NDArray[np.float32], clusters: int) -> "Coarse":
        """Find about `clusters` centroids of points that come in random order.

        A group gets its share by the root of how many points it has and how far they lie from its centroid: by their
        distance alone dense groups would have long lists, by their number alone wide groups would.
        """
        group_centroids = k_means(points[:GROUPED_BY], max(1, round(clusters**0.5)))
        owners, distances = nearest_centroids(points, group_centroids)
        groups = len(group_centroids)
        weights = np.sqrt(np.bincount(owners, distances, groups) * np.bincount(owners, minlength=groups))
        shares = weights / max(weights.sum(), 1e-30)
        centroids = [
            k_means(points[owners == group], max(1, round(clusters * share))) for group, share in enumerate(shares)
        ]
        begins = np.cumsum([0, *map(len, centroids)]).astype(np.int32)
        return cls(_refined(points, np.concatenate(centroids), group_centroids, begins), group_centroids, begins)


def k_means(points: NDArray[np.float32], clusters: int) -> NDArray[np.float32]:
    """Return the centroids of clusters, started from the first points; those that end up empty are left out."""
    centroids = points[:clusters].copy()
    for _ in range(ITERATIONS):
        sums, counts = _sums(points, nearest_centroids(points, centroids)[0], len(centroids))
        centroids = (sums[counts > 0] / counts[counts > 0, None]).astype(np.float32)
    return centroids


@njit(**COMPILE)
def nearest_centroids(
    points: NDArray[np.float32], centroids: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return which centroid is nearest to each point, and its squared distance."""
    owners = np.zeros(len(points), np.int64)
    distances = np.full(len(points), np.inf, np.float32)
    for index in range(len(points)):
        for centroid in range(len(centroids)):
            distance = squared_distance(centroids, centroid, points[index])
            if distance < distances[index]:
                owners[index], distances[index] = centroid, distance
    return owners, distances


@njit(**COMPILE)
def _refined(
    points: NDArray[np.float32],
    centroids: NDArray[np.float32],
    group_centroids: NDArray[np.float32],
    group_begins: NDArray[np.int32],
) -> NDArray[np.float32]:
    """Move each centroid to the mean of the points nearest to it, also those of other groups near by."""
    owners = np.zeros(len(points), np.int64)
    group_distances = np.empty(len(group_centroids), np.float32)
    for index in range(len(points)):
        for group in range(len(group_centroids)):
            group_distances[group] = squared_distance(group_centroids, group, points[index])
        nearest = np.float32(np.inf)
        for _ in range(min(GROUPS_LOOKED_INTO, len(group_centroids))):
            group = int(np.argmin(group_distances))
            group_distances[group] = np.inf
            for centroid in range(group_begins[group], group_begins[group + 1]):
                distance = squared_distance(centroids, centroid, points[index])
                if distance < nearest:
                    owners[index], nearest = centroid, distance
    sums, counts = _sums(points, owners, len(centroids))
    moved = centroids.copy()
    for centroid in range(len(centroids)):
        if counts[centroid] > 0:
            for axis in range(centroids.shape[1]):
                moved[centroid, axis] = sums[centroid, axis] / counts[centroid]
    return moved


@njit(**COMPILE)
def _sums(
    points: NDArray[np.float32], owners: NDArray[np.int64], clusters: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the sum and the number of the points of each cluster."""
    sums = np.zeros((clusters, points.shape[1]))
    counts = np.zeros(clusters, np.int64)
    for index in range(len(points)):
        counts[owners[index]] += 1
        for axis in range(points.shape[1]):
            sums[owners[index], axis] += points[index, axis]
    return sums, counts
