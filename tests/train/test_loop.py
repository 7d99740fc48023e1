"""The loop through its events."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

from memec import MFEC, make
from memec.agents import AGENTS, MFECSettings
from memec.errors import EnvironmentFailedError, NotFiniteError
from memec.explore import STRATEGIES, strategy
from memec.train import Episode, Evaluation, Seeds, TrainingSettings, evaluating


def events_of(world: str, steps: int, **settings: Any) -> list[Any]:
    agent = MFEC(world)
    return list(agent.train(TrainingSettings(steps=steps, **settings), [make(world, training=False)]))


def test_episodes_add_up_to_the_steps() -> None:
    episodes = [event for event in events_of("CartPole-v1", 700, evaluate_every_steps=0) if isinstance(event, Episode)]
    assert [episode.step for episode in episodes] == np.cumsum([episode.length for episode in episodes]).tolist()
    assert 700 - 100 < episodes[-1].step <= 700
    assert all(episode.score == episode.length for episode in episodes)


def test_evaluations_come_every_so_many_steps_and_after_the_last() -> None:
    events = events_of("memec/OpenRoom-v0", 1_000, evaluate_every_steps=250, evaluation_episodes=3)
    evaluations = [event for event in events if isinstance(event, Evaluation)]
    assert [evaluation.step for evaluation in evaluations] == [250, 500, 750, 1_000]
    assert all(evaluation.episodes == 3 and evaluation.mean_length <= 100 for evaluation in evaluations)


def evaluation_of(agent: MFEC, worlds: int, episodes: int, step: int) -> Evaluation:
    played_in = [make(agent.world.id, training=False) for _ in range(worlds)]
    game = evaluating(agent, played_in, TrainingSettings(evaluation_episodes=episodes), Seeds(0), step)
    while True:
        try:
            next(game)
        except StopIteration as done:
            return done.value._replace(seconds=0.0)


def test_an_evaluation_depends_on_the_step_and_not_on_those_before() -> None:
    agent = MFEC("CartPole-v1").learn(500)
    first = evaluation_of(agent, 1, 5, 500)
    other = evaluation_of(agent, 1, 5, 1_000)
    assert evaluation_of(agent, 1, 5, 500) == first != other


@pytest.mark.parametrize("env", ["CartPole-v1", "memec/FourRoom-v0"])
def test_episodes_are_the_same_whatever_is_played_beside_them(env: str) -> None:
    agent = MFEC(env).learn(600)
    one_by_one = evaluation_of(agent, 1, 7, 600)
    assert one_by_one.std_score > 0 or "Room" in env
    assert evaluation_of(agent, 3, 7, 600) == evaluation_of(agent, 10, 7, 600) == one_by_one


def test_strategies_with_the_same_seed_do_not_share_their_luck() -> None:
    names = [name for name, kind in STRATEGIES.items() if kind.needs in MFECSettings.offers]
    draws = {name: MFEC("CartPole-v1", explore=strategy(name), seed=3).generator.random() for name in names}
    assert draws.pop("mellowmax-auto") == draws["mellowmax"]  # with whose omegas it is compared
    assert len(set(draws.values())) == len(draws)


def test_an_evaluation_episode_that_never_ends_is_cut_off() -> None:
    class Endless(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
            return np.zeros(2, np.float32), {}

        def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            return np.zeros(2, np.float32), 1.0, False, False, {}

    settings = TrainingSettings(steps=10, evaluate_every_steps=10, evaluation_episodes=1, evaluation_episode_steps=50)
    (evaluation,) = MFEC(Endless()).train(settings, [make(Endless())])
    assert isinstance(evaluation, Evaluation) and evaluation.mean_score == 50.0


class Wrong(gymnasium.Env[Any, Any]):
    """Gives a reward and an observation that are not as they should be, in every step."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, reward: float, observation: float) -> None:
        self._answer = np.full(2, observation, np.float32), reward, False, False, {}

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        return np.zeros(2, np.float32), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self._answer


@pytest.mark.parametrize("agent", ["mfec", "nec", "vpec"])
def test_the_blame_goes_to_what_is_not_finite(agent: str) -> None:
    with pytest.raises(EnvironmentFailedError, match="gave the reward 1e"):
        AGENTS[agent](Wrong(reward=1e308, observation=0.0)).learn(50)
    with pytest.raises(EnvironmentFailedError, match="an observation with NaN"):
        AGENTS[agent](Wrong(reward=0.0, observation=float("nan"))).learn(50)


def test_what_goes_wrong_with_sound_observations_is_not_laid_on_them() -> None:
    agent = MFEC(Wrong(reward=0.0, observation=0.0))
    agent.act = raising(NotFiniteError("the belief says inf"))  # type: ignore[method-assign]
    with pytest.raises(EnvironmentFailedError, match=r"learned from .* rewards failed before step 1: the belief says"):
        agent.learn(50)


def raising(error: Exception) -> Callable[..., Any]:
    def fail(*_: Any) -> Any:
        raise error

    return fail


def test_streams_of_a_seed_are_independent() -> None:
    seeds = Seeds(5)
    numbers = {seeds.number("environment", n) for n in range(100)} | {seeds.number("evaluation", n) for n in range(100)}
    assert len(numbers) == 200
    assert Seeds(5).number("environment", 3) == seeds.number("environment", 3) != Seeds(6).number("environment", 3)


@pytest.mark.parametrize("game", ["ALE/Qbert-v5", "ALE/SpaceInvaders-v5"])
def test_a_lost_life_ends_the_agents_episode_but_not_the_game(game: str) -> None:
    """One row per whole game: it spans all lives, while the memory fills life by life."""
    agent = MFEC(game, memory={"capacity": 2_000})
    filled_at: list[int] = []
    write = agent.memory.write
    agent.memory.write = lambda *a: (filled_at.append(agent.decisions.count), write(*a))[1]  # type: ignore[method-assign]
    settings = TrainingSettings(steps=1_500, evaluate_every_steps=0)
    episodes = [event for event in agent.train(settings) if isinstance(event, Episode)]
    assert episodes
    first = [step for step in filled_at if step <= episodes[0].step]
    assert len(first) >= 3 and first[-1] == episodes[0].step == episodes[0].length
