"""What the loop knows of an agent."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Observation = NDArray[Any]
StateId = NDArray[np.uint64]
AskStateId = Callable[[], StateId]
"""Gives the id of the current state; asked for only by those who need it, because it takes a while."""


class GreedyPolicy(Protocol):
    """Acts as well as the agent can, and changes nothing in it."""

    def __call__(
        self, observations: Sequence[Observation], state_ids: NDArray[np.uint64], luck: Sequence[float]
    ) -> list[int]:
        """Return the best action of each state; equally good ones are chosen among by luck, a number in [0, 1).

        The ids of the states come one below the other, two words each.
        """


class Learner(Protocol):
    """An agent, to the loop."""

    def act(self, observation: Observation, state_id: AskStateId) -> int:
        """Choose an action to learn from."""

    def observe(self, reward: float, observation: Observation, terminated: bool, truncated: bool) -> None:
        """Take in what the last action led to."""

    def abandon_episode(self) -> None:
        """Forget the episode under way: it will not be finished."""

    def greedy_policy(self) -> GreedyPolicy:
        """Return the policy to evaluate."""
