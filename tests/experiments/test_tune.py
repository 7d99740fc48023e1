"""Searching settings: what is tried, how it goes on, and what is said of the winner."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command import Memec

from memec.errors import MemecError
from memec.experiments.tune import Axis, axis

SEARCH = ("tune", "memec/OpenRoom-v0", "--agent", "mfec", "--steps", 200, "--workers", 1, "--out", "t", "--seeds", 1)


def test_axes_are_read() -> None:
    assert axis("memory.neighbours=3:51") == Axis("memory.neighbours", (), 3.0, 51.0, whole=True)
    assert axis("discount = 0.9, 0.99") == Axis("discount", ("0.9", "0.99"))
    assert not axis("memory.delta=1e-4:1").whole
    assert axis("discount=0.9,0.99").holds(0.99) and axis("a=1:3").holds(2) and not axis("a=1:3").holds(4)


@pytest.mark.parametrize("wrong", ["discount", "discount=", "=1,2", "discount=a:b", "discount=3:1", "discount=1:inf"])
def test_axes_that_are_none_are_refused(wrong: str) -> None:
    with pytest.raises(MemecError, match="--search takes"):
        axis(wrong)


def test_a_search_goes_on_and_its_winner_is_judged_on_other_seeds(memec: Memec) -> None:
    searched = ("--search", "discount=0.9,0.99", "--search", "memory.neighbours=3:51")
    first = memec(*SEARCH, *searched, "--trials", 2, "--held-out", 0)
    assert first.status == 0, first.error
    assert "[2/2]" in first.error and "discount=0.99" in first.error.splitlines()[0]  # the default comes first
    again = memec(*SEARCH, *searched, "--trials", 3, "--held-out", 2)
    assert again.status == 0 and "[3/3]" in again.error and "[2/3]" not in again.error
    settings = json.loads(Path("t/settings.json").read_text())
    assert settings["agent"]["name"] == "mfec" and settings["training"]["steps"] == 200
    held_out = {path.parent.name for path in Path("t/held-out").rglob("run.json")}
    assert held_out <= {"seed-1000", "seed-1001"}
    assert "default" in again.out.splitlines()[-1]
    assert memec("train", "--settings", "t/settings.json", "--out", "run").status == 0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("--search", "memory.neigbours=3:5"), "did you mean 'neighbours'"),
        (("--search", "discount=3:5"), "discount"),
        (("--search", "discount=0.9,0.99", "--set", "memory.delta=1"), "another search"),
    ],
)
def test_what_cannot_be_searched_is_said_at_once(memec: Memec, wrong: tuple[str, ...], said: str) -> None:
    if said == "another search":
        assert memec(*SEARCH, "--search", "discount=0.9,0.99", "--trials", 1, "--held-out", 0).status == 0
    refused = memec(*SEARCH, *wrong, "--trials", 1)
    assert refused.status == 2 and said in refused.error


def test_a_search_that_is_killed_goes_on_with_the_trial_it_was_at(tmp_path: Path, memec: Memec) -> None:
    search = [*map(str, SEARCH), "--search", "discount=0.9,0.99", "--held-out", "0", "--trials"]
    search[search.index("--steps") + 1] = "100000"
    process = subprocess.Popen([sys.executable, "-m", "memec", *search, "1"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    while not list(tmp_path.rglob("episodes.csv")) or not any(f.stat().st_size for f in tmp_path.rglob("episodes.csv")):
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    (run,) = tmp_path.rglob("run.json")
    (episodes,) = tmp_path.rglob("episodes.csv")
    before = episodes.stat().st_ino
    again = subprocess.Popen([sys.executable, "-m", "memec", *search, "1"], cwd=tmp_path, stderr=subprocess.PIPE)
    with again as process:
        assert process.stderr is not None
        assert b"Going on with 1 trial that had been cut off" in process.stderr.readline()
        while episodes.stat().st_ino == before:  # until the run is taken up
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        said = process.stderr.read().decode()
    assert process.returncode == 130 and "the same command goes on" in said
    assert list(tmp_path.rglob("run.json")) == [run]
