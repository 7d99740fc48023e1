"""Statistics over seeds: the seed is the unit, never the episode or the evaluation.

A single seed has no interval, and nothing here returns NaN.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memec.errors import from_extra

with from_extra("report", "A report"):
    from scipy import integrate, stats

Values = NDArray[np.float64]

LAST_EVALUATIONS = 5
"""The paper's final score is the mean of the last five evaluations."""
IN_A_ROW = 5
RESAMPLES = 5_000
CONFIDENCE = 0.95
TRIMMED = 0.25
"""On either side, of an interquartile mean."""


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
    """Return the mean of the middle half of all values, with an interval.

    Each argument holds the values of the seeds in one environment, and is resampled for itself. A bootstrap of few
    seeds is too narrow for scores about a mean, and Student's interval for trimmed means too narrow for scores of two
    kinds: of a single environment each end is the further of the two.
    """
    value = float(stats.trim_mean(np.concatenate(strata), TRIMMED))
    if min(map(len, strata)) < 2:
        return Estimate(value)
    low, high = _bootstrap_interval(*(values.tobytes() for values in strata))
    if len(strata) == 1:
        half = _students_half(strata[0])
        low, high = min(low, value - half), max(high, value + half)
    return Estimate(value, low, high)


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


def _students_half(values: Values) -> float:
    """Return half of Tukey's and McLaughlin's interval of a trimmed mean: the deviation is of pulled-in values."""
    count, cut = len(values), int(TRIMMED * len(values))
    pulled_in = np.sort(values)
    pulled_in[:cut] = pulled_in[cut]
    pulled_in[count - cut :] = pulled_in[count - cut - 1]
    kept = count - 2 * cut
    if kept < 2:
        return 0.0
    error = float(pulled_in.std(ddof=1)) / (kept / count * float(np.sqrt(count)))
    return float(stats.t.ppf(0.5 + CONFIDENCE / 2, kept - 1)) * error


@lru_cache(maxsize=4_096)  # a report shows the same numbers in several places
def _bootstrap_interval(*contents: bytes) -> tuple[float, float]:
    """A percentile interval; of n seeds n - 1 are drawn, or it would be too narrow by the root of (n - 1) / n."""
    rng = np.random.default_rng(0)  # the same data give the same interval
    strata = [np.frombuffer(values, np.float64) for values in contents]
    drawn = [values[rng.integers(0, len(values), (RESAMPLES, len(values) - 1))] for values in strata]
    middles = stats.trim_mean(np.concatenate(drawn, axis=1), TRIMMED, axis=1)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(middles, [tail, 1 - tail])
    return float(low), float(high)
