"""Fits any Gymnasium observation to what agents use: a float32 vector, or uint8 frames kept as they are."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from numpy import ndarray
from numpy.typing import NDArray

from memec.errors import MemecError
from memec.frames import kept_as_frames

Kind = Literal["vector", "discrete", "frames"]

FLOAT32 = np.dtype(np.float32)


class Observation(ABC):
    """How the observations of one space become arrays of one shape and type.

    Calling it turns one raw observation into a fresh array, which never shares memory with the environment.
    """

    __slots__ = ("dtype", "kind", "quantities", "shape", "space")

    def __init__(
        self,
        space: gymnasium.Space[Any],
        kind: Kind,
        shape: tuple[int, ...],
        dtype: type[np.float32] | type[np.uint8] = np.float32,
    ) -> None:
        self.space = space
        self.kind: Kind = kind
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.quantities: NDArray[np.bool_] = np.full(shape, kind != "discrete")
        """Which numbers measure something, rather than being one of a name's zeros and ones."""

    @abstractmethod
    def __call__(self, raw: Any) -> NDArray[Any]:
        """Turn one raw observation into its array of `shape` and `dtype`."""

    @abstractmethod
    def batch_size(self, raw: Any) -> int | None:
        """How many observations `raw` holds, or None for a single one; anything else is a MemecError."""

    @abstractmethod
    def encode(self, raws: Any) -> NDArray[Any]:
        """Turn a batch, known to be well formed, into an array of shape (n, *shape)."""

    @abstractmethod
    def single_as_batch(self, raw: Any) -> Any:
        """Give one raw observation the form of a batch of one."""

    def is_batch(self, raw: Any) -> bool:
        """Tell a batch of observations from a single one; what is neither is a MemecError."""
        return self.batch_size(raw) is not None

    def batch(self, raws: Any) -> NDArray[Any]:
        """Turn one raw observation or a batch of them into an array of shape (n, *shape)."""
        return self.encode(raws if self.is_batch(raws) else self.single_as_batch(raws))


class _ArrayObservation(Observation):
    """An observation that is one array (or number) of a fixed raw shape."""

    __slots__ = ("raw_shape",)

    def __init__(
        self,
        space: gymnasium.Space[Any],
        kind: Kind,
        shape: tuple[int, ...],
        dtype: type[np.float32] | type[np.uint8] = np.float32,
    ) -> None:
        super().__init__(space, kind, shape, dtype)
        self.raw_shape: tuple[int, ...] = space.shape or ()

    def __call__(self, raw: Any) -> NDArray[Any]:
        if self.is_batch(raw):
            raise self._wrong(f"an array of shape {np.shape(raw)}")
        encoded: NDArray[Any] = self.encode(self.single_as_batch(raw))[0]
        return encoded

    def batch_size(self, raw: Any) -> int | None:
        try:
            array = np.asarray(raw)
        except ValueError:
            raise self._wrong("rows of different lengths") from None
        if array.dtype.kind not in "biuf":
            raise self._wrong(f"{type(raw).__name__} {str(raw)[:40]!r}")
        if array.shape == self.raw_shape:
            return None
        if array.shape[1:] == self.raw_shape:
            return int(array.shape[0])
        raise self._wrong(f"an array of shape {array.shape}")

    def single_as_batch(self, raw: Any) -> NDArray[Any]:
        return np.asarray(raw)[np.newaxis]

    def _wrong(self, given: str) -> MemecError:
        return MemecError(f"Expected an observation of shape {self.raw_shape} (or a batch of them), but got {given}.")


class _Vector(_ArrayObservation):
    """A Box of numbers as a flat vector, divided by `scale` where it is not 1."""

    __slots__ = ("_flat_shape", "_scale")

    def __init__(self, space: Box, scale: float = 1.0) -> None:
        super().__init__(space, "vector", (int(np.prod(space.shape)),))
        self._scale = np.float32(scale)
        self._flat_shape = space.shape if space.shape == self.shape and scale == 1.0 else None

    def __call__(self, raw: Any) -> NDArray[Any]:
        if type(raw) is ndarray and raw.shape == self._flat_shape:
            return raw.copy() if raw.dtype is FLOAT32 else raw.astype(FLOAT32)
        return super().__call__(raw)

    def encode(self, raws: Any) -> NDArray[Any]:
        vectors = np.array(raws, dtype=np.float32, order="C").reshape(-1, *self.shape)
        if self._scale != 1.0:
            vectors /= self._scale
        return vectors


class _Frames(_ArrayObservation):
    """Pictures, kept as bytes in their own shape."""

    __slots__ = ()

    def __init__(self, space: Box) -> None:
        super().__init__(space, "frames", space.shape, np.uint8)

    def __call__(self, raw: Any) -> NDArray[Any]:
        if type(raw) is np.ndarray and raw.dtype == self.dtype and raw.shape == self.shape:
            return raw.copy()
        return super().__call__(raw)

    def batch_size(self, raw: Any) -> int | None:
        size = super().batch_size(raw)
        self._check_bytes(raw)
        return size

    def encode(self, raws: Any) -> NDArray[Any]:
        self._check_bytes(raws)
        return np.array(raws, dtype=np.uint8, order="C")

    def _check_bytes(self, raws: Any) -> None:
        if np.asarray(raws).dtype != np.uint8:
            raise MemecError(f"Expected frames of uint8, but got {np.asarray(raws).dtype}.")


class _OneHot(_ArrayObservation):
    """Discrete and MultiDiscrete: for every number, a one among as many zeros as it has other values."""

    __slots__ = ("_counts", "_offsets", "_start")

    def __init__(self, space: Discrete | MultiDiscrete) -> None:
        self._counts = np.ravel(space.n if isinstance(space, Discrete) else space.nvec).astype(np.int64)
        self._start = np.ravel(space.start).astype(np.int64)
        self._offsets = np.cumsum(self._counts) - self._counts
        super().__init__(space, "discrete", (int(self._counts.sum()),))

    def batch_size(self, raw: Any) -> int | None:
        size = super().batch_size(raw)
        self._check_integers(raw)
        return size

    def encode(self, raws: Any) -> NDArray[Any]:
        self._check_integers(raws)
        values = np.asarray(raws).reshape(-1, len(self._counts)) - self._start
        if ((values < 0) | (values >= self._counts)).any():
            raise MemecError(f"The observation {np.asarray(raws).tolist()} is not in the space {self.space}.")
        vectors = np.zeros((len(values), *self.shape), dtype=np.float32)
        np.put_along_axis(vectors, values + self._offsets, np.float32(1.0), axis=1)
        return vectors

    def _check_integers(self, raws: Any) -> None:
        if np.asarray(raws).dtype.kind not in "iu":
            raise MemecError(f"Expected whole numbers of the space {self.space}, but got {np.asarray(raws).dtype}.")


class _OneHotNumber(_OneHot):
    """Discrete: the common case, fast."""

    __slots__ = ("_first", "_n")

    def __init__(self, space: Discrete) -> None:
        super().__init__(space)
        self._first = int(space.start)
        self._n = int(space.n)

    def __call__(self, raw: Any) -> NDArray[Any]:
        if isinstance(raw, int | np.integer) and 0 <= (index := int(raw) - self._first) < self._n:
            vector = np.zeros(self._n, dtype=np.float32)
            vector[index] = 1.0
            return vector
        return super().__call__(raw)


class _Bits(_ArrayObservation):
    """MultiBinary: zeros and ones as they are."""

    __slots__ = ()

    def __init__(self, space: MultiBinary) -> None:
        super().__init__(space, "discrete", (int(np.prod(space.shape)),))

    def encode(self, raws: Any) -> NDArray[Any]:
        return np.array(raws, dtype=np.float32, order="C").reshape(-1, *self.shape)


class _Joined(Observation):
    """Dict and Tuple: the parts one after the other, in the order of Gymnasium's `flatten`."""

    __slots__ = ("_parts",)

    def __init__(self, space: "Dict[Any] | Tuple[Any]") -> None:
        named = space.spaces.items() if isinstance(space, Dict) else enumerate(space.spaces)
        self._parts: list[tuple[Any, Observation]] = [(name, _fit_part(part)) for name, part in named]
        discrete = all(part.kind == "discrete" for _, part in self._parts)
        super().__init__(space, "discrete" if discrete else "vector", (sum(part.shape[0] for _, part in self._parts),))
        self.quantities = np.concatenate([part.quantities for _, part in self._parts])

    def __call__(self, raw: Any) -> NDArray[Any]:
        self._check_container(raw)
        return np.concatenate([part(raw[name]) for name, part in self._parts])

    def batch_size(self, raw: Any) -> int | None:
        self._check_container(raw)
        sizes = {part.batch_size(raw[name]) for name, part in self._parts}
        if len(sizes) != 1:
            raise MemecError("The parts of the observation hold different numbers of observations.")
        return sizes.pop()

    def encode(self, raws: Any) -> NDArray[Any]:
        return np.concatenate([part.encode(raws[name]) for name, part in self._parts], axis=1)

    def single_as_batch(self, raw: Any) -> Any:
        return {name: part.single_as_batch(raw[name]) for name, part in self._parts}

    def _check_container(self, raw: Any) -> None:
        names = [name for name, _ in self._parts]
        if isinstance(self.space, Dict):
            if not isinstance(raw, Mapping):
                raise MemecError(f"Expected an observation that is a dict of {names}, but got {type(raw).__name__}.")
            if missing := [name for name in names if name not in raw]:
                raise MemecError(f"Expected an observation that is a dict of {names}, but {missing} is missing.")
        elif not isinstance(raw, Sequence) or isinstance(raw, str):
            raise MemecError(f"Expected an observation of {len(names)} parts, but got {type(raw).__name__}.")
        elif len(raw) != len(names):
            raise MemecError(f"Expected an observation of {len(names)} parts, but got {len(raw)}.")


def fit_observation(space: gymnasium.Space[Any]) -> Observation:
    """Find the array form of a space's observations.

    A uint8 Box of two to four dimensions and at least 1,024 numbers is kept as frames; any other Box becomes a flat
    float32 vector; discrete spaces become one-hot vectors; Dict and Tuple are joined part by part, pictures and other
    bytes inside them divided by 255.
    """
    if isinstance(space, Box) and space.dtype == np.uint8:
        if kept_as_frames(space.shape, space.dtype):
            return _Frames(space)
        return _not_empty(_Vector(space))
    return _fit_part(space)


def _fit_part(space: gymnasium.Space[Any]) -> Observation:
    if isinstance(space, Box):
        return _not_empty(_Vector(space, scale=255.0 if space.dtype == np.uint8 else 1.0))
    if isinstance(space, Discrete):
        return _OneHotNumber(space)
    if isinstance(space, MultiDiscrete):
        return _not_empty(_OneHot(space))
    if isinstance(space, MultiBinary):
        return _not_empty(_Bits(space))
    if isinstance(space, Dict | Tuple):
        if not space.spaces:
            raise MemecError(f"The observation space {space} is empty: there is nothing to learn from.")
        return _Joined(space)
    raise MemecError(
        f"Observations of the space {type(space).__name__} cannot be used:"
        " memec knows Box, Discrete, MultiDiscrete, MultiBinary, Dict and Tuple."
    )


def _not_empty(observation: Observation) -> Observation:
    if observation.shape == (0,):
        raise MemecError(f"The observation space {observation.space} is empty: there is nothing to learn from.")
    return observation
