"""Cluster centres in two levels, from a sample: groups of clusters, and the clusters of each group."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ITERATIONS = 5


@dataclass(frozen=True)
class Clusters:
    """Centres sorted by group, so that finding a nearest one means looking into the nearest few groups."""

    centres: NDArray[np.float32]
    group_centres: NDArray[np.float32]
    group_begins: NDArray[np.int32]
    """Where each group begins among the centres, and at the end their number."""

    @classmethod
    def fit(cls, points: NDArray[np.float32], clusters: int) -> "Clusters":
        """Find about `clusters` centres of points that come in random order, more where there are more points."""
        group_centres = k_means(points, max(1, round(clusters**0.5)))
        owner = nearest_centres(points, group_centres)
        centres = []
        for group in range(len(group_centres)):
            own = points[owner == group]
            centres.append(k_means(own, max(1, round(clusters * len(own) / len(points)))))
        begins = np.cumsum([0, *map(len, centres)]).astype(np.int32)
        return cls(np.concatenate(centres), group_centres, begins)


def k_means(points: NDArray[np.float32], clusters: int) -> NDArray[np.float32]:
    """Return the centres of clusters, started from the first points; those that end up empty are left out."""
    centres = points[:clusters].copy()
    for _ in range(ITERATIONS):
        owner = nearest_centres(points, centres)
        order = np.argsort(owner, kind="stable")
        _, begins = np.unique(owner[order], return_index=True)
        sums = np.add.reduceat(points[order], begins, axis=0, dtype=np.float64)
        centres = (sums / np.diff(begins, append=len(points))[:, None]).astype(np.float32)
    return centres


def nearest_centres(points: NDArray[np.float32], centres: NDArray[np.float32]) -> NDArray[np.intp]:
    """Return which centre is nearest to each point."""
    norms = np.einsum("ij,ij->i", centres, centres)
    owner = np.empty(len(points), np.intp)
    for begin in range(0, len(points), 4096):
        part = slice(begin, begin + 4096)
        owner[part] = (norms - 2 * points[part] @ centres.T).argmin(1)
    return owner
