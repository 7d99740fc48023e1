"""Runs of players that are no agents of memec's: in run folders as its own are, looked at by the same evaluation.

They see what memec's agents see: the observation as its vector, one-hots included. A run that was interrupted begins
anew: none of them takes long.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from memec.envs.world import World, make
from memec.errors import MemecError
from memec.experiments.run import Outcome
from memec.experiments.run_settings import RunSettings
from memec.settings import Settings
from memec.train import Evaluation, RunFolder, Seeds, evaluating
from memec.train.evaluation import worlds_for_evaluation
from memec.train.protocol import GreedyPolicy
from memec.train.recording import Cost
from memec.train.stopping import StopRequest

DONE_BY = {
    "sb3-dqn": "benchmarks.worlds.stable_baselines",
    "sb3-ppo": "benchmarks.worlds.stable_baselines",
    "tabular-q": "benchmarks.worlds.tabular",
    "random": "benchmarks.worlds.at_random",
}
"""The modules with a function `train(world, settings, watch)`."""
EXPLORING = {
    "sb3-dqn": "epsilon-greedy", "sb3-ppo": "sampling", "tabular-q": "epsilon-greedy", "random": "uniform"
}  # fmt: skip


class StrategySettings(Settings):
    """How a player explores, by its name."""

    name: str


class PlayerSettings(Settings):
    """A player, and what its own library is told."""

    name: Literal["sb3-dqn", "sb3-ppo", "tabular-q", "random"]
    explore: StrategySettings
    environments: int = Field(1, ge=1)
    """In how many at once it learns."""
    normalized: bool = False
    """Whether observations and rewards are divided by their running deviation while training."""
    options: dict[str, Any] = Field(default_factory=dict)


class ForeignSettings(RunSettings):
    """Everything that decides such a run."""

    agent: PlayerSettings  # type: ignore[assignment]


SETTINGS = ForeignSettings


class Watch:
    """Looks at a player as it learns, and tells it when to stop."""

    def __init__(self, settings: ForeignSettings, folder: RunFolder, stop: StopRequest) -> None:
        self._training = settings.training
        self._folder = folder
        self._stop = stop
        self._seeds = Seeds(settings.seed)
        self._worlds: list[World] = []
        self._id = settings.environment.id
        self._next = self._training.evaluate_every_steps

    def __call__(self, step: int, policy: Callable[[], GreedyPolicy]) -> bool:
        """Return whether to go on after this step; where several environments step at once, some may come too late."""
        while self._next <= min(step, self._training.steps):
            self._folder.add(self._evaluation(self._next, policy()))
            self._next += self._training.evaluate_every_steps
        return self._stop.signal is None and step < self._training.steps

    def _evaluation(self, step: int, policy: GreedyPolicy) -> Evaluation:
        if not self._worlds:
            self._worlds = [make(self._id, training=False)]
            wanted = worlds_for_evaluation(self._worlds[0].observation.kind, self._training.evaluation_episodes)
            self._worlds += [make(self._id, training=False) for _ in range(wanted - 1)]
        playing = evaluating(_Learned(policy), self._worlds, self._training, self._seeds, step)  # type: ignore[arg-type]
        return _result_of(playing)


class _Learned:
    """A policy, as an evaluation asks for it."""

    def __init__(self, policy: GreedyPolicy) -> None:
        self._policy = policy

    def greedy_policy(self) -> GreedyPolicy:
        return self._policy


def run(settings: ForeignSettings, path: Path, *, preset: str, command: str = "", progress: bool = False) -> Outcome:
    """Do a run in a folder of its own."""
    train = _trainer(settings.agent.name)  # what cannot be done must not leave a folder behind
    make(settings.environment.id).close()
    folder = RunFolder.create(path, settings.model_dump(mode="json"), preset=preset, command=command)
    folder.update(versions=folder.record()["versions"] | _versions())
    return _train(train, settings, folder)


def resume(path: Path, *, env: str, progress: bool = False) -> Outcome:
    """Do a run again whose end is missing; the environment is named by who asks for it, not by the folder."""
    folder = RunFolder.open(path)
    record = folder.record()
    settings = ForeignSettings.read(record["settings"])
    if settings.environment.id != env:
        raise MemecError(f"{path} is a run in {settings.environment.id}, not in {env}.")
    if record["status"] == "finished":
        return Outcome(path, "finished", 0, [], nothing_to_do=True)
    folder.start_files()
    return _train(_trainer(settings.agent.name), settings, folder)


def _train(train: Callable[..., None], settings: ForeignSettings, folder: RunFolder) -> Outcome:
    began = Cost.clock()
    with folder.only_writer(), StopRequest() as stop:
        folder.update(status="running", reason=None)
        try:
            train(settings, Watch(settings, folder, stop))
        except Exception as error:
            folder.end("failed", f"{type(error).__name__}: {' '.join(str(error).split())}")
            raise
        status: Literal["finished", "interrupted"] = "finished" if stop.signal is None else "interrupted"
        reason = None if stop.signal is None else f"signal {stop.signal}"
        folder.end(status, reason, stop.signal, **Cost.clock().since(began)._asdict())
    return Outcome(folder.path, status, 0, [])


def _trainer(player: str) -> Callable[..., None]:
    try:
        train: Callable[..., None] = import_module(DONE_BY[player]).train
    except ImportError as error:
        raise MemecError(f"{player} needs {error.name}: pip install --group worlds.") from None
    return train


def _versions() -> dict[str, str]:
    versions = {}
    for name in ("stable-baselines3", "MinAtar", "minigrid"):
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def _result_of(playing: Generator[Any, None, Evaluation]) -> Evaluation:
    while True:
        try:
            next(playing)
        except StopIteration as end:
            evaluation: Evaluation = end.value
            return evaluation


def chosen_by(best: Callable[[Any], int]) -> GreedyPolicy:
    """Return the policy that asks for the action of one observation at a time."""

    def policy(observations: Sequence[Any], state_ids: object, luck: object) -> list[int]:
        return [best(observation) for observation in observations]

    return policy
