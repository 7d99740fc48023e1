"""Targets are judged by intervals, and the intervals hold what they promise in simulations."""

import numpy as np
import pytest
from benchmarks.own_targets.judging import (
    MISSED,
    REACHED,
    UNDECIDED,
    Asked,
    mean_of,
    median_of,
    outcome,
    ratio_of_means,
)

from memec.report.stats import Estimate

TIMES = 400
SLACK = 3 * np.sqrt(0.05 * 0.95 / TIMES)
"""Three standard errors of a simulated rate of 5%."""


def test_the_end_of_the_interval_decides_and_not_the_middle() -> None:
    measured = Estimate(10.0, 8.0, 12.0)
    assert outcome(Asked(measured, least=8.0)) == REACHED
    assert outcome(Asked(measured, least=9.0)) == UNDECIDED
    assert outcome(Asked(measured, least=12.5)) == MISSED
    assert outcome(Asked(measured, most=12.0)) == REACHED
    assert outcome(Asked(Estimate(10.0), least=0.0)) == UNDECIDED, "without an interval nothing is known"


def test_every_part_must_be_reached() -> None:
    good, open_, bad = Asked(Estimate(1, 1, 1), 0), Asked(Estimate(1, 0, 2), 1), Asked(Estimate(1, 1, 1), 2)
    assert outcome(good, good) == REACHED
    assert outcome(good, open_) == UNDECIDED
    assert outcome(good, open_, bad) == MISSED


def test_a_median_lies_between_two_seeds_as_often_as_the_binomial_distribution_says() -> None:
    assert median_of(np.arange(10.0)) == (4.5, 1.0, 8.0)
    assert median_of(np.arange(6.0)) == (2.5, 0.0, 5.0)
    assert median_of(np.arange(5.0)) == (2.0, None, None)


@pytest.mark.parametrize("seeds", [6, 10])
def test_means_medians_and_ratios_lie_in_their_intervals(seeds: int) -> None:
    rng = np.random.default_rng(0)
    outside = np.zeros((TIMES, 4), bool)
    for found in outside:
        x, y = 3.0 + rng.standard_normal(seeds), 6.0 + rng.standard_normal(seeds)
        narrow = 2.0 + 0.1 * rng.standard_normal(seeds)
        estimates = mean_of(x), median_of(x), ratio_of_means((x, y)), ratio_of_means((x, y), (narrow, narrow[::-1]))
        for place, (estimate, truth) in enumerate(zip(estimates, (3.0, 3.0, 0.5, 5.0 / 8.0), strict=True)):
            assert estimate.low is not None and estimate.high is not None
            found[place] = not estimate.low <= truth <= estimate.high
    assert (outside.mean(axis=0) <= 0.05 + SLACK).all()


def test_a_ratio_to_what_may_be_nothing_has_no_interval() -> None:
    some, nothing = np.array([0.4, 0.5, 0.6]), np.array([0.0, 0.0, 0.3])
    assert ratio_of_means((some, nothing)) == (pytest.approx(5.0), None, None)
    assert ratio_of_means((some, np.zeros(3))).low is None
    assert ratio_of_means((some, some[:1])).low is None
