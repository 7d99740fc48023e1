"""What a study knows as done by the results that it exported; their form is that of `memec.train.results`."""

import csv
from pathlib import Path
from typing import Any

from memec.errors import MemecError
from memec.experiments.grid import GridRun, differences, digest
from memec.train import RunFolder
from memec.train.lock import alone_with
from memec.train.results import Key, add_run, read_record


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
        with alone_with(part):
            self._records.pop(run.part, None)  # another study may have written since
            if self.has(run):
                return
            content = self._record(run.part)
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
            add_run(part, _key(run), rows, content)

    def _record(self, part: str) -> dict[str, Any]:
        if part not in self._records:
            self._records[part] = read_record(self.path / part)
        return self._records[part]


def _curve(run: GridRun) -> str:
    return f"{run.preset}/{run.curve}"


def _key(run: GridRun) -> Key:
    return (run.settings.environment.id, run.agent, run.variant, run.preset, run.seed)


def _rows_of(folder: Path) -> list[tuple[int, float]]:
    with (folder / "evaluations.csv").open(newline="") as lines:
        return [(int(row["step"]), round(float(row["mean_score"]), 4)) for row in csv.DictReader(lines)]
