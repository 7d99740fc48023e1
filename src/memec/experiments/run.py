"""One experiment from its settings to its run folder."""

import shlex
from collections import deque
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memec.agents import AGENTS, Agent
from memec.envs.modules import import_module_of
from memec.envs.recorded import EnvironmentSettings
from memec.envs.world import World, make_again
from memec.errors import MemecError, saying_what_is_wrong, unknown_name
from memec.experiments.run_settings import RunSettings
from memec.train import Evaluation, RunFolder, Seeds, evaluating, show_progress
from memec.train.diary import Diary
from memec.train.evaluation import worlds_for_evaluation
from memec.train.recording import Recording
from memec.train.run_folder import Status
from memec.train.tensorboard import TensorBoard

SETTINGS = RunSettings
"""What a run here is decided by."""
EXIT_STATUS = {"signal 2": 130, "signal 15": 143}


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
    name = f"{world}-{settings.agent.name}-{settings.agent.explore.name}-seed{settings.seed}-{stamp}"
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
) -> Outcome:
    """Begin a new run in a folder of its own; `log` names a further form to record it in, such as tensorboard."""
    tensorboard = _log(log, path)
    agent = _agent(settings)  # what cannot be made must not leave a folder behind
    agent.check_budget(settings.training.steps)
    folder = RunFolder.create(path, settings.model_dump(mode="json"), preset=preset, command=command)
    return _train(settings, folder, agent, progress=progress, resume=False, tensorboard=tensorboard)


def resume(
    path: Path, *, env: str | None = None, steps: int | None = None, progress: bool = True, log: str | None = None
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
    if folder.checkpoints.files():
        about, shapes, file = folder.checkpoints.outline(folder.record()["id"])
        with saying_what_is_wrong(file):
            AGENTS[settings.agent.name].check_claims(settings.agent, about, shapes)
    tensorboard = _log(log, path)
    return _train(settings, folder, _agent(settings), progress=progress, resume=True, tensorboard=tensorboard)


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


def evaluate_run(path: Path, episodes: int, *, env: str | None = None, seed: int | None = None) -> Evaluation:
    """Try out the agent of a run, greedily, in fresh episodes."""
    folder = RunFolder.open(path)
    settings = settings_of(folder, env)
    checkpoint = folder.checkpoints.newest(folder.record()["id"], rows=False)
    agent = AGENTS[settings.agent.name].load(checkpoint.file, world_for(settings, training=True))
    protocol = settings.training.changed({"evaluation_episodes": episodes})
    seeds = Seeds(settings.seed if seed is None else seed)
    game = evaluating(agent, _evaluation_worlds(settings, episodes), protocol, seeds, agent.steps)
    while True:
        try:
            next(game)
        except StopIteration as done:
            evaluation: Evaluation = done.value
            return evaluation


def _evaluation_worlds(settings: RunSettings, episodes: int) -> list[World]:
    first = world_for(settings, training=False)
    others = worlds_for_evaluation(first.observation.kind, episodes) - 1
    return [first, *(world_for(settings, training=False) for _ in range(others))]


def _agent(settings: RunSettings) -> Agent:
    world = world_for(settings, training=True)
    return AGENTS[settings.agent.name].from_settings(world, settings.agent, seed=settings.seed)


def _log(name: str | None, path: Path) -> TensorBoard | None:
    if name is None:
        return None
    if name != "tensorboard":
        raise unknown_name("log", name, ["tensorboard"])
    return TensorBoard(path / "tensorboard")


def _train(
    settings: RunSettings,
    folder: RunFolder,
    agent: Agent,
    *,
    progress: bool,
    resume: bool,
    tensorboard: TensorBoard | None,
) -> Outcome:
    evaluated = settings.training.evaluate_every_steps > 0
    evaluation_worlds = _evaluation_worlds(settings, settings.training.evaluation_episodes) if evaluated else []
    with folder.only_writer():
        recording = Recording(folder, agent, settings.checkpoint)
        if resume:
            recording.take_up(settings.training.steps)
        start = agent.steps
        events = agent.train(settings.training, evaluation_worlds, settings.checkpoint.every_steps)
        diary = Diary(folder.path, agent.diagnostics, tensorboard)
        events = recording.follow(diary.follow(events, start))
        if progress:
            events = show_progress(events, settings.training.steps, start)
        evaluations: deque[Evaluation] = deque(maxlen=5)
        with closing(events):
            evaluations.extend(event for event in events if isinstance(event, Evaluation))
    record = folder.record()
    return Outcome(folder.path, record["status"], EXIT_STATUS.get(record["reason"], 0), list(evaluations))
