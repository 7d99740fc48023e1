"""The observation is the key: for small vectors."""

from collections.abc import Mapping
from typing import Self

import numpy as np

from memec.embed.embedding import Array, Key
from memec.embed.scale import RunningScale
from memec.errors import MemecError
from memec.saved_arrays import count_in

FLOAT32 = np.dtype(np.float32)
FIRST_SCALE = 500
"""How many observations tell a first scale."""


class Identity:
    """Take observations of `size` numbers, flattened, for float32 keys."""

    keeps_observations = True

    def __init__(self, size: int) -> None:
        self.key_size = size
        self._shape = (size,)

    def __call__(self, observation: Array) -> Key:
        """The key of one observation: the observation itself where it is one already."""
        if observation.shape == self._shape and observation.dtype == FLOAT32:
            return observation
        key = np.asarray(observation, dtype=np.float32).reshape(-1)
        if key.size != self.key_size:
            raise MemecError(f"An observation must have {self.key_size} numbers, but this one has {key.size}.")
        return key

    def batch(self, observations: Array) -> Key:
        """The keys of several observations, one per row."""
        keys = np.array(observations, dtype=np.float32)
        if keys.ndim == 0 or keys.size != len(keys) * self.key_size:
            raise MemecError(
                f"A batch must hold observations of {self.key_size} numbers, but this one has the shape {keys.shape}."
            )
        return keys.reshape(-1, self.key_size)

    def observed(self, key: Key) -> Key:
        """The observation that has this key."""
        return key

    def take_in(self, keys: Key) -> Key | None:
        """Nothing is learned."""
        return None

    def fork(self) -> Self:
        """Nothing is remembered between observations, so this embedding serves any number of streams."""
        return self

    def arrays(self) -> dict[str, Array]:
        """Nothing to restore."""
        return {}


class ScaledIdentity(Identity):
    """Take observations for keys, each number divided by its running standard deviation.

    The scale is fixed anew whenever twice as many observations have been seen; stored keys must follow then.
    """

    def __init__(self, size: int, arrays: Mapping[str, Array] | None = None) -> None:
        super().__init__(size)
        self._running = RunningScale(size)
        self._next = FIRST_SCALE
        if arrays is not None:
            self._running.restore(arrays)
            self._next = count_in(arrays, "next")

    def __call__(self, observation: Array) -> Key:
        """The key of one observation, by the scale in use."""
        return self._running(super().__call__(observation))

    def batch(self, observations: Array) -> Key:
        """The keys of several observations, one per row."""
        return self._running(super().batch(observations))

    def observed(self, key: Key) -> Key:
        """The observation that has this key, up to rounding."""
        return key / self._running.scale

    def take_in(self, keys: Key) -> Key | None:
        """Learn from the keys of a whole episode; return what stored keys must be multiplied by, if anything."""
        before = self._running.scale
        self._running.notice_all(keys / before)
        if self._running.count < self._next:
            return None
        self._next = 2 * self._running.count
        self._running.fix()
        return self._running.scale / before

    def arrays(self) -> dict[str, Array]:
        """The scale, and what it is learned from."""
        return {"next": np.array([self._next]), **self._running.arrays()}
