"""How a run stands at this moment, read from its folder alone: nothing is locked, and nothing is written."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from memec.errors import saying_what_is_wrong
from memec.report.rows import Row, read_rows
from memec.settings import flat
from memec.train import RunFolder
from memec.train.diary import Entry, read_diary

MOST_POINTS = 1_000
RECENT_EPISODES = 20
SPEED_WINDOW_SECONDS = 30.0
SHORTEST_SECONDS = 1e-3
"""What is shorter tells no speed."""
QUIET_SECONDS = 180.0
"""A run that says it is running and wrote nothing for so long (an evaluation of long games aside) may be dead."""


def live(path: Path) -> dict[str, Any]:
    """Return everything that the page shows about a run, or say what is wrong with its files."""
    with saying_what_is_wrong(path):
        return _live(path)


def _live(path: Path) -> dict[str, Any]:
    folder = RunFolder.open(path)
    record = folder.record()
    settings = record["settings"]
    evaluations = read_rows(path / "evaluations.csv", "step", "mean_score")
    episodes = read_rows(path / "episodes.csv", "step", "score")
    diary = read_diary(path)
    latest = {name: value for entry in diary for name, value in entry.items()}
    status = str(record.get("status"))
    recent = [row["score"] for row in episodes[-RECENT_EPISODES:] if "score" in row]
    return {
        "name": path.resolve().name,
        "environment": _text(settings, "environment", "id"),
        "agent": _text(settings, "agent", "name"),
        "strategy": _text(settings, "agent", "explore", "name"),
        "status": status,
        "reason": str(record.get("reason") or ""),
        "quiet": status == "running" and _seconds_since_last_sign(path) > QUIET_SECONDS,
        "started": str(record.get("started", "")),
        "command": str(record.get("command", "")),
        "settings": {name: str(value) for name, value in flat(settings)},
        "step": int(max([row.get("step", 0) for row in (episodes + evaluations)[-1:]] + [latest.get("step", 0)])),
        "steps": _number(settings, "training", "steps"),
        "seconds": latest.get("seconds"),
        "speed": _speed(diary, finished=status != "running"),
        "score": float(np.mean(recent)) if recent else None,
        "evaluation": evaluations[-1] if evaluations and {"step", "mean_score"} <= set(evaluations[-1]) else None,
        "diagnostics": {name: value for name, value in latest.items() if name not in ("step", "seconds")},
        "evaluations": _columns(evaluations, "step", "mean_score", "std_score", "min_score", "max_score"),
        "episodes": _thinned(episodes),
        "checkpoint": folder.checkpoints.newest_step(),
    }


def _text(settings: dict[str, Any], *names: str) -> str:
    value: Any = settings
    for name in names:
        value = value.get(name, "") if isinstance(value, dict) else ""
    return str(value)


def _number(settings: dict[str, Any], *names: str) -> int:
    text = _text(settings, *names)
    return int(text) if text.isdecimal() and len(text) < 18 else 0


def _columns(rows: list[Row], *names: str) -> dict[str, list[float]]:
    whole = [row for row in rows if all(name in row for name in names)]
    return {name: [row[name] for row in whole] for name in names}


def _thinned(episodes: list[Row]) -> dict[str, list[float]]:
    """Return the scores of all episodes, or, where they are many, the means of so many neighbours each."""
    columns = _columns(episodes, "step", "score")
    size = -(-len(columns["step"]) // MOST_POINTS)
    if size <= 1:
        return columns
    return {
        name: [float(np.mean(column[at : at + size])) for at in range(0, len(column), size)]
        for name, column in columns.items()
    }


def _speed(diary: list[Entry], *, finished: bool) -> float | None:
    """Return steps a second: lately while a run goes on, over all of it afterwards."""
    if not diary:
        return None
    last = diary[-1]
    first = {"step": 0.0, "seconds": 0.0}
    if not finished:
        for entry in diary:
            if entry["seconds"] > last["seconds"] - SPEED_WINDOW_SECONDS:
                break
            first = entry
    seconds = last["seconds"] - first["seconds"]
    return (last["step"] - first["step"]) / seconds if seconds > SHORTEST_SECONDS else None


def _seconds_since_last_sign(path: Path) -> float:
    files = [path / name for name in ("run.json", "episodes.csv", "evaluations.csv", "diary.jsonl")]
    return time.time() - max(file.stat().st_mtime for file in files if file.exists())
