"""Epsilon-greedy: mostly the best action, sometimes any."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from numba import njit
from numpy.random import Generator
from pydantic import Field, NonNegativeInt, model_validator

from memec.explore.belief import Belief, Floats, unusable
from memec.explore.choice import REFUSED, all_finite, argmax_random_tie, empty_like, uniform_over_largest
from memec.explore.exploration import Exploration

Probability = Annotated[float, Field(ge=0.0, le=1.0)]


class EpsilonGreedy(Exploration):
    """Take a uniformly random action with probability epsilon, else the best one, equals at random."""

    name: Literal["epsilon-greedy"] = "epsilon-greedy"
    epsilon_initial: Probability = 1.0
    """The probability of a random action up to `anneal_start_steps`."""
    epsilon_final: Probability = 0.005
    """The probability of a random action from `anneal_end_steps` on; it changes linearly in between."""
    anneal_start_steps: NonNegativeInt = 5_000
    anneal_end_steps: NonNegativeInt = 25_000

    @model_validator(mode="after")
    def _anneals_forward(self) -> Self:
        if self.anneal_start_steps > self.anneal_end_steps:
            raise ValueError(
                f"the annealing must not start (anneal_start_steps = {self.anneal_start_steps}) "
                f"after it ends (anneal_end_steps = {self.anneal_end_steps})"
            )
        return self

    def epsilon(self, step: int) -> float:
        """The probability of a random action at this step."""
        if step >= self.anneal_end_steps:
            return self.epsilon_final
        if step <= self.anneal_start_steps:
            return self.epsilon_initial
        done = (step - self.anneal_start_steps) / (self.anneal_end_steps - self.anneal_start_steps)
        return self.epsilon_initial + done * (self.epsilon_final - self.epsilon_initial)

    def choose(self, belief: Belief, step: int, rng: Generator) -> int:
        """Draw an action."""
        action: int = _choose(belief.mean, self.epsilon(step), rng.random(), self.ties == "first")
        if action < 0:
            raise unusable(belief)
        return action

    def probabilities(self, belief: Belief, step: int) -> Floats:
        """The distribution `choose` draws from."""
        probabilities = empty_like(belief.mean)
        if not uniform_over_largest(belief.mean, probabilities, self.ties == "first"):
            raise unusable(belief)
        epsilon = self.epsilon(step)
        return (1.0 - epsilon) * probabilities + epsilon / probabilities.size

    def diagnostics(self, beliefs: Sequence[Belief], step: int) -> dict[str, float]:
        """Return epsilon."""
        return {"epsilon": self.epsilon(step)}


@njit(cache=True, nogil=True)
def _choose(values: Floats, epsilon: float, u: float, first: bool) -> int:
    """Spend one uniform number on both questions: it lies below epsilon or not, and where within that part."""
    if u >= epsilon:
        return argmax_random_tie(values, 0.0 if first else (u - epsilon) / (1.0 - epsilon))
    if not all_finite(values):
        return REFUSED
    n = values.shape[0]
    return int(min(u / epsilon * n, n - 1.0))
