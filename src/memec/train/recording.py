"""Recording a run in its folder, so that nothing of it is lost."""

import time
import warnings
from collections.abc import Generator, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

from memec.errors import MemecError, OutsideError
from memec.train.background import Background
from memec.train.checkpoint import Checkpoint, CheckpointSettings
from memec.train.events import Event, Tick
from memec.train.files import Arrays, part_of
from memec.train.journal import Experience, refuse_gaps
from memec.train.run_folder import RunFolder, Status, saying_where
from memec.train.stopping import StopRequest


class Recorded(Protocol):
    """An agent, to its recording."""

    @property
    def steps(self) -> int:
        """How many steps the agent has learned from."""

    def snapshot(self) -> tuple[Arrays, dict[str, Any]]:
        """Return everything needed to go on exactly, the episode under way included, in arrays of its own."""

    def restore_snapshot(self, arrays: Arrays, about: dict[str, Any], source: Path) -> None:
        """Go on from a snapshot."""

    def experience(self) -> Experience:
        """Return what is too large for a snapshot."""

    def give_up_episode(self) -> None:
        """Drop the episode under way, so that what was learned before it can be saved."""


class Cost(NamedTuple):
    """What a run has taken so far; what was done after a checkpoint and lost does not count."""

    seconds: float = 0.0
    processor_seconds: float = 0.0

    @classmethod
    def clock(cls) -> Self:
        """Return what the clocks say; differences count."""
        return cls(time.monotonic(), time.process_time())

    @classmethod
    def read(cls, content: Any) -> Self:
        """Take over what a checkpoint says; one of an older version says nothing."""
        numbers = content if isinstance(content, dict) else {}
        seconds, processor_seconds = (numbers.get(name, 0.0) for name in cls._fields)
        return cls(float(seconds), float(processor_seconds))

    def since(self, began: Self) -> Self:
        """Return how much more this is."""
        return type(self)(*(round(now - then, 3) for now, then in zip(self, began, strict=True)))


class Recording:
    """Writes what happens in a run to its folder, and the run itself in checkpoints."""

    def __init__(self, folder: RunFolder, agent: Recorded, settings: CheckpointSettings) -> None:
        self._folder = folder
        self._agent = agent
        self._settings = settings
        self._background = Background()
        self._saved_at = -1
        self.status: Status = "running"
        self.signal: int | None = None
        """Which signal asked to stop."""
        self._began = Cost.clock()
        record = folder.record()
        self._run: str = record["id"]
        self._decided_by = _what_decides(record["settings"])

    def take_up(self, steps: int) -> None:
        """Bring the agent to the newest checkpoint and the files back to that moment, to go on to so many steps in all.

        A run that ended before its first checkpoint begins anew.
        """
        self._folder.tidy()
        if self._folder.checkpoints.files():
            self._go_back()
        else:
            warnings.warn(f"{self._folder.path} has no checkpoint yet: the run begins anew.", stacklevel=2)
            self._folder.start_files()
        settings = self._folder.record()["settings"]
        settings |= {"training": settings.get("training", {}) | {"steps": steps}}
        self._folder.update(status="running", reason=None, signal=None, settings=settings)

    def follow(self, events: Iterable[Event]) -> Generator[Event]:
        """Pass the events on and record them, until they end or a signal asks to stop."""
        next_save = time.monotonic() + self._settings.every_seconds
        with StopRequest() as stop, self._background:
            try:
                if self._agent.steps and not self._folder.checkpoints.files():
                    self.save()  # what was learned before this run cannot be learned again from its settings
                for event in events:
                    self._folder.add(event)
                    self._background.check()
                    if isinstance(event, Tick) and self._due(event, next_save):
                        self.save()
                        next_save = time.monotonic() + self._settings.every_seconds
                    yield event
                    if stop.signal is not None:
                        break
                self._save_at_last()
            except GeneratorExit:
                self._save_at_last()
                self._end("interrupted", "stopped by its caller")
                raise
            except KeyboardInterrupt:
                with suppress(MemecError):
                    self._end("interrupted", "told twice to stop")
                raise
            except OutsideError as error:
                self._agent.give_up_episode()
                self._save_at_last()
                self._end("failed", str(error))
                raise
            except Exception as error:
                with suppress(Exception):  # nobody else may have the folder while this one writes
                    self._background.finish()
                with suppress(MemecError):  # where even this cannot be written, what came first matters more
                    self._end("failed", str(error) or type(error).__name__)
                raise
        self.signal = stop.signal
        if stop.signal is None:
            self._end("finished")
        else:
            self._end("interrupted", f"signal {stop.signal}")

    def save(self) -> None:
        """Take down a checkpoint and write it beside the training."""
        self._background.finish()
        step = self._agent.steps
        arrays, about = self._agent.snapshot()
        experience = self._agent.experience()
        arrays |= {f"experience.{name}": array for name, array in experience.position().items()}
        new_rows = self._folder.checkpoints.new_rows(experience.journals())
        about |= {
            "run": self._run,
            "decided_by": self._decided_by,
            "files": self._folder.positions(),
            "cost": self._cost()._asdict(),
        }

        def write() -> None:
            with saying_where(self._folder.path):
                self._folder.sync()
                self._folder.checkpoints.write(step, arrays, about, new_rows)

        self._background.start(write)
        self._saved_at = step

    def wait(self) -> None:
        """Return once the last checkpoint is safely on the disk."""
        self._background.finish()

    def _cost(self) -> Cost:
        return Cost.clock().since(self._began)

    def _end(self, status: Status, reason: str | None = None) -> None:
        self.status = status
        self._folder.end(status, reason, self.signal, **self._cost()._asdict())

    def _save_at_last(self) -> None:
        self.save()
        self.wait()

    def _go_back(self) -> None:
        checkpoint = self._folder.checkpoints.newest(self._run)
        _, about, file = checkpoint
        if about.get("decided_by") != self._decided_by:
            raise MemecError(f"{self._folder.path / 'run.json'} has other settings than {file} was written with.")
        self._restore(checkpoint)
        try:
            self._began = Cost.clock().since(Cost.read(about.get("cost")))
            self._folder.rewind(about["files"])
        except (KeyError, ValueError, TypeError) as error:
            raise MemecError(f"{file} cannot be read: {type(error).__name__} {error}.") from None
        with saying_where(self._folder.path):
            self._folder.checkpoints.go_on_from(checkpoint)

    def _restore(self, checkpoint: Checkpoint) -> None:
        self._agent.restore_snapshot(*checkpoint)
        experience = self._agent.experience()
        journals = experience.journals()
        segments = []
        for segment, rows in self._folder.checkpoints.rows_of(checkpoint):
            if segment.journal not in journals:
                raise MemecError(f"{checkpoint.file} cannot be read: {segment.journal!r} is no journal of this agent.")
            journals[segment.journal].restore(segment.start, rows)
            segments.append(segment)
        try:
            experience.resume(part_of(checkpoint.arrays, "experience."))
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise MemecError(f"{checkpoint.file} cannot be read: {type(error).__name__} {error}.") from None
        for name, journal in experience.journals().items():
            refuse_gaps(segments, name, journal)

    def _due(self, tick: Tick, next_save: float) -> bool:
        every_steps, every_seconds = self._settings.every_steps, self._settings.every_seconds
        if every_steps and tick.step % every_steps == 0 and tick.step != self._saved_at:
            return True
        return every_seconds > 0 and time.monotonic() >= next_save


def _what_decides(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that a run cannot change on its way: all but how long it is and how often it is saved."""
    training = settings.get("training")
    rest = {name: value for name, value in training.items() if name != "steps"} if isinstance(training, dict) else None
    return {name: value for name, value in settings.items() if name != "checkpoint"} | {"training": rest}
