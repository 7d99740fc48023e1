"""The one way to train: the loop, with all who read along, and a record of it where one is wanted."""

import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from memec.envs.recorded import EnvironmentSettings
from memec.envs.world import World, make_again
from memec.errors import MemecError, unknown_name
from memec.settings import Settings
from memec.train.checkpoint import CheckpointSettings
from memec.train.diary import Diary
from memec.train.evaluation import worlds_for_evaluation
from memec.train.events import Evaluation, Event
from memec.train.loop import TrainingSettings
from memec.train.progress import show_progress
from memec.train.recording import Recorded, Recording
from memec.train.run_folder import RunFolder, Status
from memec.train.tensorboard import TensorBoard

LATEST = 5
"""How many of the last evaluations are kept at hand."""


class Trainable(Recorded, Protocol):
    """An agent, to who trains it."""

    @property
    def world(self) -> World:
        """Where it lives."""

    @property
    def settings(self) -> Settings:
        """What it is made of."""

    @property
    def seed(self) -> int:
        """Its seed."""

    def train(
        self, settings: TrainingSettings, evaluation_worlds: Sequence[World] = (), tick_every_steps: int = 0
    ) -> Generator[Event]:
        """Train until so many steps in all, and yield what happens."""

    def diagnostics(self) -> dict[str, float]:
        """Return what tells how learning goes."""


class Ending(NamedTuple):
    """How a training ended."""

    status: Status
    signal: int | None
    """Which signal asked to stop."""
    last_evaluations: list[Evaluation]


def begin_run(
    path: Path,
    agent: Trainable,
    training: TrainingSettings,
    checkpoint: CheckpointSettings,
    *,
    preset: str,
    command: str = "",
) -> RunFolder:
    """Make the folder of a new run, with all settings in it: whoever asks for it, the record is the same."""
    parts: dict[str, Settings] = {
        "environment": agent.world.recorded,
        "agent": agent.settings,
        "training": training,
        "checkpoint": checkpoint,
    }
    settings: dict[str, Any] = {name: part.model_dump(mode="json") for name, part in parts.items()}
    return RunFolder.create(path, settings | {"seed": agent.seed}, preset=preset, command=command)


def carry_out(
    agent: Trainable,
    training: TrainingSettings,
    evaluation_worlds: Sequence[World] = (),
    *,
    folder: RunFolder | None = None,
    checkpoint: CheckpointSettings | None = None,
    take_up: bool = False,
    progress: bool = False,
    log: TensorBoard | None = None,
    callback: Callable[[Event], Any] | None = None,
) -> Ending:
    """Train, recorded in a folder where there is one; `take_up` goes on from its newest checkpoint.

    A callback gets every event; training stops early when it returns False.
    """
    checkpoint = checkpoint or CheckpointSettings()
    recording = None
    evaluations: deque[Evaluation] = deque(maxlen=LATEST)
    with folder.only_writer() if folder is not None else nullcontext():
        if folder is not None:
            recording = Recording(folder, agent, checkpoint)
            if take_up:
                recording.take_up(training.steps)
        start = agent.steps
        events = agent.train(training, evaluation_worlds, checkpoint.every_steps)
        if folder is not None and recording is not None:
            events = recording.follow(Diary(folder.path, agent.diagnostics, log).follow(events, start))
        if progress:
            events = show_progress(events, training.steps, start)
        with closing(events), _keeping_what_broke(folder):
            for event in events:
                if isinstance(event, Evaluation):
                    evaluations.append(event)
                if callback is not None and callback(event) is False:
                    break
    status, signal = ("finished", None) if recording is None else (recording.status, recording.signal)
    return Ending(status, signal, list(evaluations))


@contextmanager
def _keeping_what_broke(folder: RunFolder | None) -> Iterator[None]:
    """Leave the traceback of what ends a run in its folder: one sentence does not show a user his mistake."""
    try:
        yield
    except Exception as error:
        if folder is not None:
            with suppress(OSError, MemecError):
                folder.keep_traceback("".join(traceback.format_exception(error)))
        raise


def evaluation_worlds_like(record: EnvironmentSettings, kind: str, episodes: int) -> list[World]:
    """Make as many worlds of a record as evaluations play in at once."""
    return [make_again(record, training=False) for _ in range(worlds_for_evaluation(kind, episodes))]


def log_named(name: str | None, path: Path) -> TensorBoard | None:
    """Return a further form to record a run in, such as tensorboard."""
    if name is None:
        return None
    if name != "tensorboard":
        raise unknown_name("log", name, ["tensorboard"])
    return TensorBoard(path / "tensorboard")
