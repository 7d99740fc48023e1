"""The observation is the key: for small vectors."""

from typing import Self

import numpy as np

from memec.embed.embedding import Array, Key
from memec.errors import MemecError

FLOAT32 = np.dtype(np.float32)


class Identity:
    """Take observations of `size` numbers, flattened, for float32 keys."""

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

    def fork(self) -> Self:
        """Nothing is remembered between observations, so this embedding serves any number of streams."""
        return self

    def arrays(self) -> dict[str, Array]:
        """Nothing to restore."""
        return {}
