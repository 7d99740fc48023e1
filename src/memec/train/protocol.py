"""What the loop knows of an agent."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Observation = NDArray[Any]
StateId = NDArray[np.uint64]


class GreedyPolicy(Protocol):
    """Acts as well as the agent can, and changes nothing in it."""

    def __call__(self, observation: Observation, state_id: StateId) -> int:
        """Return the best action; ties are broken at random."""


class Learner(Protocol):
    """An agent, to the loop."""

    def act(self, observation: Observation, state_id: StateId) -> int:
        """Choose an action to learn from."""

    def observe(self, reward: float, observation: Observation, terminated: bool, truncated: bool) -> None:
        """Take in what the last action led to."""

    def abandon_episode(self) -> None:
        """Forget the episode under way: it will not be finished."""

    def greedy_policy(self, generator: np.random.Generator) -> GreedyPolicy:
        """Return the policy to evaluate; the generator breaks ties."""
