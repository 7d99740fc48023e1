"""The diary of a run: how it goes, taken down now and then for those who watch it."""

import json
import time
from collections.abc import Callable, Generator, Iterable
from math import isfinite
from pathlib import Path

from memec.errors import MemecError
from memec.train.events import Evaluation, Event, Tick
from memec.train.files import read_plain, whole_file
from memec.train.run_folder import saying_where
from memec.train.tensorboard import TensorBoard

FILE = "diary.jsonl"
SHORTEST_PAUSE, LONGEST_PAUSE = 2.0, 30.0
"""Seconds between two entries: at first often, later every 1/200 of the time that has passed."""
LARGEST_NUMBER = 1e100
"""With larger ones nothing can be computed: their squares have none."""
Entry = dict[str, float]


class Diary:
    """Writes `diary.jsonl`: step, seconds of training in all, and the agent's diagnostics, one JSON object a line.

    It is for people to look at: nothing in it takes part in going on with a run.
    """

    def __init__(
        self, folder: Path, diagnostics: Callable[[], dict[str, float]], tensorboard: TensorBoard | None = None
    ) -> None:
        self._file = folder / FILE
        self._diagnostics = diagnostics
        self._tensorboard = tensorboard
        self._began = self._next = time.monotonic()

    def follow(self, events: Iterable[Event], step: int) -> Generator[Event]:
        """Pass the events on and take down what is worth it, from this step on."""
        with saying_where(self._file.parent):
            self._begin(step)
        try:
            for event in events:
                with saying_where(self._file.parent):
                    self._take(event)
                yield event
        finally:
            if self._tensorboard is not None:
                self._tensorboard.close()

    def _begin(self, step: int) -> None:
        """Leave out what was written beyond this step, before the run was set back."""
        if self._file.is_symlink():
            raise MemecError(f"{self._file} is a link to another place: put what it points to in its place.")
        earlier = [entry for entry in read_diary(self._file.parent) if entry["step"] <= step] if step else []
        with whole_file(self._file) as file:
            file.write("".join(json.dumps(entry) + "\n" for entry in earlier).encode())
        self._began = time.monotonic() - (earlier[-1]["seconds"] if earlier else 0.0)
        self._next = time.monotonic() + SHORTEST_PAUSE
        if self._tensorboard is not None:
            self._tensorboard.begin(step)

    def _take(self, event: Event) -> None:
        """Make an entry at every evaluation, and whenever some time has passed."""
        if self._tensorboard is not None:
            self._tensorboard.take(event)
        now = time.monotonic()
        if isinstance(event, Evaluation) or (isinstance(event, Tick) and now >= self._next):
            seconds = now - self._began
            diagnostics = {name: value for name, value in self._diagnostics().items() if isfinite(value)}
            entry = {"step": event.step, "seconds": round(seconds, 2), **diagnostics}
            with self._file.open("a") as file:
                file.write(json.dumps(entry) + "\n")
            if self._tensorboard is not None:
                self._tensorboard.scalars("agent", diagnostics, event.step)
            self._next = now + min(max(seconds / 200, SHORTEST_PAUSE), LONGEST_PAUSE)


def read_diary(folder: Path) -> list[Entry]:
    """Return the entries of a run's diary; what is no entry, such as a last line cut in half, is passed over."""
    try:
        lines = read_plain(folder / FILE).decode(errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise MemecError(f"{folder / FILE} cannot be read: {error.strerror}.") from None
    return [entry for line in lines if (entry := _entry(line)) is not None]


def _entry(line: str) -> Entry | None:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict):
        return None
    numbers = {
        str(name): float(value)
        for name, value in content.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST_NUMBER
    }
    return numbers if {"step", "seconds"} <= set(numbers) else None
