"""The report page: one file that opens from disk and needs no network."""

import json
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from memec.errors import MemecError
from memec.report.judging import TEXT, Judged
from memec.report.paper import AGENT_TITLES, GAMES, title_of
from memec.report.runs import Curve, Found, Run, curves_of, find_runs
from memec.report.sorting import PresetOf, Sorted, judge, sort_runs
from memec.report.stats import final_scores, interquartile_mean, spread
from memec.report.tables import Table, atari_table, scores_table
from memec.settings import flat
from memec.train.files import whole_file
from memec.train.run_folder import saying_where

MARK = re.compile(r"<!-- (\w+) -->|/\* (\w+) \*/")


def write_page(
    folder: Path,
    file: Path,
    preset_of: PresetOf | None = None,
    found: Found | None = None,
    judgements: Sequence[Judged] | None = None,
) -> Path:
    """Write the report of all runs below a folder, finished or not, as one page; `found` are those, if read already.

    With `preset_of` the paper is judged by those that have its settings, unless that was done already.
    """
    found = found or find_runs(folder, unfinished=True)
    if not found.runs:
        reason = f" {found.passed_over[0]}" if found.passed_over else ""
        raise MemecError(f"{folder} holds no run with evaluations to report on.{reason}")
    content = page(found, folder, preset_of, judgements)
    with saying_where(file.parent):
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(file) as whole:
            whole.write(content.encode())
    return file


def page(
    found: Found, folder: Path, preset_of: PresetOf | None = None, judgements: Sequence[Judged] | None = None
) -> str:
    """Return the page; whatever the runs say stands in it as data, which its script shows as text."""
    static = files("memec.report").joinpath("static")
    parts = {
        "plotly": static.joinpath("plotly.js").read_text(encoding="utf-8"),
        "data": _embedded(page_data(*found, folder, preset_of, judgements)),
        "style": static.joinpath("style.css").read_text() + static.joinpath("report.css").read_text(),
        "theme": static.joinpath("theme.js").read_text(),
        "script": static.joinpath("report.js").read_text(),
    }
    template = static.joinpath("report.html").read_text()
    return MARK.sub(lambda mark: parts[mark[1] or mark[2]], template)


def page_data(
    runs: Sequence[Run],
    passed_over: Sequence[str],
    folder: Path,
    preset_of: PresetOf | None = None,
    judgements: Sequence[Judged] | None = None,
) -> dict[str, Any]:
    """Return everything the page shows."""
    finished = [run for run in runs if run.status == "finished"]
    curves = curves_of(finished)
    tables = [scores_table(curves)] if curves else []
    if preset_of is not None:
        tables += _verdicts(sort_runs(finished, preset_of), judgements)
    environments = sorted({run.subject[0] for run in runs}, key=lambda name: (name in GAMES, name))
    return {
        "title": folder.resolve().name or str(folder),
        "environments": [
            {
                "id": environment,
                "title": title_of(environment),
                "curves": [_curve(curve, finished) for curve in curves if curve.environment == environment],
                "unfinished": [
                    _line(run, folder) for run in runs if run.subject[0] == environment and run.status != "finished"
                ],
            }
            for environment in environments
        ],
        "tables": [
            {"name": table.name, "title": table.title, "columns": table.columns, "rows": table.rows} for table in tables
        ],
        "runs": [_about(run, folder) for run in runs],
        "passed_over": [text.replace(f"{folder}/", "") for text in passed_over],
    }


def _curve(curve: Curve, runs: Iterable[Run]) -> dict[str, Any]:
    """Return a curve: every seed, their mean, and the standard deviation between them."""
    deviation = curve.scores.std(axis=0, ddof=1) if len(curve.seeds) > 1 else np.zeros(len(curve.steps))
    final = final_scores(curve.scores)
    return {
        "agent": AGENT_TITLES.get(curve.agent, curve.agent),
        "label": curve.label,
        "strategy": curve.strategy,
        "seeds": curve.seeds,
        "steps": curve.steps.tolist(),
        "mean": curve.scores.mean(axis=0).tolist(),
        "deviation": deviation.tolist(),
        "scores": curve.scores.tolist(),
        "seconds": _seconds(curve, runs),
        "final": spread(final),
        "middle": interquartile_mean(final),
    }


def _seconds(curve: Curve, runs: Iterable[Run]) -> list[list[float]] | None:
    """Return when each seed made each evaluation, if all of them say so."""
    found: dict[int, list[float]] = {}
    for run in runs:
        if run.seed in curve.seeds and run.subject == (curve.environment, curve.agent, curve.strategy):
            at = np.isin(run.steps, curve.steps)
            same = at.sum() == len(curve.steps) and np.array_equal(
                run.scores[at], curve.scores[curve.seeds.index(run.seed)]
            )
            if same and run.seconds is not None:
                found[run.seed] = run.seconds[at].tolist()
    return [found[seed] for seed in curve.seeds] if set(found) == set(curve.seeds) else None


def _line(run: Run, folder: Path) -> dict[str, Any]:
    return {
        "name": _name(run, folder),
        "agent": AGENT_TITLES.get(run.subject[1], run.subject[1]),
        "strategy": run.subject[2],
        "steps": run.steps.tolist(),
        "scores": run.scores.tolist(),
        "seconds": None if run.seconds is None else run.seconds.tolist(),
    }


def _about(run: Run, folder: Path) -> dict[str, Any]:
    return {
        "name": _name(run, folder),
        "environment": title_of(run.subject[0]),
        "agent": AGENT_TITLES.get(run.subject[1], run.subject[1]),
        "strategy": run.subject[2],
        "seed": run.seed,
        "status": run.status,
        "preset": run.preset,
        "step": int(run.steps[-1]),
        "score": float(run.scores[-1]),
        "command": run.command,
        "settings": {name: str(value) for name, value in flat(run.settings)},
        "versions": run.versions,
    }


def _name(run: Run, folder: Path) -> str:
    """Return the place of a run below the folder: unlike its name, no two runs share it."""
    try:
        name = str(run.source.relative_to(folder))
    except ValueError:
        name = str(run.source)
    return run.source.resolve().name if name == "." else name


def _verdicts(found: Sorted, judgements: Sequence[Judged] | None) -> list[Table]:
    """Say of every claim of the paper what the runs with its settings tell, if there are any."""
    main = found.readings[TEXT]
    if not main:
        return []
    rows: list[tuple[str, ...]] = []
    for each in judge(found) if judgements is None else judgements:
        measured = "; ".join(result.said for result in each.results if result.finding is not None)
        rows.append((each.claim.said, each.claim.criterion, measured or each.results[0].said, str(each.outcome)))
    columns = ("the paper says", "supported if", "measured here", "outcome")
    tables = [Table("verdict", "Does the paper hold?", columns, rows)]
    if any(run.subject[0] in GAMES for run in main):
        tables.insert(0, atari_table(curves_of(main)))
    return tables


def _embedded(data: dict[str, Any]) -> str:
    """Return data as JSON that cannot end the element it stands in, whatever strings are in it."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
