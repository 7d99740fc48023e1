"""What a strategy learns as it goes, beside the agent's own learning."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from memec.explore.belief import Belief, Floats


class Insight:
    """Kept by the agent for its strategy, which holds no state itself. This one learns nothing; others learn more."""

    def enter(self, lane: int) -> None:
        """Hear in which environment, of several side by side, the episode goes on that is told of next."""

    def is_offered(self, readings: int) -> None:
        """Hear, before an episode, in how many ways the agent reads the value of an action in it, if in several."""

    def begin(self, rng: Generator) -> None:
        """Get ready for a decision."""

    def believe(
        self,
        belief: Belief,
        squared_distances: NDArray[np.float32] | None = None,
        exact: NDArray[np.bool_] | None = None,
    ) -> Belief:
        """Return what to choose by, given what the agent believes and each action's neighbours [actions, neighbours].

        An agent without a memory has no neighbours to tell of.
        """
        return belief

    def notice(self, belief: Belief, action: int) -> None:
        """Take in a decision of the episode under way."""

    def observe(self, reward: float, over: bool) -> None:
        """Take in what the decision brought, and whether the episode is over."""

    def meet(self, new: bool, memories: int) -> None:
        """Take in whether what it led to was new, among so many memories; only some agents can tell."""

    def settle(self, returns: Floats) -> None:
        """Take in what really followed the first decisions noticed and not settled yet."""

    def forget(self) -> None:
        """Drop the episode under way: what would have followed will never be known."""

    def untouched(self) -> AbstractContextManager[None]:
        """Within this, choosing changes nothing."""
        return nullcontext()

    def diagnostics(self) -> dict[str, float]:
        """Return what was learned, for the logs."""
        return {}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what `restore` needs to go on identically."""
        return {}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from what `arrays` returned."""
