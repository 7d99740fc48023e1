"""One experiment from its settings to its run folder."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memec.agents import AGENTS, Agent, load
from memec.envs.modules import import_module_of
from memec.envs.recorded import EnvironmentSettings
from memec.envs.world import World, make_again
from memec.errors import MemecError, saying_what_is_wrong
from memec.experiments.plugged import foreign_parts, parts_again
from memec.experiments.run_settings import RunSettings
from memec.train import Evaluation, RunFolder
from memec.train.run_folder import Status
from memec.train.stopping import exit_status
from memec.train.tensorboard import TensorBoard
from memec.train.training import begin_run, carry_out, evaluation_worlds_like, log_named

SETTINGS = RunSettings
"""What a run here is decided by."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    folder: Path
    status: Status
    exit_status: int
    last_evaluations: list[Evaluation]
    nothing_to_do: bool = False


def new_folder(settings: RunSettings, parent: Path = Path("runs")) -> Path:
    """Return a name under `parent` that no run has yet: environment, agent, strategy, seed and time."""
    world = settings.environment.id.rpartition("/")[2].rpartition(":")[2].lower()
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    strategy = settings.agent.explore.name.rpartition(":")[2].lower()
    name = f"{world}-{settings.agent.name}-{strategy}-seed{settings.seed}-{stamp}"
    folder, copy = parent / name, 1
    while folder.exists():
        copy += 1
        folder = parent / f"{name}-{copy}"
    return folder


def world_for(settings: RunSettings, *, training: bool, **options: Any) -> World:
    """Make the world of a run."""
    return make_again(settings.environment, training=training, **options)


def run(
    settings: RunSettings,
    path: Path,
    *,
    preset: str,
    command: str = "",
    progress: bool = True,
    log: str | None = None,
    world: World | None = None,
    parts: Mapping[str, Any] | None = None,
    engine: str = "auto",
) -> Outcome:
    """Begin a new run in a folder of its own; `log` names a further form to record it in, such as tensorboard.

    A world that was made already is used if it is the one that the settings mean. `parts` that are none of memec's are
    passed as they are.
    """
    tensorboard = log_named(log, path)
    if world is not None and world.recorded != settings.environment:
        world.close()
        world = None
    agent = _agent(settings, world, parts or {}, engine)  # what cannot be made must not leave a folder behind
    agent.check_budget(settings.training.steps)
    folder = begin_run(path, agent, settings.training, settings.checkpoint, preset=preset, command=command)
    return _carry_out(settings, folder, agent, progress=progress, take_up=False, log=tensorboard)


def resume(
    path: Path,
    *,
    env: str | None = None,
    explore: str | None = None,
    embed: str | None = None,
    steps: int | None = None,
    progress: bool = True,
    log: str | None = None,
    engine: str = "auto",
) -> Outcome:
    """Go on with a run exactly where its newest checkpoint stands, for more steps than at first if asked."""
    folder = RunFolder.open(path)
    settings = settings_of(folder, env, "memec train {env} --resume")
    asked_before = settings.training.steps
    if steps is not None:
        if steps < settings.training.steps:
            raise MemecError(
                f"{path} was asked for {settings.training.steps:,} steps already; --steps can only add to them."
            )
        settings = settings.changed({"training": {"steps": steps}})
    if folder.record().get("status") == "finished" and steps in (None, asked_before):
        return Outcome(path, "finished", 0, [], nothing_to_do=True)
    parts = parts_again(folder, settings, {"explore": explore, "embed": embed}, needed=("explore", "embed"))
    if folder.checkpoints.files():
        about, shapes, file = folder.checkpoints.outline(folder.record()["id"])
        with saying_what_is_wrong(file):
            AGENTS[settings.agent.name].check_claims(settings.agent, about, shapes)
    tensorboard = log_named(log, path)
    agent = _agent(settings, None, parts, engine)
    return _carry_out(settings, folder, agent, progress=progress, take_up=True, log=tensorboard)


def settings_of(folder: RunFolder, env: str | None = None, way: str = "--env {env}") -> RunSettings:
    """Return the settings of a run. A module it names is imported only if the user names it as well, by `env`.

    By `env` he also names the module that registers the run's environment, or an environment to take where the run's
    cannot be made again. `way` is how he can do so.
    """
    content = folder.record()["settings"]
    agent = content["agent"].get("name") if isinstance(content.get("agent"), dict) else None
    if isinstance(agent, str) and agent not in AGENTS:
        raise MemecError(
            f"{folder.path} is a run of the agent {agent!r}, which is none of memec's: "
            "say which it is with --agent module:Name"
        )
    settings = RunSettings.read(content)
    recorded = settings.environment
    if recorded.lost is not None:
        if env is None:
            said = way.format(env="module:Id")
            raise MemecError(
                f"{folder.path} cannot make its environment {recorded.id} again ({recorded.lost}): "
                f"name an environment that is the same by {said}, or give it to the agent in Python."
            )
        return settings.model_copy(update={"environment": EnvironmentSettings(id=env)})
    if env is not None and env not in (recorded.id, f"{env.rpartition(':')[0]}:{recorded.id}"):
        raise MemecError(f"{folder.path} is a run in {recorded.id}, not in {env}.")
    if ":" in recorded.id and env is None:
        said = way.format(env=shlex.quote(recorded.id))
        raise MemecError(f"{folder.path} would import a module: if you trust it, say so with {said}")
    if env not in (None, recorded.id):
        import_module_of(env)
    return settings


def evaluate_run(
    path: Path, episodes: int, *, env: str | None = None, seed: int | None = None, embed: str | None = None
) -> Evaluation:
    """Try out the agent of a run, or of a file that `save` wrote, greedily, in fresh episodes."""
    if path.is_file():
        if embed is not None:
            raise MemecError(f"Pass an embedding of yours in Python: memec.load({str(path)!r}, embed=...).")
        return load(path, env).evaluate(episodes, seed=seed)
    folder = RunFolder.open(path)
    settings = settings_of(folder, env)
    checkpoint = folder.checkpoints.newest(folder.record()["id"], rows=False)
    parts = parts_again(folder, settings, {"embed": embed}, needed=("embed",))
    agent = AGENTS[settings.agent.name].load(checkpoint.file, world_for(settings, training=True), **parts)
    return agent.evaluate(episodes, seed=settings.seed if seed is None else seed)


def _agent(settings: RunSettings, world: World | None, parts: Mapping[str, Any], engine: str) -> Agent:
    for name, record in foreign_parts(settings).items():
        if name not in parts:
            raise MemecError(f"The {name} {record.name} is none of memec's: pass it as it is.")
    world = world or world_for(settings, training=True)
    count = settings.training.environments
    # An agent of others need not know of it.
    several: dict[str, Any] = {"environments": count, "engine": engine} if count > 1 else {}
    return AGENTS[settings.agent.name].from_settings(world, settings.agent, seed=settings.seed, **several, **parts)


def _carry_out(
    settings: RunSettings,
    folder: RunFolder,
    agent: Agent,
    *,
    progress: bool,
    take_up: bool,
    log: TensorBoard | None,
) -> Outcome:
    training, evaluation_worlds = settings.training, []
    if training.evaluate_every_steps:
        kind = agent.world.observation.kind
        evaluation_worlds = evaluation_worlds_like(settings.environment, kind, training.evaluation_episodes)
    ending = carry_out(
        agent,
        training,
        evaluation_worlds,
        folder=folder,
        checkpoint=settings.checkpoint,
        take_up=take_up,
        progress=progress,
        log=log,
    )
    return Outcome(folder.path, ending.status, exit_status(ending.signal), ending.last_evaluations)
