"""Pictures of memories: those of the very memories they stand beside, bounded, and no part of learning."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memec import MFEC
from memec.agents import NEC, Agent
from memec.agents.pictures import Pictures
from memec.errors import MemecError
from memec.experiments.presets import settings_for
from memec.experiments.run import resume, run
from memec.experiments.run_settings import keeping_frames
from memec.train.files import read_arrays
from memec.watch.trained import load_trained

SMALL = {"capacity": 60, "neighbours": 5}


def kept(agent: Any) -> dict[int, np.ndarray]:
    """Return the pictures there are, by the slots they belong to."""
    found = {int(slot): agent.pictures.of(int(slot)) for slot in agent.memory.used()}
    return {slot: picture for slot, picture in found.items() if picture is not None}


def test_a_picture_is_what_was_seen_when_the_memory_was_stored() -> None:
    agent = MFEC("CartPole-v1", memory=SMALL | {"keep_frames": 1_000})
    agent.learn(500)
    pictures = kept(agent)
    assert len(pictures) == len(agent.memory)
    for slot, picture in pictures.items():  # CartPole's keys are its observations, so both must agree
        np.testing.assert_array_equal(picture, agent.memory.keys[slot])


def test_only_the_newest_are_kept() -> None:
    agent = MFEC("CartPole-v1", memory=SMALL | {"keep_frames": 20})
    agent.learn(500)
    pictures = kept(agent)
    assert 0 < len(pictures) <= 20 == len(agent.pictures)
    for slot, picture in pictures.items():
        np.testing.assert_array_equal(picture, agent.memory.keys[slot])


@pytest.mark.parametrize("kind", [MFEC, NEC])
def test_keeping_pictures_changes_nothing_that_is_learned(kind: type[Agent]) -> None:
    changes = {} if kind is MFEC else {"train_start_steps": 100}
    plain, keeping = (
        kind("CartPole-v1", memory=SMALL | {"keep_frames": count}, **changes).learn(400)  # type: ignore[call-arg]
        for count in (0, 50)
    )
    assert plain.arrays().keys() == keeping.arrays().keys()
    for name, array in plain.arrays().items():
        np.testing.assert_array_equal(array, keeping.arrays()[name])


@pytest.mark.parametrize("agent", ["mfec", "nec"])
def test_pictures_are_in_the_checkpoint_and_survive_a_resume(tmp_path: Path, agent: str) -> None:
    memory = {"memory": SMALL | {"keep_frames": 80}}
    own = memory if agent == "mfec" else memory | {"train_start_steps": 100}
    base = settings_for("CartPole-v1", "vector", agent=agent).changed({"agent": own})

    def steps(count: int) -> Any:
        return base.changed({"training": {"steps": count, "evaluate_every_steps": 0}})

    run(steps(400), tmp_path / "whole", preset="tuned", progress=False)
    run(steps(237), tmp_path / "parts", preset="tuned", progress=False)
    resume(tmp_path / "parts", steps=400, progress=False)
    whole, parts = (load_trained(tmp_path / name, pictures=True) for name in ("whole", "parts"))
    first, second = kept(whole.agent), kept(parts.agent)
    assert first.keys() == second.keys() and len(first) > 20
    for slot, picture in first.items():
        np.testing.assert_array_equal(picture, second[slot])


def test_without_them_a_checkpoint_holds_none(tmp_path: Path) -> None:
    settings = settings_for("CartPole-v1", "vector").changed({"training": {"steps": 60, "evaluate_every_steps": 0}})
    run(settings, tmp_path / "run", preset="tuned", progress=False)
    (file,) = (tmp_path / "run" / "checkpoint").iterdir()
    assert not [name for name in read_arrays(file)[0] if "picture" in name]


@pytest.mark.parametrize(
    ("shape", "picture"),
    [((4, 84, 84), (84, 84)), ((210, 160, 3), (70, 54)), ((2, 210, 160, 3), (70, 54)), ((64, 64), (64, 64))],
)
def test_frames_become_small_and_grey(shape: tuple[int, ...], picture: tuple[int, ...]) -> None:
    frame = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    small = Pictures.picture(frame)
    assert small.shape == picture and small.dtype == np.uint8
    if shape == (4, 84, 84):
        np.testing.assert_array_equal(small, frame[-1])


def test_more_pictures_than_the_machine_holds_are_refused() -> None:
    with pytest.raises(MemecError, match=r"memory\.keep_frames"):
        MFEC("ALE/Pong-v5", memory=SMALL | {"keep_frames": 10**12})


def test_an_agent_without_a_memory_cannot_keep_its_pictures() -> None:
    with pytest.raises(MemecError, match="d3qn has no memories: choose --agent mfec or nec"):
        keeping_frames(settings_for("CartPole-v1", "vector", agent="d3qn"))
