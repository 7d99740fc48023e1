"""Boltzmann exploration: the better an action, the likelier."""

from typing import Literal

import numpy as np
from numba import njit
from numpy.random import Generator
from pydantic import PositiveFloat

from memec.explore.belief import Belief, Floats, unusable
from memec.explore.choice import REFUSED, empty_like, sample, softmax
from memec.explore.exploration import Exploration


class Boltzmann(Exploration):
    """Sample actions in proportion to exp(value / temperature)."""

    name: Literal["boltzmann"] = "boltzmann"
    temperature: PositiveFloat = 1.0
    """In units of the return: how much worse an action may be and still be taken often."""

    def choose(self, belief: Belief, step: int, rng: Generator) -> int:
        """Draw an action."""
        action: int = _choose(belief.mean, self.temperature, rng.random())
        if action < 0:
            raise unusable(belief)
        return action

    def probabilities(self, belief: Belief, step: int) -> Floats:
        """The distribution `choose` draws from."""
        probabilities = empty_like(belief.mean)
        if not softmax(belief.mean, self.temperature, probabilities):
            raise unusable(belief)
        return probabilities


@njit(cache=True, nogil=True)
def _choose(values: Floats, temperature: float, u: float) -> int:
    probabilities = np.empty(values.shape[0])
    if not softmax(values, temperature, probabilities):
        return REFUSED
    return sample(probabilities, u)
