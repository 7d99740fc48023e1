"""Gaussian random projection: large observations to short keys that keep their distances."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from numpy.random import Generator, SeedSequence

from memec.embed.accumulate import follow, project
from memec.embed.embedding import Array, Key
from memec.errors import MemecError
from memec.frames import stack_depth
from memec.saved_arrays import check_arrays

# Standard deviations of the integer matrix, finest first: the first that no image can overflow is taken. Rounding adds
# 1/12 to the variance, 1e-6 of it at the finest and half a per cent at the coarsest.
INTEGER_DEVIATIONS = (256, 128, 64, 32, 16, 8, 4)
LARGEST_SUM = 2**31 - 1


class GaussianProjection:
    """Multiply observations with a random matrix of entries N(0, 1/key_size): squared distances are kept on average.

    Pixels (uint8) are divided by 255. They are projected in integers, and only where they changed since the last
    observation; the key has the same bits as if it was projected from nothing, so it depends on the observation alone.
    Observations that do not follow each other are merely slower; `fork` gives every stream its own track.
    Any other type of number is projected as float32, as it is.
    """

    keeps_observations = False

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: npt.DTypeLike,
        key_size: int,
        seed: int | SeedSequence | Generator | None = None,
    ) -> None:
        rng = np.random.default_rng(seed)
        matrix: Array
        size = int(np.prod(shape))
        if np.dtype(dtype) == np.uint8:
            matrix, scale = _integer_matrix(size, stack_depth(shape), key_size, rng)
        else:
            matrix = rng.standard_normal((size, key_size), dtype=np.float32)
            matrix *= np.float32(1.0 / np.sqrt(key_size))
            scale = np.float32(1.0)
        self._set(shape, np.dtype(dtype), matrix, scale)

    @classmethod
    def from_arrays(cls, shape: tuple[int, ...], dtype: npt.DTypeLike, arrays: Mapping[str, Array]) -> Self:
        """Restore a projection from its `arrays`, whatever random numbers this version of numpy would draw."""
        matrix, scale = arrays["matrix"], arrays["scale"]
        depth = stack_depth(shape) if np.dtype(dtype) == np.uint8 else 1
        kind = np.int16 if np.dtype(dtype) == np.uint8 else np.float32
        size = int(np.prod(shape))
        if matrix.dtype != kind or matrix.ndim != 2 or matrix.shape[0] * depth != size or matrix.shape[1] % depth:
            raise MemecError(
                f"The stored projection of shape {matrix.shape} and type {matrix.dtype} does not belong to "
                f"observations of shape {shape} and type {np.dtype(dtype)}."
            )
        check_arrays(arrays, {"matrix": (kind, matrix.shape), "scale": (np.float32, scale.shape)})
        projection = cls.__new__(cls)
        projection._set(shape, np.dtype(dtype), np.ascontiguousarray(matrix), np.float32(scale.reshape(())))
        return projection

    def _set(self, shape: tuple[int, ...], dtype: np.dtype[Any], matrix: Array, scale: np.float32) -> None:
        self.shape = tuple(shape)
        self.dtype = dtype
        self._pixels = dtype == np.uint8
        self._depth = stack_depth(self.shape) if self._pixels else 1
        self._matrix = matrix
        self._scale = scale
        self.key_size = matrix.shape[1] // self._depth
        self._forget()

    def _forget(self) -> None:
        """Remember black frames, whose projection is zero."""
        if self._pixels:
            self._frames = np.zeros((self._depth, self._matrix.shape[0]), dtype=np.uint8)
            self._sums = np.zeros((self._depth, self._matrix.shape[1]), dtype=np.int32)
            self._newest = 0

    def __call__(self, observation: Array) -> Key:
        """The key of one observation, in an array of its own."""
        if observation.shape != self.shape:
            raise MemecError(f"An observation must have the shape {self.shape}, but this one has {observation.shape}.")
        if not self._pixels:
            vector = np.ascontiguousarray(observation, dtype=np.float32).reshape(-1)
            product: Key = vector @ self._matrix
            return product
        self._check_pixels(observation)
        stack = np.ascontiguousarray(observation).reshape(self._depth, -1)
        key = np.empty(self.key_size, dtype=np.float32)
        self._newest = follow(stack, self._frames, self._sums, self._newest, self._matrix, self._scale, key)
        return key

    def batch(self, observations: Array) -> Key:
        """The keys of several observations, one per row, each with the same bits as alone."""
        observations = np.asarray(observations)
        if observations.shape[1:] != self.shape:
            raise MemecError(
                f"A batch must hold observations of shape {self.shape}, but its own shape is {observations.shape}."
            )
        keys = np.empty((len(observations), self.key_size), dtype=np.float32)
        if self._pixels:
            self._check_pixels(observations)
            stacks = np.ascontiguousarray(observations).reshape(len(observations), self._depth, -1)
            project(stacks, self._matrix, self._scale, keys)
        else:
            # One product for the whole batch would be quicker, and differ in the last bits from the single ones.
            for key, observation in zip(keys, observations, strict=True):
                key[:] = self(observation)
        return keys

    def _check_pixels(self, observations: Array) -> None:
        if observations.dtype != np.uint8:
            raise MemecError(f"Pixels must be of type uint8, but these are {observations.dtype}.")

    def observed(self, key: Key) -> Array:
        """No key tells what was observed."""
        raise MemecError("A projected key does not tell what was observed.")

    def take_in(self, keys: Key) -> Key | None:
        """Nothing is learned."""
        return None

    def fork(self) -> Self:
        """The same projection, sharing its matrix, for a second stream of observations."""
        fork = type(self).__new__(type(self))
        fork._set(self.shape, self.dtype, self._matrix, self._scale)
        return fork

    def arrays(self) -> dict[str, Array]:
        """The matrix and its scale: all that makes this projection, for a checkpoint."""
        return {"matrix": self._matrix, "scale": np.array(self._scale)}


def _integer_matrix(size: int, depth: int, key_size: int, rng: Generator) -> tuple[npt.NDArray[np.int16], np.float32]:
    """Draw a matrix [pixels of a frame, depth * key_size] of rounded normal numbers, and the scale of its sums.

    No image may overflow the int32 sums: the largest comes from white where a column is positive and black elsewhere.
    """
    normal = rng.standard_normal((size // depth, depth * key_size), dtype=np.float32)
    for deviation in INTEGER_DEVIATIONS:
        matrix = np.rint(normal * np.float32(deviation)).astype(np.int16)
        positive = np.maximum(matrix, 0).sum(axis=0, dtype=np.int64).reshape(depth, key_size).sum(axis=0)
        negative = np.minimum(matrix, 0).sum(axis=0, dtype=np.int64).reshape(depth, key_size).sum(axis=0)
        if 255 * max(positive.max(), -negative.min()) <= LARGEST_SUM:
            variance = deviation**2 + 1.0 / 12.0
            return matrix, np.float32(1.0 / (255.0 * np.sqrt(variance * key_size)))
    raise MemecError(f"An image of {size} pixels is too large to project: resize it to less than 5,000,000 first.")
