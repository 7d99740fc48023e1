"""What holds for every strategy, and what is particular to each."""

from math import erf, hypot, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from memec.errors import MemecError, NotFiniteError
from memec.explore import (
    STRATEGIES,
    UCB,
    AnyStrategy,
    Belief,
    Boltzmann,
    EpsilonGreedy,
    ExploreSettings,
    Greedy,
    Mellowmax,
    Thompson,
    mellowmax_policy,
    strategy,
)

BELIEF = Belief(np.array([0.3, 1.0, -0.5, 1.0]), np.array([0.6, 0.2, 1.5, 0.4]))
TIED = Belief(np.array([2.0, 2.0, 1.0, 2.0]), np.array([0.5, 0.5, 0.5, 0.5]))
MIDWAY = 15_000

every_strategy = pytest.mark.parametrize("explore", [kind() for kind in STRATEGIES.values()], ids=list(STRATEGIES))


@every_strategy
@pytest.mark.parametrize("belief", [BELIEF, TIED], ids=["distinct", "tied"])
def test_actions_are_drawn_as_often_as_their_probability_says(explore: AnyStrategy, belief: Belief) -> None:
    rng = np.random.default_rng(1)
    draws = 20_000
    drawn = np.bincount([explore.choose(belief, MIDWAY, rng) for _ in range(draws)], minlength=4)
    expected = explore.probabilities(belief, MIDWAY)
    standard_error = np.sqrt(expected * (1.0 - expected) / draws)
    assert (abs(drawn / draws - expected) <= 4.5 * standard_error).all()


@every_strategy
@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.lists(
        st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.floats(0.0, 1.7e308)), min_size=1, max_size=5
    )
)
def test_every_finite_belief_has_a_distribution(explore: AnyStrategy, pairs: list[tuple[float, float]]) -> None:
    belief = Belief(np.array([mean for mean, _ in pairs]), np.array([std for _, std in pairs]))
    probabilities = explore.probabilities(belief, MIDWAY)
    assert probabilities.min() >= 0.0
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-9)
    action = explore.choose(belief, MIDWAY, np.random.default_rng(0))
    assert 0 <= action < len(pairs)


@every_strategy
@settings(deadline=None, derandomize=True, max_examples=30)
@given(st.lists(st.integers(-200, 200), min_size=1, max_size=5), st.integers(-1000, 1000))
def test_shifting_all_values_changes_nothing(explore: AnyStrategy, values: list[int], shift: int) -> None:
    # Sixteenths are exact, so that the shift loses no digit.
    mean = np.array(values) / 16.0
    std = np.linspace(0.5, 1.0, mean.size)
    before = explore.probabilities(Belief(mean, std), MIDWAY)
    after = explore.probabilities(Belief(mean + shift, std), MIDWAY)
    if isinstance(explore, UCB):
        # The sum of mean and bonus is rounded after the shift: only a tie could turn, and these have none to lose.
        scores = np.unique(mean + std)
        if scores.size > 1 and np.diff(scores).min() < 1e-9:
            return
    np.testing.assert_allclose(after, before, atol=1e-12)


@every_strategy
def test_equal_actions_are_equally_likely(explore: AnyStrategy) -> None:
    probabilities = explore.probabilities(TIED, 10**6)
    np.testing.assert_allclose(probabilities[[0, 1, 3]], probabilities[0], rtol=1e-9)
    assert probabilities[2] < probabilities[0]


@every_strategy
def test_the_same_generator_gives_the_same_actions(explore: AnyStrategy) -> None:
    def draw() -> list[int]:
        rng = np.random.default_rng(3)
        return [explore.choose(BELIEF, MIDWAY, rng) for _ in range(100)]

    assert draw() == draw()


@every_strategy
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("step", [0, 10**6])
def test_a_mean_that_is_not_finite_is_an_error(explore: AnyStrategy, bad: float, step: int) -> None:
    belief = Belief(np.array([0.0, bad]), np.ones(2))
    with pytest.raises(NotFiniteError, match="must be finite"):
        explore.choose(belief, step, np.random.default_rng(0))
    with pytest.raises(NotFiniteError, match="must be finite"):
        explore.probabilities(belief, step)


@every_strategy
def test_no_action_at_all_is_an_error(explore: AnyStrategy) -> None:
    with pytest.raises(MemecError, match="no action"):
        explore.choose(Belief(np.array([]), np.array([])), 0, np.random.default_rng(0))


@pytest.mark.parametrize("explore", [UCB(), Thompson()], ids=["ucb", "thompson"])
def test_a_missing_or_senseless_spread_is_an_error(explore: UCB | Thompson) -> None:
    assert explore.needs_std
    with pytest.raises(MemecError, match=f"'{explore.name}' needs a belief with standard deviations"):
        explore.choose(Belief(np.zeros(2)), 0, np.random.default_rng(0))
    for bad in ([1.0, -1.0], [np.nan, 1.0], [np.inf, 1.0], [1.0]):
        belief = Belief(np.zeros(2), np.array(bad))
        with pytest.raises(NotFiniteError, match="standard deviation"):
            explore.choose(belief, 0, np.random.default_rng(0))
        with pytest.raises(NotFiniteError, match="standard deviation"):
            explore.probabilities(belief, 0)


def test_strategies_without_need_of_it_ignore_the_spread() -> None:
    for kind in (Greedy, EpsilonGreedy, Boltzmann, Mellowmax):
        assert not kind.needs_std
        kind().choose(Belief(np.zeros(2)), 0, np.random.default_rng(0))


@pytest.mark.parametrize("name", ["greedy", "epsilon-greedy", "ucb", "thompson"])
def test_the_first_of_equals_can_be_taken_as_argmax_usually_does(name: str) -> None:
    explore = strategy(name, ties="first")
    tied = Belief(np.array([1.0, 2.0, 2.0, 2.0]), np.zeros(4))
    rng = np.random.default_rng(0)
    drawn = np.bincount([explore.choose(tied, 10**6, rng) for _ in range(2_000)], minlength=4)
    if name == "epsilon-greedy":  # which at times takes any
        assert drawn[1] > 1_980 and explore.probabilities(tied, 10**6).argmax() == 1
    else:
        assert drawn.tolist() == [0, 2_000, 0, 0]
        if name != "thompson":  # of which a tie has no chance
            assert explore.probabilities(tied, 0).tolist() == [0.0, 1.0, 0.0, 0.0]
    assert Greedy(ties="first").choose_each(np.array([[0.0, 0.0], [1.0, 1.0]]), [0.9, 0.9]) == [0, 0]


def test_epsilon_falls_linearly_between_its_corners() -> None:
    explore = EpsilonGreedy(epsilon_initial=1.0, epsilon_final=0.2, anneal_start_steps=100, anneal_end_steps=300)
    steps = [0, 99, 100, 101, 200, 299, 300, 301, 10**9]
    expected = [1.0, 1.0, 1.0, 0.996, 0.6, 0.204, 0.2, 0.2, 0.2]
    np.testing.assert_allclose([explore.epsilon(step) for step in steps], expected, rtol=1e-12)


def test_epsilon_may_jump_and_may_be_constant() -> None:
    jump = EpsilonGreedy(anneal_start_steps=10, anneal_end_steps=10)
    assert (jump.epsilon(9), jump.epsilon(10)) == (1.0, 0.005)
    at_once = EpsilonGreedy(anneal_start_steps=0, anneal_end_steps=0)
    assert at_once.epsilon(0) == 0.005


def test_the_extremes_of_epsilon() -> None:
    rng = np.random.default_rng(0)
    never = EpsilonGreedy(epsilon_initial=0.0, epsilon_final=0.0)
    assert {never.choose(BELIEF, 0, rng) for _ in range(300)} == {1, 3}
    always = EpsilonGreedy(epsilon_initial=1.0, epsilon_final=1.0)
    assert always.probabilities(BELIEF, 0).tolist() == [0.25] * 4


@pytest.mark.parametrize(
    "options",
    [{"epsilon_initial": 1.1}, {"epsilon_final": -0.1}, {"anneal_start_steps": 30_000}, {"anneal_start_steps": -1}],
)
def test_a_senseless_schedule_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        EpsilonGreedy(**options)  # type: ignore[arg-type]


def test_boltzmann_is_the_softmax_of_value_over_temperature() -> None:
    weights = np.exp(BELIEF.mean / 0.4)
    probabilities = Boltzmann(temperature=0.4).probabilities(BELIEF, 0)
    np.testing.assert_allclose(probabilities, weights / weights.sum(), rtol=1e-12)


def test_mellowmax_draws_from_the_mellowmax_policy() -> None:
    assert (Mellowmax(omega=3.0).probabilities(BELIEF, 0) == mellowmax_policy(BELIEF.mean, 3.0)[0]).all()


def test_ucb_prefers_the_uncertain_as_much_as_its_bonus_says() -> None:
    rng = np.random.default_rng(0)
    belief = Belief(np.array([1.0, 0.0, 0.5]), np.array([0.0, 2.0, 0.6]))
    assert UCB(bonus=0.0).choose(belief, 0, rng) == 0
    assert UCB(bonus=0.85).choose(belief, 0, rng) == 1
    assert UCB(bonus=0.25).probabilities(belief, 0).tolist() == [1.0, 0.0, 0.0]


def test_ucb_keeps_the_order_of_scores_that_overflow() -> None:
    belief = Belief(np.array([1e308, 1e308, -1e308]), np.array([1e308, 1.2e308, 1e307]))
    assert UCB(bonus=1e300).probabilities(belief, 0).tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("means", "stds"),
    [
        ([0.4, 0.1], [0.5, 1.2]),
        ([0.4, 0.1], [1e-6, 1.0]),
        ([0.4, 0.1], [0.0, 1.0]),
        ([0.4, 0.1], [1e9, 1.0]),
        ([0.0, -1e20], [1e20, 1.0]),
        ([1e308, 0.0], [1.0, 1e308]),
    ],
)
def test_thompson_between_two_actions_is_the_normal_distribution_of_their_difference(
    means: list[float], stds: list[float]
) -> None:
    exact = 0.5 * (1.0 + erf((means[0] - means[1]) / hypot(*stds) / sqrt(2.0)))
    assert Thompson().probabilities(Belief(np.array(means), np.array(stds)), 0)[0] == pytest.approx(exact, abs=1e-9)


def test_thompson_among_many_alike_is_uniform() -> None:
    probabilities = Thompson().probabilities(Belief(np.full(18, 3.0), np.full(18, 0.1)), 0)
    np.testing.assert_allclose(probabilities, 1 / 18, rtol=1e-9)


def test_thompson_without_any_spread_is_greedy_with_random_ties() -> None:
    belief = Belief(np.array([1.0, 2.0, 2.0]), np.zeros(3))
    assert Thompson().probabilities(belief, 0).tolist() == [0.0, 0.5, 0.5]
    rng = np.random.default_rng(0)
    assert {Thompson().choose(belief, 0, rng) for _ in range(100)} == {1, 2}


def test_greedy_breaks_ties_at_random() -> None:
    """The paper's code always takes action 0, as every value of an empty memory is the same."""
    rng = np.random.default_rng(0)
    assert {Greedy().choose(Belief(np.zeros(4)), 0, rng) for _ in range(200)} == {0, 1, 2, 3}


def test_settings_find_a_strategy_by_its_name() -> None:
    read: AnyStrategy = TypeAdapter(ExploreSettings).validate_python({"name": "mellowmax", "omega": 25})
    assert read == Mellowmax(omega=25.0)
    for name, kind in STRATEGIES.items():
        explore = strategy(name)
        assert type(explore) is kind
        assert TypeAdapter(ExploreSettings).validate_json(explore.model_dump_json()) == explore


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("melowmax", {}, "Unknown strategy 'melowmax': did you mean 'mellowmax'?"),
        ("mellowmax", {"omga": 1}, "Unknown setting 'omga': did you mean 'omega'?"),
        ("mellowmax", {"omega": -1}, "omega cannot be -1: input should be greater than 0."),
        ("boltzmann", {"temperature": 0.0}, "cannot be 0.0: input should be greater than 0."),
        ("ucb", {"bonus": float("nan")}, "cannot be nan: input should be a finite number."),
        ("thompson", {"bonus": 1}, "Unknown setting 'bonus'"),
        (
            "epsilon-greedy",
            {"anneal_start_steps": 9, "anneal_end_steps": 3},
            "must not start (anneal_start_steps = 9) after it ends (anneal_end_steps = 3).",
        ),
    ],
)
def test_a_wrong_name_or_option_is_one_sentence(name: str, options: dict[str, float], message: str) -> None:
    with pytest.raises(MemecError) as caught:
        strategy(name, **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
