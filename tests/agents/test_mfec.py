"""MFEC as users meet it, all strategies through the same claims."""

from itertools import product
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple

from memec import (
    MFEC,
    Boltzmann,
    EpsilonGreedy,
    MellowmaxAuto,
    MemecError,
)
from memec.agents import MFECSettings
from memec.agents.returns import discounted_returns
from memec.experiments.presets import settings_for
from memec.explore import Belief
from memec.train import Episode, Evaluation, Event
from tests.agents.common import BY_MEMORY, assert_same, contents, each_strategy

WORLDS = ["memec/OpenRoom-v0", "CartPole-v1"]


def trained(world: str, explore: Any = None, steps: int = 1_000, seed: int = 0) -> MFEC:
    return MFEC(world, explore=explore, seed=seed).learn(steps)


@each_strategy([explore for explore in BY_MEMORY if explore.name != "ucb" or not explore.judges_as_released])
@pytest.mark.parametrize("world", WORLDS)
def test_the_same_seed_gives_the_same_agent_and_another_seed_another(world: str, explore: Any) -> None:
    first, again, other = (trained(world, explore, seed=seed) for seed in (3, 3, 4))
    assert_same(contents(first), contents(again))
    assert any(not np.array_equal(array, other.arrays()[name]) for name, array in contents(first).items())


@each_strategy(BY_MEMORY)
def test_evaluation_does_not_change_training(explore: Any) -> None:
    plain, often = MFEC("CartPole-v1", explore=explore), MFEC("CartPole-v1", explore=explore)
    plain.learn(1_200)
    often.learn(1_200, evaluate_every=100, evaluation_episodes=2)
    assert_same(contents(plain), contents(often))


@each_strategy(BY_MEMORY)
def test_looking_and_predicting_do_not_change_training(explore: Any) -> None:
    plain, watched = trained("CartPole-v1", explore, 600), trained("CartPole-v1", explore, 600)
    observation = np.array([0.01, 0.0, 0.02, 0.0], np.float32)
    watched.predict(observation, deterministic=False)
    watched.predict(np.stack([observation] * 3))
    watched.recall(observation)
    assert_same(contents(plain.learn(600)), contents(watched.learn(600)))


@each_strategy(BY_MEMORY)
@pytest.mark.parametrize("world", WORLDS)
def test_a_loaded_agent_behaves_identically(world: str, explore: Any, tmp_path: Path) -> None:
    agent = trained(world, explore)
    agent.save(tmp_path / "agent.safetensors")
    loaded = MFEC.load(tmp_path / "agent.safetensors")
    assert loaded.settings == agent.settings and loaded.steps == agent.steps
    agent.give_up_episode()  # a loaded agent begins with a new one
    assert_same(contents(agent), contents(loaded))
    space = agent.world.environment.observation_space
    space.seed(0)
    bounded = Box(-1, 1, space.shape, np.float32)
    observations = np.stack([bounded.sample() for _ in range(20)])
    for deterministic in (True, False):
        ours, theirs = (a.predict(observations, deterministic=deterministic)[0] for a in (agent, loaded))
        np.testing.assert_array_equal(ours, theirs)


def test_learning_in_two_parts_is_learning_at_once() -> None:
    assert_same(contents(trained("CartPole-v1", steps=1_001)), contents(trained("CartPole-v1", steps=437).learn(564)))


def test_mellowmax_learns_open_room() -> None:
    scores: list[float] = []

    def listen(event: Event) -> None:
        if isinstance(event, Evaluation):
            scores.append(event.mean_score)

    MFEC("memec/OpenRoom-v0", memory={"capacity": 150}, seed=1).learn(10_000, evaluate_every=1_000, callback=listen)
    assert scores[-3:] == [1.0, 1.0, 1.0]


def test_thompson_fails_in_open_room_as_released_and_not_as_the_paper_says() -> None:
    ends: dict[str, list[float]] = {"paper": [], "released": []}
    for reading, seed in product(ends, range(2)):
        run = settings_for("memec/OpenRoom-v0", "vector", preset=reading, explore="thompson")
        scores: list[float] = []

        def keep(event: Event, scores: list[float] = scores) -> None:
            if isinstance(event, Evaluation):
                scores.append(event.mean_score)

        agent = MFEC("memec/OpenRoom-v0", settings=run.agent, seed=seed)
        agent.learn(12_000, evaluate_every=1_000, callback=keep)
        ends[reading].append(float(np.mean(scores[-5:])))
    assert min(ends["paper"]) == 1.0 and max(ends["released"]) < 0.6


def test_returns_are_discounted_sums() -> None:
    np.testing.assert_allclose(discounted_returns([1.0, 2.0, 4.0], 0.5), [3.0, 4.0, 4.0])


def test_the_memory_holds_the_best_return_of_each_state_and_action() -> None:
    """A tiny corridor by hand: two episodes, the second better."""

    class Corridor(gymnasium.Env[Any, Any]):
        observation_space = Box(0, 10, (1,), np.float32)
        action_space = Discrete(1)
        rewards = iter([0.0, 1.0, 0.0, 3.0, 0.0, 2.0])

        def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
            self.at = 0
            return np.array([0.0], np.float32), {}

        def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            self.at += 1
            return np.array([self.at], np.float32), next(self.rewards), self.at == 2, False, {}

    agent = MFEC(Corridor(), discount=0.5, memory={"capacity": 11}).learn(6)
    assert agent.memory.returns[:2].tolist() == [1.5, 3.0]
    assert agent.memory.steps[:2].tolist() == [3, 4]


def test_recall_shows_the_memories_behind_each_value() -> None:
    agent = trained("CartPole-v1", steps=2_000)
    for memories in agent.recall(np.array([0.01, 0.02, -0.01, 0.03], np.float32)):
        assert len(memories) == 11 and not memories.exact
        assert memories.value == pytest.approx(float(memories.weights @ memories.returns))
        assert memories.weights.sum() == pytest.approx(1.0)
        assert (np.diff(memories.distances) >= 0).all()
        assert ((memories.steps >= 1) & (memories.steps <= 2_000)).all()


def test_recall_of_a_known_state_is_that_one_memory() -> None:
    agent = trained("memec/OpenRoom-v0", steps=2_000)
    up, *_ = agent.recall(np.array([1.0, 1.0], np.float32))
    assert up.exact and len(up) == 1
    assert up.weights.tolist() == [1.0] and up.value == up.returns[0] and up.distances[0] == 0.0


def test_ties_are_broken_at_random() -> None:
    """An argmax that prefers action 0 never leaves the corner."""
    agent = MFEC("memec/OpenRoom-v0")
    actions = {int(agent.predict(np.array([1.0, 1.0], np.float32))[0]) for _ in range(60)}
    assert actions == {0, 1, 2, 3}


def test_predict_takes_one_observation_or_a_batch_and_hands_the_state_back() -> None:
    agent = trained("CartPole-v1", steps=300)
    action, state = agent.predict(np.zeros(4, np.float32), state=None, episode_start=None, deterministic=True)
    assert action in (0, 1) and state is None
    actions, _ = agent.predict(np.zeros((5, 4), np.float32))
    assert actions.shape == (5,)
    assert agent.predict(np.empty((0, 4), np.float32))[0].shape == (0,)


@pytest.mark.parametrize("wrong", [np.zeros(3), np.zeros((2, 3)), np.zeros((2, 2, 4)), "text", None])
def test_predict_refuses_a_wrong_shape(wrong: Any) -> None:
    agent = MFEC("CartPole-v1")
    with pytest.raises(MemecError):
        agent.predict(wrong)


class Own(gymnasium.Env[Any, Any]):
    """An environment of a user's own, with any observation space."""

    def __init__(self, space: Any) -> None:
        self.observation_space = space
        self.action_space = Discrete(3, start=5)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        self.length = 0
        return self.observation_space.sample(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        self.length += 1
        return self.observation_space.sample(), 1.0, self.length == 20, False, {}


@pytest.mark.parametrize(
    "space",
    [
        Discrete(7),
        Discrete(600, start=-3),
        MultiDiscrete([3, 4]),
        MultiBinary(6),
        Box(0, 255, (36, 40, 3), np.uint8),
        Box(-1, 1, (20, 20), np.float32),
        Box(-1, 1, (), np.float64),
        Tuple([Discrete(3), Box(0, 1, (2,), np.float32)]),
        Dict(picture=Box(0, 255, (32, 32), np.uint8), place=Box(-5, 5, (2,), np.float64), mode=Discrete(4)),
    ],
    ids=str,
)
def test_any_observation_space_can_be_learned_saved_and_predicted(space: Any, tmp_path: Path) -> None:
    agent = MFEC(Own(space), memory={"capacity": 50}).learn(150, evaluate_every=100, evaluation_env=Own(space))
    assert len(agent.memory) > 0
    observation = space.sample()
    action, _ = agent.predict(observation)
    assert 5 <= action < 8
    agent.save(tmp_path / "own")
    loaded = MFEC.load(tmp_path / "own", env=Own(space))
    assert [m.value for m in loaded.recall(observation)] == [m.value for m in agent.recall(observation)]


def test_learning_on_after_the_environment_was_used_elsewhere_begins_a_new_episode() -> None:
    environment = gymnasium.make("CartPole-v1")
    agent = MFEC(environment).learn(105)
    environment.reset(seed=7)
    episodes: list[Episode] = []
    agent.learn(400, callback=lambda event: episodes.append(event) if isinstance(event, Episode) else None)
    assert sum(episode.length for episode in episodes) <= 400


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"memory": {"capacity": -1}}, "memory.capacity cannot be -1"),
        ({"memory": {"capcity": 10}}, "did you mean 'capacity'"),
        ({"memory": {"capacity": 5, "neighbours": 6}}, "larger than memory.capacity"),
        ({"discount": 1.5}, "discount cannot be 1.5"),
        ({"explore": "melowmax"}, "did you mean 'mellowmax'"),
    ],
)
def test_bad_settings_get_one_clear_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(MemecError, match=sentence) as error:
        MFEC("CartPole-v1", **options)
    assert "\n" not in str(error.value)


def test_a_strategy_can_be_given_by_its_name() -> None:
    assert MFEC("CartPole-v1", explore="epsilon-greedy").settings.explore == EpsilonGreedy()
    settings = MFEC("CartPole-v1", explore=MellowmaxAuto(rho=0.2)).settings
    assert MFEC("CartPole-v1", settings=settings, explore="mellowmax-auto").explore == MellowmaxAuto(rho=0.2)


class Bold(EpsilonGreedy):
    """A strategy of the user's own, derived from one of ours."""

    def choose(self, belief: Belief, step: int, rng: np.random.Generator) -> int:
        return 0


def test_a_strategy_derived_from_one_of_ours_is_used_itself() -> None:
    agent = MFEC("CartPole-v1", explore=Bold(epsilon_final=0.3)).learn(60)
    assert agent.settings.explore.model_dump().items() >= {"name": f"{__name__}:Bold", "epsilon_final": 0.3}.items()
    assert agent.diagnostics()["epsilon"] == 1.0


def test_a_strategy_that_is_none_of_ours_is_refused_within_settings() -> None:
    settings = MFECSettings(explore=Bold())
    with pytest.raises(MemecError, match="explore cannot be an object of Bold"):
        MFEC("CartPole-v1", settings=settings)


class Broken(Own):
    """Goes wrong at its fifth step."""

    def __init__(self, what: str) -> None:
        super().__init__(Box(-1, 1, (2,), np.float32))
        self.what = what
        self.steps = 0

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = super().step(action)
        self.steps += 1
        if self.steps == 5:
            if self.what == "raise":
                raise RuntimeError("the robot fell over")
            if self.what == "reward":
                reward = float("nan")
            if self.what == "observation":
                observation = np.array([0.0, np.inf], np.float32)
        return observation, reward, terminated, truncated, info


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("raise", "RuntimeError at step 5: the robot fell over"),
        ("reward", "at step 5.*nan"),
        ("observation", "before step 6"),
    ],
)
def test_an_environment_that_goes_wrong_is_named_with_the_step(what: str, sentence: str) -> None:
    with pytest.raises(MemecError, match=sentence):
        MFEC(Broken(what)).learn(50)


@pytest.mark.parametrize("content", [b"", b"no safetensors", b"\xff" * 200, b"\x08\0\0\0\0\0\0\0{}      "])
def test_loading_what_is_no_agent_is_an_error_and_no_more(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "stranger"
    file.write_bytes(content)
    with pytest.raises(MemecError):
        MFEC.load(file)
    with pytest.raises(MemecError, match="no file"):
        MFEC.load(tmp_path / "missing")


class Corridor(gymnasium.Env[Any, Any]):
    """Walks on, a reward of 1 a step, until the end comes or the time limit does."""

    observation_space = Box(0, np.inf, (1,), np.float32)
    action_space = Discrete(2)

    def __init__(self, length: int, *, cut_off: bool) -> None:
        self.length, self.cut_off, self.at = length, cut_off, 0

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        self.at = 0
        return np.array([self.at], np.float32), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.at += 1
        over = self.at == self.length
        return np.array([self.at], np.float32), 1.0, over and not self.cut_off, over and self.cut_off, {}


@pytest.mark.parametrize("truncation", ["terminal", "bootstrap", "discard"])
def test_a_return_that_really_ended_is_believed_whatever_is_done_with_those_cut_off(truncation: Any) -> None:
    agent = MFEC(Corridor(6, cut_off=False), discount=0.5, truncation=truncation).learn(6)
    assert sorted(agent.memory.returns[agent.memory.used()]) == discounted_returns(6 * [1.0], 0.5)[::-1].tolist()


def test_a_return_cut_off_is_believed_as_in_the_paper() -> None:
    agent = MFEC(Corridor(6, cut_off=True), discount=0.5, truncation="terminal").learn(6)
    assert len(agent.memory) == 6 and agent.memory.returns.min() == 0.0 and max(agent.memory.returns) < 2.0


def test_moments_within_two_time_constants_of_a_cut_are_left_out() -> None:
    agent = MFEC(Corridor(6, cut_off=True), discount=0.5, truncation="discard").learn(6)
    assert sorted(agent.memory.keys[agent.memory.used(), 0]) == [0.0, 1.0]
    for discount, length in ((0.5, 4), (1.0, 50), (0.99, 200)):
        assert (
            len(MFEC(Corridor(length, cut_off=True), discount=discount, truncation="discard").learn(length).memory) == 0
        )


def test_a_cut_return_goes_on_with_what_the_last_state_is_worth() -> None:
    """Every state is worth 2 with a discount of .5; an episode goes on from what others said of where it ended."""
    agent = MFEC(Corridor(8, cut_off=True), discount=0.5, truncation="bootstrap").learn(400)
    returns = agent.memory.returns[agent.memory.used()]
    plain = MFEC(Corridor(8, cut_off=True), discount=0.5, truncation="terminal").learn(400)
    assert returns.min() > 1.9 and plain.memory.returns[plain.memory.used()].min() == 1.0
    assert returns.max() <= 2.0


class Repaid(gymnasium.RewardWrapper[Any, Any]):
    """An environment in another currency."""

    def reward(self, reward: Any) -> float:
        return 4.0 * float(reward)


def test_mellowmax_auto_plays_the_same_whatever_the_rewards_are_counted_in() -> None:
    plain, repaid = MFEC("Acrobot-v1", seed=2), MFEC(Repaid(gymnasium.make("Acrobot-v1")), seed=2)
    assert isinstance(plain.explore, MellowmaxAuto)
    plain.learn(2_000), repaid.learn(2_000)
    np.testing.assert_array_equal(plain.memory.keys, repaid.memory.keys)
    np.testing.assert_array_equal(4.0 * plain.memory.returns, repaid.memory.returns)


class Stretched(gymnasium.ObservationWrapper[Any, Any, Any]):
    """CartPole with each number in a unit of its own."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.observation_space = Box(-np.inf, np.inf, (4,), np.float32)

    def observation(self, observation: Any) -> Any:
        return observation * np.array([1024.0, 1.0, 0.125, 8.0], np.float32)


def scaled_keys(env: Any, steps: int = 3_000, search: str = "auto") -> MFEC:
    memory = {"capacity": 2_000, "search": search}
    return MFEC(env, memory=memory, embed={"scaled": True}, explore=EpsilonGreedy(), seed=3).learn(steps)


def test_scaled_keys_do_not_depend_on_the_units_of_the_observation() -> None:
    """Random play is the same in any unit, so that the tables must be as well."""
    plain, stretched = scaled_keys("CartPole-v1"), scaled_keys(Stretched(gymnasium.make("CartPole-v1")))
    np.testing.assert_allclose(plain.memory.keys, stretched.memory.keys, rtol=1e-4, atol=1e-6)
    spread = plain.memory.keys[plain.memory.used()].std(axis=0)
    assert (spread > 0.3).all() and (spread < 3.0).all()


@pytest.mark.parametrize("search", ["exact", "approximate"])
def test_what_is_recalled_after_the_scale_changed_is_what_a_brute_force_search_finds(search: str) -> None:
    agent = scaled_keys("CartPole-v1", search=search)
    scale = agent.embed.arrays()["scale"]
    assert not np.allclose(scale, 1.0)
    observation = np.array([0.1, -0.2, 0.03, 0.4], np.float32)
    for memories in agent.recall(observation):
        start = memories.action * 2_000
        table = agent.memory.keys[start : start + agent.memory.sizes[memories.action]]
        squared = np.sort(((table - observation * scale) ** 2).sum(axis=1))[:11]
        np.testing.assert_allclose(memories.distances**2, squared, rtol=1e-4, atol=1e-9)


def test_scaled_keys_go_on_exactly_after_a_restart(tmp_path: Path) -> None:
    whole = scaled_keys("CartPole-v1", 2_000)
    part = MFEC("CartPole-v1", settings=whole.settings, seed=3)
    part.learn(900, run=tmp_path / "run")
    resumed = MFEC("CartPole-v1", settings=whole.settings, seed=3).learn(2_000, resume=tmp_path / "run")
    assert_same(contents(whole), contents(resumed))


class Cut(gymnasium.Env[Any, Any]):
    """An episode of 300 steps that a time limit ends, each with the same reward."""

    observation_space = Box(0, 400, (1,), np.float32)
    action_space = Discrete(1)

    def __init__(self, reward: float) -> None:
        self.each = reward

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        self.at = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.at += 1
        return np.array([self.at], np.float32), self.each, False, self.at == 300, {}


@pytest.mark.parametrize(
    ("reward", "remembered"),
    [
        pytest.param(-1.0, 100, id="a cut that hides costs flatters"),
        pytest.param(0.0, 300, id="one that hides nothing does not"),
    ],
)
def test_careful_truncation_leaves_out_only_what_the_cut_flatters(reward: float, remembered: int) -> None:
    agent = MFEC(Cut(reward), truncation="careful", memory={"capacity": 400}).learn(300)
    assert len(agent.memory) == remembered
    assert np.isclose(agent.memory.returns[0], reward * (1 - 0.99**300) / 0.01)


def test_hopes_of_an_episode_without_reward_are_not_remembered() -> None:
    """What an unrewarded episode hoped for at its end is not a return: with this seed it led in circles for good."""
    agent = MFEC("memec/OpenRoom-v0", explore="thompson-calibrated", seed=10)
    scores: list[float] = []
    agent.learn(3_000, callback=lambda event: scores.append(event.score) if isinstance(event, Episode) else None)
    assert sum(scores) > len(scores) / 2


def test_a_better_return_changes_the_next_visit() -> None:
    """Left pays 1 and right nothing, until both are known; then right pays 9."""

    class Fork(gymnasium.Env[Any, Any]):
        observation_space = Box(0, 1, (1,), np.float32)
        action_space = Discrete(2)
        pays = (1.0, 0.0)

        def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
            return np.zeros(1, np.float32), {}

        def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            return np.ones(1, np.float32), self.pays[action], True, False, {}

    fork = Fork()
    agent = MFEC(fork, explore=Boltzmann(temperature=0.3), memory={"capacity": 11}).learn(200)
    fork.pays = (1.0, 9.0)
    scores: list[float] = []
    agent.learn(200, callback=lambda event: scores.append(event.score) if isinstance(event, Episode) else None)
    assert scores[0] == 1.0 and scores[-100:] == 100 * [9.0]
