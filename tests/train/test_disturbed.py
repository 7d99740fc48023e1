"""What happens to a process and its folder from outside: it goes on exactly, or it is refused in a sentence."""

import os
import random
import shutil
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memec.errors import MemecError
from memec.train import RunFolder
from memec.train.checkpoint import CheckpointSettings
from memec.train.events import Event
from tests.every_agent import agent

from . import torture
from .torture import Case, compare

OFTEN = CheckpointSettings(every_steps=30)
GONE = "was moved or removed|No such file"
CASE = Case("mfec", "CartPole-v1", 1_500, 50)


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    agent().learn(200, run=tmp_path / "whole")
    return tmp_path / "whole"


@pytest.mark.parametrize("jumps", [(-3_600.0, 1.0), (-3_600.0, 3_600.0, 365 * 86_400.0)])
def test_clocks_that_jump_change_nothing(
    whole: Path, tmp_path: Path, jumps: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(0)

    def clock() -> float:
        clock.now += chance.choice(jumps)  # type: ignore[attr-defined]
        return clock.now  # type: ignore[attr-defined,no-any-return]

    clock.now = 1e6  # type: ignore[attr-defined]
    fake = SimpleNamespace(monotonic=clock, perf_counter=clock, process_time=clock, time=clock)
    for module in ("recording", "diary", "loop", "evaluation"):
        monkeypatch.setattr(f"memec.train.{module}.time", fake)
    agent().learn(200, run=tmp_path / "run", callback=lambda event: event.step < 120)
    agent().learn(200, resume=tmp_path / "run")
    compare(whole, tmp_path / "run")


# --- signals --------------------------------------------------------------------------------------------------------


@pytest.fixture
def undisturbed(tmp_path: Path) -> Path:
    assert torture.memec(CASE.arguments(tmp_path / "undisturbed")) == 0
    return tmp_path / "undisturbed"


def test_a_process_that_is_held_up_again_and_again_keeps_its_folder(undisturbed: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = torture._forked(CASE.arguments(run))
    seen, held = "", 0
    while True:
        done, status = os.waitpid(process, os.WNOHANG | os.WUNTRACED)
        if done and not os.WIFSTOPPED(status):
            break
        if done:
            held += 1
            with pytest.raises(MemecError, match="Another process"), RunFolder.open(run).only_writer():
                pass
            os.kill(process, signal.SIGCONT)
        elif (newest := torture._newest(run)) > seen:
            seen = newest
            os.kill(process, signal.SIGSTOP)
    assert os.waitstatus_to_exitcode(status) == 0 and held > 3
    compare(undisturbed, run)


@pytest.mark.parametrize(
    "storm", [(signal.SIGTERM, signal.SIGINT), (signal.SIGWINCH, signal.SIGCHLD), (signal.SIGHUP,)]
)
def test_a_storm_of_signals_leaves_a_run_to_go_on_with(
    undisturbed: Path, tmp_path: Path, storm: tuple[int, ...]
) -> None:
    run = tmp_path / "run"
    process = torture._forked(CASE.arguments(run))
    done = 0
    while not done:
        if torture._newest(run):
            for number in storm:
                os.kill(process, number)
        done, status = os.waitpid(process, os.WNOHANG)
    code = os.waitstatus_to_exitcode(status)
    hit_while_leaving = 70  # the fork's word for an error of any kind
    assert code in ((0,) if signal.SIGWINCH in storm else (130, 143, hit_while_leaving, *(-number for number in storm)))
    assert torture.memec(["train", "--resume", str(run)]) == 0
    compare(undisturbed, run)


# --- the folder -----------------------------------------------------------------------------------------------------


def at_step(step: int, deed: Callable[[], object]) -> Callable[[Event], None]:
    """Do something once, when so many steps were taken."""
    waiting = [deed]

    def look(event: Event) -> None:
        if event.step >= step and waiting:
            waiting.pop()()

    return look


def test_a_folder_that_is_moved_while_it_is_written_is_gone_on_with_where_it_is(whole: Path, tmp_path: Path) -> None:
    run, moved = tmp_path / "run", tmp_path / "moved"
    with pytest.raises(MemecError, match=GONE):
        agent().learn(200, run=run, checkpoint=OFTEN, callback=at_step(100, lambda: run.rename(moved)))
    agent().learn(200, resume=moved)
    compare(whole, moved)


def test_another_run_at_the_place_of_one_that_was_moved_is_left_alone(whole: Path, tmp_path: Path) -> None:
    run, moved = tmp_path / "run", tmp_path / "moved"
    before: dict[Path, bytes] = {}

    def swap() -> None:
        run.rename(moved)
        agent(seed=8).learn(60, run=run, checkpoint=OFTEN)
        before.update({file: file.read_bytes() for file in run.rglob("*") if file.is_file()})

    with pytest.raises(MemecError, match=GONE):
        agent().learn(200, run=run, checkpoint=OFTEN, callback=at_step(100, swap))
    assert before == {file: file.read_bytes() for file in run.rglob("*") if file.is_file()}
    agent().learn(200, resume=moved)
    compare(whole, moved)


def test_a_folder_that_is_removed_while_it_is_written_is_said(tmp_path: Path) -> None:
    run = tmp_path / "run"

    def remove() -> None:
        run.rename(tmp_path / "gone")  # at once: else a file may come while others go
        shutil.rmtree(tmp_path / "gone", ignore_errors=True)

    with pytest.raises(MemecError, match=GONE):
        agent().learn(200, run=run, checkpoint=OFTEN, callback=at_step(100, remove))
    assert not run.exists()


def test_a_copy_made_in_training_is_a_run_of_its_own(whole: Path, tmp_path: Path) -> None:
    run, copy = tmp_path / "run", tmp_path / "copy"
    agent().learn(200, run=run, checkpoint=OFTEN, callback=at_step(100, lambda: shutil.copytree(run, copy)))
    compare(whole, run)
    agent().learn(200, resume=copy)
    compare(whole, copy)


def test_a_slow_disk_holds_up_no_step_and_changes_nothing(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync, far_enough = os.fsync, threading.Event()

    def slowly(handle: int) -> None:
        if threading.current_thread() is not threading.main_thread():
            far_enough.wait()
        sync(handle)

    monkeypatch.setattr(os, "fsync", slowly)
    once = CheckpointSettings(every_steps=110)
    agent().learn(200, run=tmp_path / "run", checkpoint=once, callback=at_step(150, far_enough.set))
    assert far_enough.is_set()
    compare(whole, tmp_path / "run")


def test_nobody_else_has_the_folder_while_a_run_that_failed_still_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint is under way when the agent breaks: it is there once `learn` has said so."""
    broken = agent()
    observe = broken.observe

    def breaking(*arguments: Any) -> None:
        if broken.steps >= 60:
            raise RuntimeError("broken")
        observe(*arguments)

    monkeypatch.setattr(broken, "observe", breaking)
    with pytest.raises(RuntimeError, match="broken"):
        broken.learn(200, run=tmp_path / "run", checkpoint=CheckpointSettings(every_steps=59))
    assert RunFolder.open(tmp_path / "run").checkpoints.newest_step() == 59
