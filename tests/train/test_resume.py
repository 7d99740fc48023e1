"""Stopping and going on: as if nothing had happened."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gymnasium.envs.classic_control import CartPoleEnv

from memec.agents import MFEC, NEC
from memec.agents.file import FORMAT
from memec.errors import MemecError
from memec.train import Evaluation, RunFolder, Tick
from memec.train.checkpoint import CheckpointSettings
from memec.train.files import read_arrays, write_arrays
from tests.command import Memec
from tests.every_agent import SMALL, agent

from .torture import compare, final_state

OFTEN = CheckpointSettings(every_steps=40)


def status(run: Path) -> tuple[str, str | None]:
    record = json.loads((run / "run.json").read_text())
    return record["status"], record["reason"]


def test_more_steps_can_be_asked_for_and_it_is_the_run_that_asked_for_them_at_first(memec: Memec) -> None:
    common = ("train", "memec/FourRoom-v0", "--evaluate-every", 100, "--seed", 4)
    assert memec(*common, "--steps", 700, "--out", "long").status == 0
    assert memec(*common, "--steps", 300, "--out", "short").status == 0
    assert memec("train", "--resume", "short", "--steps", 700).status == 0
    compare(Path("long"), Path("short"))
    assert json.loads(Path("short/run.json").read_text())["settings"]["training"]["steps"] == 700


def test_a_finished_run_has_nothing_left_to_do(memec: Memec) -> None:
    assert memec("train", "CartPole-v1", "--steps", 60, "--evaluate-every", 0, "--out", "run").status == 0
    before = {file: file.read_bytes() for file in Path("run").rglob("*") if file.is_file()}
    result = memec("train", "--resume", "run")
    assert result.status == 0 and "nothing to do" in result.out
    assert before == {file: file.read_bytes() for file in Path("run").rglob("*") if file.is_file()}
    fewer = memec("train", "--resume", "run", "--steps", 30)
    assert fewer.status == 2 and "only add" in fewer.error


def test_a_run_that_was_stopped_in_its_last_evaluation_is_not_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All steps were taken, and yet the most important evaluation is missing."""
    agent().learn(300, run=tmp_path / "whole", evaluate_every=100)
    monkeypatch.setattr("memec.train.evaluation.TICK_SECONDS", 0.0)
    stopped = agent().learn(
        300,
        run=tmp_path / "stopped",
        evaluate_every=100,
        callback=lambda event: not (isinstance(event, Tick) and event.step == 300),
    )
    assert stopped.steps == 300 and status(tmp_path / "stopped")[0] == "interrupted"
    agent().learn(300, resume=tmp_path / "stopped")
    compare(tmp_path / "whole", tmp_path / "stopped")


def test_what_was_learned_before_the_run_is_in_it_from_the_start(tmp_path: Path) -> None:
    learned = agent().learn(150)
    learned.learn(200, run=tmp_path / "run", callback=lambda event: False)
    arrays = final_state(tmp_path / "run")
    assert arrays["loop"]["step"] >= 150
    assert agent().learn(350, resume=tmp_path / "run").steps == 350


def test_a_run_without_a_checkpoint_begins_anew(tmp_path: Path) -> None:
    agent().learn(200, run=tmp_path / "whole")
    agent().learn(200, run=tmp_path / "run")
    for file in (tmp_path / "run" / "checkpoint").iterdir():
        file.unlink()
    with pytest.warns(UserWarning, match="begins anew"):
        agent().learn(200, resume=tmp_path / "run")
    compare(tmp_path / "whole", tmp_path / "run")


def test_an_environment_that_never_repeats_itself_loses_only_the_game_under_way(tmp_path: Path) -> None:
    class Moody(CartPoleEnv):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return super().reset(seed=int.from_bytes(os.urandom(3), "little"))

    before = agent(env=Moody()).learn(300, run=tmp_path / "run", callback=lambda event: event.step < 100)
    after = agent(env=Moody())
    with pytest.warns(UserWarning, match="did not repeat the game under way"):
        after.learn(before.steps + 1, resume=tmp_path / "run")
    assert after.steps == before.steps + 1
    assert len(after.memory) >= len(before.memory)
    assert after.learn(200).steps == before.steps + 201


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (lambda: agent(seed=4), "another seed"),
        (lambda: MFEC("CartPole-v1", seed=3, memory={"capacity": 81}), "other settings"),
        (lambda: agent(env="Acrobot-v1"), "environment"),
        (lambda: agent("nec"), "other settings"),
    ],
)
def test_only_the_agent_of_a_run_can_go_on_with_it(other: Callable[[], Any], sentence: str, tmp_path: Path) -> None:
    agent().learn(100, run=tmp_path / "run")
    with pytest.raises(MemecError, match=sentence):
        other().learn(200, resume=tmp_path / "run")


def test_a_resumed_run_is_evaluated_as_before(tmp_path: Path) -> None:
    agent().learn(100, run=tmp_path / "run", evaluate_every=50, evaluation_episodes=1)
    with pytest.raises(MemecError, match="evaluated every 50 steps"):
        agent().learn(200, resume=tmp_path / "run", evaluate_every=20)
    events: list[Any] = []
    agent().learn(200, resume=tmp_path / "run", callback=events.append)
    evaluations = [event for event in events if isinstance(event, Evaluation)]
    assert [(event.step, event.episodes) for event in evaluations] == [(150, 1), (200, 1)]
    with pytest.raises(MemecError, match="not both"):
        agent().learn(200, resume=tmp_path / "run", run=tmp_path / "other")


def test_two_checkpoints_are_kept_and_only_the_rows_they_need(tmp_path: Path) -> None:
    NEC("CartPole-v1", **SMALL["nec"]).learn(400, run=tmp_path / "run", checkpoint=OFTEN)
    folder = RunFolder.open(tmp_path / "run")
    assert [file.name for file in folder.checkpoints.files()] == [
        "step-000000000360.safetensors",
        "step-000000000400.safetensors",
    ]
    assert len(list((tmp_path / "run" / "checkpoint").glob("rows-*"))) <= 2


def test_a_second_process_on_the_same_run_is_told_so(tmp_path: Path) -> None:
    def intrude(event: Any) -> bool:
        with pytest.raises(MemecError, match="Another process is working on"):
            agent().learn(100, resume=tmp_path / "run")
        return False

    agent().learn(1_000, run=tmp_path / "run", callback=intrude)
    assert agent().learn(1_000, resume=tmp_path / "run").steps == 1_000


@pytest.mark.parametrize(("kind", "sentence"), [(FORMAT + 1, "newer memec"), (0, "cannot read"), ("x", "cannot read")])
def test_another_format_is_refused_in_one_sentence(
    kind: Any, sentence: str, memec: Memec, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as another:
        another.setattr("memec.agents.agent.FORMAT", kind)
        assert memec("train", "CartPole-v1", "--steps", 60, "--evaluate-every", 0, "--out", "run").status == 0
    for command in (["train", "--resume", "run", "--steps", 90], ["evaluate", "run"]):
        result = memec(*command)
        assert result.status == 2 and re.search(sentence, result.error) and result.error.count("\n") == 1
    record = json.loads(Path("run/run.json").read_text())
    Path("run/run.json").write_text(json.dumps(record | {"format": kind}))
    result = memec("train", "--resume", "run", "--steps", 90)
    assert result.status == 2 and result.error.count("\n") == 1 and "run" in result.error


# --- signals ---------------------------------------------------------------------------------------------------------

SLOW_GAMES = """
import time
import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv
class Slow(CartPoleEnv):
    def step(self, action):
        time.sleep(0.01)
        observation, _, _, _, info = super().step(action)
        return observation * 0, 1.0, False, False, info
gymnasium.register("Slow-v0", Slow)
"""


def started(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "memec.cli", "train", *arguments, "--out", "run"]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def wait_for(process: "subprocess.Popen[str]", happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not happened():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_even_an_evaluation_that_takes_hours(number: int, code: int, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW_GAMES)
    process = started(
        tmp_path, "slow:Slow-v0", "--steps", "1000", "--evaluate-every", "5", "--set", "checkpoint.every_steps=5"
    )
    # the checkpoint of step 5 is followed by an evaluation of 10 episodes without an end
    wait_for(process, lambda: bool(list((tmp_path / "run" / "checkpoint").glob("step-*"))))
    process.send_signal(number)
    _, error = process.communicate(timeout=60)
    assert process.returncode == code and "Traceback" not in error
    assert status(tmp_path / "run") == ("interrupted", f"signal {int(number)}")
    assert final_state(tmp_path / "run")["loop"] == {"step": 5, "evaluated": 0, "games": 0, "score": 5.0}


def test_a_second_ctrl_c_leaves_at_once(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW_GAMES.replace("time.sleep(0.01)", "time.sleep(0.01 if n() < 9 else 600)"))
    with (tmp_path / "slow.py").open("a") as file:
        file.write("from itertools import count\nn = count().__next__\n")
    process = started(
        tmp_path, "slow:Slow-v0", "--steps", "1000", "--evaluate-every", "0", "--set", "checkpoint.every_steps=5"
    )
    wait_for(process, lambda: bool(list((tmp_path / "run" / "checkpoint").glob("step-*"))))
    process.send_signal(signal.SIGINT)
    deadline = time.monotonic() + 60
    while process.poll() is None:  # the first lets the step finish, which takes ten minutes
        assert time.monotonic() < deadline
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
    _, error = process.communicate()
    assert process.returncode in (130, -signal.SIGINT) and "Traceback" not in error
    assert status(tmp_path / "run")[0] == "interrupted"


def test_what_a_run_took_adds_up_over_its_parts(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    MFEC("memec/OpenRoom-v0", seed=0).learn(200, run=folder)
    opened = RunFolder.open(folder)
    first = opened.checkpoints.newest(opened.record()["id"]).about["cost"]  # writing it adds nothing
    assert first["processor_seconds"] > 0 and first["seconds"] > 0
    MFEC("memec/OpenRoom-v0", seed=0).learn(300, resume=folder)
    second = opened.record()
    assert all(second[name] > first[name] for name in ("seconds", "processor_seconds"))


def test_a_run_from_before_a_setting_existed_goes_on_as_it_was(tmp_path: Path) -> None:
    """Its checkpoints say nothing of the setting, and its run.json may not either."""
    arguments = {"seed": 0, "explore": "epsilon-greedy"}
    MFEC("memec/OpenRoom-v0", **arguments).learn(300, run=tmp_path / "whole")
    MFEC("memec/OpenRoom-v0", **arguments).learn(200, run=tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    for file in folder.checkpoints.files():
        content, about = read_arrays(file)
        assert about["settings"]["explore"].pop("ties") == "random"
        write_arrays(file, content, about)
    MFEC("memec/OpenRoom-v0", **arguments).learn(300, resume=tmp_path / "run")
    compare(tmp_path / "run", tmp_path / "whole")
