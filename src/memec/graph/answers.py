"""What a graph says when it is asked."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class View(NamedTuple):
    """What is near to some states."""

    keys: NDArray[np.float32]
    slots: NDArray[np.int64]
    """[states, actions, neighbours] -1 where there is none."""
    squared_distances: NDArray[np.float32]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what `Graph.restore_view` needs."""
        return self._asdict() | {"squared_distances": np.where(self.slots < 0, np.float32(0), self.squared_distances)}


class Opinion(NamedTuple):
    """What is thought of some states, by action."""

    values: NDArray[np.float64]
    hopes: NDArray[np.float64]
    tempered: NDArray[np.float64]
    """The values where luck is not trusted; elsewhere the same as the values."""


@dataclass(frozen=True)
class Outcome:
    """What came of an action in a state."""

    count: int
    """How often."""
    reward: float
    """The mean reward."""
    terminated: bool
    observation: NDArray[np.float32]
    """What was observed next."""


class Remembered(NamedTuple):
    """What an experience became."""

    slot: int
    there: View
    """What is near to where it led."""
    new: bool
    """Whether it had not come about just so before."""


class Chains(NamedTuple):
    """The outcomes of some entries."""

    rows: NDArray[np.int64]
    """Those of one entry after those of another; within an entry the newest kind first."""
    lengths: NDArray[np.int32]
    """How many each entry has."""
    latest: NDArray[np.int32]
    """Which of them came about last."""
