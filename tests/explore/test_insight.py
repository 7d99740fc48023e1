"""What strategies learn about the values they choose by."""

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memec.explore import Belief, Mellowmax, MellowmaxAuto, ThompsonCalibrated, UCBCalibrated
from memec.explore.calibration import COVERED, LATEST, Calibration
from memec.explore.mellowmax_auto import Spread

NEIGHBOURS = 11
NOT_KNOWN = np.zeros(2, np.bool_)


def spread_after(*beliefs: list[float], window: int = 1_000) -> Spread:
    spread = Spread(window)
    for values in beliefs:
        spread.notice(Belief(np.array(values)), 0)
    return spread


def distances(*each: float) -> np.ndarray:
    """The squared distances of actions all of whose neighbours are as far."""
    return np.array([[distance] * NEIGHBOURS for distance in each], np.float32)


# --- mellowmax-auto -------------------------------------------------------------------------------------------------


@settings(deadline=None, derandomize=True, max_examples=100)
@given(
    st.lists(st.lists(st.integers(-640, 640).map(lambda n: n / 64), min_size=3, max_size=3), min_size=1, max_size=8),
    st.sampled_from([2.0**-20, 0.5, 4.0, 2.0**20]),
    st.floats(-100, 100),
)
def test_scaling_and_shifting_all_values_changes_no_probability(
    seen: list[list[float]], scale: float, shift: float
) -> None:
    explore = MellowmaxAuto()

    def policy(beliefs: list[list[float]]) -> np.ndarray:
        spread = spread_after(*beliefs)
        return explore.probabilities(Belief(np.array(beliefs[-1]), spread=spread.spread), 0)

    plain = policy(seen)
    np.testing.assert_array_equal(policy([[scale * value for value in row] for row in seen]), plain)
    moved = [[value + shift for value in row] for row in seen]
    np.testing.assert_allclose(policy(moved), plain, atol=1e-9)


def test_what_is_given_up_is_a_fraction_of_the_spread() -> None:
    explore = MellowmaxAuto(rho=0.1)
    belief = Belief(np.array([0.0, 3.0]), spread=4.0)
    assert explore.omega(belief) == pytest.approx(log(2) / 0.4)
    assert belief.mean.max() - explore.probabilities(belief, 0) @ belief.mean <= 0.4


def test_decisions_where_nothing_is_at_stake_do_not_lessen_the_spread() -> None:
    """In a room whose goal was just found, almost all decisions are between zeros."""
    assert spread_after(*[[0.0, 0.0]] * 99, [0.0, 2.0]).spread == pytest.approx(2.0)


def test_the_spread_follows_the_latest_decisions() -> None:
    assert spread_after(*[[0.0, 100.0]] * 50, *[[0.0, 1.0]] * 200, window=10).spread == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("values", [[1.0], [2.0, 2.0, 2.0]])
def test_where_no_action_is_better_all_are_as_likely(values: list[float]) -> None:
    probabilities = MellowmaxAuto().probabilities(Belief(np.array(values)), 0)
    np.testing.assert_allclose(probabilities, 1.0 / len(values))


def test_the_inverse_temperature_is_told_as_that_of_mellowmax_is() -> None:
    explore, belief = MellowmaxAuto(), Belief(np.array([0.0, 3.0]), spread=4.0)
    plain = Mellowmax(omega=explore.omega(belief))
    assert explore.diagnostics([belief], 0) == plain.diagnostics([belief], 0)
    assert explore.diagnostics([belief], 0)["beta"] > 0.0 and explore.diagnostics([], 0) == {}


# --- calibrated uncertainty -----------------------------------------------------------------------------------------


def calibrated(noise: float, signal: float, episodes: int = 200, seed: int = 0) -> Calibration:
    """Learn from returns that differ from values by noise, and by more the farther the neighbours are."""
    rng, calibration = np.random.default_rng(seed), Calibration()
    for _ in range(episodes):
        returns = []
        for _ in range(30):
            distance = rng.exponential(2.0)
            calibration.notice(calibration.believe(Belief(np.zeros(2)), distances(distance, 1.0), NOT_KNOWN), 0)
            variance = noise + signal * distance / (distance + 2.0 * log(2))  # the usual distance is the median
            returns.append(rng.normal(0.0, variance**0.5))
        calibration.settle(np.array(returns))
    return calibration


def test_intervals_cover_what_they_say_and_deviations_go_with_errors() -> None:
    found = calibrated(noise=0.1, signal=4.0).diagnostics()
    for part in COVERED:
        assert found[f"coverage_{round(100 * part)}"] == pytest.approx(part, abs=0.03)
    assert found["std_error_correlation"] > 0.2


@pytest.mark.parametrize(("noise", "signal"), [(0.1, 4.0), (1.0, 1.0), (4.0, 0.0)])
def test_what_exploring_can_lessen_is_told_from_noise(noise: float, signal: float) -> None:
    calibration = calibrated(noise, signal)
    found = calibration.diagnostics()
    total = noise + 0.5 * signal
    assert found["value_signal"] ** 2 == pytest.approx(signal, abs=0.5 * total)
    assert found["value_noise"] ** 2 == pytest.approx(noise, abs=0.3 * total)


def test_an_action_whose_memories_are_far_is_less_sure_and_a_known_one_is_sure() -> None:
    calibration = calibrated(noise=0.1, signal=4.0)
    near, far = calibration.believe(Belief(np.zeros(2)), distances(0.1, 50.0), NOT_KNOWN).std  # type: ignore[misc]
    known, unheard_of = calibration.believe(Belief(np.zeros(2)), distances(0.0, np.inf), np.array([True, False])).std  # type: ignore[misc]
    assert known == 0.0 < near < far < unheard_of
    assert unheard_of == pytest.approx(2.0, rel=0.3)


def test_scaled_returns_give_scaled_deviations() -> None:
    small, large = Calibration(), Calibration()
    rng = np.random.default_rng(0)
    for _ in range(50):
        far, returns = rng.exponential(1.0, 20), rng.normal(0.0, 1.0, 20)
        for calibration, scale in ((small, 1.0), (large, 1024.0)):
            for distance in far:
                calibration.notice(calibration.believe(Belief(np.zeros(2)), distances(distance, 1.0), NOT_KNOWN), 0)
            calibration.settle(scale * returns * np.sqrt(far))
    beliefs = [each.believe(Belief(np.zeros(2)), distances(0.5, 2.0), NOT_KNOWN) for each in (small, large)]
    assert beliefs[0].std is not None and beliefs[1].std is not None
    np.testing.assert_allclose(beliefs[1].std, 1024.0 * beliefs[0].std)
    assert beliefs[0].std.min() > 0.0


def test_nothing_is_learned_from_decisions_whose_end_was_not_seen() -> None:
    calibration = Calibration()
    for _ in range(100):
        calibration.notice(calibration.believe(Belief(np.zeros(2)), distances(1.0, 1.0), NOT_KNOWN), 0)
    calibration.forget()
    calibration.settle(np.zeros(0))
    assert calibration.diagnostics() == {"value_noise": 0.0, "value_signal": 0.0}


def test_only_the_latest_errors_count() -> None:
    calibration = calibrated(noise=100.0, signal=0.0, episodes=5)
    for _ in range(LATEST // 16 + 1):
        for _ in range(16):
            calibration.notice(calibration.believe(Belief(np.zeros(2)), distances(1.0, 1.0), NOT_KNOWN), 0)
        calibration.settle(np.zeros(16))
    assert calibration.diagnostics()["value_noise"] == 0.0


@pytest.mark.parametrize("explore", [UCBCalibrated(), ThompsonCalibrated()], ids=lambda explore: explore.name)
def test_before_anything_is_known_every_action_is_tried(explore: UCBCalibrated | ThompsonCalibrated) -> None:
    belief = explore.insight().believe(Belief(np.zeros(3)), distances(np.inf, np.inf, np.inf), np.zeros(3, np.bool_))
    np.testing.assert_allclose(explore.probabilities(belief, 0), 1.0 / 3.0)


def test_errors_that_come_with_novelty_alone_leave_no_noise_rather_than_less_than_none() -> None:
    """The line through the squared errors then begins at zero, but for rounding."""
    for seed in range(50):
        rng, calibration = np.random.default_rng(seed), Calibration()
        for squared in rng.exponential(size=200):
            calibration.notice(Belief(np.zeros(1), np.zeros(1), distances=np.array([squared])), 0)
        errors = rng.exponential(size=200) * np.array([distance**2 for _, distance in calibration._waiting])
        calibration.settle(errors)
        found = calibration.diagnostics()
        assert all(isinstance(value, float) and np.isfinite(value) for value in found.values())
        assert found["value_noise"] < 1e-6 * found["value_signal"]
