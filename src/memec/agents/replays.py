"""The replay of an agent in several environments: what follows what is known only within one of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from memec.agents.replay import Array, TransitionBatch, TransitionReplay
from memec.train.files import Arrays, part_of
from memec.train.journal import Journal


class LaneReplay:
    """The replays of all environments, which are sampled as one; what is added comes from one of them."""

    def __init__(self, lanes: Sequence[TransitionReplay], lane: int = 0) -> None:
        self._lanes = lanes
        own = lanes[lane]
        self.begin, self.complete, self.cut_off = own.begin, own.complete, own.cut_off
        self.abandon, self.newest = own.abandon, own.newest

    def of(self, lane: int) -> "LaneReplay":
        """Return the same to add to from another environment."""
        return LaneReplay(self._lanes, lane)

    def __len__(self) -> int:
        return sum(map(len, self._lanes))

    def sample(self, count: int, generator: np.random.Generator) -> TransitionBatch:
        """Draw uniformly, with repetition."""
        sizes = np.array([len(lane) for lane in self._lanes])
        shares = generator.multinomial(count, sizes / sizes.sum())
        drawn = [lane.sample(share, generator) for lane, share in zip(self._lanes, shares, strict=True) if share]
        columns: Any = (np.concatenate(column) for column in zip(*drawn, strict=True))
        return TransitionBatch(*columns)

    def journals(self) -> dict[str, Journal]:
        """Return the rows, environment by environment."""
        parts = enumerate(self._lanes)
        return {f"lane{lane}_{name}": rows for lane, part in parts for name, rows in part.journals().items()}

    def position(self) -> Arrays:
        """Return what tells how the rows are to be read."""
        parts = enumerate(self._lanes)
        return {f"lane{lane}.{name}": array for lane, part in parts for name, array in part.position().items()}

    def resume(self, position: dict[str, Array]) -> None:
        """Go on from a position, with the rows put back already."""
        for lane, part in enumerate(self._lanes):
            part.resume(part_of(position, f"lane{lane}."))


def transition_replay(
    capacity: int, shape: tuple[int, ...], dtype: Any, actions: int, environments: int
) -> TransitionReplay | LaneReplay:
    """Make the replay for so many environments; all of them share its capacity."""
    if environments == 1:
        return TransitionReplay(capacity, shape, dtype, actions)
    share = max(2, capacity // environments)
    return LaneReplay([TransitionReplay(share, shape, dtype, actions) for _ in range(environments)])
