"""An episode cut off is taken to have gone on as it was, so that a constant added to all rewards changes nothing."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from hypothesis import given, settings
from hypothesis import strategies as st

from memec import MFEC, NEC
from memec.agents.returns import after_a_cut, discounted_returns, going_on

SOME_REWARDS = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40)


@settings(deadline=None)
@given(rewards=SOME_REWARDS, added=st.floats(-1e3, 1e3), discount=st.floats(0.0, 0.999))
def test_a_constant_added_to_all_rewards_adds_the_same_to_every_return(
    rewards: list[float], added: float, discount: float
) -> None:
    plain, shifted = (
        discounted_returns(each, discount, going_on(each, discount))
        for each in (rewards, [reward + added for reward in rewards])
    )
    np.testing.assert_allclose(shifted - plain, added / (1.0 - discount), rtol=1e-6, atol=1e-6 / (1.0 - discount))


class Line(gymnasium.Env[Any, Any]):
    """Five places in a row, each with a reward of its own, walked for ever in pieces of eight steps."""

    observation_space = Box(0, 4, (1,), np.float32)
    action_space = Discrete(2)

    def __init__(self, rewards: list[float], added: float) -> None:
        self.rewards = [reward + added for reward in rewards]

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        self.place, self.steps = 2, 0
        return np.array([2.0], np.float32), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.place = min(max(self.place + 2 * int(action) - 1, 0), 4)
        self.steps += 1
        return np.array([self.place], np.float32), self.rewards[self.place], False, self.steps == 8, {}


@settings(max_examples=15, deadline=None)
@given(rewards=st.lists(st.integers(-4, 4), min_size=5, max_size=5), added=st.integers(-16, 16))
def test_mfec_does_the_same_whatever_is_added_to_all_rewards(rewards: list[float], added: int) -> None:
    """The rewards are whole and eight is a power of two, so that equal values stay equal."""
    plain, shifted = (MFEC(Line(rewards, more), discount=0.5, seed=0).learn(240) for more in (0, added))
    used = plain.memory.used()
    np.testing.assert_array_equal(used, shifted.memory.used())
    np.testing.assert_array_equal(plain.memory.keys[used], shifted.memory.keys[used])
    np.testing.assert_allclose(shifted.memory.returns[used] - plain.memory.returns[used], 2.0 * added)


@pytest.mark.parametrize("agent", [MFEC, NEC])
def test_an_episode_cut_off_is_worth_what_it_brought_on_average_for_ever(agent: Any) -> None:
    learned = agent(Line(5 * [1.0], 0.5), discount=0.5, truncation="average").learn(8)
    np.testing.assert_allclose(learned.memory.returns[learned.memory.used()], 3.0)


def test_what_goes_on_for_ever_undiscounted_is_not_remembered() -> None:
    assert after_a_cut("average", [1.0], 1.0, 1) == "discard"
    assert len(MFEC(Line(5 * [1.0], 0.0), discount=1.0, truncation="average").learn(80).memory) == 0


@pytest.mark.parametrize(("discount", "n_step", "left_out"), [(0.5, 4, True), (0.8, 8, False)])
def test_where_all_is_uncertain_the_average_stands_in_for_leaving_out(
    discount: float, n_step: int, left_out: bool
) -> None:
    """Of eight moments two time constants 1 / (1 - discount) are uncertain for MFEC, and n for NEC."""
    given: dict[str, Any] = {"discount": discount, "truncation": "discard-or-average"}
    for agent in (MFEC(Line(5 * [1.0], 0.0), **given), NEC(Line(5 * [1.0], 0.0), n_step=n_step, **given)):
        returns = agent.learn(8).memory.returns[agent.memory.used()]
        assert (returns < 1.0 / (1.0 - discount) - 0.001).all() if left_out else np.allclose(returns, 5.0)
