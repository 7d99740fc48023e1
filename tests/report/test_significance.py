"""The statistics of the verdict against simulations: what they promise of few seeds holds."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from memec.report.significance import (
    LEVEL,
    at_least,
    difference,
    groups_test,
    holm,
    least_p_value,
    power_of_rank_tests,
    power_of_share,
    probability_of_improvement,
    rank_test,
    share_test,
    variance_test,
)
from memec.report.stats import Values, interquartile_mean

TIMES = 300
SLACK = 3 * np.sqrt(0.05 * 0.95 / TIMES)
"""Three standard errors of a simulated rate of 5%."""
Draw = Callable[[int], Values]


def draws(rng: np.random.Generator) -> dict[str, Draw]:
    """Scores as seeds have them: about a mean, with a tail, of two kinds (as in Acrobot), solved or not."""
    return {
        "normal": lambda seeds: rng.standard_normal(seeds),
        "skewed": lambda seeds: rng.exponential(size=seeds),
        "two kinds": lambda seeds: np.where(rng.random(seeds) < 0.5, -100 - 30 * rng.random(seeds), -500.0),
        "solved or not": lambda seeds: np.where(rng.random(seeds) < 0.7, 1.0, 0.0),
    }


@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize("kind", ["normal", "skewed", "two kinds", "solved or not"])
def test_where_nothing_differs_a_difference_is_found_in_one_of_twenty_at_most(seeds: int, kind: str) -> None:
    draw = draws(np.random.default_rng(0))[kind]
    pairs = [(draw(seeds), draw(seeds)) for _ in range(TIMES)]
    assert np.mean([rank_test(x, y) <= LEVEL + 1e-9 for x, y in pairs]) <= LEVEL + SLACK


def test_of_groups_that_are_alike_one_in_twenty_is_called_different(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memec.report.significance.PERMUTATIONS", 300)
    rng = np.random.default_rng(5)
    for draw in draws(rng).values():
        found = [groups_test([draw(3), draw(5), draw(5), draw(10)]) <= LEVEL for _ in range(TIMES)]
        assert np.mean(found) <= LEVEL + SLACK
    apart = [rng.standard_normal(5) + shift for shift in (0.0, 0.0, 0.0, 5.0)]
    assert groups_test(apart) <= LEVEL


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_equal_variances_are_told_apart_in_one_of_twenty_at_most(seeds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memec.report.significance.PERMUTATIONS", 200)
    kinds = list(draws(np.random.default_rng(1)).values())
    found = [variance_test(draw(seeds), draw(seeds)) <= LEVEL + 1e-9 for _ in range(TIMES // 4) for draw in kinds]
    assert np.mean(found) <= LEVEL + SLACK


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_the_probability_of_improvement_lies_in_its_interval(seeds: int) -> None:
    rng = np.random.default_rng(2)
    for shift in (0.0, 1.19, 2.33):
        truth = stats.norm.cdf(shift / np.sqrt(2))
        found = [
            probability_of_improvement(rng.standard_normal(seeds) + shift, rng.standard_normal(seeds))
            for _ in range(TIMES)
        ]
        covered = [each.low is not None and each.high is not None and each.low <= truth <= each.high for each in found]
        assert np.mean(covered) >= (0.90 if seeds == 3 else 0.95) - SLACK


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_differences_and_interquartile_means_lie_in_their_intervals(seeds: int) -> None:
    rng = np.random.default_rng(3)
    covered = []
    for _ in range(TIMES):
        x, y = rng.standard_normal(seeds), 3 * rng.standard_normal(seeds)
        for estimate in (difference(x, y), interquartile_mean(x)):
            assert estimate.low is not None and estimate.high is not None
            covered.append(estimate.low <= 0.0 <= estimate.high)
    assert np.mean(covered[::2]) >= 0.94 - SLACK
    assert np.mean(covered[1::2]) >= 0.93 - SLACK


def test_the_rank_test_counts_every_way_to_deal_out_the_seeds() -> None:
    x, y = np.array([3.0, 1.0, 3.0, 7.0]), np.array([1.0, 2.0, 3.0])
    ranks = stats.rankdata(np.concatenate([x, y]))
    sums = [ranks[list(chosen)].sum() for chosen in combinations(range(7), 4)]
    assert rank_test(x, y) == pytest.approx(np.mean([each >= ranks[:4].sum() for each in sums]))
    assert rank_test(np.arange(3.0) + 9, np.arange(3.0)) == pytest.approx(least_p_value(3, 3)) == pytest.approx(0.05)


def test_power_is_what_tests_of_simulated_seeds_find() -> None:
    rng = np.random.default_rng(4)
    shift = np.sqrt(2) * stats.norm.ppf(0.8)
    found = [rank_test(rng.standard_normal(5) + shift, rng.standard_normal(5)) <= LEVEL for _ in range(TIMES)]
    assert power_of_rank_tests(5, (5,)) == pytest.approx(np.mean(found), abs=0.1)
    assert power_of_rank_tests(5, (5, 5, 5, 5)) < power_of_rank_tests(5, (5,)) < power_of_rank_tests(10, (10,))
    assert power_of_rank_tests(2, (2,)) == 0.0  # whatever they scored


def test_shares_are_judged_by_the_binomial_distribution() -> None:
    assert share_test(10, 10) == pytest.approx(0.5**10)
    assert share_test(5, 5) == pytest.approx(1 / 32)
    assert share_test(0, 5) == 1.0
    assert power_of_share(10) == pytest.approx(stats.binom.sf(8, 10, 0.9))  # it takes nine of ten
    assert power_of_share(3) == 0.0


def test_of_many_hypotheses_that_are_false_none_is_believed_in_nineteen_of_twenty_families() -> None:
    rng = np.random.default_rng(5)
    families = rng.random((TIMES, 7))
    assert np.mean([min(holm(list(family))) <= LEVEL for family in families]) <= LEVEL + SLACK
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert np.mean([at_least(4, list(family)) <= LEVEL for family in families]) <= LEVEL + SLACK
    assert at_least(5, [0.01, 0.02, 0.03, 0.04, 0.05]) == 0.05  # all of them: the weakest decides
