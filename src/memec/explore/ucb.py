"""Upper confidence bound: what might be best is tried."""

from typing import ClassVar, Literal

import numpy as np
from numba import njit
from numpy.random import Generator
from pydantic import NonNegativeFloat

from memec.explore.belief import Belief, Floats, required_std, unusable
from memec.explore.calibration import Calibration
from memec.explore.choice import REFUSED, argmax_random_tie, empty_like, shifted_scores, uniform_over_largest
from memec.explore.exploration import Exploration, GaussianProcess
from memec.explore.strategy import Need


class UpperBound(Exploration):
    """Take the action of the largest mean + bonus * standard deviation, equals at random."""

    name: str
    bonus: NonNegativeFloat = 1.0
    """How many standard deviations above its mean an action is hoped to be."""

    def choose(self, belief: Belief, step: int, rng: Generator) -> int:
        """Draw an action."""
        action: int = _choose(belief.mean, required_std(belief, self.name), self.bonus, self.among_equals(rng.random()))
        if action < 0:
            raise unusable(belief)
        return action

    def probabilities(self, belief: Belief, step: int) -> Floats:
        """The distribution `choose` draws from."""
        scores = empty_like(belief.mean)
        probabilities = empty_like(belief.mean)
        deviations = np.full(belief.mean.shape, self.bonus)
        if not shifted_scores(belief.mean, required_std(belief, self.name), deviations, scores):
            raise unusable(belief)
        uniform_over_largest(scores, probabilities, self.ties == "first")
        return probabilities


class UCB(UpperBound, GaussianProcess):
    """Upper confidence bound with the standard deviation of the paper's Gaussian process."""

    name: Literal["ucb"] = "ucb"


class UCBCalibrated(UpperBound):
    """Upper confidence bound with a standard deviation learned from how far values were off."""

    name: Literal["ucb-calibrated"] = "ucb-calibrated"
    needs: ClassVar[Need] = "memory"

    def insight(self) -> Calibration:
        """Return what learns the standard deviations."""
        return Calibration()


@njit(cache=True, nogil=True)
def _choose(mean: Floats, std: Floats, bonus: float, u: float) -> int:
    scores = np.empty(mean.shape[0])
    if not shifted_scores(mean, std, np.full(mean.shape[0], bonus), scores):
        return REFUSED
    return argmax_random_tie(scores, u)
