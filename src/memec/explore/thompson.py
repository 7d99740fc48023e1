"""Thompson sampling: an action is taken as often as it is believed to be the best."""

from math import erfc, exp, pi, sqrt
from typing import ClassVar, Literal

import numpy as np
from numba import njit
from numpy.random import Generator

from memec.explore.belief import Belief, Floats, required_std, unusable
from memec.explore.calibration import Calibration
from memec.explore.choice import REFUSED, all_finite, argmax_random_tie, empty_like, shifted_scores
from memec.explore.exploration import Exploration, GaussianProcess
from memec.explore.strategy import Need


class Sampling(Exploration):
    """Draw a value for every action from its normal belief and take the largest, equals at random."""

    name: str

    def choose(self, belief: Belief, step: int, rng: Generator) -> int:
        """Draw an action."""
        std = required_std(belief, self.name)
        action: int = _choose(belief.mean, std, rng.standard_normal(belief.mean.shape), self.among_equals(rng.random()))
        if action < 0:
            raise unusable(belief)
        return action

    def probabilities(self, belief: Belief, step: int) -> Floats:
        """The distribution `choose` draws from, by numerical integration, right to about 1e-9."""
        probabilities = empty_like(belief.mean)
        if not _probability_of_best(belief.mean, required_std(belief, self.name), NODES, WEIGHTS, probabilities):
            raise unusable(belief)
        return probabilities


class Thompson(Sampling, GaussianProcess):
    """Thompson sampling with the standard deviation of the paper's Gaussian process."""

    name: Literal["thompson"] = "thompson"


class ThompsonCalibrated(Sampling):
    """Thompson sampling with a standard deviation learned from how far values were off."""

    name: Literal["thompson-calibrated"] = "thompson-calibrated"
    needs: ClassVar[Need] = "memory"

    def insight(self) -> Calibration:
        """Return what learns the standard deviations."""
        return Calibration()


@njit(cache=True, nogil=True)
def _choose(mean: Floats, std: Floats, normals: Floats, u: float) -> int:
    scores = np.empty(mean.shape[0])
    if not shifted_scores(mean, std, normals, scores):
        return REFUSED
    return argmax_random_tie(scores, u)


# Gauss-Legendre between points at these distances, in standard deviations, around every mean: wherever one of the
# normal distributions bends, however narrow beside the others, the pieces are short.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)
BREAKS = np.array([-9.0, -6.0, -4.0, -2.0, 0.0, 2.0, 4.0, 6.0, 9.0])


@njit(cache=True, nogil=True)
def _below(distance: float, width: float) -> float:
    """The probability that a normal value lies less than `distance` above its mean; certain if it has no width."""
    if width == 0.0:
        return 1.0 if distance >= 0.0 else 0.0
    return 0.5 * erfc(-distance / width / sqrt(2.0))


@njit(cache=True, nogil=True)
def _probability_of_best(mean: Floats, std: Floats, nodes: Floats, weights: Floats, probabilities: Floats) -> bool:
    """Write the probability of each normal value to be the largest; false for a belief that is not usable."""
    n = mean.shape[0]
    if std.shape[0] != n or not all_finite(mean) or not all_finite(std) or std.min() < 0.0:
        return False
    # The answer does not change with the scale, and a power of two loses no digit.
    scale = 2.0**-10 if max(np.abs(mean).max(), std.max()) > 1e300 else 1.0
    centre = mean * scale
    width = std * scale
    for i in range(n):
        probabilities[i] = _wins(i, centre, width, nodes, weights) if width[i] > 0.0 else 0.0
    _share_of_certain_values(centre, width, probabilities)
    probabilities /= probabilities.sum()
    return True


@njit(cache=True, nogil=True)
def _wins(i: int, centre: Floats, width: Floats, nodes: Floats, weights: Floats) -> float:
    """Integrate the density of value i times the probability that all others lie below.

    The variable counts standard deviations of value i from its mean, so that no scale is lost beside another.
    """
    n = centre.shape[0]
    breaks = np.empty((n, BREAKS.shape[0]))
    for j in range(n):
        for k in range(BREAKS.shape[0]):
            place = (centre[j] - centre[i] + width[j] * BREAKS[k]) / width[i]
            breaks[j, k] = min(max(place, BREAKS[0]), BREAKS[-1])
    ends = np.sort(breaks.ravel())
    probability = 0.0
    for piece in range(ends.shape[0] - 1):
        half = 0.5 * (ends[piece + 1] - ends[piece])
        if half == 0.0:
            continue
        for node in range(nodes.shape[0]):
            z = ends[piece] + half * (1.0 + nodes[node])
            mass = weights[node] * half * exp(-0.5 * z * z) / sqrt(2.0 * pi)
            for j in range(n):
                if j != i:
                    mass *= _below(centre[i] - centre[j] + width[i] * z, width[j])
            probability += mass
    return probability


@njit(cache=True, nogil=True)
def _share_of_certain_values(centre: Floats, width: Floats, probabilities: Floats) -> None:
    """Give the largest values without spread, in equal parts, the chance that all uncertain ones lie below."""
    n = centre.shape[0]
    largest = -np.inf
    ties = 0
    for i in range(n):
        if width[i] == 0.0:
            if centre[i] > largest:
                largest = centre[i]
                ties = 0
            if centre[i] == largest:
                ties += 1
    if ties == 0:
        return
    chance = 1.0
    for i in range(n):
        if width[i] > 0.0:
            chance *= _below(largest - centre[i], width[i])
    for i in range(n):
        if width[i] == 0.0 and centre[i] == largest:
            probabilities[i] = chance / ties
