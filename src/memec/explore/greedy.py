"""The best action by mean value: how every agent is evaluated."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.random import Generator

from memec.explore.belief import Belief, Floats, unusable
from memec.explore.choice import REFUSED, argmax_of_each, argmax_random_tie, empty_like, uniform_over_largest
from memec.explore.exploration import Exploration
from memec.explore.strategy import Strategy


class Greedy(Exploration):
    """Take the action of the largest mean value, equals at random."""

    name: Literal["greedy"] = "greedy"

    def choose(self, belief: Belief, step: int, rng: Generator) -> int:
        """Draw an action."""
        action: int = argmax_random_tie(belief.mean, self.among_equals(rng.random()))
        if action < 0:
            raise unusable(belief)
        return action

    def choose_each(self, values: Floats, luck: Sequence[float]) -> list[int]:
        """Take the best action of each row; the luck of a row, in [0, 1), chooses among equals."""
        chosen: list[int] = argmax_of_each(values, np.array([self.among_equals(u) for u in luck])).tolist()
        if REFUSED in chosen:
            raise unusable(Belief(values))
        return chosen

    def probabilities(self, belief: Belief, step: int) -> Floats:
        """The distribution `choose` draws from."""
        probabilities = empty_like(belief.mean)
        if not uniform_over_largest(belief.mean, probabilities, self.ties == "first"):
            raise unusable(belief)
        return probabilities


def evaluated(strategy: Strategy) -> Strategy:
    """Return what acts in evaluation for an agent that explores by this strategy."""
    return strategy if strategy.judges_as_released else Greedy(ties=strategy.ties)
