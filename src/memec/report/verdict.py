"""The page that says of every claim of the paper whether it held here."""

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from memec.report.authors import Agreement
from memec.report.figures import DOCUMENT_FORMAT
from memec.report.judging import OUTCOMES, RELEASED, TEXT, Judged, Result
from memec.report.method import left_open, method, what_seeds_can_decide
from memec.report.paper import GAMES, short_name, title_of
from memec.report.runs import Curve, Run, curves_of
from memec.report.sorting import Sorted
from memec.report.tables import Table, atari_table, costs_table, overall_table, scores_table
from memec.train.run_folder import saying_where

COMMAND = "memec report results --out docs/reproduction --verdict docs/reproduction.md"
OVERALL = (
    "The scale is from the lowest to the highest score in the small environments, and on Atari from random play to a "
    "human's; the interval is stratified by environment."
)
SECTIONS = {
    "Classic control": ("CartPole", "Acrobot"),
    "Rooms": ("rooms",),
    "Uncertainty, stability and omega": ("uncertainty", "stability", "omega"),
    "Atari": ("",),
}


def write_verdict(
    page: Path, found: Sorted, judgements: Sequence[Judged], agreement: Agreement | None, figures: Path | None
) -> None:
    """Write the page; `figures` is where the report has drawn the runs."""
    with saying_where(page):
        page.parent.mkdir(parents=True, exist_ok=True)
        there = None if figures is None else Path(os.path.relpath(figures, page.parent))
        page.write_text(verdict_page(found, judgements, agreement, there))


def verdict_page(
    found: Sorted, judgements: Sequence[Judged], agreement: Agreement | None = None, figures: Path | None = None
) -> str:
    """Return the page as Markdown; the same runs give the same page."""
    count = Counter(claim.outcome for claim in judgements)
    curves, released = curves_of(found.readings[TEXT]), curves_of(found.readings[RELEASED])
    parts = [
        "# Does the paper hold?",
        f"Made from the recorded runs by `{COMMAND}`; not written by hand. How to make the runs: "
        "[reproducing.md](reproducing.md).",
        f"{len(judgements)} claims: " + ", ".join(f"**{count[outcome]}** {outcome}" for outcome in OUTCOMES) + ".",
    ]
    if agreement is not None:
        parts += ["## Beside the authors' own code", agreement.said(), agreement.table().markdown()]
    parts += ["## The claims", "What the outcomes mean: [below](#how-a-claim-is-judged)."]
    for title, families in SECTIONS.items():
        here = [each for each in judgements if each.claim.family.partition(",")[0] in families]
        parts += [f"### {title}", _claims_table(here).markdown()]
    parts += ["## How a claim is judged", method(), what_seeds_can_decide().markdown()]
    parts += ["## What the paper leaves open", left_open()]
    if curves:
        parts += ["## All curves", scores_table(curves).markdown()]
        overall = overall_table(curves)
        parts += ["## Over all environments", OVERALL, overall.markdown()] if overall.rows else []
    if released:
        parts += ["## All curves, as released", scores_table(released).markdown()]
    parts += ["## Atari beside the paper's table", atari_table(curves_of(found.shown())).markdown()]
    costs = costs_table([run for run in found.readings[TEXT] if run.subject[0] in GAMES])
    parts += ["What each run took:", costs.markdown()] if costs.rows else []
    if figures is not None:
        parts += [
            "## Learning curves",
            *_pictures(curves_of(found.shown()), figures, ""),
            *_pictures(released, figures, "-released"),
        ]
    made = [run for runs in found.readings.values() for run in runs] + found.search
    if made:
        parts += ["## How these runs were made", _made_by(made)]
    return "\n\n".join(parts) + "\n"


def _claims_table(judgements: Sequence[Judged]) -> Table:
    rows: list[tuple[str, ...]] = []
    for each in judgements:
        measured = [_measured(result) for result in each.results if result.finding is not None]
        if each.results[0].finding is None:
            measured = [each.results[0].said, *measured]
        rows.append((each.claim.said, each.claim.criterion, f"**{each.outcome}**", "<br>".join(measured)))
    return Table("claims", "Claims", ("the paper says", "supported if", "outcome", "measured here"), rows)


def _measured(result: Result) -> str:
    figures = "" if result.finding is None else result.finding.figures
    return f"*{result.reading}*: {result.outcome} ({result.said}): {figures}."


def _pictures(curves: Sequence[Curve], figures: Path, suffix: str) -> list[str]:
    environments = sorted({curve.environment for curve in curves}, key=lambda name: (name in GAMES, name))
    how = ", as released" if suffix else ""
    pictures = {name: (figures / f"{short_name(name)}{suffix}.{DOCUMENT_FORMAT}").as_posix() for name in environments}
    return [f"![Learning curves on {title_of(name)}{how}]({picture})" for name, picture in pictures.items()]


def _made_by(runs: Sequence[Run]) -> str:
    commands = Counter(run.command for run in runs if run.command)
    versions = Counter(", ".join(f"{name} {version}" for name, version in run.versions.items()) for run in runs)
    lines = [f"- {number} runs: `{command}`" for command, number in sorted(commands.items())]
    lines += [f"- {number} runs with {text}" for text, number in sorted(versions.items()) if text]
    return "\n".join(lines)
