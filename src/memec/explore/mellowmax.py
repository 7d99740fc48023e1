"""Maximum-entropy mellowmax: as random as it can be while worth as much as the mellowmax of the values."""

from collections.abc import Sequence
from math import exp, expm1, inf, isfinite, isnan, log, log1p, nan, sqrt
from typing import Literal

import numpy as np
from numba import njit
from numpy.random import Generator
from pydantic import PositiveFloat

from memec.explore.belief import Belief, Floats, unusable
from memec.explore.choice import REFUSED, all_finite, empty_like, sample
from memec.explore.exploration import Exploration

SMALL_SHARPNESS = 1e-7
# Close to the largest double. Cutting it here changes nothing but between values that differ by less than 1e-307 of the
# spread.
LARGEST_SHARPNESS = 1e308
# Ordinary values need 3 to 6; the rest is for gaps that span hundreds of orders of magnitude.
MOST_ITERATIONS = 300


class Mellowmax(Exploration):
    """Sample from the policy of largest entropy whose expected value is the mellowmax of the values.

    That policy is a softmax whose inverse temperature beta follows from the values, so that it is the more random
    the less the actions differ. It gives up at most log(n) / omega return units per decision.
    """

    name: Literal["mellowmax"] = "mellowmax"
    omega: PositiveFloat = 7.5
    """In units of 1 / return: large is greedy, small is uniform."""

    def choose(self, belief: Belief, step: int, rng: Generator) -> int:
        """Draw an action."""
        return choose_by_mellowmax(belief, self.omega, rng)

    def probabilities(self, belief: Belief, step: int) -> Floats:
        """The distribution `choose` draws from."""
        return mellowmax_policy(belief.mean, self.omega)[0]

    def diagnostics(self, beliefs: Sequence[Belief], step: int) -> dict[str, float]:
        """Return the inverse temperature beta."""
        return mean_beta([mellowmax_policy(belief.mean, self.omega)[1] for belief in beliefs])


def choose_by_mellowmax(belief: Belief, omega: float, rng: Generator) -> int:
    """Draw an action from the maximum-entropy mellowmax policy."""
    action: int = _choose(belief.mean, omega, rng.random())
    if action < 0:
        raise unusable(belief)
    return action


def mellowmax_policy(values: Floats, omega: float) -> tuple[Floats, float]:
    """The maximum-entropy mellowmax policy over `values`, and the inverse temperature beta that makes it."""
    probabilities = empty_like(values)
    beta: float = _policy(values, omega, probabilities)
    if isnan(beta):
        raise unusable(Belief(values))
    return probabilities, beta


def mean_beta(betas: Sequence[float]) -> dict[str, float]:
    """Return the mean for diagnostics; it has no end where one action is surely the best."""
    beta = float(np.mean(betas)) if betas else nan
    return {"beta": beta} if isfinite(beta) else {}


@njit(cache=True, nogil=True)
def _choose(values: Floats, omega: float, u: float) -> int:
    probabilities = np.empty(values.shape[0])
    if isnan(_policy(values, omega, probabilities)):
        return REFUSED
    return sample(probabilities, u)


@njit(cache=True, nogil=True)
def _policy(values: Floats, omega: float, probabilities: Floats) -> float:
    """Write the policy into `probabilities` and return beta; NaN if not all values are finite.

    Everything is computed from the values shifted and divided to [-1, 0] and from `sharpness` = omega * spread,
    so that neither offset nor scale can overflow or lose digits, and scaling the values by c and omega by 1/c
    changes nothing.
    """
    if not all_finite(values):
        return nan
    n = values.shape[0]
    largest = values[0]
    smallest = values[0]
    for value in values:
        largest = max(largest, value)
        smallest = min(smallest, value)
    # Halving is exact for values so large that their spread overflows.
    unit = 0.5 if largest - smallest == inf else 1.0
    spread = unit * largest - unit * smallest
    if spread == 0.0:
        probabilities[:] = 1.0 / n
        return 0.5 * omega
    shifted = np.empty(n)
    for i in range(n):
        shifted[i] = (unit * values[i] - unit * largest) / spread
    sharpness = min(omega / unit * spread, LARGEST_SHARPNESS)
    steepness = _solve(shifted, sharpness)
    total = 0.0
    for i in range(n):
        probabilities[i] = exp(steepness * shifted[i])
        total += probabilities[i]
    for i in range(n):
        probabilities[i] /= total
    if sharpness < SMALL_SHARPNESS:
        return 0.5 * omega
    beta: float = steepness / spread * unit
    return beta


@njit(cache=True, nogil=True)
def _solve(shifted: Floats, sharpness: float) -> float:
    """Find `steepness` = beta * spread, with which the softmax of `shifted` is worth its mellowmax.

    Mellowmax is the average of the softmax operator over all inverse temperatures from 0 to omega, and that operator
    grows with the inverse temperature: so the root lies in [0, sharpness]. Newton's method runs on the logarithm of the
    loss against the best action, which is nearly linear in the steepness; a step that leaves the bracket
    becomes a bisection. 1 to 2 microseconds, against 300 for Brent's method of scipy, which wants a bracket it
    can evaluate without overflow besides.
    """
    if sharpness < SMALL_SHARPNESS:
        # To first order in the sharpness the root is one half of it, whatever the values: an error of its square.
        return 0.5 * sharpness
    n = shifted.shape[0]
    mean_exponential = 0.0
    for value in shifted:
        mean_exponential += expm1(sharpness * value)
    log_target = log(-log1p(mean_exponential / n)) - log(sharpness)
    low = 0.0
    high = sharpness
    steepness = min(0.5 * sharpness, 1.0 + log1p(sharpness))
    for _ in range(MOST_ITERATIONS):
        total = 0.0
        first = 0.0
        second = 0.0
        for value in shifted:
            weight = exp(steepness * value)
            total += weight
            first -= weight * value
            second += weight * value * value
        loss = first / total
        variance = second / total - loss * loss
        excess = log(loss) - log_target if loss > 0.0 else -inf
        if excess > 0.0:
            low = steepness
        else:
            high = steepness
        proposal = steepness + excess * loss / variance if variance > 0.0 and loss > 0.0 else nan
        if not low <= proposal <= high:
            # The bracket may span hundreds of orders of magnitude: halve its exponent while it is wide.
            proposal = sqrt(low) * sqrt(high) if low > 0.0 and high > 2.0 * low else 0.5 * (low + high)
        change = abs(proposal - steepness)
        steepness = proposal
        if change <= 1e-14 + 1e-12 * steepness:
            break
    return steepness
