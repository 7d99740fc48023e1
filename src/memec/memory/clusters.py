"""Cluster centres in two levels, from a sample: groups of clusters, and the clusters of each group.

k-means is written out because the fits must not depend on how many threads a linear algebra library happens to use.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.kernels import COMPILE, squared_distance

ITERATIONS = 5
GROUPS_LOOKED_INTO = 4
GROUPED_BY = 8_192  # points that find the groups: there are few of them


@dataclass(frozen=True)
class Clusters:
    """Centres sorted by group, so that finding a nearest one means looking into the nearest few groups."""

    centres: NDArray[np.float32]
    group_centres: NDArray[np.float32]
    group_begins: NDArray[np.int32]
    """Where each group begins among the centres, and at the end their number."""

    @classmethod
    def fit(cls, points: NDArray[np.float32], clusters: int) -> "Clusters":
        """Find about `clusters` centres of points that come in random order.

        A group gets its share by the root of how many points it has and how far they lie from its centre. By their
        distance alone dense groups have clusters that are long to look through: searches of Ms. Pac-Man took a third
        longer. By their number alone those of Q*bert took two fifths longer.
        """
        group_centres = k_means(points[:GROUPED_BY], max(1, round(clusters**0.5)))
        owners, distances = nearest_centres(points, group_centres)
        groups = len(group_centres)
        weights = np.sqrt(np.bincount(owners, distances, groups) * np.bincount(owners, minlength=groups))
        shares = weights / max(weights.sum(), 1e-30)
        centres = [
            k_means(points[owners == group], max(1, round(clusters * share))) for group, share in enumerate(shares)
        ]
        begins = np.cumsum([0, *map(len, centres)]).astype(np.int32)
        return cls(_refined(points, np.concatenate(centres), group_centres, begins), group_centres, begins)


def k_means(points: NDArray[np.float32], clusters: int) -> NDArray[np.float32]:
    """Return the centres of clusters, started from the first points; those that end up empty are left out."""
    centres = points[:clusters].copy()
    for _ in range(ITERATIONS):
        sums, counts = _sums(points, nearest_centres(points, centres)[0], len(centres))
        centres = (sums[counts > 0] / counts[counts > 0, None]).astype(np.float32)
    return centres


@njit(**COMPILE)
def nearest_centres(
    points: NDArray[np.float32], centres: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return which centre is nearest to each point, and its squared distance."""
    owners = np.zeros(len(points), np.int64)
    distances = np.full(len(points), np.inf, np.float32)
    for index in range(len(points)):
        for centre in range(len(centres)):
            distance = squared_distance(centres, centre, points[index])
            if distance < distances[index]:
                owners[index], distances[index] = centre, distance
    return owners, distances


@njit(**COMPILE)
def _refined(
    points: NDArray[np.float32],
    centres: NDArray[np.float32],
    group_centres: NDArray[np.float32],
    group_begins: NDArray[np.int32],
) -> NDArray[np.float32]:
    """Move each centre to the mean of the points nearest to it, also those of other groups near by."""
    owners = np.zeros(len(points), np.int64)
    group_distances = np.empty(len(group_centres), np.float32)
    for index in range(len(points)):
        for group in range(len(group_centres)):
            group_distances[group] = squared_distance(group_centres, group, points[index])
        nearest = np.float32(np.inf)
        for _ in range(min(GROUPS_LOOKED_INTO, len(group_centres))):
            group = int(np.argmin(group_distances))
            group_distances[group] = np.inf
            for centre in range(group_begins[group], group_begins[group + 1]):
                distance = squared_distance(centres, centre, points[index])
                if distance < nearest:
                    owners[index], nearest = centre, distance
    sums, counts = _sums(points, owners, len(centres))
    moved = centres.copy()
    for centre in range(len(centres)):
        if counts[centre] > 0:
            for axis in range(centres.shape[1]):
                moved[centre, axis] = sums[centre, axis] / counts[centre]
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
