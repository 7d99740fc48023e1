"""Recording a run in its folder, so that nothing of it is lost."""

import time
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any, Protocol

from memec.errors import EnvironmentFailedError, MemecError
from memec.train.checkpoint import CheckpointSettings
from memec.train.events import Event, Tick
from memec.train.files import Arrays
from memec.train.run_folder import RunFolder, saying_where
from memec.train.stopping import StopRequest


class Recorded(Protocol):
    """An agent, to its recording."""

    @property
    def steps(self) -> int:
        """How many steps the agent has learned from."""

    def snapshot(self) -> tuple[Arrays, dict[str, Any]]:
        """Return everything needed to go on exactly, the episode under way included."""

    def restore_snapshot(self, arrays: Arrays, about: dict[str, Any], source: Path) -> None:
        """Go on from a snapshot."""

    def give_up_episode(self) -> None:
        """Drop the episode under way, so that what was learned before it can be saved."""


class Recording:
    """Writes what happens in a run to its folder, and the run itself in checkpoints."""

    def __init__(self, folder: RunFolder, agent: Recorded, settings: CheckpointSettings) -> None:
        self._folder = folder
        self._agent = agent
        self._settings = settings
        self._run = folder.record()["id"]
        self._saved_at = -1

    def take_up(self) -> None:
        """Bring the agent to the newest checkpoint and the files back to that moment.

        A run that ended before its first checkpoint begins anew.
        """
        if not self._folder.checkpoints.files():
            self._folder.start_files()
            self._folder.update(status="running", reason=None)
            return
        arrays, about, file = self._folder.checkpoints.newest()
        if about.get("run") != self._run:
            raise MemecError(f"{file} belongs to another run than {self._folder.path / 'run.json'}.")
        self._agent.restore_snapshot(arrays, about, file)
        try:
            self._folder.rewind(about["files"])
        except (KeyError, ValueError, TypeError) as error:
            raise MemecError(f"{file} cannot be read: {type(error).__name__} {error}.") from None
        self._folder.update(status="running", reason=None)

    def follow(self, events: Iterable[Event], until: int) -> Generator[Event]:
        """Pass the events on and record them, until they end or a signal asks to stop."""
        next_save = time.monotonic() + self._settings.every_seconds
        with StopRequest() as stop:
            try:
                for event in events:
                    self._folder.add(event)
                    if isinstance(event, Tick) and self._due(event, next_save):
                        self.save()
                        next_save = time.monotonic() + self._settings.every_seconds
                    yield event
                    if stop.signal is not None:
                        break
                self.save()
            except GeneratorExit:
                self.save()
                self._end(until, "stopped by its caller")
                raise
            except EnvironmentFailedError as error:
                self._agent.give_up_episode()
                self.save()
                self._folder.end("failed", str(error))
                raise
            except Exception as error:
                self._folder.end("failed", str(error) or type(error).__name__)
                raise
        self._end(until, f"signal {stop.signal}")

    def save(self) -> None:
        """Write a checkpoint."""
        arrays, about = self._agent.snapshot()
        with saying_where(self._folder.path):
            about |= {"run": self._run, "files": self._folder.positions()}
            self._folder.checkpoints.write(self._agent.steps, arrays, about)
        self._saved_at = self._agent.steps

    def _end(self, until: int, reason: str) -> None:
        if self._agent.steps >= until:
            self._folder.end("finished")
        else:
            self._folder.end("interrupted", reason)

    def _due(self, tick: Tick, next_save: float) -> bool:
        every_steps, every_seconds = self._settings.every_steps, self._settings.every_seconds
        if every_steps and tick.step % every_steps == 0 and tick.step != self._saved_at:
            return True
        return every_seconds > 0 and time.monotonic() >= next_save
