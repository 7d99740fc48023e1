"""One experiment from its settings to its run folder."""

from collections import deque
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memec.agents import AGENTS, Agent
from memec.envs.world import World, make
from memec.errors import MemecError
from memec.experiments.run_settings import RunSettings
from memec.train import Evaluation, RunFolder, Seeds, evaluating, show_progress
from memec.train.run_folder import Status
from memec.train.stopping import StopRequest


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    folder: Path
    status: Status
    exit_status: int
    last_evaluations: list[Evaluation]


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
    environment = settings.environment
    return make(environment.id, training=training, sticky_actions=environment.sticky_actions, **options)


def run(settings: RunSettings, path: Path, *, preset: str, command: str = "", progress: bool = True) -> Outcome:
    """Train, evaluate and record; what was learned is kept however the run ends."""
    world = world_for(settings, training=True)
    agent = AGENTS[settings.agent.name].from_settings(world, settings.agent, seed=settings.seed)
    evaluation_world = world_for(settings, training=False) if settings.training.evaluate_every_steps else None
    folder = RunFolder.create(path, settings.model_dump(mode="json"), preset=preset, command=command)
    evaluations: deque[Evaluation] = deque(maxlen=5)
    events = agent.train(settings.training, evaluation_world)
    if progress:
        events = show_progress(events, settings.training.steps)
    with StopRequest() as stop:
        try:
            for event in events:
                folder.add(event)
                if isinstance(event, Evaluation):
                    evaluations.append(event)
                if stop.signal is not None:
                    break
        except BaseException as error:
            _keep(agent, folder)
            folder.end("failed", str(error) or type(error).__name__)
            raise
        events.close()
        _keep(agent, folder)
        status: Status = "finished" if agent.steps >= settings.training.steps else "interrupted"
        folder.end(status, None if stop.signal is None else f"signal {stop.signal}")
    return Outcome(path, status, 0 if status == "finished" else stop.exit_status, list(evaluations))


def evaluate_run(path: Path, episodes: int, *, seed: int | None = None) -> Evaluation:
    """Try out the agent of a run, greedily, in fresh episodes."""
    folder = RunFolder.open(path)
    record = folder.record()
    settings = RunSettings.read(record["settings"])
    if ":" in settings.environment.id:
        raise MemecError(
            f"{path} names an environment of a module, {settings.environment.id!r}, which is not imported on its word."
        )
    agent = AGENTS[settings.agent.name].load(folder.agent_file, world_for(settings, training=True))
    protocol = settings.training.changed({"evaluation_episodes": episodes})
    seeds = Seeds(settings.seed if seed is None else seed)
    game = evaluating(agent, world_for(settings, training=False), protocol, seeds, agent.steps)
    try:
        while True:
            next(game)
    except StopIteration as done:
        evaluation: Evaluation = done.value
        return evaluation


def _keep(agent: Agent, folder: RunFolder) -> None:
    agent.save(folder.agent_file)
