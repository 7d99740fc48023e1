"""The best action by mean value: how every agent is evaluated."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from memec.explore.belief import Belief, Floats, unusable
from memec.explore.choice import REFUSED, argmax_of_each, argmax_random_tie, empty_like, uniform_over_largest
from memec.settings import Settings


class Greedy(Settings):
    """Take the action of the largest mean value, equals at random."""

    name: Literal["greedy"] = "greedy"
    needs_std: ClassVar[bool] = False

    def choose(self, belief: Belief, step: int, rng: Generator) -> int:
        """Draw an action."""
        action: int = argmax_random_tie(belief.mean, rng.random())
        if action < 0:
            raise unusable(belief)
        return action

    @staticmethod
    def choose_each(values: Floats, luck: Sequence[float]) -> list[int]:
        """Take the best action of each row; the luck of a row, in [0, 1), chooses among equals."""
        chosen: list[int] = argmax_of_each(values, np.array(luck)).tolist()
        if REFUSED in chosen:
            raise unusable(Belief(values))
        return chosen

    def probabilities(self, belief: Belief, step: int) -> Floats:
        """The distribution `choose` draws from."""
        probabilities = empty_like(belief.mean)
        if not uniform_over_largest(belief.mean, probabilities):
            raise unusable(belief)
        return probabilities
