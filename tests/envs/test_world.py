"""A world gives the training loop the same few things, whatever the environment."""

import sys
import types
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from memec.envs.atari import Atari
from memec.envs.rooms import OpenRoom
from memec.envs.state_id import state_id
from memec.envs.world import World, make
from memec.errors import MemecError, NotFiniteError


class Scripted(gymnasium.Env):
    """An environment that gives what it was told to, and remembers the actions it was given."""

    def __init__(self, observation_space: spaces.Space, action_space: spaces.Space, reward: Any = 0.0) -> None:
        self.observation_space = observation_space
        self.action_space = action_space
        self.reward = reward
        self.given: list[Any] = []
        self.closed = False

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict]:
        self.given.append(action)
        return self.observation_space.sample(), self.reward, False, False, {}

    def close(self) -> None:
        self.closed = True


VECTOR = spaces.Box(-1, 1, (3,), np.float64)


@pytest.mark.parametrize(
    ("env", "actions", "kind", "shape"),
    [
        ("CartPole-v1", 2, "vector", (4,)),
        ("Acrobot-v1", 3, "vector", (6,)),
        ("memec/FourRoom-v0", 4, "vector", (2,)),
        ("FrozenLake-v1", 4, "discrete", (16,)),
        ("Blackjack-v1", 2, "discrete", (32 + 11 + 2,)),
        ("ALE/Pong-v5", 6, "frames", (4, 84, 84)),
        (Scripted(spaces.Dict({"a": VECTOR, "b": spaces.Discrete(2)}), spaces.Discrete(3)), 3, "vector", (5,)),
    ],
)
def test_every_environment_plays(env: str | gymnasium.Env, actions: int, kind: str, shape: tuple[int, ...]) -> None:
    world = make(env)
    assert (world.actions, world.observation.kind, world.observation.shape) == (actions, kind, shape)
    observation = world.reset(seed=3)
    assert observation.shape == shape
    for step in range(5):
        observation, reward, terminated, truncated = world.step(step % actions)
        assert observation.shape == shape and observation.dtype == world.observation.dtype
        assert [type(value) for value in (reward, terminated, truncated)] == [float, bool, bool]
        if terminated or truncated:
            world.reset(seed=None)
    world.close()


@pytest.mark.parametrize("env", ["CartPole-v1", "FrozenLake-v1", "ALE/Qbert-v5"])
def test_a_seed_begins_the_same_way_every_time(env: str) -> None:
    world = make(env)
    beginnings = []
    for _ in range(2):
        beginnings.append([world.reset(seed=11), *(world.step(step % 2)[0] for step in range(5))])
    assert np.array_equal(*beginnings)


def test_actions_count_from_zero_whatever_the_environment_calls_them() -> None:
    env = Scripted(VECTOR, spaces.Discrete(3, start=-1))
    world = make(env)
    world.reset(0)
    for action in range(world.actions):
        world.step(action)
    assert env.given == [-1, 0, 1]


def test_without_a_time_limit_of_its_own_an_environment_keeps_gymnasiums() -> None:
    world = make("CartPole-v1", max_episode_steps=3)
    world.reset(0)
    assert [world.step(step % 2)[3] for step in range(3)] == [False, False, True]
    assert world.game_over


def test_an_observation_outlives_the_next_step() -> None:
    class OneBuffer(Scripted):
        buffer = np.zeros(3)

        def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict]:
            self.buffer += 1
            return self.buffer, 0.0, False, False, {}

    world = make(OneBuffer(VECTOR, spaces.Discrete(2)))
    world.reset(0)
    first = world.step(0)[0]
    second = world.step(0)[0]
    assert first.tolist() == [1, 1, 1] and second.tolist() == [2, 2, 2]


def test_the_state_of_an_atari_game_is_its_memory() -> None:
    world = make("ALE/Pong-v5")
    world.reset(0)
    world.step(2)
    assert np.array_equal(world.state_id(), state_id(world.environment.ram()))


def test_an_atari_environment_of_ones_own_keeps_its_memory_as_state() -> None:
    ours = make(Atari("ALE/Pong-v5"))
    theirs = make(gymnasium.make("ALE/Pong-v5", frameskip=1, repeat_action_probability=0.0))
    ours.reset(0)
    theirs.reset(0)
    assert np.array_equal(ours.state_id(), state_id(ours.environment.ram()))
    assert np.array_equal(theirs.state_id(), state_id(theirs.environment.unwrapped.ale.getRAM()))


def test_the_state_of_other_worlds_is_what_is_observed() -> None:
    world = make("memec/OpenRoom-v0")
    start = world.reset(0)
    at_start = world.state_id()
    assert np.array_equal(at_start, state_id(start))
    world.step(0)
    assert not np.array_equal(world.state_id(), at_start)
    world.step(2)
    assert np.array_equal(world.state_id(), at_start)


@pytest.mark.parametrize("id", ["memec/OpenRoom-v0", "ALE/Pong-v5", "FrozenLake-v1"])
def test_worlds_side_by_side_are_in_the_states_they_are_in_alone(id: str) -> None:
    worlds = [make(id) for _ in range(3)]
    for seed, world in enumerate(worlds):
        world.reset(seed)
        for _ in range(seed):
            world.step(1)
    assert np.array_equal(World.state_ids_of(worlds), np.stack([world.state_id() for world in worlds]))


@pytest.mark.parametrize("start", [0, 5, -1])
def test_an_action_comes_as_a_number_of_the_spaces_own_type(start: int) -> None:
    environment = Scripted(VECTOR, spaces.Discrete(3, start=start))
    world = make(environment)
    world.reset(0)
    world.step(2)
    (given,) = environment.given
    assert given == start + 2 and type(given) is type(environment.action_space.sample())


def test_there_is_no_state_before_the_first_reset() -> None:
    with pytest.raises(MemecError, match="before its first reset"):
        make("memec/OpenRoom-v0").state_id()


def test_training_ends_an_episode_with_a_life_and_evaluation_with_the_game() -> None:
    for training in (True, False):
        world = make("ALE/Qbert-v5", training=training)
        choices = np.random.default_rng(0)
        world.reset(seed=1)
        terminated = False
        while not terminated:
            _, _, terminated, _ = world.step(int(choices.integers(world.actions)))
        assert world.game_over is not training


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), np.float32("-inf"), 1e308, -1e101])
def test_a_reward_that_is_not_finite_is_an_error(reward: Any) -> None:
    world = make(Scripted(VECTOR, spaces.Discrete(2), reward))
    world.reset(0)
    with pytest.raises(NotFiniteError, match="Scripted gave the reward"):
        world.step(0)


@pytest.mark.parametrize("reward", [np.array([1.0, 2.0]), [1.0], None, "much"])
def test_a_reward_that_is_no_number_is_shown(reward: Any) -> None:
    world = make(Scripted(VECTOR, spaces.Discrete(2), reward))
    world.reset(0)
    with pytest.raises(
        MemecError, match=r"gave the reward (array\(\[1\., 2\.\]\)|\[1\.0\]|None|'much'): a reward must be one"
    ):
        world.step(0)


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(("method", "values"), [("step", 4), ("step", 6), ("reset", 3), ("reset", 1)])
def test_the_form_of_the_older_gym_is_named(method: str, values: int, wrapped: bool) -> None:
    class Old(Scripted):
        def reset(self, **options: Any) -> Any:
            return super().reset(**options) if method == "step" else (0,) * values

        def step(self, action: Any) -> Any:
            return (0,) * values

    environment = Old(VECTOR, spaces.Discrete(2))
    world = make(gymnasium.wrappers.TimeLimit(environment, 10) if wrapped else environment)
    with pytest.raises(MemecError, match=rf"^the {method} of \w+ must return observation"):
        (world.reset(0), world.step(0))


def test_a_mistake_of_the_environments_own_in_unpacking_stays_what_it_is() -> None:
    class Broken(Scripted):
        def step(self, action: Any) -> Any:
            _, _ = (1, 2, 3)

    world = make(Broken(VECTOR, spaces.Discrete(2)))
    world.reset(0)
    with pytest.raises(ValueError, match="too many values to unpack"):
        world.step(0)


@pytest.mark.parametrize("missing", ["action_space", "observation_space"])
def test_an_environment_without_its_spaces_is_told_so(missing: str) -> None:
    environment = Scripted(VECTOR, spaces.Discrete(2))
    delattr(environment, missing)
    with pytest.raises(MemecError, match=f"Scripted has no {missing}"):
        make(gymnasium.wrappers.TimeLimit(environment, 10))


def test_an_error_inside_the_environment_comes_through_unchanged() -> None:
    class Broken(Scripted):
        def step(self, action: Any) -> Any:
            raise RuntimeError("the motor is on fire")

    world = make(Broken(VECTOR, spaces.Discrete(2)))
    world.reset(0)
    with pytest.raises(RuntimeError, match=r"^the motor is on fire$"):
        world.step(0)


@pytest.mark.parametrize(
    ("id", "sentence"),
    [
        ("CartPol-v1", "did you mean 'CartPole-v1'"),
        ("CartPole-v7", "did you mean 'CartPole-v1'"),
        ("Acrobot-v0", "did you mean 'Acrobot-v1'"),
        ("acrobot-v1", "did you mean 'Acrobot-v1'"),
        ("FourRoom-v0", "did you mean 'memec/FourRoom-v0'"),
        ("FourRooms", "did you mean 'memec/FourRoom-v0'"),
        ("mimec/FourRoom-v0", "did you mean 'memec/FourRoom-v0'"),
        ("memec/FourRoom-v3", "did you mean 'memec/FourRoom-v0'"),
        ("Pong-v5", "did you mean 'ALE/Pong-v5'"),
        ("ALE/QBert-v5", "did you mean 'ALE/Qbert-v5'"),
        ("ALE/Pong-v9", "did you mean 'ALE/Pong-v5'"),
        ("xxxxxxxxxxxxxxxxxxxxxxxx", "nothing of a similar name"),
        ("not an id!", "'not an id!' cannot be made: Malformed"),
        ("", "'' cannot be made: Malformed"),
        ("no_such_module:CartPole-v1", "no module named 'no_such_module'"),
        ("a:b:CartPole-v1", "no module named 'a:b'"),
        ("gymnasium:CartPol-v1", "did you mean 'CartPole-v1'"),
    ],
)
def test_an_unknown_id_is_answered_in_one_sentence_with_the_nearest(id: str, sentence: str) -> None:
    with pytest.raises(MemecError, match=sentence) as caught:
        make(id)
    assert "\n" not in str(caught.value)


def test_a_module_before_the_id_is_imported_first(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("a_users_worlds")
    monkeypatch.setitem(sys.modules, "a_users_worlds", module)
    gymnasium.register("AUsersWorld-v0", entry_point=lambda: Scripted(VECTOR, spaces.Discrete(2)))
    try:
        world = make("a_users_worlds:AUsersWorld-v0")
        assert world.id == "a_users_worlds:AUsersWorld-v0"
        assert world.environment.spec.id == "AUsersWorld-v0"
    finally:
        del gymnasium.registry["AUsersWorld-v0"]


def test_a_module_before_an_atari_id_changes_nothing() -> None:
    assert isinstance(make("ale_py:ALE/Pong-v5").environment, Atari)


def test_a_missing_package_is_named_with_the_way_to_install_it() -> None:
    def needs_a_package() -> gymnasium.Env:
        raise gymnasium.error.DependencyNotInstalled('Box2D is not installed, run `pip install "gymnasium[box2d]"`')

    gymnasium.register("NeedsAPackage-v0", entry_point=needs_a_package)
    try:
        with pytest.raises(MemecError, match=r"NeedsAPackage-v0 needs .*pip install \"gymnasium\[box2d\]\""):
            make("NeedsAPackage-v0")
    finally:
        del gymnasium.registry["NeedsAPackage-v0"]


def test_an_environment_whose_module_is_missing_says_which() -> None:
    gymnasium.register("Elsewhere-v0", entry_point="no_such_package.worlds:Elsewhere")
    try:
        with pytest.raises(MemecError, match=r"Elsewhere-v0 needs .*'no_such_package'"):
            make("Elsewhere-v0")
    finally:
        del gymnasium.registry["Elsewhere-v0"]


@pytest.mark.parametrize("space", [spaces.Box(-1, 1, (2,), np.float32), spaces.MultiDiscrete([2, 2])])
def test_an_action_space_that_is_not_discrete_is_refused_by_name(space: spaces.Space) -> None:
    with pytest.raises(MemecError, match=f"Scripted has the action space {type(space).__name__}"):
        make(Scripted(VECTOR, space))
    with pytest.raises(MemecError, match="Pendulum-v1 has the action space Box"):
        make("Pendulum-v1")


def test_options_reach_the_environment() -> None:
    assert make("FrozenLake-v1", map_name="8x8").observation.shape == (64,)
    assert make("memec/OpenRoom-v0", render_mode="ansi").environment.render().startswith("#")
    assert make("ALE/Pong-v5", sticky_actions=0.25, frame_limit=400).environment.frame_limit == 400


@pytest.mark.parametrize(
    ("env", "options", "sentence"),
    [
        ("CartPole-v1", {"gravity": 3}, "CartPole-v1 cannot be made with the options {'gravity': 3}"),
        ("ALE/Pong-v5", {"gravity": 3}, "ALE/Pong-v5 cannot be made with the options {'gravity': 3}"),
        ("CartPole-v1", {"sticky_actions": 0.25}, "Only Atari games .* have the setting sticky_actions"),
        (Scripted(VECTOR, spaces.Discrete(2)), {"render_mode": "ansi"}, "used as it is"),
        (42, {}, "not int"),
        (Scripted, {}, "not type|not ABCMeta"),
    ],
)
def test_options_that_do_not_fit_are_refused(env: Any, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(MemecError, match=sentence):
        make(env, **options)


def test_closing_the_world_closes_the_environment() -> None:
    env = Scripted(VECTOR, spaces.Discrete(2))
    make(env).close()
    assert env.closed


class DriftingRoom(OpenRoom):
    """A room in which something is random after all."""


@pytest.mark.parametrize(
    ("env", "is_random"),
    [
        ("memec/OpenRoom-v0", False),
        ("memec/FourRoom-v0", False),
        ("CartPole-v1", True),
        (DriftingRoom(), True),
        (gymnasium.wrappers.StickyAction(OpenRoom(), 0.5), True),
    ],
)
def test_only_a_plain_room_goes_without_a_seed(env: Any, is_random: bool) -> None:
    assert make(env).is_random is is_random
