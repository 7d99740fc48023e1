"""VPEC as users meet it."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memec import VPEC, MemecError
from memec.embed.scale import RunningScale
from memec.explore.optimism import BELIEF, HOPE, TEMPERED, Bet, Optimism
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


def play(bet: Bet, random: np.random.Generator, *, believing: float, hoping: float, new: bool = True) -> bool:
    """Play an episode of one step that scores this if played by belief or by hope; return whether it was hope."""
    bet.begin(random)
    bet.meet(new, 10)
    hoped = bet.kind == HOPE
    bet.observe(hoping if hoped else believing, over=True)
    return hoped


def test_hoping_is_bet_on_as_it_pays() -> None:
    random = np.random.default_rng(0)
    for paying in (False, True):
        bet = Bet(Optimism())

        scores = random.normal(size=(800, 2)) + 10 * np.array([not paying, paying])
        played = [play(bet, random, believing=believed, hoping=hoped) for believed, hoped in scores]
        share = np.mean(played[400:])
        assert (share > 0.9) if paying else (share < 0.1)


def test_scores_that_are_all_the_same_leave_nothing_to_lose_by_hoping() -> None:
    bet, random = Bet(Optimism()), np.random.default_rng(0)
    assert [play(bet, random, believing=-500.0, hoping=-500.0) for _ in range(10)][4:] == [True] * 6


@pytest.mark.parametrize("restless", [True, False])
def test_belief_that_meets_nothing_new_is_followed_by_hope_if_restless(restless: bool) -> None:
    bet, random = Bet(Optimism(restless=restless, least=0.0)), np.random.default_rng(0)
    for _ in range(20):
        play(bet, random, believing=1.0, hoping=0.0)
    assert not play(bet, random, believing=1.0, hoping=0.0, new=False)
    assert play(bet, random, believing=1.0, hoping=0.0) == restless
    assert not play(bet, random, believing=1.0, hoping=0.0)


@pytest.mark.parametrize("better", [BELIEF, TEMPERED])
def test_a_greedy_policy_goes_by_the_belief_that_pays(better: int) -> None:
    bet, random = Bet(Optimism()), np.random.default_rng(0)
    assert bet.trusted == BELIEF
    kinds = []
    for _ in range(400):
        bet.is_offered(3)
        bet.begin(random)
        bet.meet(True, 10)
        kinds.append(bet.kind)
        bet.observe(random.normal() + 10 * (bet.kind == better), over=True)
    assert bet.trusted == better
    assert kinds[200:].count(better) > 120 and {BELIEF, TEMPERED} <= set(kinds[200:])


def test_where_luck_has_no_part_nothing_is_tempered() -> None:
    bet, random = Bet(Optimism()), np.random.default_rng(0)
    for _ in range(100):
        bet.begin(random)
        bet.meet(True, 10)
        assert bet.kind != TEMPERED
        bet.observe(random.normal(), over=True)


def test_belief_that_goes_in_circles_turns_to_hope_within_the_episode() -> None:
    bet = Bet(Optimism())
    bet.begin(np.random.default_rng(0))
    for step in range(300):
        assert bet.kind == BELIEF
        bet.meet(step == 149, 150)
    assert bet.kind == HOPE


def test_a_world_without_a_time_limit_is_learned_too() -> None:
    agent = VPEC("CliffWalking-v1").learn(5_000)
    environment = agent.world.environment
    observation, steps, over = environment.reset(seed=0)[0], 0, False
    while not over and steps < 100:
        observation, _, over, _, _ = environment.step(agent.predict(observation)[0])
        steps += 1
    assert steps == 13


def test_slippery_ice_is_learned_by_every_seed() -> None:
    for seed in range(3):
        scores: list[float] = []
        VPEC("FrozenLake-v1", seed=seed).learn(
            8_000,
            evaluate_every=4_000,
            evaluation_episodes=200,
            callback=lambda event: scores.append(event.mean_score) if isinstance(event, Evaluation) else None,  # noqa: B023
        )
        assert scores[-1] > 0.5


def test_names_are_not_divided_by_how_rarely_they_come() -> None:
    scale = RunningScale(3, np.array([False, False, True]))
    for at in range(100):
        name = [1.0, 0.0] if at % 10 else [0.0, 1.0]
        observation = np.array([*name, at], np.float32)
        scale.notice(observation, observation)
    scale.fix()
    assert scale.scale[:2].tolist() == [1.0, 1.0] and scale.scale[2] < 0.1


def test_pictures_are_refused_in_one_sentence() -> None:
    with pytest.raises(MemecError, match="use mfec"):
        VPEC("ALE/Pong-v5")


def test_what_needs_uncertainties_is_refused() -> None:
    from memec import UCB

    with pytest.raises(MemecError, match="explore"):
        VPEC("CartPole-v1", explore=UCB())


def test_memories_tell_what_came_of_them_and_how_often() -> None:
    agent = VPEC("FrozenLake-v1").learn(2_000)
    start = agent.recall(0)
    for memories in start:
        assert memories.exact and len(memories.outcomes) == 1
        [came] = memories.outcomes
        assert sum(outcome.count for outcome in came) == agent.graph.entries.visits[memories.slots[0]] > 1
        assert [outcome.count for outcome in came] == sorted((outcome.count for outcome in came), reverse=True)
        assert all(outcome.observation.sum() == 1.0 and outcome.reward == 0.0 for outcome in came)
    assert any(len(memories.outcomes[0]) > 1 for memories in start)  # ice is slippery
