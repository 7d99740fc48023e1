"""A disk that is full, or cannot be written: training says so, and the last good checkpoint survives."""

import json
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import Memec, Result

from .torture import compare

ARGUMENTS = (
    "train", "CartPole-v1", "--evaluate-every", "100", "--set", "memory.capacity=3000", "--set",
    "training.evaluation_episodes=1", "--set", "checkpoint.every_steps=100", "--seed", "2", "--out",
)  # fmt: skip


def mount(*arguments: object) -> bool:
    tool = shutil.which("mount")
    return tool is not None and subprocess.run([tool, *map(str, arguments)], capture_output=True).returncode == 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 200 KB, where this user may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid() != 0 or not mount("-t", "tmpfs", "-o", "size=200k", "tmpfs", place):
        pytest.skip("mounting a small disk takes root")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def says_so(result: Result, why: str) -> bool:
    last = result.error.strip().splitlines()[-1]
    return result.status == 2 and last.startswith("memec: ") and why in last and "Traceback" not in result.error


def test_a_full_disk_is_said_and_the_run_goes_on_when_there_is_room(memec: Memec, disk: Path) -> None:
    assert memec(*ARGUMENTS, "whole", "--steps", 1_500).status == 0
    run = disk / "run"
    assert says_so(memec(*ARGUMENTS, run, "--steps", 1_500), "No space left on device")
    assert list((run / "checkpoint").glob("step-*")) and not list((run / "checkpoint").glob(".*"))
    assert memec("evaluate", run, "--episodes", 1).status == 0  # which needs no room
    assert says_so(memec("train", "--resume", run), "No space left on device")
    assert mount("-o", "remount,size=100m", disk)
    assert memec("train", "--resume", run).status == 0
    compare(Path("whole"), run)


def test_a_disk_that_becomes_read_only_is_said(memec: Memec, disk: Path) -> None:
    run = disk / "run"
    assert mount("-o", "remount,size=100m", disk)
    assert memec(*ARGUMENTS, run, "--steps", 300).status == 0
    assert mount("-o", "remount,ro", disk)
    assert says_so(memec("train", "--resume", run, "--steps", 600), "Read-only file system")
    assert says_so(memec(*ARGUMENTS, disk / "new", "--steps", 300), "Read-only file system")
    assert memec("evaluate", run, "--episodes", 1).status == 0
    assert mount("-o", "remount,rw", disk)
    assert memec("train", "--resume", run, "--steps", 600).status == 0


def test_a_file_that_may_not_grow_is_said_and_the_run_goes_on_afterwards(memec: Memec) -> None:
    """The same without any right to mount: the system refuses to make files longer."""
    assert memec(*ARGUMENTS, "whole", "--steps", 1_500).status == 0
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, before[1]))
    try:
        stopped = memec(*ARGUMENTS, "run", "--steps", 1_500)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert says_so(stopped, "File too large")
    record = json.loads(Path("run/run.json").read_text())
    assert record["status"] == "failed" and "File too large" in record["reason"]
    assert list(Path("run/checkpoint").glob("step-*")) and not list(Path("run/checkpoint").glob(".*"))
    assert memec("train", "--resume", "run").status == 0
    compare(Path("whole"), Path("run"))
