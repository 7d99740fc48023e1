"""What every embedding can do, and the arrays it deals in."""

from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Key = npt.NDArray[np.float32]


class Embedding(Protocol):
    """Turns observations into keys. The same observation always has the same key, bit for bit."""

    @property
    def key_size(self) -> int:
        """How many numbers a key has."""

    def __call__(self, observation: Array) -> Key:
        """The key of one observation, for as long as nobody writes into that."""

    def batch(self, observations: Array) -> Key:
        """The keys of several observations, one per row."""

    def fork(self) -> Self:
        """The same embedding for a second stream of observations, such as an evaluation beside the training."""

    @property
    def keeps_observations(self) -> bool:
        """Whether a key tells what was observed."""

    def observed(self, key: Key) -> Array:
        """The observation that has this key, where keys tell it."""

    def take_in(self, keys: Key) -> Key | None:
        """Learn from the keys of a whole episode; return what stored keys must be multiplied by, if anything."""

    def arrays(self) -> dict[str, Array]:
        """What a checkpoint must hold to restore this embedding."""
