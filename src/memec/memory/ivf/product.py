"""The product quantiser: half a byte for two dimensions, enough to dismiss most entries without reading their codes.

The dimensions of a scalar code are taken in pairs, one of much variance with one of little, and each pair is rounded to
the nearest of 16 codewords fitted to it. So the squared distance of a query to an entry is about a sum of numbers
looked up in tables of 16, one for each pair. With 8 bits a number, processors look up 16 or 32 of them with one
instruction (the fast scan).

The last half byte is a tag: which of up to 16 actions the entry belongs to. What is looked up for it makes up for how
much nearer the entries of one action must be than those of another, so that all are compared with the same number.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.compiled.intrinsics import LANES_LOOKED_UP
from memec.memory.compiled.kernels import COMPILE
from memec.memory.ivf.coarse import k_means

CODEWORDS = 16
MOST_TAGS = 16
FITTED_BY = 4_096
# Sums stay at 255: tables are made so that what may pass is at most this, and made anew when that is a fourth of it.
MOST_UNITS, FEWEST_UNITS = np.float32(200), np.float32(50)


def quantised_pairs(size: int) -> int:
    """Return how many pairs of a code's numbers are rounded: the eighth with the least variance is left out."""
    return 7 * size // 16 - 1  # one pair less, in whose place there is the tag


@dataclass(frozen=True)
class Product:
    """The codewords that pairs of numbers are rounded as."""

    codewords: NDArray[np.int8]
    """[2, 16, pairs]: pairs side by side, so that all are rounded at once."""
    error: NDArray[np.float32]
    """The mean squared distance of a code from its codewords."""

    @classmethod
    def fit(cls, codes: NDArray[np.float32]) -> "Product":
        """Fit the codewords to codes in random order."""
        codes = np.rint(codes[:FITTED_BY])
        pairs = quantised_pairs(codes.shape[1])
        codewords = np.empty((2, CODEWORDS, pairs), np.int8)
        error = 0.0
        for pair in range(pairs):
            own = np.ascontiguousarray(codes[:, _numbers(pair, pairs)])
            centres = np.rint(k_means(own, CODEWORDS))
            codewords[:, :, pair] = centres[np.arange(CODEWORDS) % len(centres)].T
            error += float(((own[:, :, None] - codewords[:, :, pair]) ** 2).sum(1).min(1).mean())
        return cls(codewords, np.array([error], np.float32))


@njit(inline="always", **COMPILE)
def _numbers(pair: int, pairs: int) -> tuple[int, int]:
    """Return which numbers of a code make up a pair, so that it is worth about as much as any other."""
    return pair, 2 * pairs - 1 - pair


@njit(inline="always", **COMPILE)
def _in_pairs(code: NDArray[np.int16], pairs: int) -> NDArray[np.int32]:
    """Return the numbers of a code in pairs: those with much variance, and below them those with little."""
    paired = np.empty((2, pairs), np.int32)
    for pair in range(pairs):
        one, other = _numbers(pair, pairs)
        paired[0, pair], paired[1, pair] = code[one], code[other]
    return paired


@njit(inline="always", **COMPILE)
def _distance(paired: NDArray[np.int32], codewords: NDArray[np.int8], pair: int, point: int) -> np.int32:
    difference = paired[0, pair] - np.int32(codewords[0, point, pair])
    another = paired[1, pair] - np.int32(codewords[1, point, pair])
    distance: np.int32 = difference * difference + another * another
    return distance


@njit(**COMPILE)
def quantise(
    code: NDArray[np.int16], codewords: NDArray[np.int8], product: NDArray[np.uint8], place: int, tag: int
) -> None:
    """Write the product code of a scalar one: low halves of its bytes hold the first pairs, high ones the rest."""
    pairs, rows = codewords.shape[2], product.shape[1]
    block, lane = place // LANES_LOOKED_UP, place % LANES_LOOKED_UP
    paired = _in_pairs(code, pairs)
    halves = np.full(pairs + 1, 2**31 - 1, np.int32)
    for point in range(CODEWORDS):
        for pair in range(pairs):  # without a branch, so that it vectorises: the point is in the last four bits
            halves[pair] = min(halves[pair], _distance(paired, codewords, pair, point) * CODEWORDS + np.int32(point))
    halves[pairs] = tag
    for row in range(rows):
        product[block, row, lane] = np.uint8((halves[row] & 15) | (halves[rows + row] & 15) << 4)


@njit(inline="always", **COMPILE)
def tag_at(product: NDArray[np.uint8], place: int) -> np.uint8:
    """Return the tag of the entry at this place."""
    return np.uint8(product[place // LANES_LOOKED_UP, product.shape[1] - 1, place % LANES_LOOKED_UP] >> 4)


@njit(inline="always", **COMPILE)
def lanes_tagged(product: NDArray[np.uint8], block: int, tags: np.int64) -> np.int64:
    """Tell by a bit which of 16 lanes have one of these tags, which are bits themselves."""
    lanes = np.int64(0)
    for lane in range(LANES_LOOKED_UP):
        tag = product[block, product.shape[1] - 1, lane] >> 4
        lanes |= (tags >> np.int64(tag) & 1) << lane
    return lanes


@njit(inline="always", **COMPILE)
def move(product: NDArray[np.uint8], source: int, hole: int) -> None:
    """Copy a product code from one place to another."""
    for row in range(product.shape[1]):
        moved = product[source // LANES_LOOKED_UP, row, source % LANES_LOOKED_UP]
        product[hole // LANES_LOOKED_UP, row, hole % LANES_LOOKED_UP] = moved


@njit(**COMPILE)
def measure(code: NDArray[np.int16], codewords: NDArray[np.int8], distances: NDArray[np.float32]) -> np.float32:
    """Write the squared distance of each pair from each point, and return that of the code from its own codewords."""
    pairs = codewords.shape[2]
    paired = _in_pairs(code, pairs)
    from_point, least = np.empty(pairs, np.int32), np.full(pairs, 2**31 - 1, np.int32)
    for point in range(CODEWORDS):
        for pair in range(pairs):
            from_point[pair] = _distance(paired, codewords, pair, point)
            least[pair] = min(least[pair], from_point[pair])
        for pair in range(pairs):
            distances[pair, point] = np.float32(from_point[pair])
    error = np.float32(0)
    for pair in range(pairs):
        error += np.float32(least[pair])
    return error


@njit(inline="always", **COMPILE)
def allowed(limit: np.int32, error: np.float32, margin: np.float32) -> np.float32:
    """Return the squared distance up to which a query comes to the product of entries that are within the limit.

    A product code is farther by its error, and by chance some more or less, which goes with the root of both.
    """
    return np.float32(np.float32(limit) + error + margin * np.sqrt(np.float32(limit) * error))


@njit(**COMPILE)
def needed_margin(
    distances: NDArray[np.float32], error: np.float32, limit: np.int32, product: NDArray[np.uint8], place: int
) -> np.float32:
    """Return the least margin with which the entry at this place is let through."""
    rows = product.shape[1]
    total = np.float32(0)
    for row in range(rows):
        both = product[place // LANES_LOOKED_UP, row, place % LANES_LOOKED_UP]
        total += distances[row, both & 15]
        if row < rows - 1:
            total += distances[rows + row, both >> 4]
    return np.float32((total - np.float32(limit) - error) / np.sqrt(np.float32(limit) * error + 1))


@njit(**COMPILE)
def tabulate(distances: NDArray[np.float32], most: np.float32, tables: NDArray[np.uint8]) -> np.float32:
    """Write the tables of pairs in units of which `most` has 200, and return how many of them there are to 1."""
    units = MOST_UNITS / most
    for pair in range(len(distances)):
        for point in range(CODEWORDS):
            rounded = min(distances[pair, point] * units + np.float32(0.5), np.float32(255))
            tables[pair, point] = np.uint8(np.int32(rounded))
    return units
