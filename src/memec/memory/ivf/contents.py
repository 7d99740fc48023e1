"""What an index consists of, as compiled code takes it."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.compiled.handle import Handle, Rows, cube, matrix, vector
from memec.memory.compiled.kernels import COMPILE
from memec.memory.compiled.lists import Lists


class Quantisers(NamedTuple):
    """What was fitted to a sample of keys, and stays."""

    mean: NDArray[np.float32]
    axes: NDArray[np.float32]
    """[key size, code size] the scalar quantiser: principal axes of the keys, times the scale."""
    centroids: NDArray[np.int8]
    """[clusters, code size] the coarse quantiser: one inverted list for each, and for each group of actions."""
    planes: NDArray[np.int8]
    """[clusters, 64] the centroids' dimensions with most variance, side by side."""
    group_centroids: NDArray[np.int8]
    group_begins: NDArray[np.int32]
    """Where each group begins among the centroids, and at the end their number."""
    fine: NDArray[np.int32]
    """How many clusters, and groups, are of keys within the range of codes; the others are in coarse units."""
    codewords: NDArray[np.int8]
    """[2, 16, pairs] the product quantiser: what pairs of dimensions are rounded to."""
    error: NDArray[np.float32]
    """The mean squared distance of a code from its codewords."""


class Codes(NamedTuple):
    """What an entry looks like, at its place in the lists."""

    scalar: NDArray[np.int8]
    """[places, code size] one byte a dimension."""
    product: NDArray[np.uint8]
    """[16 places, rows, lanes] half a byte for two dimensions, and one for the tag."""
    counts: NDArray[np.int32]
    """[lists, tags] how many entries of each action are in a list."""


class Contents(NamedTuple):
    """All of it."""

    keys: NDArray[np.float32]
    sizes: NDArray[np.int64]
    quantisers: Quantisers
    codes: Codes
    lists: Lists


def hand_over(contents: Contents) -> Handle:
    """Hand over an index."""
    keys, sizes, quantisers, codes, lists = contents
    return Handle(keys, sizes, *quantisers, *codes, *lists)


@njit(inline="always", **COMPILE)
def read_contents(rows: Rows) -> Contents:
    """Return the index that was handed over."""
    quantisers = Quantisers(
        vector(rows, 2, np.float32), matrix(rows, 3, np.float32), matrix(rows, 4, np.int8), matrix(rows, 5, np.int8),
        matrix(rows, 6, np.int8), vector(rows, 7, np.int32), vector(rows, 8, np.int32), cube(rows, 9, np.int8),
        vector(rows, 10, np.float32),
    )  # fmt: skip
    codes = Codes(matrix(rows, 11, np.int8), cube(rows, 12, np.uint8), matrix(rows, 13, np.int32))
    lists = Lists(
        matrix(rows, 14, np.int32), matrix(rows, 15, np.int32), vector(rows, 16, np.int32),
        matrix(rows, 17, np.int32), vector(rows, 18, np.int32),
    )  # fmt: skip
    return Contents(matrix(rows, 0, np.float32), vector(rows, 1, np.int64), quantisers, codes, lists)
