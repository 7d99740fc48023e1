"""All settings of one run, and how `--set memory.capacity=20000` finds its way."""

import json
import shlex
from pathlib import Path
from typing import Any

from pydantic import NonNegativeInt

from memec.agents import AGENTS, AnyAgentSettings
from memec.envs.recorded import EnvironmentSettings
from memec.errors import MemecError, saying_what_is_wrong, unknown_name
from memec.settings import Settings, setting_names
from memec.train import TrainingSettings
from memec.train.checkpoint import CheckpointSettings
from memec.train.files import read_json

Changes = dict[str, Any]
"""Settings that differ, nested as they are."""
MEMEC = "memec.experiments.run"
"""The module that does runs of memec's own agents."""


class RunSettings(Settings):
    """Everything that decides how a run goes: the same settings on the same machine give the same run."""

    environment: EnvironmentSettings
    agent: AnyAgentSettings
    training: TrainingSettings = TrainingSettings()
    checkpoint: CheckpointSettings = CheckpointSettings()
    seed: NonNegativeInt = 0


KEPT_FRAMES = 20_000
"""How many pictures of memories `--keep-frames` keeps: 140 MB of an Atari game."""


def keeping_frames(settings: RunSettings) -> RunSettings:
    """Return these settings with pictures of memories kept."""
    memory = getattr(settings.agent, "memory", None)
    if memory is None or "keep_frames" not in type(memory).model_fields:
        what = "has no memories" if memory is None else "keeps its memories without pictures"
        raise MemecError(f"{settings.agent.name} {what}: choose --agent mfec or nec for --keep-frames.")
    return settings.changed({"agent": {"memory": {"keep_frames": KEPT_FRAMES}}})


def on_device(settings: RunSettings, device: str) -> RunSettings:
    """Return these settings with the network on this device."""
    if "device" not in type(settings.agent).model_fields:
        raise MemecError(f"{settings.agent.name} has no network: choose --agent nec or d3qn for --device {device}.")
    return settings.changed({"agent": {"device": device}})


def changes_from(assignments: list[str], agent: str) -> dict[str, Any]:
    """Read `name=value` assignments into nested changes; `agent.` in front of the agent's settings may be left out."""
    changes: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals or not name:
            raise MemecError(f"--set takes name=value, such as memory.capacity=20000; {assignment!r} is not that.")
        path = name.strip().split(".")
        if path[0] not in RunSettings.model_fields:
            if path[0] not in AGENTS[agent].settings_type.model_fields:
                raise unknown_name("setting", name, known_names(agent))
            path = ["agent", *path]
        part = changes
        for step in path[:-1]:
            part = part.setdefault(step, {})
            if not isinstance(part, dict):
                raise MemecError(f"--set gives {name} two meanings.")
        part[path[-1]] = _value(text)
    return changes


def environment_from(env: str, assignments: list[str], told: Changes | None = None) -> EnvironmentSettings:
    """Return the environment that `name=value` assignments set up, where nothing else is `told` about it."""
    own = [assignment.strip() for assignment in assignments if assignment.strip().startswith("environment.")]
    changes = changes_from(own, next(iter(AGENTS))).get("environment", {})
    return EnvironmentSettings.read({"id": env} | (told or {})).changed(changes)


def read_settings_file(path: Path, **named: str | None) -> Changes:
    """Read settings from a file: a run.json, all settings of a run or some of them, or those of an agent alone.

    What a file names by module:Name is imported only where the user has named it, too (`env`, `explore`, `embed`).
    """
    content = read_json(path)
    with saying_what_is_wrong(path):
        found = content["settings"] if isinstance(content.get("settings"), dict) else content
        if isinstance(found.get("name"), str):
            found = {"agent": found}
        unknown = [name for name in found if name not in RunSettings.model_fields]
        if unknown:
            raise MemecError(
                f"{path} holds no settings of a run: {unknown_name('setting', unknown[0], RunSettings.model_fields)}"
            )
        if not all(isinstance(found.get(name, {}), dict) for name in ("environment", "agent", "training")):
            raise MemecError(f"{path} holds no settings of a run.")
        parts = {part: found.get("agent", {}).get(part) for part in ("explore", "embed")}
        asked = {part: part_["name"] for part, part_ in parts.items() if isinstance(part_, dict) and "name" in part_}
        for part, name in ({"env": found.get("environment", {}).get("id", "")} | asked).items():
            if ":" in str(name) and named.get(part) != name:
                raise MemecError(
                    f"{path} names {name}, which is none of memec's: if you trust it, name it, too"
                    f"{'' if part == 'env' else f', with --{part} {shlex.quote(str(name))}'}."
                )
    return {name: value for name, value in found.items() if name not in ("seed", "checkpoint")}


def known_names(agent: str) -> list[str]:
    """Return every name that `--set` takes for a run of this agent."""
    own = [name for name, _ in setting_names(RunSettings) if not name.startswith("agent.")]
    return own + [name for name, _ in setting_names(AGENTS[agent].settings_type) if name != "name"]


def _value(text: str) -> Any:
    """Numbers, true, false and lists as in JSON; anything else is a string."""
    try:
        return json.loads(text)
    except ValueError:
        return text
