"""Reading a run's CSV files while somebody may be writing them."""

import csv
from math import isfinite
from pathlib import Path

Row = dict[str, float]


def read_rows(file: Path) -> list[Row]:
    """Return the whole rows of a CSV file of numbers; a row cut in half, or none of numbers, is passed over."""
    try:
        text = file.read_text(errors="replace")
    except OSError:
        return []
    lines = text[: text.rfind("\n") + 1].splitlines()  # what follows the last line break is still being written
    rows = []
    for row in csv.DictReader(lines):
        try:
            numbers = {name: float(value) for name, value in row.items()}
        except (TypeError, ValueError):
            continue
        if all(map(isfinite, numbers.values())):
            rows.append(numbers)
    return rows
