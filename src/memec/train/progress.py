"""Showing a run as it goes: a bar on a terminal, plain lines in a log."""

import time
from collections import deque
from collections.abc import Generator, Iterable
from datetime import timedelta
from heapq import heappush, heappushpop
from typing import Any, TextIO, cast

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from memec.onlookers import Onlookers
from memec.train.events import Episode, Evaluation, Event

LINE_SECONDS = 10.0
STARTING = "starting (the first run compiles for some seconds)"
COMPILING = 10
"""So many of the longest waits between two events say nothing of the speed: in them something was compiled."""


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
        self._began = self._newest = time.perf_counter()
        self._longest: list[tuple[float, int]] = []
        self._seconds, self._steps = 0.0, 0  # all but the longest waits
        self._scores: deque[float] = deque(maxlen=20)
        self._evaluation: float | None = None

    def take(self, event: Event) -> None:
        now = time.perf_counter()
        wait = now - self._newest, event.step - self.step
        self._newest, self.step = now, event.step
        if len(self._longest) < COMPILING:
            heappush(self._longest, wait)
        else:
            seconds, steps = heappushpop(self._longest, wait)
            self._seconds, self._steps = self._seconds + seconds, self._steps + steps
        if isinstance(event, Episode):
            self._scores.append(event.score)
        elif isinstance(event, Evaluation):
            self._evaluation = event.mean_score

    @property
    def speed(self) -> float:
        """Steps per second, without the compiling as soon as that can be told."""
        if self._steps:
            return self._steps / max(self._seconds, 1e-9)
        return (self.step - self._start) / max(time.perf_counter() - self._began, 1e-9)

    def seconds_left(self, steps: int) -> float | None:
        """Return how long the rest takes; None while nothing but compiling was seen."""
        return (steps - self.step) / self.speed if self._steps else None

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
        TextColumn("{task.fields[left]}"),
    ]
    status = _Status(start)
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=steps, completed=start, status=STARTING, left="")
        for event in events:
            status.take(event)
            left = status.seconds_left(steps)
            shown = "" if left is None else f"{timedelta(seconds=round(left))} left"
            progress.update(task, completed=event.step, status=status.text(), left=shown)
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
    left = status.seconds_left(steps)
    rest = "" if left is None else f"  {left:,.0f} s left"
    print(f"{status.step:,}/{steps:,} steps  {status.text()}{rest}", file=onlookers, flush=True)
