"""Results: what is kept of finished runs when their folders are gone, small enough to be committed.

`runs.json` has the settings of every curve and, per seed, the command, the versions and the seconds;
`evaluations.csv.gz`, or a plain `evaluations.csv`, one row per evaluation. A run counts once it stands in `runs.json`,
which is written last.
"""

import csv
import gzip
import zlib
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from memec.errors import MemecError
from memec.train.files import LARGEST_TEXT, read_json, read_plain, whole_file, write_json

FORMAT = 1
COLUMNS = ("env", "agent", "strategy", "preset", "seed", "step", "mean_score")
TABLE, PLAIN_TABLE, RECORD = "evaluations.csv.gz", "evaluations.csv", "runs.json"
Key = tuple[str, str, str, str, int]
"""Environment, agent, strategy, preset and seed."""
Rows = dict[Key, list[tuple[int, float]]]


def read_record(folder: Path) -> dict[str, Any]:
    """Return what runs.json holds; of a folder without one, what it holds before the first run."""
    file = folder / RECORD
    content = read_json(file) if file.exists() else {"format": FORMAT, "curves": {}}
    if content.get("format") != FORMAT or not isinstance(content.get("curves"), dict):
        raise MemecError(f"{file} is not a record this version of memec can read.")
    return content


def read_rows(folder: Path) -> Rows:
    """Return all evaluations by run, of both kinds of table; raises FileNotFoundError where there is neither."""
    rows: Rows = {}
    texts = [read(folder / name) for name, read in READERS.items() if (folder / name).exists()]
    if not texts:
        raise FileNotFoundError(f"{folder} has no {TABLE}")
    for text in texts:
        found: Rows = {}
        for row in csv.DictReader(text.decode().splitlines()):
            key = (row["env"], row["agent"], row["strategy"], row["preset"], int(row["seed"]))
            found.setdefault(key, []).append((int(row["step"]), float(row["mean_score"])))
        rows |= found
    return rows


def add_run(folder: Path, key: Key, evaluations: list[tuple[int, float]], record: dict[str, Any]) -> None:
    """Add a run's evaluations to the table, and then replace runs.json by a record that knows of the run."""
    try:
        rows = read_rows(folder)
    except FileNotFoundError:
        rows = {}
    write_rows(folder, rows | {key: evaluations})
    write_json(folder / RECORD, record)


def write_rows(folder: Path, rows: Rows) -> None:
    """Write the table, whole or not at all; the same rows give the same bytes."""
    lines = StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(COLUMNS)
    for key in sorted(rows):
        writer.writerows((*key, step, f"{score:.10g}") for step, score in rows[key])
    with whole_file(folder / TABLE) as whole:
        whole.write(gzip.compress(lines.getvalue().encode(), mtime=0))
    (folder / PLAIN_TABLE).unlink(missing_ok=True)


def _decompressed(file: Path) -> bytes:
    try:
        text = gzip.GzipFile(fileobj=BytesIO(read_plain(file))).read(LARGEST_TEXT + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise MemecError(f"{file} cannot be read: it is no whole compressed file.") from None
    if len(text) > LARGEST_TEXT:
        raise MemecError(f"{file} is larger than any that memec writes.")
    return text


READERS = {PLAIN_TABLE: read_plain, TABLE: _decompressed}
"""Of a run in both tables, the last one counts: the plain one is what the other was made of, or was put beside it."""
