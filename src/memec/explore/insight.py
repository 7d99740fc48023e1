"""What a strategy learns about the values it chooses by, beside the agent's own learning."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memec.explore.belief import Belief, Floats


class Insight(Protocol):
    """Kept by the agent for a strategy that needs it; strategies themselves hold no state."""

    def believe(self, values: Floats, squared_distances: NDArray[np.float32], exact: NDArray[np.bool_]) -> Belief:
        """Return what to choose by, given each action's value and its neighbours [actions, neighbours]."""

    def notice(self, belief: Belief, action: int) -> None:
        """Take in a decision of the episode under way."""

    def settle(self, returns: Floats) -> None:
        """Take in what really followed the first decisions noticed and not settled yet."""

    def forget(self) -> None:
        """Drop the decisions that were not settled: what followed them will never be known."""

    def diagnostics(self) -> dict[str, float]:
        """Return what was learned, for the logs."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what `restore` needs to go on identically."""

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from what `arrays` returned."""
