"""VPEC as users meet it."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memec import VPEC, MemecError
from memec.embed.scale import RunningScale
from memec.explore.optimism import Bet, Optimism
from memec.train import Evaluation
from tests.agents.common import BY_VALUE, assert_same, contents, each_strategy

STRATEGIES = [Optimism(), *BY_VALUE]


@each_strategy(STRATEGIES)
@pytest.mark.parametrize("world", ["memec/OpenRoom-v0", "CartPole-v1", "FrozenLake-v1"])
def test_the_same_seed_gives_the_same_agent_and_another_seed_another(world: str, explore: Any) -> None:
    first, again, other = (VPEC(world, explore=explore, seed=seed).learn(500) for seed in (3, 3, 4))
    assert_same(contents(first), contents(again))
    assert any(not np.array_equal(array, other.arrays()[name]) for name, array in contents(first).items())


def test_evaluation_does_not_change_training() -> None:
    plain, often = (VPEC("CartPole-v1").learn(800, evaluate_every=every) for every in (0, 100))
    assert_same(contents(plain), contents(often))


def test_a_loaded_agent_acts_the_same(tmp_path: Path) -> None:
    agent = VPEC("CartPole-v1").learn(700)
    agent.save(tmp_path / "agent")
    loaded = VPEC.load(tmp_path / "agent")
    observations = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    np.testing.assert_array_equal(agent.predict(observations)[0], loaded.predict(observations)[0])
    for one, other in zip(agent.recall(observations[0]), loaded.recall(observations[0]), strict=True):
        assert one.value == other.value and one.distances.tolist() == other.distances.tolist()


def test_four_rooms_are_solved_within_two_thousand_steps_by_every_seed() -> None:
    for seed in range(3):
        evaluations: list[float] = []
        VPEC("memec/FourRoom-v0", seed=seed).learn(
            2_000,
            evaluate_every=500,
            evaluation_episodes=1,
            callback=lambda event: evaluations.append(event.mean_score) if isinstance(event, Evaluation) else None,  # noqa: B023
        )
        assert evaluations[-1] == 1.0


def test_the_units_of_an_observation_do_not_matter_once_its_scale_is_known() -> None:
    scale, other = RunningScale(2), RunningScale(2)
    units = np.array([1e3, 1e-3], np.float32)
    path = np.random.default_rng(0).normal(size=(100, 2)).astype(np.float32).cumsum(axis=0)
    for before, after in pairwise(path):
        scale.notice(before, after)
        other.notice(before * units, after * units)
    scale.fix()
    other.fix()
    np.testing.assert_allclose(scale(path), other(path * units), rtol=1e-5)
    assert scale.step_length == pytest.approx(other.step_length, rel=1e-5)


def test_what_never_changes_keeps_its_unit() -> None:
    scale = RunningScale(2)
    for at in range(10):
        scale.notice(np.array([at, 5.0], np.float32), np.array([at + 1, 5.0], np.float32))
    scale.fix()
    assert scale.scale[1] == 1.0 and scale.step_length > 0


def test_hoping_is_bet_on_as_it_pays() -> None:
    random = np.random.default_rng(0)
    for paying in (False, True):
        bet = Bet(Optimism())
        for _ in range(400):
            hoped = bet.hope(random)
            bet.settle(hoped, float(random.normal()) + 10 * (hoped == paying))
        share = np.mean([bet.hope(random) for _ in range(400)])
        assert (share > 0.9) if paying else (share < 0.1)


def test_scores_that_are_all_the_same_leave_nothing_to_lose_by_hoping() -> None:
    bet = Bet(Optimism())
    for _ in range(10):
        bet.settle(bet.hope(np.random.default_rng(0)), -500.0)
    assert bet.hope(np.random.default_rng(0))


def test_pictures_are_refused_in_one_sentence() -> None:
    with pytest.raises(MemecError, match="use mfec"):
        VPEC("ALE/Pong-v5")


def test_what_needs_uncertainties_is_refused() -> None:
    from memec import UCB

    with pytest.raises(MemecError, match="explore"):
        VPEC("CartPole-v1", explore=UCB())
