"""Showing a run as it goes: a bar on a terminal, plain lines in a log."""

import time
from collections import deque
from collections.abc import Generator, Iterable
from typing import Any, TextIO, cast

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from memec.onlookers import Onlookers
from memec.train.events import Episode, Evaluation, Event

LINE_SECONDS = 10.0
STARTING = "starting (the first run compiles for some seconds)"


def show_progress(events: Iterable[Event], steps: int, start: int = 0) -> Generator[Event]:
    """Pass the events on and show on the way: score, evaluation, steps per second, time left."""
    onlookers = Onlookers()
    console = Console(file=cast(TextIO, onlookers))
    return _bar(events, steps, start, console) if console.is_terminal else _lines(events, steps, start, onlookers)


class _Status:
    """What there is to say about a run at this moment."""

    def __init__(self, start: int) -> None:
        self.step = start
        self._start = start
        self._began = time.perf_counter()
        self._scores: deque[float] = deque(maxlen=20)
        self._evaluation: float | None = None

    def take(self, event: Event) -> None:
        self.step = event.step
        if isinstance(event, Episode):
            self._scores.append(event.score)
        elif isinstance(event, Evaluation):
            self._evaluation = event.mean_score

    @property
    def speed(self) -> float:
        return (self.step - self._start) / max(time.perf_counter() - self._began, 1e-9)

    def text(self) -> str:
        parts = []
        if self._scores:
            parts.append(f"score {sum(self._scores) / len(self._scores):.5g}")
        if self._evaluation is not None:
            parts.append(f"greedy {self._evaluation:.5g}")
        return "  ".join([*parts, f"{self.speed:,.0f} steps/s"])


def _bar(events: Iterable[Event], steps: int, start: int, console: Console) -> Generator[Event]:
    columns: list[Any] = [
        BarColumn(bar_width=None),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} steps"),
        TextColumn("{task.fields[status]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    ]
    status = _Status(start)
    with Progress(*columns, console=console, speed_estimate_period=60) as progress:
        task = progress.add_task("", total=steps, completed=start, status=STARTING)
        for event in events:
            status.take(event)
            progress.update(task, completed=event.step, status=status.text())
            yield event
        progress.update(task, completed=status.step, status=status.text())


def _lines(events: Iterable[Event], steps: int, start: int, onlookers: Onlookers) -> Generator[Event]:
    status = _Status(start)
    print(f"{start:,}/{steps:,} steps  {STARTING}", file=onlookers, flush=True)
    next_line = time.perf_counter() + LINE_SECONDS
    for event in events:
        status.take(event)
        if time.perf_counter() >= next_line:
            _line(status, steps, onlookers)
            next_line = time.perf_counter() + LINE_SECONDS
        yield event
    _line(status, steps, onlookers)


def _line(status: _Status, steps: int, onlookers: Onlookers) -> None:
    left = (steps - status.step) / max(status.speed, 1e-9)
    print(f"{status.step:,}/{steps:,} steps  {status.text()}  {left:,.0f} s left", file=onlookers, flush=True)
