"""A call of the system that fails is said in a sentence, and the run goes on exactly when all is well again."""

import errno
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from memec.agents import MFEC
from memec.envs.world import World
from memec.errors import MemecError
from memec.train import RunFolder, background
from memec.train.background import Background
from memec.train.checkpoint import Checkpoints, CheckpointSettings
from tests.command import Memec
from tests.every_agent import agent

from . import failing


@pytest.mark.parametrize(("name", "most"), [("mfec", 12), ("d3qn", 6)])
def test_a_run_in_which_a_call_fails_goes_on_exactly(name: str, most: int, tmp_path: Path) -> None:
    """A bounded form of `python -m tests.train.failing`."""
    assert failing.let_fail(name, tmp_path, most) == most


def test_rows_are_not_removed_while_it_cannot_be_read_who_needs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too many open files just then would otherwise have removed the replay of a good checkpoint."""
    agent("d3qn").learn(120, run=tmp_path / "run", checkpoint=CheckpointSettings(every_steps=60))
    folder = RunFolder.open(tmp_path / "run")
    rows = sorted((tmp_path / "run" / "checkpoint").glob("rows-*"))
    opened = Path.open

    def not_now(path: Path, *rest: Any, **options: Any) -> Any:
        if path.name.startswith("step-"):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return opened(path, *rest, **options)

    monkeypatch.setattr(Path, "open", not_now)
    folder.checkpoints._tidy()
    assert rows and rows == sorted((tmp_path / "run" / "checkpoint").glob("rows-*"))


def test_a_record_of_episodes_that_cannot_be_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent().learn(60, run=tmp_path / "run")
    failing_now = failing.Faults(tmp_path / "run", failing.Failure("open", 0, "EIO"))
    monkeypatch.setattr("memec.train.run_folder.read_plain", lambda path: failing_now._failure.raise_it())  # type: ignore[union-attr]
    with pytest.raises(MemecError, match=r"episodes\.csv cannot be read: .*Input/output error"):
        agent().learn(90, resume=tmp_path / "run")


# --- where memory ends ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["act", "observe", "greedy_policy", "snapshot"])
def test_where_memory_ends_is_said_and_the_run_goes_on_exactly(
    memec: Memec, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    common = ("train", "CartPole-v1", "--agent", "mfec", "--steps", 120, "--evaluate-every", 60, "--set",
              "checkpoint.every_steps=40", "--set", "training.evaluation_episodes=1")  # fmt: skip
    assert memec(*common, "--out", "whole").status == 0
    there, calls = getattr(MFEC, when), 0

    def ending(self: Any, *rest: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == {"act": 70, "observe": 70, "greedy_policy": 1, "snapshot": 2}[when]:
            raise MemoryError
        return there(self, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(MFEC, when, ending)
        result = memec(*common, "--out", "run")
    assert result.status == 2 and "Traceback" not in result.error
    assert result.error.splitlines()[-1].startswith("memec: There is not enough memory")
    assert memec("train", "--resume", "run").status == 0
    failing.compare(Path("whole"), Path("run"))


def test_memory_that_ends_inside_an_environment_is_not_blamed_on_it(
    memec: Memec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its game would be given up for a new one, and the run would not be the same any more."""
    common = ("train", "CartPole-v1", "--agent", "mfec", "--steps", 100, "--evaluate-every", 50)
    assert memec(*common, "--out", "whole").status == 0
    for call, after in {"step": 60, "reset": 3}.items():
        there, left = getattr(World, call), iter(range(after))

        def ending(self: Any, *rest: Any, there: Any = there, left: Any = left) -> Any:
            if next(left, None) is None:
                raise MemoryError
            return there(self, *rest)

        with monkeypatch.context() as patch:
            patch.setattr(World, call, ending)
            result = memec(*common, "--out", f"run-{call}")
        assert result.status == 2 and "There is not enough memory" in result.error
        assert memec("train", "--resume", f"run-{call}").status == 0
        failing.compare(Path("whole"), Path(f"run-{call}"))


def test_a_thread_that_cannot_begin_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python starts one and waits for its first sign, which never comes where memory has ended."""
    monkeypatch.setattr(background, "PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr(Background, "_run", lambda self: None)
    with pytest.raises(MemoryError), Background():
        pass


def test_a_record_is_read_without_making_room_for_more_than_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent().learn(30, run=tmp_path / "run")
    tracemalloc.start()
    RunFolder.open(tmp_path / "run").record()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1_000_000
    assert Checkpoints(tmp_path / "run" / "checkpoint").newest_step() == 30
