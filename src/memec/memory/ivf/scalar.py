"""The scalar quantiser: keys as int8 codes, a quarter of the bytes to read, and distances to pick candidates by.

Keys are rotated onto their principal axes and scaled by one common factor, so a distance between codes is a distance
between keys but for rounding. The axes come in planes of 64, the ones with most variance first. The few keys that lie
outside the range of int8 are compared themselves, unless they are too far by what their codes say within the range;
coarse codes, in units eight times as large, tell what they are near.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.compiled.intrinsics import PLANE, plane_distance
from memec.memory.compiled.kernels import COMPILE, squared_distance
from memec.memory.search_tuning import TUNING

# The scale suits the bulk of the keys, with some headroom. The first moments of an episode, whose older frames are
# black, lie far outside (1% in Ms. Pac-Man, 4% in Q*bert).
KEPT = 1 - TUNING.clipped
HEADROOM = 1.25
LARGEST, COARSER = 127, 8
FARTHEST = np.int32(2**31 - 1)
FARTHEST_MEASURED = np.float32(2**31 - 128)


def code_size(key_size: int) -> int:
    """Return how many numbers the code of a key has: whole planes."""
    return -(-key_size // PLANE) * PLANE


@dataclass(frozen=True)
class Encoding:
    """Where codes are zero and how keys are rotated and scaled into them."""

    mean: NDArray[np.float32]
    axes: NDArray[np.float32]
    """[key size, code size], the scale included; columns beyond the key size are zero."""

    @classmethod
    def fit(cls, keys: NDArray[np.float32]) -> "Encoding":
        """Find the principal axes of a sample of keys, and the scale at which nearly all of it fits into int8."""
        size = keys.shape[1]
        mean = keys.mean(0, dtype=np.float64).astype(np.float32)
        spread = max(float(np.abs(keys - mean).max()), 1e-30)  # squares of what was divided by it cannot overflow
        _, axes = np.linalg.eigh(_second_moments(keys, mean, spread))
        padded = np.zeros((size, code_size(size)), np.float32)
        padded[:, :size] = axes[:, ::-1]
        unscaled = cls(mean, padded)
        reach = HEADROOM * float(np.quantile(np.abs(unscaled.rotate(keys)).max(1), KEPT))
        return cls(mean, padded * np.float32(127 / reach)) if reach > 1e-30 else unscaled

    def rotate(self, keys: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return codes before they are rounded and clipped."""
        rotated = np.empty((len(keys), self.axes.shape[1]), np.float32)
        _rotate(keys, self.mean, self.axes, rotated)
        return rotated


@njit(**COMPILE)
def _second_moments(keys: NDArray[np.float32], mean: NDArray[np.float32], spread: float) -> NDArray[np.float64]:
    """Return the sum over all keys of the products of their dimensions, centred and divided by `spread`."""
    size = keys.shape[1]
    moments = np.zeros((size, size))
    for index in range(len(keys)):
        centred = (keys[index] - mean) / spread
        for first in range(size):
            for second in range(size):
                moments[first, second] += centred[first] * centred[second]
    return moments


@njit(**COMPILE)
def _rotate(
    keys: NDArray[np.float32],
    mean: NDArray[np.float32],
    axes: NDArray[np.float32],
    rotated: NDArray[np.float32],
) -> None:
    """Write each key's coordinates along the axes."""
    for index in range(len(keys)):
        for axis in range(rotated.shape[1]):
            rotated[index, axis] = np.float32(0)
        whole = keys.shape[1] // 4 * 4
        for begin in range(0, whole, 4):  # four at a time, to spare loads of the sums
            first, second = keys[index, begin] - mean[begin], keys[index, begin + 1] - mean[begin + 1]
            third, fourth = keys[index, begin + 2] - mean[begin + 2], keys[index, begin + 3] - mean[begin + 3]
            for axis in range(rotated.shape[1]):
                rotated[index, axis] += (
                    first * axes[begin, axis]
                    + second * axes[begin + 1, axis]
                    + third * axes[begin + 2, axis]
                    + fourth * axes[begin + 3, axis]
                )
        for dimension in range(whole, keys.shape[1]):
            value = keys[index, dimension] - mean[dimension]
            for axis in range(rotated.shape[1]):
                rotated[index, axis] += value * axes[dimension, axis]


@njit(**COMPILE)
def encode(
    key: NDArray[np.float32], mean: NDArray[np.float32], axes: NDArray[np.float32], code: NDArray[np.int16]
) -> bool:
    """Write the code of one key and behind it the coarse one, and tell whether the key lies outside the first.

    They are 16 bits wide, as the distances below take them, and the first goes as far as the coarse one.
    """
    size, most = axes.shape[1], np.float32(COARSER * LARGEST)
    rotated = np.empty((1, size), np.float32)
    _rotate(key.reshape(1, -1), mean, axes, rotated)
    outside = False
    for axis in range(size):
        value = rotated[0, axis] if rotated[0, axis] > -most else -most  # also where it overflowed to NaN
        code[axis] = np.int16(np.rint(min(value, most)))
        code[size + axis] = np.int16(np.rint(np.float32(code[axis]) / np.float32(COARSER)))
        outside |= abs(code[axis]) > LARGEST
    return outside


@njit(inline="always", **COMPILE)
def code_distance(codes: NDArray[np.int8], index: int, code: NDArray[np.int16], coarse: bool) -> np.int32:
    """Squared distance of a whole code, in units of those that are not coarse."""
    size = codes.shape[1]
    total = np.int64(0)
    for begin in range(0, size, PLANE):
        total += plane_distance(codes, np.int64(index) * size + begin, code, np.int64(coarse) * size + begin)
    if coarse:
        total *= COARSER * COARSER
    return np.int32(min(total, np.int64(FARTHEST - 1)))


@njit(inline="always", **COMPILE)
def squared_scale(axes: NDArray[np.float32]) -> np.float32:
    """Return how many squared units of codes there are to one of keys."""
    total = np.float32(0)
    for dimension in range(len(axes)):
        total += axes[dimension, 0] * axes[dimension, 0]
    return total


@njit(inline="always", **COMPILE)
def far_distance(keys: NDArray[np.float32], slot: int, query: NDArray[np.float32], scale: np.float32) -> np.int32:
    """Squared distance of a key that lies outside, in the units of codes: rounded coarsely, too many would be near."""
    return np.int32(min(squared_distance(keys, slot, query) * scale, FARTHEST_MEASURED))
