"""A header that a flipped bit made claim something else: the checkpoint before is gone on from, whichever it was."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from memec.agents import OWN
from memec.errors import MemecError
from memec.train import RunFolder
from memec.train.files import read_outline
from tests.command import Memec

from .torture import compare

STEPS = 90
SETTINGS: dict[str, dict[str, Any]] = {
    "mfec": {"memory.capacity": 20},
    "nec": {
        "memory.capacity": 20,
        "memory.neighbours": 11,
        "train_start_steps": 20,
        "replay_capacity": 30,
        "batch_size": 4,
    },
    "d3qn": {"train_start_steps": 20, "replay_capacity": 30, "batch_size": 4},
    "vpec": {"memory.capacity": 20},
}
"""Small, because every byte is tried."""
CLAIMS = ("format", "agent", "settings", "seed", "observation", "actions", "run", "segments", "dtype", "shape")
"""Where a header says what is looked at before anything of its size is made."""
ARRAYS = {"nec": ("network.parameters",), "d3qn": ("network.parameters",), "vpec": ("graph.present", "graph.near")}
"""Arrays that are compared with those claims, by agent."""


@pytest.fixture(params=OWN)
def name(request: pytest.FixtureRequest) -> str:
    """The agent's name."""
    return str(request.param)


@pytest.fixture
def run(name: str, memec: Memec) -> Path:
    """A run that was stopped with two checkpoints, beside the whole one."""
    common = ("train", "CartPole-v1", "--agent", name, "--evaluate-every", 0, "--set", "checkpoint.every_steps=30")
    settings = [word for setting in SETTINGS[name].items() for word in ("--set", "{}={}".format(*setting))]
    if name in ("nec", "d3qn"):
        settings += ["--set", "hidden_size=2"]
    assert memec(*common, *settings, "--steps", STEPS, "--out", "whole").status == 0
    assert memec(*common, *settings, "--steps", 60, "--out", "run").status == 0
    assert len(RunFolder.open(Path("run")).checkpoints.files()) == 2
    record = json.loads(Path("run/run.json").read_text())
    Path("run/run.json").write_text(json.dumps(record | {"status": "interrupted"}))
    return Path("run")


def flip(file: Path, place: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(place)
        (byte,) = opened.read(1)
        opened.seek(place)
        opened.write(bytes([byte ^ 1 << place % 8]))


def test_no_flipped_bit_of_a_header_claims_anything(run: Path) -> None:
    folder = RunFolder.open(run)
    identity = folder.record()["id"]
    earlier, newest = folder.checkpoints.files()
    honest = folder.checkpoints.outline(identity)
    assert honest.file == newest
    for place in range(8 + int.from_bytes(newest.read_bytes()[:8], "little")):
        flip(newest, place)
        try:
            found = read_outline(newest, verified=True)
        except MemecError:
            pass
        else:  # such as one blank for another
            assert found == (honest.about, honest.shapes), place
        if place % 100 == 0:
            assert folder.checkpoints.outline(identity).file in (earlier, newest)
        flip(newest, place)
    assert folder.checkpoints.outline(identity) == honest


def test_a_run_goes_on_from_the_checkpoint_before_one_with_a_flipped_claim(name: str, run: Path, memec: Memec) -> None:
    newest = RunFolder.open(run).checkpoints.files()[-1].relative_to(run)
    content = (run / newest).read_bytes().replace(b"\\", b" ")
    for number, claim in enumerate((*CLAIMS, *ARRAYS.get(name, ()))):
        place = content.index(f'"{claim}'.encode()) + 3
        damaged = Path(shutil.copytree(run, f"damaged-{number}"))
        flip(damaged / newest, place)
        resumed = memec("train", "--resume", damaged, "--steps", STEPS)
        assert resumed.status == 0 and "Going on from the checkpoint before" in resumed.error, (claim, resumed)
        compare(Path("whole"), damaged)
