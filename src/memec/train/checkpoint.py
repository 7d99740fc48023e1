"""Checkpoints: everything a run needs to go on exactly as if it had never stopped."""

import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import NonNegativeFloat, NonNegativeInt

from memec.errors import MemecError
from memec.settings import Settings
from memec.train.files import Arrays, read_arrays, read_outline, remove_torn, sync_folder, write_arrays
from memec.train.journal import Journal, Segment, segments_for

KEPT = 2
SUFFIX = ".safetensors"
NAME = re.compile(rf"step-\d{{12,18}}{re.escape(SUFFIX)}", re.ASCII)


class CheckpointSettings(Settings):
    """How often a run is saved; it is also saved at its end, on Ctrl-C and on SIGTERM."""

    every_seconds: NonNegativeFloat = 300.0
    """Seconds between two checkpoints; 0 for none by time."""
    every_steps: NonNegativeInt = 0
    """Steps between two checkpoints; 0 for none by steps."""


class Checkpoint(NamedTuple):
    """What a file of a checkpoint holds, without the rows of journals it needs."""

    arrays: Arrays
    about: dict[str, Any]
    file: Path


class Outline(NamedTuple):
    """What a checkpoint says about itself."""

    about: dict[str, Any]
    shapes: dict[str, tuple[int, ...]]
    """Of its arrays."""
    file: Path


class NewRows(NamedTuple):
    """Rows of journals, copied to be written."""

    segments: list[Segment]
    """All that the checkpoint needs, in order."""
    rows: dict[Segment, Arrays]
    """Those that are not on the disk yet."""


class Checkpoints:
    """The checkpoints in a folder, newest last; the last two are kept, so that a damaged one costs little.

    Beside them lie segments: rows of journals, each file needed by one or more checkpoints, which list their digests.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._digests: dict[Segment, str] = {}  # of the segments on the disk

    def files(self) -> list[Path]:
        """Return the checkpoints there are, oldest first."""
        return sorted(file for file in self._folder.glob(f"step-*{SUFFIX}") if NAME.fullmatch(file.name))

    def newest_step(self) -> int | None:
        """Return at which step the newest checkpoint was taken, by its name."""
        files = self.files()
        return int(files[-1].name[len("step-") : -len(SUFFIX)]) if files else None

    def new_rows(self, journals: Mapping[str, Journal]) -> NewRows:
        """Copy the rows that no segment holds yet."""
        known = sorted(self._digests)
        needed: list[Segment] = []
        rows: dict[Segment, Arrays] = {}
        for name, journal in journals.items():
            kept, new = segments_for(known, name, journal)
            needed += kept + new
            rows |= {segment: journal.rows(segment.start, segment.stop) for segment in new}
        return NewRows(needed, rows)

    def write(self, step: int, arrays: Arrays, about: dict[str, Any], new: NewRows | None = None) -> None:
        """Write a checkpoint whole, then remove what it replaces."""
        self._folder.mkdir(exist_ok=True)  # not those above it: whoever moved the run meanwhile took them with it
        sync_folder(self._folder.parent)
        segments, rows = new or NewRows([], {})
        for segment, content in rows.items():
            self._digests[segment] = write_arrays(self._folder / segment.file, content, {"run": about.get("run")})
        self._digests = {segment: self._digests[segment] for segment in segments}
        listed = [[*segment, digest] for segment, digest in self._digests.items()]
        write_arrays(self._folder / f"step-{step:012d}{SUFFIX}", arrays, about | {"segments": listed})
        self._tidy()

    def newest(self, run: str, *, rows: bool = True) -> Checkpoint:
        """Read the newest checkpoint of a run that is whole; say so where that is not the newest there is.

        Without `rows` it may lack what only further training needs.
        """
        files = self.files()
        if not files:
            raise MemecError(f"There is no checkpoint in {self._folder}.")
        damage: list[str] = []
        for file in reversed(files):
            try:
                arrays, about = read_arrays(file)
                _refuse_other_runs(about, run, file)
                checkpoint = Checkpoint(arrays, about, file)
                if rows:
                    for _ in self.rows_of(checkpoint):
                        pass
            except MemecError as error:
                damage.append(str(error))
                continue
            for text in damage:
                warnings.warn(f"{text} Going on from the checkpoint before, {file.name}.", stacklevel=2)
            return checkpoint
        raise MemecError(f"No checkpoint in {self._folder} can be used: {damage[0]}")

    def outline(self, run: str) -> Outline:
        """Return what the newest whole checkpoint of a run says about itself, so that claims can be looked at first.

        A damaged one claims nothing: its checksum comes before anything that its header says.
        """
        damage: list[MemecError] = []
        for file in reversed(self.files()):
            try:
                outline = Outline(*read_outline(file, verified=True), file)
                _refuse_other_runs(outline.about, run, file)
            except MemecError as error:
                damage.append(error)
            else:
                return outline
        raise MemecError(f"No checkpoint in {self._folder} can be used: {damage[0]}")

    def rows_of(self, checkpoint: Checkpoint, journal: str | None = None) -> Iterator[tuple[Segment, Arrays]]:
        """Read the rows that a checkpoint needs, of all journals or of one, one segment after another."""
        for segment, digest in _listed(checkpoint).items():
            if journal not in (None, segment.journal):
                continue
            file = self._folder / segment.file
            rows, _ = read_arrays(file, digest)
            if any(len(column) != segment.stop - segment.start for column in rows.values()):
                raise MemecError(f"{file} does not hold the rows it is named after.")
            yield segment, rows

    def go_on_from(self, checkpoint: Checkpoint) -> None:
        """Take note of the segments that need not be written again, and set aside newer files that cannot be used."""
        self._digests = _listed(checkpoint)
        for file in self.files():
            if file.name > checkpoint.file.name:
                file.replace(file.with_name(f"unusable-{file.name}"))

    def _tidy(self) -> None:
        """Remove checkpoints beyond the last two, the segments that neither needs, and what was torn."""
        for old in self.files()[:-KEPT]:
            old.unlink(missing_ok=True)
        remove_torn(self._folder)
        try:
            needed = {segment.file for file in self.files() for segment in self._needed_by(file)}
        except MemecError:  # damaged, or the disk fails just now: what it needs is not known
            return
        for rows in self._folder.glob(f"rows-*{SUFFIX}"):
            if rows.name not in needed:
                rows.unlink(missing_ok=True)

    def _needed_by(self, file: Path) -> list[Segment]:
        return list(_listed(Checkpoint({}, read_outline(file)[0], file)))


def _refuse_other_runs(about: dict[str, Any], run: str, file: Path) -> None:
    if about.get("run") != run:
        raise MemecError(f"{file} belongs to another run.")


def _listed(checkpoint: Checkpoint) -> dict[Segment, str]:
    """Return the segments that a checkpoint names, with their digests."""
    try:
        return {Segment.read(content): str(digest) for *content, digest in checkpoint.about["segments"]}
    except (KeyError, ValueError, TypeError) as error:
        raise MemecError(f"{checkpoint.file} cannot be read: {type(error).__name__} {error}.") from None
