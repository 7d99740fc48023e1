"""`python -m benchmarks [PART ...]`: measure all parts or the named ones, print the table, write latest.json."""

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Row, progress
from memec.experiments.pace import in_words

PARTS = ("start", "steps", "environments", "protocol", "turnover", "checkpoints", "neural", "search", "beyond")


def main() -> None:
    wanted = sys.argv[1:] or list(PARTS)
    rows: list[Row] = []
    for part in wanted:
        progress(f"--- {part}")
        start = time.monotonic()
        rows += importlib.import_module(f"benchmarks.{part}").rows()
        progress(f"--- {part} took {in_words(time.monotonic() - start)}")
    table = Table("what", "measured", "target", "met", "note")
    for row in rows:
        table.add_row(row.name, f"{row.value:.4g}", row.target, "yes" if row.met else "NO", row.note)
    Console(width=170).print(table)
    file = Path(__file__).with_name("latest.json")
    kept = json.loads(file.read_text()) if file.exists() and sys.argv[1:] else []
    measured = {row.name for row in rows}
    kept = [row for row in kept if row["name"] not in measured]
    every = kept + [row._asdict() for row in rows]
    file.write_text(json.dumps(every, indent=2) + "\n")
    Path(__file__).parents[1].joinpath("docs", "benchmarks.md").write_text(page(every))


def page(rows: list[dict[str, Any]]) -> str:
    """The table for people, in docs/."""
    how = "Written by `make bench`: ratios measured within one run, on one core; the medians of repeated runs."
    lines = ["# Benchmarks", "", how, "", "| what | measured | target | met | |", "|---|---|---|---|---|"]
    for row in rows:
        met = "yes" if row["met"] else "**no**"
        lines.append(f"| {row['name']} | {row['value']:.4g} | {row['target']} | {met} | {row['note']} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
