"""Whether a recorded run is what its settings give: it is trained again and compared, number by number."""

import csv
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from memec.errors import MemecError
from memec.experiments.plugged import parts_again
from memec.experiments.run import run, settings_of
from memec.train import RunFolder
from memec.train.files import read_plain
from memec.train.run_folder import VERSIONS_OF

COMPARED = ("episodes.csv", "evaluations.csv")
BY_THE_CLOCK = "seconds"
"""The column that no two runs share."""


class Verified(NamedTuple):
    """What came of it."""

    steps: int
    rows: int
    """How many episodes and evaluations were compared."""
    difference: str | None
    """The first that is not as recorded."""
    other_versions: list[str]


def verify_run(
    path: Path,
    steps: int | None = None,
    *,
    env: str | None = None,
    explore: str | None = None,
    embed: str | None = None,
    progress: bool = True,
) -> Verified:
    """Train a recorded run again, or its first steps, and compare every episode and every evaluation."""
    folder = RunFolder.open(path)
    record = folder.record()
    settings = settings_of(folder, env)
    recorded = {name: _rows(path / name) for name in COMPARED}
    last = max((int(row["step"]) for rows in recorded.values() for row in rows), default=0)
    reach = settings.training.steps if record.get("status") == "finished" else last
    steps = reach if steps is None else min(steps, reach)
    if steps < 1 or not any(int(row["step"]) <= steps for rows in recorded.values() for row in rows):
        raise MemecError(f"{path} has no episode or evaluation within its first {steps:,} steps to be compared with.")
    parts = parts_again(folder, settings, {"explore": explore, "embed": embed}, needed=("explore", "embed"))
    again = settings.changed({"training": {"steps": steps}, "checkpoint": {"every_steps": 0, "every_seconds": 0}})
    compared, difference = 0, None
    with TemporaryDirectory(prefix="memec-verify-") as place:
        outcome = run(again, Path(place) / "run", preset="verify", progress=progress, parts=parts)
        if outcome.status != "finished":
            raise MemecError(f"{path} was not verified: training it again was {outcome.status}.")
        for name, rows in recorded.items():
            known = [row for row in rows if int(row["step"]) <= steps]
            grid = {row["step"] for row in known}
            trained = [row for row in _rows(outcome.folder / name) if name == "episodes.csv" or row["step"] in grid]
            compared += len(known)
            if difference is None:
                difference = _first_difference(name, known, trained)
    there = record.get("versions") or {}
    here = {name: version(name) for name in VERSIONS_OF if name in there}
    others = [f"{name} {there[name]} there, {here[name]} here" for name in here if there[name] != here[name]]
    return Verified(steps, compared, difference, others)


def _first_difference(name: str, known: list[dict[str, str]], trained: list[dict[str, str]]) -> str | None:
    for before, now in zip(known, trained, strict=False):
        for column, value in before.items():
            if column != BY_THE_CLOCK and now.get(column) != value:
                return f"{name} at step {before['step']}: {column} is {value} there and {now.get(column)} here"
    if len(known) != len(trained):
        return f"{name} has {len(known)} rows there and {len(trained)} here"
    return None


def _rows(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(read_plain(file).decode().splitlines()))
