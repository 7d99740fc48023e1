"""Results: what is kept of finished runs when their folders are gone, small enough to be committed.

`results/<part>/evaluations.csv` has one row per evaluation, `runs.json` the settings of every curve and, per seed, the
command, the versions and the seconds. A run counts once it stands in `runs.json`, which is written last.
"""

import csv
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

from memec.errors import MemecError
from memec.experiments.grid import GridRun, differences, digest
from memec.train import RunFolder
from memec.train.files import read_json, whole_file, write_json

FORMAT = 1
COLUMNS = ("env", "agent", "strategy", "preset", "seed", "step", "mean_score")
Key = tuple[str, str, str, str, int]
Rows = dict[Key, list[tuple[int, float]]]


class Results:
    """A folder of results; several studies may share it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._records: dict[str, dict[str, Any]] = {}

    def has(self, run: GridRun) -> bool:
        """Tell whether a run is recorded here; with other settings than now asked for, it is an error."""
        curve = self._record(run.part)["curves"].get(_curve(run))
        if curve is None:
            return False
        there = run.settings.read(curve["settings"] | {"seed": run.seed})
        differing = differences(there, run.settings)
        if differing:
            raise MemecError(
                f"{self.path / run.part} holds {run.curve} with other settings: {'; '.join(differing[:3])}. "
                "Use another --results folder or the same settings."
            )
        return str(run.seed) in curve["runs"]

    def add(self, run: GridRun, folder: Path) -> None:
        """Record a finished run, whole or not at all."""
        part = self.path / run.part
        record = RunFolder.open(folder).record()
        rows = _rows_of(folder)
        part.mkdir(parents=True, exist_ok=True)
        with alone_in(part):
            self._records.pop(run.part, None)  # another study may have written since
            if self.has(run):
                return
            content = self._record(run.part)
            known = read_rows(part / "evaluations.csv")
            known[_key(run)] = rows
            write_rows(part / "evaluations.csv", known)
            shared = run.settings.model_dump(mode="json", exclude={"seed", "checkpoint"})
            curve = content["curves"].setdefault(_curve(run), {"settings": shared, "runs": {}})
            curve["runs"][str(run.seed)] = {
                "digest": digest(run.settings),
                "status": record["status"],
                "command": record.get("command", ""),
                "seconds": record.get("seconds"),
                "processor_seconds": record.get("processor_seconds"),
                "ended": record.get("ended"),
                "versions": record["versions"],
            }
            curve["runs"] = dict(sorted(curve["runs"].items(), key=lambda item: int(item[0])))
            content["curves"] = dict(sorted(content["curves"].items()))
            write_json(part / "runs.json", content)

    def _record(self, part: str) -> dict[str, Any]:
        if part not in self._records:
            file = self.path / part / "runs.json"
            content = read_json(file) if file.exists() else {"format": FORMAT, "curves": {}}
            if content.get("format") != FORMAT or not isinstance(content.get("curves"), dict):
                raise MemecError(f"{file} is not a record this version of memec can read.")
            self._records[part] = content
        return self._records[part]


def _curve(run: GridRun) -> str:
    return f"{run.preset}/{run.curve}"


def _key(run: GridRun) -> Key:
    return (run.settings.environment.id, run.agent, run.variant, run.preset, run.seed)


def _rows_of(folder: Path) -> list[tuple[int, float]]:
    with (folder / "evaluations.csv").open(newline="") as lines:
        return [(int(row["step"]), round(float(row["mean_score"]), 4)) for row in csv.DictReader(lines)]


def read_rows(file: Path) -> Rows:
    """Return what an evaluations.csv holds, by run; nothing where there is none yet."""
    rows: Rows = {}
    if file.exists():
        with file.open(newline="") as lines:
            for row in csv.DictReader(lines):
                key = (row["env"], row["agent"], row["strategy"], row["preset"], int(row["seed"]))
                rows.setdefault(key, []).append((int(row["step"]), float(row["mean_score"])))
    return rows


def write_rows(file: Path, rows: Rows) -> None:
    """Write an evaluations.csv, whole or not at all."""
    lines = StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(COLUMNS)
    for key in sorted(rows):
        writer.writerows((*key, step, f"{score:.10g}") for step, score in rows[key])
    with whole_file(file) as whole:
        whole.write(lines.getvalue().encode())


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Let nobody else write here meanwhile; the lock goes with the process, however that ends."""
    try:
        import fcntl
    except ImportError:  # no such lock on this system
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
