"""Whole small studies with real processes, really killed."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memec.experiments.engine import Job, work
from memec.experiments.grid import GridRun, plan
from memec.experiments.local import LocalEngine
from memec.experiments.reproduce import Study, reproduce
from memec.experiments.results import Results
from memec.report.runs import find_runs

SETTINGS = ["training.evaluate_every_steps=250", "training.evaluation_episodes=2", "checkpoint.every_steps=500"]
STEPS = 60_000  # some seconds a run, so that it is under way when it is killed
GRID = [
    "openroom",
    "--agents",
    "mfec",
    "--strategies",
    "mellowmax,boltzmann,ucb",
    "--seeds",
    "1",
    "--steps",
    str(STEPS),
]


STRATEGIES = ["mellowmax", "boltzmann", "ucb"]


def grid(steps: int = STEPS, strategies: list[str] = STRATEGIES) -> list[GridRun]:
    return plan("openroom", seeds=1, agents=["mfec"], strategies=strategies, steps=steps, assignments=SETTINGS)


def command(*arguments: str) -> list[str]:
    sets = [word for assignment in SETTINGS for word in ("--set", assignment)]
    return [
        sys.executable,
        "-m",
        "memec.cli",
        "reproduce",
        *GRID,
        *sets,
        "--workers",
        "2",
        "--out",
        "study",
        *arguments,
    ]


def record(folder: Path) -> dict[str, object]:
    content: dict[str, object] = json.loads((folder / "run.json").read_text())
    return content


def content(folder: Path) -> tuple[bytes, list[dict[str, str]]]:
    """Everything a run measured but the time it took."""
    with (folder / "evaluations.csv").open(newline="") as lines:
        evaluations = [row | {"seconds": ""} for row in csv.DictReader(lines)]
    return (folder / "episodes.csv").read_bytes(), evaluations


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study done without any engine."""
    study = tmp_path_factory.mktemp("uninterrupted")
    for run in grid():
        assert work(Job(run.name, run.folder(study), run.settings, run.preset, "")).status == "finished"
    return study


def wait_for(what: Callable[[], bool], process: "subprocess.Popen[str] | None" = None) -> None:
    deadline = time.monotonic() + 120
    while not what():
        assert time.monotonic() < deadline and (process is None or process.poll() is None)
        time.sleep(0.02)  # only to leave the cores to those waited for


def children(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def evaluations(folder: Path) -> int:
    try:
        return (folder / "evaluations.csv").read_text().count("\n")
    except OSError:
        return 0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    yield tmp_path


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds worker processes in /proc")
def test_killing_workers_and_the_driver_changes_no_result(folder: Path, uninterrupted: Path) -> None:
    runs = [run.folder(folder / "study") for run in grid()]

    def progress() -> int:
        return sum(map(evaluations, runs))

    def start() -> "subprocess.Popen[str]":
        before = progress()
        driver = subprocess.Popen(command(), stderr=subprocess.PIPE, text=True)
        wait_for(lambda: progress() > before + 4, driver)
        return driver

    driver = start()
    killed = children(driver.pid)
    for worker in killed:
        os.kill(worker, signal.SIGKILL)
    wait_for(lambda: bool(set(children(driver.pid)) - set(killed)), driver)
    workers = children(driver.pid)
    driver.kill()
    driver.communicate()
    wait_for(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in workers))  # none is left behind
    assert "finished" not in {record(run)["status"] for run in runs if run.exists()}

    driver = start()
    driver.send_signal(signal.SIGINT)
    _, said = driver.communicate()
    assert driver.returncode == 130 and "Traceback" not in said and "checkpoint" in said
    # A run is stopped in training (interrupted), or before its worker took it up (as the killed one left it, running).
    assert {record(run)["status"] for run in runs if run.exists()} != {"finished"}

    driver = subprocess.Popen(command("--results", "results"), stderr=subprocess.PIPE, text=True)
    _, said = driver.communicate()
    assert driver.returncode == 0 and "3 of 3 runs done" in said
    for run in grid():
        assert content(run.folder(folder / "study")) == content(run.folder(uninterrupted)), run.name
    assert len(find_runs(folder / "results").runs) == 3


def test_a_failed_run_is_reported_and_stops_no_other(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    runs = grid(500, STRATEGIES[:2])
    broken = runs[0].folder(folder)
    assert work(Job(runs[0].name, broken, runs[0].settings, "paper", "")).status == "finished"
    (broken / "run.json").write_text(json.dumps(record(broken) | {"status": "failed"}))
    for checkpoint in (broken / "checkpoint").glob("step-*"):
        checkpoint.write_bytes(b"not a checkpoint")
    study = Study(runs, folder, Results(folder / "results"))
    assert study.states() == {runs[0].name: "to retry", runs[1].name: "to do"}
    assert reproduce(study, LocalEngine(1, folder / "workers.log"), 1) == 1
    assert study.states()[runs[1].name] == "recorded"
    said = capfd.readouterr().err
    assert f"{runs[0].name} failed: " in said and "1 of 2 runs done, 1 failed" in said


def test_what_is_done_is_not_done_again_and_other_settings_are_refused(folder: Path) -> None:
    runs = grid(500, STRATEGIES[:2])
    for run in runs:
        work(Job(run.name, run.folder(folder), run.settings, "paper", "the command"))
    study = Study(runs, folder, Results(folder / "results"))
    before = [record(run.folder(folder)) for run in runs]
    engine = LocalEngine(1, folder / "workers.log")
    assert reproduce(study, engine, 1) == 0  # exports what an earlier driver left behind
    assert [record(run.folder(folder)) for run in runs] == before
    assert reproduce(study, engine, 1, keep_checkpoints=False) == 0
    assert (runs[0].folder(folder) / "checkpoint").exists()  # recorded, so no longer looked at
    elsewhere = Study(runs, folder / "empty", Results(folder / "results"))
    assert set(elsewhere.states().values()) == {"recorded"} and reproduce(elsewhere, engine, 1) == 0
    for other in (Study(grid(600), folder), Study(grid(600), folder / "empty", Results(folder / "results"))):
        with pytest.raises(Exception, match=r"training\.steps is 500 there and 600 here"):
            other.states()


def test_a_run_that_does_not_fit_in_memory_is_not_started(folder: Path) -> None:
    (run,) = plan("pong", seeds=1, agents=["d3qn"])
    engine = LocalEngine(2, folder / "workers.log", memory=4e9)
    ended = list(engine.run([Job(run.name, run.folder(folder), run.settings, "paper", "")]))
    assert ended[0] is not None and ended[0].status == "failed" and "8.0 GB" in str(ended[0].reason)
    assert not run.folder(folder).exists()


def test_runs_wait_for_memory_rather_than_share_too_little(folder: Path) -> None:
    runs = grid(500, STRATEGIES[:2])
    jobs = [Job(run.name, run.folder(folder), run.settings, "paper", "") for run in runs]
    most = 0
    ended = []
    for tick in LocalEngine(2, folder / "workers.log", memory=0.5e9).run(jobs):  # enough for one
        most = max(most, len(children(os.getpid())))
        ended += [] if tick is None else [tick.status]
    assert most == 1 and ended == ["finished", "finished"]
