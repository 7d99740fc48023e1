"""Cut a space of few dimensions into cells that hold equally many keys (a k-d tree of medians)."""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.compiled.kernels import COMPILE


@dataclass(frozen=True)
class Cells:
    """A full binary tree in heap order: cut `node` sends a key on to `2 * node + 1` or, if larger, `2 * node + 2`."""

    dimensions: NDArray[np.int32]
    values: NDArray[np.float32]

    @classmethod
    def whole(cls) -> "Cells":
        """Do not cut at all: one cell."""
        return cls(np.zeros(0, np.int32), np.zeros(0, np.float32))

    @classmethod
    def cut(cls, keys: NDArray[np.float32], levels: int) -> "Cells":
        """Cut into 2 ** levels cells, each time at the median of the dimension that spreads most."""
        cuts = 2**levels - 1
        cells = cls(np.zeros(cuts, np.int32), np.zeros(cuts, np.float32))
        _cut(keys, cells.dimensions, cells.values)
        return cells

    def __len__(self) -> int:
        return len(self.values) + 1


@njit(inline="always", **COMPILE)
def cell_of(key: NDArray[np.float32], dimensions: NDArray[np.int32], values: NDArray[np.float32]) -> int:
    """Walk down the tree to the cell a key belongs to."""
    node = 0
    while node < len(values):
        node = 2 * node + 1 + int(key[dimensions[node]] > values[node])
    return node - len(values)


@njit(**COMPILE)
def _cut(keys: NDArray[np.float32], dimensions: NDArray[np.int32], values: NDArray[np.float32]) -> None:
    """Write where each node of the tree cuts the keys that come to it; one that none comes to cuts at 0."""
    cuts = len(values)
    rows = np.arange(len(keys))
    begins, ends = np.zeros(2 * cuts + 1, np.int64), np.zeros(2 * cuts + 1, np.int64)
    ends[0] = len(keys)
    for node in range(cuts):
        part = rows[begins[node] : ends[node]]
        smaller = np.int64(0)
        if len(part) > 0:
            dimensions[node] = _widest(keys, part)
            along = np.empty(len(part), np.float32)
            for index, row in enumerate(part):
                along[index] = keys[row, dimensions[node]]
            values[node] = np.partition(along, (len(along) - 1) // 2)[(len(along) - 1) // 2]
            rows[begins[node] : ends[node]] = np.concatenate((part[along <= values[node]], part[along > values[node]]))
            smaller = np.count_nonzero(along <= values[node])
        for child, begin, end in ((1, 0, smaller), (2, smaller, len(part))):
            begins[2 * node + child], ends[2 * node + child] = begins[node] + begin, begins[node] + end


@njit(**COMPILE)
def _widest(keys: NDArray[np.float32], part: NDArray[np.int64]) -> int:
    """Return the dimension in which these keys spread most."""
    widest, most = 0, -1.0
    for dimension in range(keys.shape[1]):
        total = 0.0
        for row in part:
            total += keys[row, dimension]
        mean, variance = total / len(part), 0.0
        for row in part:
            variance += (keys[row, dimension] - mean) ** 2
        if variance > most:
            widest, most = dimension, variance
    return widest
