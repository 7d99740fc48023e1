"""An embedding that is made when it is first needed, so that nothing is drawn for an agent that is restored."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np

from memec.embed.embedding import Array, Embedding, Key
from memec.errors import MemecError

Make = Callable[[Mapping[str, Array] | None], Embedding]


class LateEmbedding:
    """Does what an embedding does, by one that it makes at last or restores."""

    def __init__(self, make: Make, key_size: int) -> None:
        self.key_size = key_size
        self._make = make

    @cached_property
    def own(self) -> Embedding:
        """The embedding itself."""
        return self._make(None)

    def __call__(self, observation: Array) -> Key:
        """The key of one observation."""
        return self.own(observation)

    def batch(self, observations: Array) -> Key:
        """The keys of several observations, one per row."""
        return self.own.batch(observations)

    def stream(self) -> Callable[[Sequence[Array]], Key]:
        """What makes keys for a second stream of observations."""
        fork = self.own.fork()
        return lambda observations: rows([fork(observation) for observation in observations])

    @property
    def keeps_observations(self) -> bool:
        """Whether a key tells what was observed."""
        return self.own.keeps_observations

    def observed(self, key: Key) -> Array:
        """The observation that has this key."""
        return self.own.observed(key)

    def take_in(self, keys: Key) -> Key | None:
        """Learn from the keys of a whole episode."""
        return self.own.take_in(keys)

    def arrays(self) -> dict[str, Array]:
        """What a checkpoint must hold."""
        return self.own.arrays()

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Make what `arrays` came from."""
        made = self._make(arrays)
        if made.key_size != self.key_size:
            raise MemecError("The saved projection does not fit: its keys are not of the size the settings say.")
        self.own = made


def rows(vectors: Sequence[Array]) -> Array:
    """Put vectors one below the other; ten times as fast as numpy's stack, which counts at every step."""
    together = bytearray().join(vectors)  # type: ignore[arg-type]  # that arrays are buffers is told from 3.12 on
    return np.frombuffer(together, vectors[0].dtype).reshape(len(vectors), -1)
