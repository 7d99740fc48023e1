"""Compiled choices: from values or probabilities, and one uniform number, to an action.

Every kernel answers `REFUSED` (or false) for values that are not finite, so that the check costs no second pass in
Python. They are compiled without fast-math, which would remove that check, and are not library calls because the
generator's own `choice` takes 10 microseconds and more.
"""

from math import exp, inf, isfinite

import numpy as np
import numpy.typing as npt
from numba import njit

from memec.explore.belief import Floats

REFUSED = -1

# A power of two: scaling by it is exact, and whatever overflowed fits afterwards (the largest double is just below
# 2**1024). What vanishes by it is too small to matter beside the value that overflowed.
TINY_SCALE = 2.0**-1030


@njit(cache=True, nogil=True)
def all_finite(values: Floats) -> bool:
    """Whether there is at least one value and none is NaN or infinite."""
    for value in values:
        if not isfinite(value):
            return False
    return bool(values.shape[0] > 0)


@njit(cache=True, nogil=True)
def span(values: Floats) -> float:
    """The difference between the largest and the smallest value; 0 if there is none."""
    if values.shape[0] == 0:
        return 0.0
    return float(values.max() - values.min())


@njit(cache=True, nogil=True)
def sample(probabilities: Floats, u: float) -> int:
    """Draw an index by inverse transform of `u` in [0, 1).

    The probabilities need not sum to exactly one, and an index of probability zero is never drawn.
    """
    total = 0.0
    for probability in probabilities:
        total += probability
    threshold = u * total
    reached = 0.0
    last_possible = 0
    for i in range(probabilities.shape[0]):
        if probabilities[i] > 0.0:
            reached += probabilities[i]
            last_possible = i
            if threshold < reached:
                return i
    return last_possible


@njit(cache=True, nogil=True)
def argmax_random_tie(values: Floats, u: float) -> int:
    """The index of the largest value; `u` in [0, 1) chooses uniformly among equals. `REFUSED` if not all are finite."""
    if not all_finite(values):
        return REFUSED
    largest = -inf
    ties = 0
    for value in values:
        if value > largest:
            largest = value
            ties = 1
        elif value == largest:
            ties += 1
    remaining = min(int(u * ties), ties - 1)
    for i in range(values.shape[0]):
        if values[i] == largest:
            if remaining == 0:
                return i
            remaining -= 1
    return REFUSED


@njit(cache=True, nogil=True)
def argmax_of_each(values: Floats, u: Floats) -> npt.NDArray[np.int64]:
    """The index of the largest value in each row, as `argmax_random_tie` has it."""
    largest = np.empty(values.shape[0], np.int64)
    for row in range(values.shape[0]):
        largest[row] = argmax_random_tie(values[row], u[row])
    return largest


@njit(cache=True, nogil=True)
def softmax(values: Floats, temperature: float, probabilities: Floats) -> bool:
    """Write exp(values / temperature), normalised, into `probabilities`; false if not all values are finite."""
    if not all_finite(values):
        return False
    largest = values[0]
    for value in values:
        largest = max(largest, value)
    total = 0.0
    for i in range(values.shape[0]):
        exponent = (values[i] - largest) / temperature
        if exponent == -inf:
            # The difference may have overflowed although the quotient does not: divide first.
            exponent = values[i] / temperature - largest / temperature
        probabilities[i] = exp(exponent)
        total += probabilities[i]
    for i in range(values.shape[0]):
        probabilities[i] /= total
    return True


@njit(cache=True, nogil=True)
def shifted_scores(mean: Floats, std: Floats, deviations: Floats, scores: Floats) -> bool:
    """Write mean + deviations * std into `scores`, scaled down together where that overflows.

    Only the order of the scores is kept. False for a mean or standard deviation that is not finite (or negative).
    """
    n = mean.shape[0]
    if std.shape[0] != n or not all_finite(mean) or not all_finite(std):
        return False
    overflowed = False
    for i in range(n):
        if std[i] < 0.0:
            return False
        scores[i] = mean[i] + deviations[i] * std[i]
        overflowed = overflowed or not isfinite(scores[i])
    if overflowed:
        for i in range(n):
            scores[i] = mean[i] * TINY_SCALE + deviations[i] * (std[i] * TINY_SCALE)
    return True


@njit(cache=True, nogil=True)
def uniform_over_largest(values: Floats, probabilities: Floats, first: bool) -> bool:
    """Write the distribution that `argmax_random_tie` draws from, or where the `first` of equals is taken that one.

    False if not all values are finite.
    """
    if not all_finite(values):
        return False
    largest = values[0]
    for value in values:
        largest = max(largest, value)
    ties = 0
    for value in values:
        if value == largest:
            ties += 1
    share = 1.0 if first else 1.0 / ties
    for i in range(values.shape[0]):
        probabilities[i] = share if values[i] == largest else 0.0
        if first and probabilities[i] > 0.0:
            largest = inf
    return True


def empty_like(values: Floats) -> Floats:
    """Room for one probability per value, always in double precision."""
    return np.empty(values.shape[0], dtype=np.float64)
