"""Cut a space of few dimensions into cells that hold equally many keys (a k-d tree of medians)."""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.kernels import COMPILE


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
        dimensions, values = np.zeros(cuts, np.int32), np.zeros(cuts, np.float32)
        parts = [keys]
        for node in range(cuts):
            part = parts[node]
            parts[node] = part[:0]
            if len(part) > 0:
                dimension = int(np.argmax(part.std(0, dtype=np.float64)))
                along = part[:, dimension]
                dimensions[node] = dimension
                values[node] = np.partition(along, (len(along) - 1) // 2)[(len(along) - 1) // 2]
                larger = along > values[node]
                parts += [part[~larger], part[larger]]
            else:
                parts += [part, part]
        return cls(dimensions, values)

    def __len__(self) -> int:
        return len(self.values) + 1


@njit(inline="always", **COMPILE)
def cell_of(key: NDArray[np.float32], dimensions: NDArray[np.int32], values: NDArray[np.float32]) -> int:
    """Walk down the tree to the cell a key belongs to."""
    node = 0
    while node < len(values):
        node = 2 * node + 1 + int(key[dimensions[node]] > values[node])
    return node - len(values)
