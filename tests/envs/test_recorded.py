"""An environment is made again as it was: what a run or an agent records of it is more than its id."""

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import ale_py  # noqa: F401  (it registers the Atari games)
import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers
from tests.command import Memec

import memec.envs.world as worlds
from memec import MFEC, MemecError
from memec.agents import AGENTS
from memec.envs.recorded import EnvironmentSettings, WrapperSettings
from memec.envs.world import World, make_again


class Twice(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A wrapper of the user's own: every reward counts twice."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, *rest = self.env.step(action)
        return (observation, 2 * float(reward), *rest)  # type: ignore[return-value]


def frozen() -> Any:
    return gymnasium.make("FrozenLake-v1", is_slippery=False)


def cart(**arguments: Any) -> Any:
    return gymnasium.make("CartPole-v1", **arguments)


def atari_of_gymnasium() -> Any:
    game = gymnasium.make("ALE/Pong-v5", frameskip=1, repeat_action_probability=0.5)
    return wrappers.FrameStackObservation(wrappers.AtariPreprocessing(game, screen_size=42), 2)


REPEATABLE: dict[str, Callable[[], Any]] = {
    "an id": lambda: "CartPole-v1",
    "as registered": cart,
    "arguments": frozen,
    "arguments and how it is drawn": lambda: gymnasium.make("FrozenLake-v1", is_slippery=False, render_mode="ansi"),
    "another time limit": lambda: cart(max_episode_steps=7),
    "a time limit around it": lambda: wrappers.TimeLimit(cart(), 7),
    "no time limit": lambda: cart().unwrapped,
    "wrappers": lambda: wrappers.ClipReward(wrappers.FrameStackObservation(cart(), 3), -0.5, 0.5),
    "a game by Gymnasium": atari_of_gymnasium,
}


def history(world: World, steps: int = 60) -> list[Any]:
    """What a world answers to the same actions."""
    seen: list[Any] = [world.reset(seed=3).tolist()]
    for step in range(steps):
        observation, *rest = world.step(step // 3 % world.actions)
        seen.append((observation.tolist(), rest))
        if rest[1] or rest[2]:
            seen.append(world.reset().tolist())
    return seen


@pytest.mark.parametrize("kind", REPEATABLE)
def test_an_environment_is_made_again_from_its_record(kind: str) -> None:
    world = worlds.make(REPEATABLE[kind]())
    text = json.dumps(world.recorded.model_dump(mode="json"))
    again = make_again(EnvironmentSettings.read(json.loads(text)), training=True)
    assert again.recorded == world.recorded and again.id == world.id
    assert history(again) == history(world)


def test_a_game_by_the_protocol_of_dqn_keeps_its_settings() -> None:
    world = worlds.make("ALE/Pong-v5", sticky_actions=0.25, frame_limit=400)
    again = make_again(world.recorded, training=True)
    assert history(again) == history(world)
    environment: Any = again.environment
    assert environment.sticky_actions == 0.25 and environment.frame_limit == 400


def test_what_is_as_registered_is_recorded_as_before() -> None:
    assert set(worlds.make("CartPole-v1").recorded.model_dump(mode="json")) == {
        "id", "sticky_actions", "no_op_after_life_loss", "empty_stack_after_life_loss",
    }  # fmt: skip


@pytest.mark.parametrize("name", AGENTS)
def test_a_saved_agent_comes_back_in_its_own_world(name: str, tmp_path: Path) -> None:
    AGENTS[name](frozen(), seed=1).save(tmp_path / "agent")
    agent = AGENTS[name].load(tmp_path / "agent")
    assert history(agent.world) == history(worlds.make(frozen()))


def test_a_run_is_evaluated_in_its_own_world(memec: Memec) -> None:
    """On slippery ice the same agent reaches the goal in few episodes."""
    MFEC(frozen(), seed=1).learn(3_000, run="run")
    assert "score 1 +- 0" in memec("evaluate", "run", "--episodes", 20).out


def test_arguments_can_be_set_for_a_run(memec: Memec) -> None:
    options = ("--agent", "mfec", "--set", "environment.kwargs.is_slippery=false", "--steps", 3_000, "--seed", 1)
    assert memec("train", "FrozenLake-v1", *options, "--evaluate-every", 0, "--out", "run").status == 0
    assert "score 1 +- 0" in memec("evaluate", "run", "--episodes", 20).out


LOST: dict[str, tuple[Callable[[], Any], str]] = {
    "a wrapper of one's own": (lambda: Twice(cart()), "its wrapper Twice"),
    "a wrapper with a function": (lambda: wrappers.TransformReward(cart(), float), "its wrapper TransformReward"),
    "a running mean": (lambda: wrappers.NormalizeReward(cart()), "its wrapper NormalizeReward"),
    "arguments that are no data": (
        lambda: gymnasium.make("FrozenLake-v1", desc=np.array([["S", "F"], ["F", "G"]])),
        "its argument desc is no plain data",
    ),
    "no spec": (lambda: type(cart().unwrapped)(), "not made by gymnasium.make"),
}


@pytest.mark.parametrize("kind", LOST)
def test_what_cannot_be_made_again_is_asked_for(kind: str, tmp_path: Path) -> None:
    make, reason = LOST[kind]
    MFEC(make()).save(tmp_path / "agent")
    with pytest.raises(MemecError, match=rf"needs its environment .*{reason}.*: pass env="):
        MFEC.load(tmp_path / "agent")
    assert MFEC.load(tmp_path / "agent", env=make()).world.recorded.lost is not None


MODULE = """
import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv
class Twice(gymnasium.Wrapper):
    def step(self, action):
        observation, reward, *rest = self.env.step(action)
        return observation, 2 * reward, *rest
gymnasium.register("Twice-v0", lambda **options: Twice(CartPoleEnv(**options)), max_episode_steps=500)
"""
SHORT = """
import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv
gymnasium.register("Short-v0", CartPoleEnv, max_episode_steps=9)
"""


def test_a_run_that_cannot_make_its_environment_again_asks_for_one(
    memec: Memec, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    Path("twice_env.py").write_text(MODULE)
    MFEC(Twice(cart())).learn(300, run="run")
    for command in (("evaluate", "run"), ("train", "--resume", "run", "--steps", 350)):
        refused = memec(*command)
        assert refused.status == 2 and "its wrapper Twice" in refused.error and "module:Id" in refused.error
    MFEC(Twice(cart())).learn(350, resume="run")
    assert memec("train", "twice_env:Twice-v0", "--resume", "run", "--steps", 400).status == 0
    assert memec("evaluate", "run", "--env", "twice_env:Twice-v0", "--episodes", 1).status == 0


def test_the_module_that_registers_a_run_s_environment_can_be_named(
    memec: Memec, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    Path("short_env.py").write_text(SHORT)
    import_module("short_env")
    MFEC("Short-v0").learn(300, run="run")
    monkeypatch.delitem(gymnasium.registry, "Short-v0")
    monkeypatch.delitem(sys.modules, "short_env")
    assert memec("evaluate", "run").status == 2
    shown = memec("evaluate", "run", "--env", "short_env:Short-v0", "--episodes", 3)
    assert "score 9 +- 0" in shown.out, shown


def test_a_run_goes_on_in_its_own_world_alone(tmp_path: Path) -> None:
    MFEC(frozen()).learn(300, run=tmp_path / "run")
    with pytest.raises(MemecError, match="another seed or environment"):
        MFEC("FrozenLake-v1").learn(400, resume=tmp_path / "run")
    assert MFEC(frozen()).learn(400, resume=tmp_path / "run").steps == 400


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (
            {"wrappers": ({"name": "RecordVideo", "kwargs": {"video_folder": "videos"}},)},
            "name the wrapper 'RecordV",
        ),
        ({"wrappers": ({"name": "__class__", "kwargs": {}},)}, "may not name"),
        ({"wrappers": ({"name": "FrameStackObservation", "kwargs": {"stack": 2}},)}, "cannot be made with"),
        ({"id": "GymV26Environment-v0", "kwargs": {"env_id": "evil:Env-v0"}}, "imports what its arguments name"),
        ({"id": "GymV21Environment", "kwargs": {"env_id": "evil:Env-v0"}}, "imports what its arguments name"),
        ({"kwargs": {"no_such": 1}}, "cannot be made with the options"),
        ({"kwargs": {"id": "evil:Env-v0"}}, "cannot be made"),
        ({"kwargs": {"disable_env_checker": False}}, "cannot be made"),
    ],
)
def test_a_strangers_record_makes_nothing_else(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(MemecError, match=reason):
        make_again(EnvironmentSettings.read({"id": "CartPole-v1"} | settings), training=True)


def test_a_wrapper_is_recorded_by_name_and_arguments() -> None:
    found = worlds.make(REPEATABLE["wrappers"]()).recorded.wrappers
    assert [wrapper.name for wrapper in found] == ["FrameStackObservation", "ClipReward"]
    assert found[1] == WrapperSettings(name="ClipReward", kwargs={"min_reward": -0.5, "max_reward": 0.5})
