"""A policy that is kept draws what the strategy would have chosen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memec.explore import STRATEGIES, Belief, Boltzmann, Mellowmax, Policy, lasting_policy, strategy
from memec.explore.choice import sample

JUST_BELOW_ONE = float(np.nextafter(1.0, 0.0))
luck = st.floats(0.0, 1.0, exclude_max=True) | st.sampled_from([0.0, 0.25, 0.5, 0.75, JUST_BELOW_ONE])


class Fixed:
    """A generator that has one number to give."""

    def __init__(self, number: float) -> None:
        self.number = number

    def random(self) -> float:
        return self.number


@settings(deadline=None)  # compiling takes longer
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8), luck)
def test_the_same_number_draws_what_a_sample_is(probabilities: list[float], u: float) -> None:
    each = np.array(probabilities)
    assert Policy(each).draw(Fixed(u)) == sample(each, u)  # type: ignore[arg-type]


@pytest.mark.parametrize("explore", [Mellowmax(), Mellowmax(omega=500.0), Boltzmann(), Boltzmann(temperature=0.01)])
@settings(deadline=None)
@given(values=st.lists(st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0]), min_size=1, max_size=6))
def test_it_draws_action_by_action_what_the_strategy_chooses(
    explore: Mellowmax | Boltzmann, values: list[float]
) -> None:
    belief = Belief(np.array(values))
    policy = lasting_policy(explore, belief)
    assert policy is not None
    ours, theirs = np.random.default_rng(7), np.random.default_rng(7)
    assert [policy.draw(ours) for _ in range(50)] == [explore.choose(belief, step, theirs) for step in range(50)]
    assert ours.bit_generator.state == theirs.bit_generator.state


@pytest.mark.parametrize("name", sorted(STRATEGIES.keys() - {"mellowmax", "boltzmann"}))
def test_none_is_kept_for_a_strategy_that_goes_by_more_than_values(name: str) -> None:
    assert lasting_policy(strategy(name), Belief(np.array([0.0, 1.0]))) is None
