"""Showing a study as it goes: a live table on a terminal, plain lines in a log. All is read from the run folders."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, cast

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table

from memec.experiments.grid import GridRun
from memec.experiments.pace import Pace, all_together, in_words
from memec.onlookers import Onlookers

LOOK_SECONDS = 1.0
LINES_SECONDS = 30.0
TAIL_BYTES = 4096


@dataclass
class _Seen:
    """A run whose folder has been looked at."""

    size: int
    step: int = 0
    score: float | None = None
    moved_at: float | None = None
    """When the run was first seen to go on, and from which step: what its speed is measured from."""
    moved_from: int = 0


class Board:
    """What there is to say about a study at this moment."""

    def __init__(self, runs: list[GridRun], to_do: list[GridRun], out: Path, pace: Pace, workers: int) -> None:
        self._total = len(runs)
        self._open = {run.name: run for run in to_do}
        self._done = self._total - len(to_do)
        self._failed = 0
        self._out = out
        self._pace = pace
        self._workers = workers
        self._seen = {run.name: self._look_at(run, _Seen(size=-1)) for run in to_do}
        onlookers = Onlookers()
        self._console = Console(file=cast(TextIO, onlookers), soft_wrap=not onlookers.isatty())
        self._live: Live | None = None
        self._next_look = self._next_lines = time.monotonic() + LOOK_SECONDS

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the table while entered, where there is a terminal to show it on."""
        if not self._console.is_terminal:
            yield
            return
        with Live(console=self._console, auto_refresh=False, transient=True) as self._live:
            yield
        self._live = None

    def refresh(self) -> None:
        """Look at the folders and show what has changed, if it is time to."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_SECONDS
        for name, run in self._open.items():
            seen = self._seen[name]
            before, step = seen.size, seen.step
            self._look_at(run, seen)
            if seen.size != before and seen.moved_at is None:
                seen.moved_at, seen.moved_from = now, step
        if self._live is not None:
            self._live.update(Group(self._table(now), self.summary(now)), refresh=True)
        elif now >= self._next_lines:
            self._next_lines = now + LINES_SECONDS
            for name, steps, score, speed, left in self._rows(now):
                self.say(f"{name}  {steps} steps  score {score}  {speed} steps/s  {left} left")
            self.say(self.summary(now))

    def end(self, run: GridRun, status: str, reason: str | None) -> None:
        """Say how a run ended."""
        del self._open[run.name]
        score = self._look_at(run, self._seen[run.name]).score
        self._done += status == "finished"
        self._failed += status == "failed"
        last = "" if score is None else f", last evaluation {score:.5g}"
        why = f": {reason}" if reason else ""
        self.say(f"[{self._done}/{self._total}] {run.name} {status}{last if status == 'finished' else why}")

    def say(self, text: str) -> None:
        """Print a line."""
        self._console.print(text, highlight=False, markup=False)

    def summary(self, now: float | None = None) -> str:
        """Return one line about the whole study."""
        now = time.monotonic() if now is None else now
        left = [self._seconds_left(run, now) for run in self._open.values()]
        failed = f", {self._failed} failed" if self._failed else ""
        return (
            f"{self._done} of {self._total} runs done{failed}, {len(self._under_way())} under way, "
            f"about {in_words(all_together(left, self._workers))} left"
        )

    def _under_way(self) -> list[GridRun]:
        return [run for name, run in self._open.items() if self._seen[name].moved_at is not None]

    def _rows(self, now: float) -> Iterator[tuple[str, str, str, str, str]]:
        for run in self._under_way():
            seen = self._seen[run.name]
            score = "-" if seen.score is None else f"{seen.score:.5g}"
            steps = f"{seen.step:,}/{run.settings.training.steps:,}"
            yield run.name, steps, score, f"{self._speed(run, now):,.0f}", in_words(self._seconds_left(run, now))

    def _table(self, now: float) -> Table:
        table = Table(box=None, pad_edge=False)
        table.add_column("run", no_wrap=True)
        for title in ("steps", "score", "steps/s", "left"):
            table.add_column(title, justify="right", no_wrap=True)
        for row in self._rows(now):
            table.add_row(*row)
        return table

    def _speed(self, run: GridRun, now: float) -> float:
        seen = self._seen[run.name]
        if seen.moved_at is None or now - seen.moved_at < 2 * LOOK_SECONDS or seen.step <= seen.moved_from:
            return self._pace.steps_per_second(run)
        return (seen.step - seen.moved_from) / (now - seen.moved_at)

    def _seconds_left(self, run: GridRun, now: float) -> float:
        return max(0, run.settings.training.steps - self._seen[run.name].step) / self._speed(run, now)

    def _look_at(self, run: GridRun, seen: _Seen) -> _Seen:
        folder = run.folder(self._out)
        size = sum(_size(folder / name) for name in ("episodes.csv", "evaluations.csv"))
        if size != seen.size:
            seen.size = size
            evaluation, episode = (_last_row(folder / name) for name in ("evaluations.csv", "episodes.csv"))
            steps = [int(float(row[0])) for row in (evaluation, episode) if row]
            seen.step = max(steps, default=0)
            seen.score = float(evaluation[2]) if len(evaluation) > 2 else None
        return seen


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _last_row(file: Path) -> list[str]:
    """Return the last whole row of a CSV file that is being written; its header is none."""
    try:
        with file.open("rb") as content:
            content.seek(max(0, _size(file) - TAIL_BYTES))
            lines = content.read().decode(errors="replace").split("\n")
    except OSError:
        return []
    row = lines[-2].split(",") if len(lines) > 1 else []
    return row if row and row[0].replace(".", "").isdigit() else []
