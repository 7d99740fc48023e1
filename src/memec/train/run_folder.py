"""The run folder: what an experiment leaves behind, and what every other command reads."""

import csv
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from memec.errors import MemecError
from memec.train.events import Episode, Evaluation, Event
from memec.train.files import read_json, write_json

FORMAT = 1
Status = Literal["running", "finished", "interrupted", "failed"]
COLUMNS = {"episodes.csv": Episode._fields, "evaluations.csv": Evaluation._fields}
VERSIONS_OF = ("memec", "numpy", "numba", "gymnasium", "ale-py", "torch")


class RunFolder:
    """`run.json`, `episodes.csv`, `evaluations.csv` and `checkpoint/`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def agent_file(self) -> Path:
        """Where the trained agent lies."""
        return self.path / "checkpoint" / "agent.safetensors"

    @classmethod
    def create(cls, path: Path, settings: dict[str, Any], **about: Any) -> "RunFolder":
        """Begin a new run; a folder that holds one already is left alone."""
        if (path / "run.json").exists():
            raise MemecError(f"{path} holds a run already: choose another folder with --out.")
        try:
            (path / "checkpoint").mkdir(parents=True, exist_ok=True)
            for name, columns in COLUMNS.items():
                with (path / name).open("x", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerow(columns)
            folder = cls(path)
            write_json(
                path / "run.json",
                {
                    "format": FORMAT,
                    "status": "running",
                    "reason": None,
                    "started": datetime.now(UTC).isoformat(timespec="seconds"),
                    **about,
                    "settings": settings,
                    "versions": {"python": platform.python_version()} | {name: version(name) for name in VERSIONS_OF},
                },
            )
        except OSError as error:
            raise MemecError(f"The run folder {path} cannot be written: {error.strerror or error}.") from None
        return folder

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """Open a run that is there."""
        if not (path / "run.json").is_file():
            raise MemecError(f"{path} is no run folder: it has no run.json.")
        return cls(path)

    def record(self) -> dict[str, Any]:
        """Return what run.json says."""
        record = read_json(self.path / "run.json")
        if not isinstance(record.get("settings"), dict) or record.get("format") != FORMAT:
            raise MemecError(f"{self.path / 'run.json'} is not a record this version of memec can read.")
        return record

    def add(self, event: Event) -> None:
        """Append an episode or an evaluation to its file."""
        if isinstance(event, Episode):
            self._append("episodes.csv", event)
        elif isinstance(event, Evaluation):
            self._append("evaluations.csv", event._replace(seconds=round(event.seconds, 4)))

    def end(self, status: Status, reason: str | None = None) -> None:
        """Write down how the run ended."""
        record = self.record()
        ended = datetime.now(UTC).isoformat(timespec="seconds")
        write_json(self.path / "run.json", record | {"status": status, "reason": reason, "ended": ended})

    def _append(self, name: str, row: Episode | Evaluation) -> None:
        with (self.path / name).open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(row)
