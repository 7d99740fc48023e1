"""Rows that are only ever added, such as a replay of gigabytes: a checkpoint writes those that are new."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from memec.errors import MemecError
from memec.train.files import Arrays

SMALL_ROWS = 10_000
"""A segment of fewer rows is written again with those that follow, so that frequent checkpoints leave few files."""


@dataclass(frozen=True)
class Journal:
    """Rows in rings of columns, numbered in the order they came: row n is at n modulo the length of the rings."""

    columns: Arrays
    first: int
    """The oldest row that is still there."""
    settled: int
    """Rows below this never change again."""
    end: int
    """One more than the number of the newest row."""

    def rows(self, start: int, stop: int) -> Arrays:
        """Return copies of these rows of every column."""
        return {name: ring[np.arange(start, stop) % len(ring)] for name, ring in self.columns.items()}

    def restore(self, start: int, rows: Arrays) -> None:
        """Put rows back, the first of them with this number."""
        if set(rows) != set(self.columns) or len({len(column) for column in rows.values()}) != 1:
            raise MemecError("The saved replay does not fit: it has other columns.")
        for name, ring in self.columns.items():
            column = rows[name][-len(ring) :]
            if column.dtype != ring.dtype or column.shape[1:] != ring.shape[1:]:
                raise MemecError(f"The saved replay does not fit: {name} has the shape {column.shape}.")
            ring[(start + len(rows[name]) - len(column) + np.arange(len(column))) % len(ring)] = column


class Experience(Protocol):
    """What an agent learns from again and again, and what is too large to be written at every checkpoint."""

    def journals(self) -> dict[str, Journal]:
        """Return its rows, by name."""

    def position(self) -> Arrays:
        """Return the little that is not in the rows."""

    def resume(self, position: Arrays) -> None:
        """Go on from a position, with all rows put back already."""


class Nothing:
    """The experience of an agent that has none which would not fit into a snapshot."""

    def journals(self) -> dict[str, Journal]:
        """Return no rows."""
        return {}

    def position(self) -> Arrays:
        """Return nothing beside them."""
        return {}

    def resume(self, position: Arrays) -> None:
        """Go on."""


class Segment(NamedTuple):
    """A file with some rows of a journal."""

    journal: str
    start: int
    stop: int
    settled: int
    """Rows of this segment from here on are in the next one again, as they became."""

    @property
    def file(self) -> str:
        """What the file is called."""
        return f"rows-{self.journal}-{self.start:012d}-{self.stop:012d}.safetensors"

    @classmethod
    def read(cls, content: Any) -> Self:
        """Take over what a checkpoint says of a segment."""
        journal, start, stop, settled = content
        if not (isinstance(journal, str) and journal.isidentifier() and 0 <= start <= settled <= stop):
            raise ValueError(f"{content} is no segment")
        return cls(journal, int(start), int(stop), int(settled))


def segments_for(known: list[Segment], name: str, journal: Journal) -> tuple[list[Segment], list[Segment]]:
    """Return the segments that hold a journal: those of the ones written already that stay as they are, and a new one.

    There is no new one where nothing was added.
    """
    kept = [segment for segment in known if segment.journal == name and segment.stop > journal.first]
    start = kept[-1].settled if kept else journal.first
    if kept and kept[-1].stop - kept[-1].start < SMALL_ROWS:
        start = max(kept.pop().start, journal.first)
    new = Segment(name, start, journal.end, journal.settled)
    return kept, [new] if start < journal.end else []


def refuse_gaps(segments: list[Segment], name: str, journal: Journal) -> None:
    """Raise an error unless the segments hold every row the journal says it has."""
    reached = journal.first
    for segment in segments:
        if segment.journal == name and segment.start <= reached:
            reached = max(reached, segment.stop)
    if reached != journal.end:
        raise MemecError(f"The saved replay is not whole: rows {reached:,} to {journal.end:,} are missing.")
