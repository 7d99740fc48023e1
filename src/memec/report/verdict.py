"""The page that says of every claim of the paper whether it held here."""

import os
from collections import Counter
from pathlib import Path

from memec.report.claims import judged
from memec.report.evidence import TERMS, Evidence
from memec.report.figures import DOCUMENT_FORMAT
from memec.report.paper import GAMES, short_name, title_of
from memec.report.runs import Run, curves_of
from memec.report.tables import Table, atari_table, overall_table, scores_table
from memec.train.run_folder import saying_where

COMMAND = "memec report results --out docs/reproduction --verdict docs/reproduction.md"
PRESET = "paper"
OVERALL = (
    "The scale is from the lowest to the highest score in the small environments, and on Atari from random play to a "
    "human's; the interval is stratified by environment."
)


def write_verdict(page: Path, runs: list[Run], figures: Path | None) -> None:
    """Write the page; `figures` is where the report has drawn the runs."""
    with saying_where(page):
        page.parent.mkdir(parents=True, exist_ok=True)
        there = None if figures is None else Path(os.path.relpath(figures, page.parent))
        page.write_text(verdict_page(runs, there))


def verdict_page(runs: list[Run], figures: Path | None = None) -> str:
    """Return the page as Markdown; the same runs give the same page. Only runs with the paper's settings count."""
    counted = [run for run in runs if run.preset == PRESET and not run.searched]
    curves = curves_of(counted)
    claims = judged(Evidence(curves))
    count = Counter(claim.verdict for claim in claims)
    table = Table(
        "claims",
        "Claims",
        ("the paper says", "confirmed if", "measured here", "verdict"),
        [(claim.said, claim.criterion, claim.figures, f"**{claim.verdict}**") for claim in claims],
    )
    parts = [
        "# Does the paper hold?",
        f"Made from the recorded runs by `{COMMAND}`; not written by hand. How to make the runs: "
        "[reproducing.md](reproducing.md).",
        f"Of {len(claims)} claims, {count['confirmed']} are confirmed, {count['not confirmed']} are not confirmed and "
        f"{count['not yet run']} are not yet run.",
        "## How a claim is judged",
        "The criteria were fixed in code (`memec/report/claims.py`) before the study was run.\n\n" + TERMS.rstrip(),
        "## The claims",
        table.markdown(),
    ]
    if curves:
        parts += ["## All curves", scores_table(curves).markdown()]
        overall = overall_table(curves)
        parts += ["## Over all environments", OVERALL, overall.markdown()] if overall.rows else []
    parts += ["## Atari beside the paper's table", atari_table(curves).markdown()]
    environments = sorted({curve.environment for curve in curves}, key=lambda name: (name in GAMES, name))
    if figures is not None and environments:
        pictures = [
            f"![Learning curves on {title_of(name)}]({(figures / short_name(name)).as_posix()}.{DOCUMENT_FORMAT})"
            for name in environments
        ]
        parts += ["## Learning curves", *pictures]
    if counted:
        parts += ["## How these runs were made", _made_by(counted)]
    return "\n\n".join(parts) + "\n"


def _made_by(runs: list[Run]) -> str:
    commands = Counter(run.command for run in runs if run.command)
    versions = Counter(", ".join(f"{name} {version}" for name, version in run.versions.items()) for run in runs)
    lines = [f"- {number} runs: `{command}`" for command, number in sorted(commands.items())]
    lines += [f"- {number} runs with {text}" for text, number in sorted(versions.items()) if text]
    return "\n".join(lines)
