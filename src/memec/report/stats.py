"""Statistics over seeds: the seed is the unit, never the episode or the evaluation.

A single seed has no interval, and nothing here returns NaN.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, stats

Values = NDArray[np.float64]

LAST_EVALUATIONS = 5
"""The paper's final score is the mean of the last five evaluations."""
IN_A_ROW = 5
RESAMPLES = 5_000
CONFIDENCE = 0.95


class Estimate(NamedTuple):
    """A number and its 95% interval; no interval where there are too few seeds for one."""

    value: float
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:.4g}"
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


class Spread(NamedTuple):
    """Mean and standard deviation over seeds; of a single seed there is no deviation."""

    mean: float
    std: float | None

    def __str__(self) -> str:
        mean = f"{self.mean:.0f}" if abs(self.mean) >= 1_000 else f"{self.mean:.4g}"
        if self.std is None:
            return mean
        return f"{mean} ± {self.std:.0f}" if self.std >= 10 else f"{mean} ± {self.std:.2g}"


def final_scores(scores: Values) -> Values:
    """Return every seed's mean of its last five evaluations; `scores` has a row per seed."""
    return np.asarray(scores[:, -LAST_EVALUATIONS:].mean(axis=1))


def spread(values: Values) -> Spread:
    """Return mean and (sample) standard deviation over seeds."""
    return Spread(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else None)


def interquartile_mean(*strata: Values) -> Estimate:
    """Return the mean of the middle half of all values, with a bootstrap interval stratified by environment.

    Each argument holds the values of the seeds in one environment, and is resampled for itself.
    """

    def statistic(*samples: Values, axis: int = -1) -> Any:
        return stats.trim_mean(np.concatenate(samples, axis=axis), 0.25, axis=axis)

    value = float(statistic(*strata))
    return Estimate(value, *_interval(strata, statistic))


def probability_of_improvement(better: Values, worse: Values) -> Estimate:
    """Return the probability that a seed of one beats a seed of the other; a tie counts for half."""

    def statistic(x: Values, y: Values, axis: int = -1) -> Any:
        u = stats.mannwhitneyu(x, y, axis=axis, method="asymptotic").statistic
        return u / (x.shape[axis] * y.shape[axis])

    with np.errstate(all="ignore"):  # the p-value of equal samples, which nobody asked for
        return Estimate(float(statistic(better, worse)), *_interval((better, worse), statistic))


def p_value(better: Values, worse: Values) -> float:
    """Return the one-sided p-value of the Mann-Whitney U test that `better` tends to be larger."""
    if np.ptp(np.concatenate([better, worse])) == 0.0:
        return 1.0
    return float(stats.mannwhitneyu(better, worse, alternative="greater").pvalue)


def steps_to_reach(steps: NDArray[np.int64], scores: Values, score: float) -> int | None:
    """Return the step of the first of five evaluations in a row at or above a score; None if there never were."""
    reached = scores >= score
    if len(reached) < IN_A_ROW:
        return None
    runs = np.lib.stride_tricks.sliding_window_view(reached, IN_A_ROW).all(axis=1)
    return int(steps[np.argmax(runs)]) if runs.any() else None


def area_under_curve(steps: NDArray[np.int64], scores: Values, lowest: float, highest: float) -> Values:
    """Return every seed's mean height of its learning curve, where 0 is the lowest score there is and 1 the highest."""
    if len(steps) < 2:
        heights = scores.mean(axis=1)
    else:
        heights = integrate.trapezoid(scores, steps, axis=1) / float(steps[-1] - steps[0])
    return np.asarray((heights - lowest) / (highest - lowest))


def _interval(samples: Sequence[Values], statistic: Any) -> tuple[float | None, float | None]:
    if min(len(sample) for sample in samples) < 2:
        return None, None
    result = stats.bootstrap(
        samples,
        statistic,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(0),  # the same data give the same interval
    )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)
