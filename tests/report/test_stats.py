"""Statistics over seeds, against what can be worked out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memec.report.significance import probability_of_improvement, rank_test
from memec.report.stats import (
    area_under_curve,
    final_scores,
    interquartile_mean,
    spread,
    steps_to_reach,
)

STEPS = np.arange(500, 5_001, 500)


def array(*values: float) -> "np.typing.NDArray[np.float64]":
    return np.array(values, np.float64)


def test_the_final_score_is_the_mean_of_the_last_five_evaluations_of_each_seed() -> None:
    scores = np.array([[100, 1, 2, 3, 4, 5], [100, 0, 0, 0, 0, 10]], np.float64)
    assert final_scores(scores).tolist() == [3.0, 2.0]
    assert final_scores(scores[:, :2]).tolist() == [50.5, 50.0]


def test_mean_and_standard_deviation_are_over_seeds() -> None:
    assert str(spread(array(1, 2, 3))) == "2 ± 1"
    assert str(spread(array(7))) == "7"


def test_the_interquartile_mean_drops_the_outer_quarters() -> None:
    middle = interquartile_mean(array(-1000, 4, 5, 6, 7, 8, 9, 1000))
    assert middle.value == 6.5 and middle.low is not None and middle.high is not None
    assert middle.low <= 6.5 <= middle.high


def test_strata_are_resampled_each_for_itself() -> None:
    together = interquartile_mean(array(0, 0, 0, 0), array(1, 1, 1, 1))
    assert together == (0.5, 0.5, 0.5)  # nothing varies within an environment, so nothing is uncertain


def test_a_single_seed_has_no_interval() -> None:
    assert interquartile_mean(array(3)) == (3.0, None, None)
    assert probability_of_improvement(array(3), array(1)) == (1.0, None, None)


def test_the_same_data_give_the_same_interval() -> None:
    values = array(3, 1, 4, 1, 5, 9, 2, 6)
    assert interquartile_mean(values) == interquartile_mean(values)


def test_the_probability_of_improvement_counts_pairs_and_halves_ties() -> None:
    assert probability_of_improvement(array(2, 3), array(1, 1)).value == 1.0
    assert probability_of_improvement(array(1, 1), array(1, 1)).value == 0.5
    assert probability_of_improvement(array(1, 2), array(1, 3)).value == pytest.approx(1.5 / 4)
    assert rank_test(array(1, 1), array(1, 1)) == 1.0
    assert rank_test(array(4, 5, 6), array(1, 2, 3)) == pytest.approx(0.05)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=2, max_size=6), st.lists(st.integers(0, 3), min_size=2, max_size=6))
def test_no_seeds_give_nan_and_both_sides_add_up_to_one(first: list[int], second: list[int]) -> None:
    x, y = array(*first), array(*second)
    one, other = probability_of_improvement(x, y), probability_of_improvement(y, x)
    assert one.value == pytest.approx(np.mean([(a > b) + 0.5 * (a == b) for a in x for b in y]))
    assert one.value + other.value == pytest.approx(1.0)
    assert np.isfinite([*one, *interquartile_mean(x, y), rank_test(x, y)]).all()


def test_a_score_is_reached_at_the_first_of_five_evaluations_in_a_row() -> None:
    scores = array(0, 9, 9, 9, 0, 9, 9, 9, 9, 9)
    assert steps_to_reach(STEPS, scores, 9) == 3_000
    assert steps_to_reach(STEPS, scores, 10) is None
    assert steps_to_reach(STEPS[:3], scores[:3], 0) is None


def test_the_area_under_the_curve_is_one_for_the_best_and_zero_for_the_worst() -> None:
    ramp = np.linspace(-500, 0, len(STEPS))
    scores = np.stack([np.full(len(STEPS), -500.0), np.zeros(len(STEPS)), ramp])
    assert area_under_curve(STEPS, scores, -500.0, 0.0) == pytest.approx([0.0, 1.0, 0.5])
    assert area_under_curve(STEPS[:1], scores[:, :1], -500.0, 0.0) == pytest.approx([0.0, 1.0, 0.0])
