"""What was asked of memec itself, judged as the paper's claims are: by intervals, never by a mean alone."""

from math import inf, sqrt
from typing import NamedTuple

import numpy as np
from scipy import stats

from memec.report.stats import CONFIDENCE, Estimate, Values

REACHED, MISSED, UNDECIDED = "reached", "**not reached**", "undecided"
RULE = (
    "A target is **reached** when the 95% interval of what it asks for lies wholly within it, **not reached** when the "
    "interval lies wholly outside or a single seed is beyond what every seed must keep, and **undecided** otherwise. "
    "The intervals: Student's of a mean, the one of order statistics of a median, Fieller's of a ratio of means, "
    "Newcombe's of the probability that a seed of one is ahead of a seed of the other."
)
TAIL = (1 - CONFIDENCE) / 2


class Asked(NamedTuple):
    """A measure with its interval, and between what it was to lie."""

    measured: Estimate
    least: float = -inf
    most: float = inf


def outcome(*asked: Asked) -> str:
    """Return whether a target was reached, of which every part must be."""
    ends = [_ends(each.measured) for each in asked]
    if all(each.least <= low and high <= each.most for each, (low, high) in zip(asked, ends, strict=True)):
        return REACHED
    if any(high < each.least or low > each.most for each, (low, high) in zip(asked, ends, strict=True)):
        return MISSED
    return UNDECIDED


def _ends(measured: Estimate) -> tuple[float, float]:
    return -inf if measured.low is None else measured.low, inf if measured.high is None else measured.high


def mean_of(values: Values) -> Estimate:
    """Return the mean over seeds with Student's interval."""
    value = float(values.mean())
    if len(values) < 2:
        return Estimate(value)
    half = float(stats.t.ppf(1 - TAIL, len(values) - 1)) * float(values.std(ddof=1)) / sqrt(len(values))
    return Estimate(value, value - half, value + half)


def median_of(values: Values) -> Estimate:
    """Return the median over seeds with the interval between two of them, whatever their distribution.

    A seed lies below the median as often as above it; fewer than six seeds have no two that hold it in 95% of cases.
    """
    ordered, value = np.sort(values), float(np.median(values))
    tails = stats.binom.cdf(np.arange(len(values)), len(values), 0.5)
    place = int((tails <= TAIL).sum()) - 1  # the last of them that is above the median too rarely
    if place < 0:
        return Estimate(value)
    return Estimate(value, float(ordered[place]), float(ordered[-1 - place]))


def ratio_of_means(*pairs: tuple[Values, Values]) -> Estimate:
    """Return the ratio of two means with Fieller's interval; of several pairs, that of the means over all of them.

    It has no interval where the second mean may well be zero.
    """
    first, second = (np.array([each[place].mean() for each in pairs]).mean() for place in (0, 1))
    if second == 0.0:
        return Estimate(inf)
    value = float(first / second)
    if min(len(values) for pair in pairs for values in pair) < 2:
        return Estimate(value)
    squares = np.array([[values.var(ddof=1) / len(values) for values in pair] for pair in pairs]) / len(pairs) ** 2
    if not squares.any():
        return Estimate(value, value, value)
    spread_first, spread_second = squares.sum(axis=0)
    freedom = _freedom(squares * [1.0, value**2], np.array([[len(values) for values in pair] for pair in pairs]))
    quantile = float(stats.t.ppf(1 - TAIL, freedom)) ** 2
    certain = second**2 - quantile * spread_second
    if certain <= 0.0:
        return Estimate(value)
    middle = first * second
    half = sqrt(max(middle**2 - certain * (first**2 - quantile * spread_first), 0.0))
    return Estimate(value, float((middle - half) / certain), float((middle + half) / certain))


def _freedom(squares: Values, seeds: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> float:
    """Return Welch's and Satterthwaite's degrees of freedom of a sum of squared errors."""
    return float(squares.sum()) ** 2 / float((squares**2 / (seeds - 1)).sum())
