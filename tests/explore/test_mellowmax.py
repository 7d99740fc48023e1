"""The maximum-entropy mellowmax policy, against a root found in high precision."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memec.errors import NotFiniteError
from memec.explore import mellowmax_policy


def exact_policy(values: np.ndarray, omega: float) -> tuple[np.ndarray, float]:
    """The definition, by bisection of the exponent of beta / omega in [0, 1]."""
    exact = [Fraction(float(value)) for value in values]
    distances = [Fraction(omega) * (value - max(exact)) for value in exact]
    nonzero = [-distance for distance in distances if distance]
    if not nonzero:
        return np.full(len(values), 1 / len(values)), omega / 2
    # The smallest distance decides how many digits cancel.
    smallest = min(nonzero)
    digits = 60 + max(0, len(str(smallest.denominator)) - len(str(smallest.numerator))) * 3
    with mpmath.workdps(digits):
        shifted = [mpmath.mpf(distance.numerator) / distance.denominator for distance in distances]
        mellowmax = mpmath.log(mpmath.fsum(mpmath.exp(value) for value in shifted) / len(shifted))

        def softmax(beta: mpmath.mpf) -> list[mpmath.mpf]:
            weights = [mpmath.exp(beta * value) for value in shifted]
            total = mpmath.fsum(weights)
            return [weight / total for weight in weights]

        low, high = mpmath.mpf(2) ** -2200, mpmath.mpf(1)
        for _ in range(75):
            middle = mpmath.sqrt(low * high)
            if mpmath.fdot(softmax(middle), shifted) > mellowmax:
                high = middle
            else:
                low = middle
        return np.array([float(p) for p in softmax(high)]), float(high * omega)


def assert_exact(values: list[float], omega: float) -> None:
    policy, beta = mellowmax_policy(np.array(values), omega)
    expected, expected_beta = exact_policy(np.array(values), omega)
    np.testing.assert_allclose(policy, expected, rtol=1e-6, atol=1e-12)
    # What the paper's root finder silently made uniform: the deviation from uniform must be right as well.
    deviation = expected - 1 / len(values)
    np.testing.assert_allclose(policy - 1 / len(values), deviation, rtol=1e-6, atol=4e-16 + 1e-6 * abs(deviation).max())
    assert 0.0 <= beta <= omega
    np.testing.assert_allclose(beta, expected_beta, rtol=1e-5)


unit_values = st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=6)
scales = st.floats(-12.0, 12.0).map(lambda exponent: 10.0**exponent)
omegas = st.floats(-4.0, 4.0).map(lambda exponent: 10.0**exponent)


@settings(deadline=None, derandomize=True, max_examples=120)
@given(unit_values, scales, st.floats(-1e4, 1e4), omegas)
@example([0.3, 0.3, 0.3], 1.0, 0.0, 7.5)
@example([1.0, 1.0, 0.0], 1.0, 0.0, 7.5)
@example([0.0, 0.0, 0.0, 1.0], 1e-2, 0.0, 7.5)
@example([0.0, -1e-10, -1.0], 1e6, 0.0, 1e3)
def test_policy_is_the_exact_one_at_any_scale_and_offset(
    unit: list[float], scale: float, offset: float, omega: float
) -> None:
    assert_exact([scale * value + offset for value in unit], omega)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=5), omegas)
@example([1e308, -1e308, 0.0], 7.5)
@example([1.7e308, -1.7e308], 1e4)
@example([5e-324, 0.0], 1e4)
@example([0.0, 0.0, 1.0, -1.00001e299], 10.0)
def test_no_finite_values_overflow(values: list[float], omega: float) -> None:
    policy, beta = mellowmax_policy(np.array(values), omega)
    assert np.isfinite(policy).all()
    assert policy.min() >= 0.0
    assert policy.sum() == pytest.approx(1.0, abs=1e-12)
    assert 0.0 <= beta <= omega
    expected, _ = exact_policy(np.array(values), omega)
    np.testing.assert_allclose(policy, expected, atol=1e-6)


@pytest.mark.parametrize("omega", [5.0, 7.5, 25.0, 60.0])
def test_values_of_scale_a_million_have_a_root(omega: float) -> None:
    """Brent's method on [-100, 100] raises on one in twenty of these."""
    rng = np.random.default_rng(0)
    for _ in range(15):
        assert_exact((1e6 * rng.standard_normal(int(rng.integers(2, 7)))).tolist(), omega)


def test_large_omega_with_an_offset_and_a_small_spread_has_a_root() -> None:
    """Brent's method on [-100, 100] raises on one in four of these: beta is above 100."""
    rng = np.random.default_rng(0)
    betas = []
    for _ in range(20):
        values = 1000.0 + 0.05 * rng.random(4)
        assert_exact(values.tolist(), 250.0)
        betas.append(mellowmax_policy(values, 250.0)[1])
    assert max(betas) > 100.0


@pytest.mark.parametrize("spread", [1e-3, 1e-4, 1e-6, 1e-9, 1e-12, 1e-300])
def test_a_small_spread_is_not_rounded_to_uniform(spread: float) -> None:
    """A shortcut by `allclose(atol=1e-3)` would make the first one uniform although its odds are 10 to 1."""
    omega = 10.0 / spread
    policy, _ = mellowmax_policy(np.array([0.0, spread]), omega)
    expected, _ = mellowmax_policy(np.array([0.0, 1.0]), 10.0)
    np.testing.assert_allclose(policy, expected, rtol=1e-12)
    assert policy[1] > 10 * policy[0]


@settings(deadline=None, derandomize=True)
@given(unit_values, omegas, scales)
def test_scaling_the_values_up_and_omega_down_changes_nothing(unit: list[float], omega: float, scale: float) -> None:
    # Rounded to a grid, so that the product with the scale keeps their differences to all but the last digits.
    values = np.round(np.array(unit), 3)
    policy, beta = mellowmax_policy(values, omega)
    scaled, scaled_beta = mellowmax_policy(scale * values, omega / scale)
    np.testing.assert_allclose(scaled, policy, rtol=1e-8, atol=1e-12)
    assert scaled_beta * scale == pytest.approx(beta, rel=1e-5)


@settings(deadline=None, derandomize=True)
@given(unit_values, omegas, st.integers(-1000, 1000))
def test_scaling_by_a_power_of_two_keeps_every_bit(unit: list[float], omega: float, exponent: int) -> None:
    values = np.round(np.array(unit), 3)
    if not 0.0 < omega * 2.0**-exponent < np.inf or (values[values != 0.0].size and exponent < -900):
        return
    policy, _ = mellowmax_policy(values, omega)
    scaled, _ = mellowmax_policy(values * 2.0**exponent, omega * 2.0**-exponent)
    assert (policy == scaled).all()


@settings(deadline=None, derandomize=True)
@given(unit_values, omegas, st.integers(-1000, 1000))
def test_shifting_the_values_changes_nothing(unit: list[float], omega: float, shift: int) -> None:
    # Multiples of 1/1024 stay exact under whole shifts, so the policies must agree in every bit.
    values = np.round(np.array(unit) * 1024) / 1024
    policy, _ = mellowmax_policy(values, omega)
    shifted, _ = mellowmax_policy(values + shift, omega)
    assert (policy == shifted).all()


@settings(deadline=None, derandomize=True)
@given(st.lists(st.floats(-100.0, 100.0), min_size=1, max_size=18), st.floats(0.01, 100.0))
def test_the_policy_is_worth_the_mellowmax_of_the_values(values: list[float], omega: float) -> None:
    array = np.array(values)
    policy, _ = mellowmax_policy(array, omega)
    mellowmax = array.max() + np.log(np.mean(np.exp(omega * (array - array.max())))) / omega
    spread = np.ptp(array)
    assert policy @ (array - mellowmax) == pytest.approx(0.0, abs=1e-9 * spread + 1e-12)
    assert policy @ array >= array.max() - np.log(array.size) / omega - 1e-9 * (1.0 + spread)


def test_a_large_omega_is_greedy_and_a_small_one_uniform() -> None:
    values = np.array([0.0, 1.0, 0.5])
    np.testing.assert_allclose(mellowmax_policy(values, 1e9)[0], [0.0, 1.0, 0.0], atol=1e-8)
    np.testing.assert_allclose(mellowmax_policy(values, 1e-9)[0], [1 / 3] * 3, atol=1e-8)


def test_equal_values_have_equal_probability() -> None:
    policy, _ = mellowmax_policy(np.array([1.0, 3.0, 3.0, 1.0, 3.0]), 2.0)
    assert policy[1] == policy[2] == policy[4] > policy[0] == policy[3] > 0.0
    assert (mellowmax_policy(np.full(4, -7.0), 2.0)[0] == 0.25).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(NotFiniteError, match="must be finite"):
        mellowmax_policy(np.array([0.0, bad, 1.0]), 7.5)
