"""Embeddings that are none of memec's, such as a frozen encoder: recorded by what they are, and held to their contract.

One is any callable with a `key_size`: given an observation it returns its key, that many float32 numbers, the same for
the same observation. It may have `batch(observations)`, with one key in each row; and `arrays()` and `restore(arrays)`
for what belongs into a checkpoint.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Self

import numpy as np

from memec.embed.embedding import Array, Key
from memec.errors import MemecError, OutsideError
from memec.foreign import ForeignSettings, description, learned_arrays, naming
from memec.plugins import is_made, made, name_of

FLOAT32 = np.dtype(np.float32)


class ForeignEmbedSettings(ForeignSettings):
    """What is recorded of an embedding that is none of memec's."""


def make_foreign(plugin: Any, options: dict[str, Any]) -> "ForeignEmbedding":
    """Make an embedding of what a user named: a class or a function that makes it, or the embedding itself."""
    own = made("embedding", plugin, "key_size", options)
    return ForeignEmbedding(own, options, None if is_made(plugin, "key_size") else name_of(plugin))


class ForeignEmbedding:
    """An embedding of the user's own as agents see it."""

    keeps_observations = False

    def __init__(self, own: Any, options: dict[str, Any] | None = None, name: str | None = None) -> None:
        if isinstance(own, type):
            raise MemecError(f"embed takes an object, and {own.__name__} is a class: pass {own.__name__}(...).")
        size = getattr(own, "key_size", None)
        if not callable(own) or isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
            raise MemecError(
                f"{name_of(own)} cannot be an embedding: that is a callable with a key_size, a whole number from 1 on."
            )
        self._own = own
        self.key_size = int(size)
        self.settings = ForeignEmbedSettings.read(description(own, options, name))

    def __call__(self, observation: Array) -> Key:
        """The key of one observation, in an array of its own."""
        with self._naming("__call__"):
            key = self._own(observation)
        return self._checked(key, (self.key_size,))

    def batch(self, observations: Array) -> Key:
        """The keys of several observations, one per row: all at once where the embedding can."""
        if not hasattr(self._own, "batch"):
            return np.array([self(observation) for observation in observations], np.float32).reshape(-1, self.key_size)
        with self._naming("batch"):
            keys = self._own.batch(observations)
        return self._checked(keys, (len(observations), self.key_size))

    def fork(self) -> Self:
        """The same observation has the same key, whatever came before: one serves all streams."""
        return self

    def observed(self, key: Key) -> Array:
        """Nobody knows what had this key."""
        raise MemecError(f"The keys of {self.settings.name} do not tell what was observed.")

    def take_in(self, keys: Key) -> Key | None:
        """Nothing is learned."""
        return None

    def arrays(self) -> dict[str, Array]:
        """What belongs into a checkpoint."""
        if not hasattr(self._own, "arrays"):
            return {}
        with self._naming("arrays"):
            return learned_arrays(self._own.arrays())

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Hand it back."""
        if hasattr(self._own, "restore"):
            with self._naming("restore"):
                self._own.restore({name: array.copy() for name, array in arrays.items()})

    def _checked(self, key: Any, shape: tuple[int, ...]) -> Key:
        what = f"The embedding {self.settings.name}"
        if not isinstance(key, np.ndarray) or key.dtype != FLOAT32:
            kind = f"an array of {key.dtype}" if isinstance(key, np.ndarray) else f"a {type(key).__name__}"
            raise OutsideError(f"{what} gave {kind} for a key, which must be an array of float32.")
        if key.shape != shape:
            raise OutsideError(f"{what} gave a key of shape {key.shape}, and by its key_size that should be {shape}.")
        if not np.isfinite(key).all():
            raise OutsideError(f"{what} gave a key with NaN or infinity.")
        return key.copy()

    def _naming(self, method: str) -> AbstractContextManager[None]:
        return naming(f"embedding {self.settings.name}", method, "observation")
