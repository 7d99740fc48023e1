"""Tests for few seeds: exact under what they assume, and what they can decide at all.

What they promise is held to simulations in `tests/report/test_significance.py`.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import comb, sqrt

import numpy as np

from memec.errors import from_extra
from memec.report.stats import CONFIDENCE, Estimate, Values

with from_extra("report", "A report"):
    from scipy import optimize, stats

LEVEL = 0.05
"""The one level of all tests: one-sided, for and against a claim alike, after correction within a family."""
TRUE_PROBABILITY = 0.8
"""The effect against which power is stated: a seed of the better one is above a seed of the other so often."""
TRUE_SHARE = 0.9
"""The effect against which power is stated where a share of seeds is judged."""
SIMULATIONS = 4_000
PERMUTATIONS = 5_000
"""Drawn at random where there are more."""


def rank_test(larger: Values, smaller: Values) -> float:
    """Return the one-sided p-value that `larger` tends to be larger: Wilcoxon's and Mann-Whitney's rank sum, exact.

    The null hypothesis is that both come from one distribution; equal values get the mean of their ranks. Every way to
    draw the seeds of one from all seeds is counted, so that it is exact with ties as well (scipy's is not).
    """
    ranks = np.rint(2 * stats.rankdata(np.concatenate([larger, smaller]))).astype(int)  # doubled, to be whole
    ways = _ways(tuple(sorted(ranks.tolist())), len(larger))
    observed = int(ranks[: len(larger)].sum())
    return float(ways[observed:].sum() / comb(len(ranks), len(larger)))


@lru_cache(maxsize=1_000)
def _ways(ranks: tuple[int, ...], chosen: int) -> Values:
    """Return in how many ways so many of the ranks have each sum."""
    ways = np.zeros((chosen + 1, sum(ranks) + 1))
    ways[0, 0] = 1.0
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank].copy()
    return np.asarray(ways[chosen])


def probability_of_improvement(better: Values, worse: Values) -> Estimate:
    """Return the probability that a seed of one is above a seed of the other, ties counting for half, with an interval.

    The interval is Newcombe's (2006, method 5): it does not shrink to a point where one is always above the other, as a
    bootstrap does. With three seeds of each it holds the truth in 90%, not 95% of cases.
    """
    n, m = len(better), len(worse)
    above = (better[:, None] > worse).mean() + 0.5 * (better[:, None] == worse).mean()
    value = float(above)
    if min(n, m) < 2:
        return Estimate(value)
    z = float(stats.norm.ppf(0.5 + CONFIDENCE / 2))
    pairs = (n + m) / 2 - 1

    def off(p: float) -> float:
        variance = p * (1 - p) * (1 + pairs * ((1 - p) / (2 - p) + p / (1 + p))) / (n * m)
        return (value - p) ** 2 - z * z * variance

    inside = min(max(value, 1e-9), 1.0 - 1e-9)  # at 0 and at 1 there is a root that says nothing
    low = 0.0 if value == 0.0 else optimize.brentq(off, 0.0, inside)
    high = 1.0 if value == 1.0 else optimize.brentq(off, inside, 1.0)
    return Estimate(value, float(low), float(high))


def variance_test(wider: Values, narrower: Values) -> float:
    """Return the one-sided p-value that `wider` varies more: Brown's and Forsythe's, by permutation.

    Compared are mean distances from each one's own median. Three seeds always have a distance of zero among them, so
    that they can show nothing.
    """
    result = stats.permutation_test(
        (np.abs(wider - np.median(wider)), np.abs(narrower - np.median(narrower))),
        lambda x, y, axis: x.mean(axis=axis) - y.mean(axis=axis),
        alternative="greater",
        vectorized=True,
        n_resamples=PERMUTATIONS,
        rng=np.random.default_rng(0),
    )
    return float(result.pvalue)


def groups_test(groups: Sequence[Values]) -> float:
    """Return the p-value that it matters of which group a seed is: Kruskal's and Wallis's, by permutation."""
    ranks = stats.rankdata(np.concatenate(groups))
    starts = np.cumsum([0, *map(len, groups[:-1])])
    sizes = np.array([len(group) for group in groups])
    drawn = np.random.default_rng(0).permuted(np.tile(ranks, (PERMUTATIONS, 1)), axis=1)
    drawn[0] = ranks  # what was seen counts as one of them
    between = (np.add.reduceat(drawn, starts, axis=1) ** 2 / sizes).sum(axis=1)
    return float((between >= between[0] * (1 - 1e-12)).mean())


def share_test(count: int, seeds: int, share: float = 0.5) -> float:
    """Return the one-sided p-value that more than this share of all seeds would do what `count` of these did: exact."""
    return float(stats.binom.sf(count - 1, seeds, share))


def difference(first: Values, second: Values) -> Estimate:
    """Return the difference of means with Welch's interval."""
    return difference_of_summaries(
        (float(first.mean()), float(first.std(ddof=1)), len(first)),
        (float(second.mean()), float(second.std(ddof=1)), len(second)),
    )


Summary = tuple[float, float, int]
"""Mean, standard deviation and number of seeds."""


def difference_of_summaries(first: Summary, second: Summary) -> Estimate:
    """Return the difference of two means of which only mean and standard deviation are known, with Welch's interval."""
    (one, std_one, n), (other, std_other, m) = first, second
    parts = std_one**2 / n, std_other**2 / m
    value = one - other
    if sum(parts) == 0.0:
        return Estimate(value, value, value)
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / (n - 1) + parts[1] ** 2 / (m - 1))
    half = float(stats.t.ppf(0.5 + CONFIDENCE / 2, freedom)) * sqrt(sum(parts))
    return Estimate(value, value - half, value + half)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for being some of many: at any level, the chance of even one false one is below it."""
    order = np.argsort(p_values, kind="stable")
    corrected = np.empty(len(order))
    least = 0.0
    for place, index in enumerate(order):
        least = max(least, min(1.0, (len(order) - place) * p_values[index]))
        corrected[index] = least
    return [float(p) for p in corrected]


def some(p_values: Sequence[float]) -> float:
    """Return the p-value that at least one of these independent hypotheses holds.

    Bonferroni's finds one that is sure, Fisher's several that are likely; it is twice the smaller of the two.
    """
    fisher = float(stats.combine_pvalues(np.clip(p_values, 1e-300, 1.0), method="fisher").pvalue)
    return min(1.0, 2 * min(fisher, len(p_values) * min(p_values))) if len(p_values) > 1 else p_values[0]


def at_least(number: int, p_values: Sequence[float]) -> float:
    """Return the p-value that at least `number` of these hypotheses hold (Benjamini and Heller, 2008)."""
    return min(1.0, (len(p_values) - number + 1) * sorted(p_values)[number - 1])


@lru_cache(maxsize=1_000)
def power_of_rank_tests(first: int, others: tuple[int, ...], probability: float = TRUE_PROBABILITY) -> float:
    """Return how often so many seeds show that the first is above each of the others, if it is with this probability.

    Normal scores of equal spread, uncorrected: what a correction within a family leaves is less.
    """
    rng = np.random.default_rng(0)
    shift = sqrt(2) * float(stats.norm.ppf(probability))
    ours = rng.standard_normal((SIMULATIONS, first)) + shift
    shown = np.ones(SIMULATIONS, bool)
    for seeds in others:
        theirs = rng.standard_normal((SIMULATIONS, seeds))
        above = (ours[:, :, None] > theirs[:, None, :]).sum(axis=(1, 2))
        shown &= above >= _critical(first, seeds)
    return float(shown.mean())


@lru_cache(maxsize=100)
def power_of_share(seeds: int, subjects: int = 1, share: float = TRUE_SHARE, bar: float = 0.5) -> float:
    """Return how often so many seeds of each subject show that its share is above the bar, if it is `share`."""
    counts = np.arange(seeds + 1)
    shown = np.array([share_test(int(count), seeds, bar) <= LEVEL for count in counts])
    return float(stats.binom.pmf(counts[shown], seeds, share).sum() ** subjects)


def least_p_value(first: int, second: int) -> float:
    """Return the smallest p-value of a rank test: of complete separation."""
    return 1.0 / comb(first + second, first)


def _critical(first: int, second: int) -> int:
    """Return how many pairs must be in order for significance."""
    ranks = tuple(range(2, 2 * (first + second) + 1, 2))
    tail = np.cumsum(_ways(ranks, first)[::-1])[::-1] / comb(first + second, first)
    least = int(np.argmax(tail <= LEVEL)) if (tail <= LEVEL).any() else len(tail)  # a doubled sum of ranks
    return (least + 1) // 2 - first * (first + 1) // 2
