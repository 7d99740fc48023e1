"""Who plays where: the runs of the league."""

from collections.abc import Iterable, Sequence
from typing import Any

from gymnasium.spaces import Discrete, Tuple

from benchmarks.worlds.foreign import EXPLORING, ForeignSettings
from benchmarks.worlds.worlds import WORLDS, World
from benchmarks.worlds.zoo import zoo_settings
from memec.agents import AGENTS
from memec.envs.world import make
from memec.errors import MemecError, unknown_name
from memec.experiments.grid import GridRun
from memec.experiments.presets import settings_for

PRESET = "league"
"""What its runs are recorded as, so that no other report takes them for its own."""
DEFAULT = "vpec"
PLAYERS = (DEFAULT, "mfec", "nec", "d3qn", "sb3-dqn", "sb3-ppo", "tabular-q", "random")
ROOMS = ("openroom", "fourroom")
"""Worlds of few states that are shown as numbers."""


def plan(
    worlds: Sequence[str] | None, players: Sequence[str] | None, seeds: Sequence[int], steps: int | None = None
) -> list[GridRun]:
    """Return the runs of some worlds, players and seeds, all of one seed before the next; `steps` is for a try."""
    first = []
    for name in _known("world", worlds, WORLDS):
        kind, few = _kind(WORLDS[name])
        for player in _known("player", players, PLAYERS):
            if player != "tabular-q" or few or name in ROOMS:
                first.append(_run(name, player, kind, steps))
    if not first:
        raise MemecError("tabular-q plays only where states are few, and in none of these worlds they are.")
    return [run.with_seed(seed) for seed in seeds for run in first]


def _run(name: str, player: str, kind: str, steps: int | None) -> GridRun:
    world = WORLDS[name]
    every = world.evaluate_every_steps if steps is None else max(1, min(world.evaluate_every_steps, steps // 5))
    training = {
        "steps": world.steps if steps is None else steps,
        "evaluate_every_steps": every,
        "evaluation_episodes": world.episodes,
    }
    if player in AGENTS:
        settings = settings_for(world.id, kind, agent=player).changed({"training": training})
        return GridRun(name, settings, PRESET, study=_part(name))
    own = zoo_settings(player, name) if player.startswith("sb3-") else {}
    agent: dict[str, Any] = {"name": player, "explore": {"name": EXPLORING[player]}, **own}
    foreign = ForeignSettings.read({"environment": {"id": world.id}, "agent": agent, "training": training})
    return GridRun(name, foreign, PRESET, study=_part(name), runner="benchmarks.worlds.foreign")


def _part(name: str) -> str:
    """Return the folder of a world's results: one for each keeps files, and what changes in them, small."""
    return f"worlds/{name}"


def _kind(world: World) -> tuple[str, bool]:
    """Return the kind of a world's observations, and whether its states are numbered."""
    made = make(world.id)
    made.close()
    space = made.observation.space
    parts = space.spaces if isinstance(space, Tuple) else (space,)
    return made.observation.kind, all(isinstance(part, Discrete) for part in parts)


def _known(what: str, names: Sequence[str] | None, known: Iterable[str]) -> list[str]:
    for name in names or ():
        if name not in known:
            raise unknown_name(what, name, known)
    return list(dict.fromkeys(names or known))
