"""What a search tries first: the last candidates, and what is likely to be near as well.

That is memec's own. Play goes on from where it was, so what was near is near, and what came next in the episodes of the
last candidates comes next again, whichever action it belongs to. Where a network makes the keys they go where none
were, and soon most neighbours are among the newest entries, which no list is near.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.compiled.handle import Handle, Rows, matrix, vector
from memec.memory.compiled.kernels import COMPILE
from memec.memory.search_tuning import TUNING


class Known(NamedTuple):
    """Slots that are looked at whatever the lists say; -1 is nobody."""

    last_candidates: NDArray[np.int64]
    """[actions, candidates]"""
    likely: NDArray[np.int64]
    """[actions, some] followers of the last candidates, or the newest entries."""
    followers: NDArray[np.int32]
    """[slots] what came next in the episode; empty where keys move."""


class Hints:
    """The slots to try first, kept from one search to the next."""

    def __init__(self, slots: int, actions: int, neighbours: int, *, moving: bool) -> None:
        self._moving = moving
        self._capacity = slots // actions
        likely = TUNING.newest if moving else TUNING.followers_per_neighbour * neighbours
        self._known = Known(
            np.full((actions, TUNING.candidates_per_neighbour * neighbours), -1, np.int64),
            np.full((actions, likely), -1, np.int64),
            np.full(0 if moving else slots, -1, np.int32),
        )
        self._puts = np.zeros(actions, np.int64)
        self.handle = Handle(*self._known)

    def follow(self, slots: NDArray[np.int64]) -> None:
        """Take in which slots follow one another in time."""
        if not self._moving:
            self._known.followers[slots[:-1]] = slots[1:]
            self._known.followers[slots[-1:]] = -1

    def put(self, slots: NDArray[np.int64]) -> None:
        """Take in the newest entries, where they are tried."""
        if self._moving:
            _note_newest(slots, self._known.likely, self._puts, self._capacity)

    def now(self) -> NDArray[np.int64]:
        """Return what is tried at present, of each action."""
        return np.concatenate(self._known[:2], axis=1)

    def without_last(self) -> Handle:
        """Return hints for queries that nothing went before."""
        last, likely, followers = self._known
        return Handle(np.full_like(last, -1), likely if self._moving else np.full_like(likely, -1), followers)

    def forget(self) -> None:
        """Let the next search start without candidates."""
        self._known.last_candidates[:] = -1

    def slots(self) -> NDArray[np.int64]:
        """Return all slots that are known, whoever knows them."""
        known = np.concatenate([array.ravel() for array in self._known])
        return known[known >= 0]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what `restore` needs."""
        return {name: array.copy() for name, array in (self._known._asdict() | {"puts": self._puts}).items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from where `arrays` was taken, and checked."""
        for name, array in (self._known._asdict() | {"puts": self._puts}).items():
            array[:] = arrays[name]


@njit(inline="always", **COMPILE)
def read_hints(rows: Rows) -> Known:
    """Return what was handed over."""
    return Known(matrix(rows, 0, np.int64), matrix(rows, 1, np.int64), vector(rows, 2, np.int32))


@njit(**COMPILE)
def expect(known: Known, capacity: int) -> None:
    """Write what came after the last candidates, for the next search: the followers of the nearest ones first."""
    last_candidates, likely, followers = known
    likely[:] = -1
    room = np.zeros(len(likely), np.int64)
    for rank in range(last_candidates.shape[1]):
        for candidates in last_candidates:
            follower = followers[candidates[rank]] if candidates[rank] >= 0 else np.int32(-1)
            if follower >= 0:
                action = follower // capacity
                if room[action] < likely.shape[1]:
                    likely[action, room[action]] = follower
                    room[action] += 1


@njit(**COMPILE)
def _note_newest(slots: NDArray[np.int64], newest: NDArray[np.int64], puts: NDArray[np.int64], capacity: int) -> None:
    """Keep the slots put last, of each action, in a ring."""
    for slot in slots:
        action = slot // capacity
        newest[action, puts[action] % newest.shape[1]] = slot
        puts[action] += 1
