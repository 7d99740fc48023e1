"""Reading a run's CSV files, which anybody may have written, and while somebody may be writing them."""

import csv
from math import isfinite
from pathlib import Path
from typing import Any

from memec.errors import MemecError
from memec.train.diary import LARGEST_NUMBER
from memec.train.files import read_plain

Row = dict[str, float]
LARGEST_STEP = 2**53
"""Beyond it, not every whole number has a floating-point number of its own."""


def read_rows(file: Path, *columns: str) -> list[Row]:
    """Return the whole rows of a CSV file of numbers with these columns, or say what is wrong with it.

    A row cut in half, or none of numbers, is passed over; where there is no file yet, there are no rows.
    """
    try:
        text = read_plain(file).decode(errors="replace")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise MemecError(f"{file} cannot be read: {error.strerror}.") from None
    lines = text[: text.rfind("\n") + 1].splitlines()  # what follows the last line break is still being written
    rows: list[Row] = []
    try:
        reader = csv.DictReader(lines)
        missing = [name for name in columns if lines and name not in (reader.fieldnames or ())]
        for cells in reader:
            numbers = _numbers(cells)
            if numbers is not None and not missing:
                rows.append(numbers)
    except csv.Error as error:
        raise MemecError(f"{file} cannot be read: {error}.") from None
    if missing:
        raise MemecError(f"{file} cannot be read: it has no column {missing[0]}.")
    for row in rows:
        for name, number in row.items():
            if abs(number) >= LARGEST_NUMBER:
                raise MemecError(f"{file} cannot be used: {name} {number:g} is too large to compute with.")
    return rows


def read_evaluations(folder: Path) -> list[Row]:
    """Return the rows of a run's evaluations.csv, which come in the order of their steps."""
    file = folder / "evaluations.csv"
    if not file.exists():
        raise MemecError(f"{folder} is no run folder: it has no evaluations.csv.")
    rows = read_rows(file, "step", "mean_score", "std_score")
    before = -1.0
    for row in rows:
        step = row["step"]
        if not (before < step < LARGEST_STEP and step.is_integer()):
            raise MemecError(f"{file} cannot be used: step {step:g} cannot follow step {before:g}.")
        before = step
    return rows


def _numbers(cells: dict[str | Any, str | Any]) -> Row | None:
    try:
        numbers = {str(name): float(value) for name, value in cells.items()}
    except (TypeError, ValueError):
        return None
    return numbers if all(map(isfinite, numbers.values())) else None
