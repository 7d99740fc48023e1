"""The compiled choices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memec.explore.choice import argmax_random_tie, sample, softmax

JUST_BELOW_ONE = float(np.nextafter(1.0, 0.0))


@settings(deadline=None, derandomize=True)
@given(
    st.lists(st.one_of(st.just(0.0), st.floats(1e-300, 1.0)), min_size=1, max_size=8).filter(any),
    st.floats(0.0, JUST_BELOW_ONE),
)
def test_sample_inverts_the_cumulative_distribution(weights: list[float], u: float) -> None:
    probabilities = np.array(weights) / np.sum(weights)
    index = sample(probabilities, u)
    assert probabilities[index] > 0.0
    cumulative = np.cumsum(probabilities)
    assert cumulative[index] - probabilities[index] <= u + 1e-12
    assert u <= cumulative[index] + 1e-12


@pytest.mark.parametrize("u", [0.0, 0.5, JUST_BELOW_ONE])
def test_sample_never_draws_the_impossible(u: float) -> None:
    assert sample(np.array([0.0, 1.0, 0.0]), u) == 1
    # Ten tenths sum to less than one in floating point: the rest must not fall to the last, impossible index.
    assert sample(np.array([0.1] * 10 + [0.0]), u) <= 9


def test_argmax_breaks_ties_uniformly() -> None:
    """The paper's code always takes the first."""
    values = np.array([2.0, 5.0, 5.0, -1.0, 5.0])
    grid = (np.arange(300) + 0.5) / 300
    drawn = np.bincount([argmax_random_tie(values, u) for u in grid], minlength=5)
    assert drawn.tolist() == [0, 100, 100, 0, 100]
    assert argmax_random_tie(values, 0.0) == 1
    assert argmax_random_tie(values, JUST_BELOW_ONE) == 4


@settings(deadline=None, derandomize=True)
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=8), st.floats(0.01, 100.0))
def test_softmax_is_the_textbook_one(values: list[float], temperature: float) -> None:
    array = np.array(values)
    probabilities = np.empty(array.size)
    assert softmax(array, temperature, probabilities)
    exponents = np.exp((array - array.max()) / temperature)
    np.testing.assert_allclose(probabilities, exponents / exponents.sum(), rtol=1e-12, atol=1e-300)


def test_softmax_does_not_overflow() -> None:
    probabilities = np.empty(2)
    assert softmax(np.array([1e308, -1e308]), 1e308, probabilities)
    np.testing.assert_allclose(probabilities, [1 / (1 + np.exp(-2.0)), 1 / (1 + np.exp(2.0))])
    assert softmax(np.array([1e308, -1e308]), 1e-300, probabilities)
    assert probabilities.tolist() == [1.0, 0.0]
