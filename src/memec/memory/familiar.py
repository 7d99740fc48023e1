"""States of which every action is known: they are recalled without looking them up, until one of their entries changes.

In a world of few states nearly every step comes to such a state, and all that a look-up, an id and a policy cost can be
spared there.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memec.memory import tables
from memec.memory.recall import Recall

MOST_STATES = 10_000
"""Some kilobytes each."""


class Known(NamedTuple):
    """What is known of a state."""

    key: NDArray[np.float32]
    state_id: NDArray[np.uint64]
    recall: Recall
    policy: Any
    """What follows from the recall, as far as whoever recalls wants to have it at hand; None for nothing."""


class Familiar:
    """The familiar states by name, and which of them were used since the stamps of use were last brought up to date."""

    def __init__(self, actions: int) -> None:
        self.states: dict[bytes, tuple[Known, bytes]] = {}
        """With each, the slots of its entries; as bytes, because these are joined more quickly than arrays."""
        self.used: list[bytes] = []
        self.stamps: list[int] = []
        self._actions = actions
        self._names: dict[int, bytes] = {}

    def add(self, name: bytes, known: Known) -> Known:
        """Make a state familiar, and return what is known of it: in arrays of its own, which no look-up overwrites."""
        if len(self.states) >= MOST_STATES:
            self.clear()
        slots = known.recall.slots[:, 0]
        own = known._replace(recall=known.recall.copy())
        self.states[name] = own, slots.tobytes()
        self._names.update(dict.fromkeys(slots.tolist(), name))
        return own

    def forget(self, slots: Iterable[int]) -> None:
        """Forget the states to which these slots belong: something else is remembered there now."""
        for slot in slots:
            name = self._names.pop(slot, None)
            if name is not None:
                self.states.pop(name, None)

    def clear(self) -> None:
        """Forget all states; that some were used stays."""
        self.states.clear()
        self._names.clear()

    def stamp(self, last_used: NDArray[np.int64]) -> None:
        """Bring the stamps of use up to date."""
        if self.stamps:
            slots = np.frombuffer(b"".join(self.used), np.int64).reshape(-1, self._actions)
            tables.stamp(slots, np.array(self.stamps), last_used)
            self.used.clear()
            self.stamps.clear()
