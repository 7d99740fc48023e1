"""A run is the same whoever asks for it, the command line or Python, and says what makes its environment again."""

import json
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from tests.command import Memec
from tests.every_agent import SMALL
from tests.train.torture import compare

from memec.agents import AGENTS, MFEC, OWN
from memec.envs.atari import Atari
from memec.envs.world import World, make
from memec.errors import MemecError
from memec.experiments.run import evaluate_run
from memec.train import RunFolder, Tick
from memec.watch.trained import load_trained

UNLIKE = ("id", "digest", "started", "ended", "seconds", "processor_seconds", "preset", "command")


def record(run: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((run / "run.json").read_text())
    return content


def flags(settings: dict[str, Any], prefix: str = "") -> list[str]:
    """The settings as --set takes them."""
    found = []
    for name, value in settings.items():
        if isinstance(value, dict):
            found += flags(value, f"{prefix}{name}.")
        else:
            found += ["--set", f"{prefix}{name}={json.dumps(value)}"]
    return found


@pytest.mark.parametrize("name", OWN)
def test_the_command_line_and_python_leave_the_same_run(memec: Memec, name: str) -> None:
    assert memec(
        "train", "CartPole-v1", "--agent", name, "--explore", "boltzmann", "--temperature", 2, "--steps", 200,
        "--seed", 4, "--evaluate-every", 100, "--out", "told", *flags(SMALL[name]),
    ).status == 0  # fmt: skip
    told = record(Path("told"))["settings"]
    agent = AGENTS[name].from_settings("CartPole-v1", AGENTS[name].settings_type.read(told["agent"]), seed=4)
    agent.learn(200, run="asked", evaluate_every=100)
    compare(Path("told"), Path("asked"))
    one, other = (
        {key: value for key, value in record(Path(run)).items() if key not in UNLIKE} for run in ("told", "asked")
    )
    assert one == other
    assert list(record(Path("told"))) == list(record(Path("asked")))


def frozen_lake(**options: Any) -> gymnasium.Env[Any, Any]:
    return gymnasium.make("FrozenLake-v1", **options)


def inside(world: World) -> Any:
    return world.environment.unwrapped


def test_a_run_in_a_lake_that_is_not_slippery_goes_on_there(memec: Memec) -> None:
    for run in ("whole", "parts"):
        steps = 300 if run == "whole" else 150
        MFEC(frozen_lake(is_slippery=False, max_episode_steps=30), seed=1).learn(steps, run=run, evaluate_every=100)
    settings = record(Path("parts"))["settings"]["environment"]
    assert settings["kwargs"] == {"is_slippery": False} and settings["max_episode_steps"] == 30
    assert memec("train", "--resume", "parts", "--steps", 300).status == 0
    compare(Path("whole"), Path("parts"))
    assert memec("train", "FrozenLake-v1", "--agent", "mfec", "--steps", 300, "--evaluate-every", 100, "--seed", 1,
                 "--set", "environment.kwargs.is_slippery=false", "--set", "environment.max_episode_steps=30",
                 "--out", "told").status == 0  # fmt: skip
    compare(Path("whole"), Path("told"))
    assert evaluate_run(Path("whole"), 3).mean_length <= 30
    shown = load_trained(Path("whole")).agent.world
    assert all(len(moves) == 1 for moves in inside(shown).P[0].values())  # where it slips, each move may end in three
    for chosen in (MFEC.load(next(Path("whole/checkpoint").glob("step*"))), MFEC(shown)):
        assert chosen.world.recorded.kwargs["is_slippery"] is False


def test_a_game_with_sticky_actions_goes_on_with_them(memec: Memec) -> None:
    def agent() -> MFEC:
        return MFEC(make("ALE/Pong-v5", sticky_actions=0.25), memory={"capacity": 100}, seed=2)

    agent().learn(60, run="whole")
    agent().learn(60, run="parts", callback=lambda event: not (isinstance(event, Tick) and event.step >= 20))
    assert record(Path("parts"))["settings"]["environment"]["sticky_actions"] == 0.25
    assert memec("train", "--resume", "parts", "--steps", 60).status == 0
    compare(Path("whole"), Path("parts"))
    for world in (
        load_trained(Path("whole")).agent.world,
        MFEC.load(next(Path("whole/checkpoint").glob("step*"))).world,
    ):
        game = inside(world)
        assert isinstance(game, Atari) and world.recorded.sticky_actions == 0.25
    with pytest.raises(MemecError, match="another seed or environment"):
        MFEC(make("ALE/Pong-v5"), memory={"capacity": 100}, seed=2).learn(80, resume="parts")


def test_the_environment_of_a_run_is_made_once(memec: Memec, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[World] = []
    monkeypatch.setattr(World, "__init__", _counted(World.__init__, made))
    assert memec("train", "CartPole-v1", "--steps", 60, "--evaluate-every", 0, "--out", "run").status == 0
    assert len(made) == 1


def _counted(method: Any, made: list[World]) -> Any:
    def counting(self: World, *arguments: Any, **options: Any) -> None:
        made.append(self)
        method(self, *arguments, **options)

    return counting


def test_the_signal_that_ended_a_run_is_a_field_of_its_record(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", {})
    folder.end("interrupted", "signal 15", 15)
    assert record(tmp_path / "run")["signal"] == 15
