"""The run folder: what an experiment leaves behind, and what every other command reads."""

import csv
import json
import os
import platform
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from io import FileIO, StringIO
from pathlib import Path
from typing import Any, Literal

from memec.errors import MemecError, one_line
from memec.train.checkpoint import Checkpoints
from memec.train.events import Episode, Evaluation, Event
from memec.train.files import make_folder, read_json, read_plain, remove_torn, sync_folder, whole_file, write_json
from memec.train.lock import alone_with

FORMAT = 1
Status = Literal["running", "finished", "interrupted", "failed"]
COLUMNS = {"episodes.csv": Episode._fields, "evaluations.csv": Evaluation._fields}
FILES = (*COLUMNS, "diary.jsonl")
VERSIONS_OF = ("memec", "numpy", "numba", "gymnasium", "ale-py", "torch")


class RunFolder:
    """`run.json`, `episodes.csv`, `evaluations.csv` and `checkpoint/`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = Checkpoints(path / "checkpoint")
        self._written: dict[str, FileIO] = {}
        self._lock: int | None = None

    @classmethod
    def create(cls, path: Path, settings: dict[str, Any], **about: Any) -> "RunFolder":
        """Begin a new run; a folder that holds one already is left alone."""
        folder = cls(path)
        folder._refuse_if_used()
        with saying_where(path):
            make_folder(path)
        with folder.only_writer():
            folder._refuse_if_used()  # by a process that was quicker
            record = {
                "format": FORMAT,
                "id": uuid.uuid4().hex,
                "status": "running",
                "reason": None,
                "signal": None,
                "started": _now(),
                **about,
                "settings": settings,
                "versions": _versions(),
            }
            with saying_where(path):
                write_json(path / "run.json", record | {"digest": _digest_of(record)})
            folder.start_files()
        return folder

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """Open a run that is there."""
        if not (path / "run.json").is_file():
            raise MemecError(f"{path} is no run folder: it has no run.json.")
        folder = cls(path)
        folder._refuse_links()
        return folder

    def record(self) -> dict[str, Any]:
        """Return what run.json says."""
        record = read_json(self.path / "run.json")
        kind = record.get("format")
        if isinstance(kind, int) and not isinstance(kind, bool) and kind > FORMAT:
            raise MemecError(f"{self.path} was written by a newer memec (format {kind}); this one reads {FORMAT}.")
        if kind != FORMAT or not isinstance(record.get("settings"), dict) or not isinstance(record.get("id"), str):
            raise MemecError(f"{self.path / 'run.json'} is not a record this version of memec can read.")
        if record.get("digest", _digest_of(record)) != _digest_of(record):
            raise MemecError(f"{self.path / 'run.json'} has other settings than memec wrote: put it back to go on.")
        return record

    def update(self, **changes: Any) -> None:
        """Write changes into run.json."""
        self._refuse_if_moved()
        with saying_where(self.path):
            record = self.record() | changes
            write_json(self.path / "run.json", record | {"digest": _digest_of(record)})

    def end(self, status: Status, reason: str | None = None, signal: int | None = None, **cost: float) -> None:
        """Write down how the run ended, and what it took."""
        self.update(status=status, reason=reason, signal=signal, ended=_now(), **cost)
        self._close()

    def keep_traceback(self, text: str) -> None:
        """Leave what broke the run in `error.log`."""
        self._refuse_if_moved()
        (self.path / "error.log").write_text(text)

    def add(self, event: Event) -> None:
        """Append an episode or an evaluation to its file."""
        if isinstance(event, Episode):
            self._append("episodes.csv", event)
        elif isinstance(event, Evaluation):
            self._append("evaluations.csv", event._replace(seconds=round(event.seconds, 4)))

    def start_files(self) -> None:
        """Begin both CSV files anew, with nothing but the names of their columns."""
        with saying_where(self.path):
            for name, columns in COLUMNS.items():
                with whole_file(self.path / name) as file:
                    file.write(_line(columns))

    def positions(self) -> dict[str, list[Any]]:
        """Return how long each CSV file is and the digest of its content."""
        self._refuse_if_moved()
        positions: dict[str, list[Any]] = {}
        with saying_where(self.path):
            for name in COLUMNS:
                self._handle(name)  # opened here, for `sync` has a thread of its own
                content = (self.path / name).read_bytes()
                positions[name] = [len(content), _digest(content)]
        return positions

    def sync(self) -> None:
        """Return once the CSV files are safely on the disk, by the handles that wrote them, and so are their names."""
        for name in COLUMNS:
            os.fsync(self._handle(name).fileno())
        sync_folder(self.path)

    def tidy(self) -> None:
        """Finish what a process may have left undone that was killed: half-written files, a folder not yet synced."""
        with saying_where(self.path):
            make_folder(self.path)
            remove_torn(self.path)

    def rewind(self, positions: dict[str, list[Any]]) -> None:
        """Cut each CSV file back to where it was, if what is there is what was there."""
        for name in COLUMNS:
            length, digest = positions[name]
            if not isinstance(length, int) or length < 0:
                raise ValueError(f"{length!r} is no length")
            file = self.path / name
            try:
                content = read_plain(file)
            except FileNotFoundError:
                content = b""
            except OSError as error:
                raise MemecError(f"{file} cannot be read: {one_line(error)}.") from None
            if _digest(content[:length]) != digest:
                raise MemecError(f"{file} is not the file this run wrote: put it back to go on.")
        with saying_where(self.path):
            for name in COLUMNS:
                os.truncate(self.path / name, positions[name][0])

    @contextmanager
    def only_writer(self) -> Iterator[None]:
        """Hold the folder for this process alone; the lock goes with the process, however that ends."""
        refusal = f"Another process is working on {self.path}: let it finish or stop it."
        with ExitStack() as held:
            with saying_where(self.path):
                self._lock = held.enter_context(alone_with(self.path / ".lock", refusal=refusal))
            held.enter_context(self._closing())
            yield

    def _refuse_if_moved(self) -> None:
        """Where the folder was moved while it was held, another run may be at its place by now."""
        if self._lock is None:
            return
        try:
            moved = not os.path.samestat(os.fstat(self._lock), (self.path / ".lock").stat())
        except FileNotFoundError:
            moved = True
        if moved:
            raise MemecError(f"{self.path} was moved or removed while it was written: go on from where it is now.")

    def _refuse_if_used(self) -> None:
        if any((self.path / name).exists() for name in ("run.json", *COLUMNS)):
            raise MemecError(
                f"{self.path} holds a run already: go on with it by --resume {self.path}, "
                "or choose another folder with --out."
            )
        self._refuse_links()

    def _refuse_links(self) -> None:
        """A folder from somebody else must not make this process write outside of it, or wait for a pipe's end."""
        for name in ("run.json", ".lock", "checkpoint", *FILES):
            path = self.path / name
            if path.is_symlink():
                raise MemecError(f"{path} is a link to another place: put what it points to in its place.")
            if path.exists() and not (path.is_dir() if name == "checkpoint" else path.is_file()):
                raise MemecError(f"{path} is no {'folder' if name == 'checkpoint' else 'plain file'}.")

    def _append(self, name: str, row: Episode | Evaluation) -> None:
        with saying_where(self.path):
            handle, line = self._handle(name), _line(row)
            while line:
                line = line[handle.write(line) :]

    def _handle(self, name: str) -> FileIO:
        """Return the handle by which a CSV file is written for as long as the folder is held."""
        if name not in self._written:
            self._written[name] = (self.path / name).open("ab", buffering=0)
        return self._written[name]

    @contextmanager
    def _closing(self) -> Iterator[None]:
        try:
            yield
        finally:
            self._close()
            self._lock = None

    def _close(self) -> None:
        for handle in self._written.values():
            handle.close()
        self._written.clear()


@contextmanager
def saying_where(path: Path) -> Iterator[None]:
    """Turn what the system says about a disk into a sentence about the run."""
    try:
        yield
    except OSError as error:
        raise MemecError(f"The run folder {path} cannot be written: {error.strerror or error}.") from None


def _versions() -> dict[str, str]:
    """Return the versions of what is installed of it: not every run needs a network or an emulator."""
    versions = {"python": platform.python_version()}
    for name in VERSIONS_OF:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def _line(row: Iterable[Any]) -> bytes:
    """Return a row of a CSV file."""
    line = StringIO()
    csv.writer(line, lineterminator="\n").writerow(row)
    return line.getvalue().encode()


def _digest_of(record: dict[str, Any]) -> str:
    """Return the digest of what in run.json decides how the run goes on."""
    return _digest(json.dumps([record["format"], record["id"], record["settings"]], sort_keys=True).encode())


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
