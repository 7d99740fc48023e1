"""One experiment from its settings to its run folder."""

import shlex
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memec.agents import AGENTS, Agent
from memec.envs.modules import import_module_of
from memec.envs.recorded import EnvironmentSettings
from memec.envs.world import World, make_again
from memec.errors import MemecError, saying_what_is_wrong
from memec.experiments.run_settings import RunSettings
from memec.explore import ForeignSettings, Strategy, full_name, make_strategy
from memec.train import Evaluation, RunFolder, Seeds, evaluating
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
    explore: Strategy | None = None,
) -> Outcome:
    """Begin a new run in a folder of its own; `log` names a further form to record it in, such as tensorboard.

    A world that was made already is used if it is the one that the settings mean. A strategy that is none of memec's is
    passed as it is.
    """
    tensorboard = log_named(log, path)
    if world is not None and world.recorded != settings.environment:
        world.close()
        world = None
    agent = _agent(settings, world, explore)  # what cannot be made must not leave a folder behind
    agent.check_budget(settings.training.steps)
    folder = begin_run(path, agent, settings.training, settings.checkpoint, preset=preset, command=command)
    return _carry_out(settings, folder, agent, progress=progress, take_up=False, log=tensorboard)


def resume(
    path: Path,
    *,
    env: str | None = None,
    explore: str | None = None,
    steps: int | None = None,
    progress: bool = True,
    log: str | None = None,
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
    strategy = strategy_of(folder, settings, explore, needed=True)
    if folder.checkpoints.files():
        about, shapes, file = folder.checkpoints.outline(folder.record()["id"])
        with saying_what_is_wrong(file):
            AGENTS[settings.agent.name].check_claims(settings.agent, about, shapes)
    tensorboard = log_named(log, path)
    agent = _agent(settings, None, strategy)
    return _carry_out(settings, folder, agent, progress=progress, take_up=True, log=tensorboard)


def settings_of(folder: RunFolder, env: str | None = None, way: str = "--env {env}") -> RunSettings:
    """Return the settings of a run. A module it names is imported only if the user names it as well, by `env`.

    By `env` he also names the module that registers the run's environment, or an environment to take where the run's
    cannot be made again. `way` is how he can do so.
    """
    settings = RunSettings.read(folder.record()["settings"])
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


def strategy_of(
    folder: RunFolder, settings: RunSettings, explore: str | None, *, needed: bool = False
) -> Strategy | None:
    """Return the strategy of a run where it is none of memec's: it is imported only if the user names it as well."""
    recorded = settings.agent.explore
    if explore is not None and full_name(explore) != recorded.name:
        raise MemecError(f"{folder.path} explores by {recorded.name}, not by {explore}.")
    if not isinstance(recorded, ForeignSettings):
        return None
    if explore is not None:
        return make_strategy(recorded)
    if needed:
        said = f"memec train --resume {shlex.quote(str(folder.path))} --explore {shlex.quote(recorded.name)}"
        raise MemecError(f"{folder.path} explores by what is none of memec's: if you trust it, say so with {said}")
    return None


def evaluate_run(path: Path, episodes: int, *, env: str | None = None, seed: int | None = None) -> Evaluation:
    """Try out the agent of a run, greedily, in fresh episodes."""
    folder = RunFolder.open(path)
    settings = settings_of(folder, env)
    checkpoint = folder.checkpoints.newest(folder.record()["id"], rows=False)
    agent = AGENTS[settings.agent.name].load(checkpoint.file, world_for(settings, training=True))
    protocol = settings.training.changed({"evaluation_episodes": episodes})
    worlds = evaluation_worlds_like(settings.environment, agent.world.observation.kind, episodes)
    seeds = Seeds(settings.seed if seed is None else seed)
    game = evaluating(agent, worlds, protocol, seeds, agent.steps)
    while True:
        try:
            next(game)
        except StopIteration as done:
            evaluation: Evaluation = done.value
            return evaluation


def _agent(settings: RunSettings, world: World | None, explore: Strategy | None) -> Agent:
    if explore is None and isinstance(settings.agent.explore, ForeignSettings):
        raise MemecError(f"To explore by {settings.agent.explore.name}, which is none of memec's, pass it as it is.")
    world = world or world_for(settings, training=True)
    return AGENTS[settings.agent.name].from_settings(world, settings.agent, explore=explore, seed=settings.seed)


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
