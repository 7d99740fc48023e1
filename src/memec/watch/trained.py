"""The agent of a run as its newest checkpoint has it, with a world to play in. Nothing is written."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memec.agents import AGENTS, Agent
from memec.envs.world import World
from memec.errors import MemecError
from memec.experiments.plugged import parts_again
from memec.experiments.run import settings_of, world_for
from memec.experiments.run_settings import RunSettings
from memec.train import RunFolder
from memec.train.checkpoint import Checkpoint
from memec.train.files import part_of

ATTEMPTS = 5
Names = Mapping[str, str | None] | None
"""By which names the user gives the parts of an agent that are none of memec's."""


@dataclass(frozen=True)
class Trained:
    """What one checkpoint of a run holds."""

    agent: Agent
    settings: RunSettings
    folder: RunFolder
    checkpoint: Checkpoint


def load_trained(path: Path, env: str | None = None, parts: Names = None, *, pictures: bool = False) -> Trained:
    """Load the agent of a run from its newest checkpoint, on request with the pictures of its memories.

    A module is imported only if the user names it by `env` or `parts`; without its strategy the agent cannot explore.
    A run in training may remove a checkpoint while it is read: then there is a newer one.
    """
    folder = RunFolder.open(path)
    settings = settings_of(folder, env)
    for _ in range(ATTEMPTS):
        checkpoint = folder.checkpoints.newest(folder.record()["id"], rows=False)
        try:
            made = parts_again(folder, settings, dict(parts or {}), needed=("embed",))
            agent = AGENTS[settings.agent.name].load(checkpoint.file, world_for(settings, training=True), **made)
            trained = Trained(agent, settings, folder, checkpoint)
            if pictures:
                _load_pictures(trained)
            return trained
        except MemecError:
            if checkpoint.file.exists():
                raise
    raise MemecError(f"{path} writes checkpoints faster than they can be read.")


def _load_pictures(trained: Trained) -> None:
    """Give the agent the pictures of its memories, where the run kept some."""
    agent = trained.agent
    pictures = agent.pictures
    if not pictures.kept:
        return
    ((name, journal),) = pictures.journals().items()
    for segment, rows in trained.folder.checkpoints.rows_of(trained.checkpoint, name):
        journal.restore(segment.start, rows)
    pictures.resume(part_of(trained.checkpoint.arrays, "experience."))
    pictures.forget_episode()


def drawn_world(settings: RunSettings) -> World:
    """Make the world of a run so that it can be drawn, or as it is where it cannot."""
    for part in ("VIDEO", "AUDIO"):  # drawing into arrays needs neither a screen nor sound, and must not ask for them
        os.environ.setdefault(f"SDL_{part}DRIVER", "dummy")
    world = world_for(settings, training=False)
    if "rgb_array" not in (world.environment.metadata.get("render_modes") or ()):
        return world
    world.close()
    return world_for(settings, training=False, render_mode="rgb_array")
