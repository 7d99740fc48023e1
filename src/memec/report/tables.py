"""Tables of what was measured, as Markdown and as CSV."""

import csv
import io
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from memec.report.paper import AGENT_TITLES, ATARI_BUDGETS, ATARI_TABLE, DOMAINS, GAMES, SMALL, title_of
from memec.report.runs import Curve, Run, longest
from memec.report.significance import probability_of_improvement
from memec.report.stats import (
    area_under_curve,
    final_scores,
    interquartile_mean,
    spread,
    steps_to_reach,
)

NOTHING = "–"


class Table(NamedTuple):
    """Rows of text under named columns."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]

    def markdown(self) -> str:
        """Return the table as Markdown."""
        lines = [self.columns, ("---",) * len(self.columns), *self.rows]
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)

    def csv(self) -> str:
        """Return the table as CSV."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.columns, *self.rows])
        return text.getvalue()


def scores_table(curves: Sequence[Curve]) -> Table:
    """Return what every curve came to."""
    columns = (
        "environment",
        "agent",
        "strategy",
        "seeds",
        "steps",
        "final score (mean ± std)",
        "final score (IQM [95%])",
        "area under the curve (IQM [95%])",
        "solved by",
        "steps to solve (median)",
    )
    return Table("scores", "All curves", columns, [_scores_row(curve) for curve in curves])


def atari_table(curves: Sequence[Curve]) -> Table:
    """Return the paper's table of Atari scores with ours beside it, and the budget of each."""
    columns = ("game", "agent", "strategy", "paper (3 seeds)", "paper's steps", "ours", "our seeds", "our steps")
    ours = longest(curves)
    rows: list[tuple[str, ...]] = []
    for (game, beside), row in ATARI_TABLE.items():
        for agent, strategy, paper in (
            (beside, "epsilon-greedy", row.epsilon_greedy),
            (beside, "mellowmax", row.mellowmax),
            ("d3qn", "epsilon-greedy", row.d3qn),
        ):
            curve = ours.get((game, agent, strategy))
            if curve is not None and agent == "d3qn":
                curve = curve.until(ATARI_BUDGETS[beside])
            if curve is None or not len(curve.steps):
                measured = (NOTHING, NOTHING, NOTHING)
            else:
                measured = (str(spread(final_scores(curve.scores))), str(len(curve.seeds)), f"{curve.budget:,}")
            name = AGENT_TITLES[agent] + (f" beside {AGENT_TITLES[beside]}" if agent == "d3qn" else "")
            said = f"{paper[0]:g} ± {paper[1]:g}"
            rows.append((title_of(game), name, strategy, said, f"{ATARI_BUDGETS[beside]:,}", *measured))
    return Table("atari", "Atari beside the paper's table", columns, rows)


def comparisons_table(curves: Sequence[Curve]) -> Table:
    """Return how likely a seed of one strategy ends above a seed of another of the same agent."""
    columns = ("environment", "agent", "strategy", "ends above", "probability [95%]")
    rows: list[tuple[str, ...]] = []
    for one, other in combinations(curves, 2):
        if one.subject[:2] == other.subject[:2]:
            probability = probability_of_improvement(final_scores(one.scores), final_scores(other.scores))
            agent = AGENT_TITLES.get(one.agent, one.agent)
            rows.append((title_of(one.environment), agent, one.label, other.label, str(probability)))
    return Table("comparisons", "One strategy against another", columns, rows)


def overall_table(curves: Sequence[Curve]) -> Table:
    """Return every strategy's final scores over all small environments and over all games, on a scale from 0 to 1."""
    columns = ("environments", "agent", "strategy", "runs", "final score on a scale of 0 to 1 (IQM [95%])")
    rows: list[tuple[str, ...]] = []
    ours = longest(curves)
    for group, environments in (("small", SMALL), ("Atari", GAMES)):
        for agent, strategy in sorted({curve.subject[1:] for curve in curves}):
            present = [name for name in environments if (name, agent, strategy) in ours]
            if len(present) < 2:
                continue
            strata = []
            for name in present:
                domain = DOMAINS[name]
                final = final_scores(ours[name, agent, strategy].scores)
                strata.append((final - domain.lowest) / (domain.highest - domain.lowest))
            size = f"{len(present)} {group}" if len(present) == len(environments) else f"{len(present)} of the {group}"
            runs = str(sum(map(len, strata)))
            rows.append((size, AGENT_TITLES.get(agent, agent), strategy, runs, str(interquartile_mean(*strata))))
    return Table("overall", "Over all environments", columns, rows)


def costs_table(runs: Sequence[Run]) -> Table:
    """Return how fast each run went and how many core-hours it took, where that is recorded."""
    columns = ("environment", "agent", "strategy", "seed", "steps", "steps/s", "core-hours")
    rows: list[tuple[str, ...]] = [
        (
            title_of(run.subject[0]),
            AGENT_TITLES.get(run.subject[1], run.subject[1]),
            run.subject[2],
            str(run.seed),
            f"{run.steps[-1]:,}",
            f"{run.steps[-1] / run.took:,.0f}" if run.took else NOTHING,
            f"{run.processor_seconds / 3600:.2f}" if run.processor_seconds else NOTHING,
        )
        for run in sorted(runs, key=lambda run: (*run.subject, run.seed))
    ]
    return Table("costs", "What runs took", columns, rows)


def _scores_row(curve: Curve) -> tuple[str, ...]:
    final = final_scores(curve.scores)
    domain = DOMAINS.get(curve.environment)
    area = solved = steps = NOTHING
    if domain is not None:
        area = str(interquartile_mean(area_under_curve(curve.steps, curve.scores, domain.lowest, domain.highest)))
    if domain is not None and domain.solved is not None:
        solved = f"{int((final >= domain.solved).sum())} of {len(final)} seeds"
        reached = [steps_to_reach(curve.steps, scores, domain.solved) for scores in curve.scores]
        when = [step for step in reached if step is not None]
        if when:
            steps = f"{np.median(when):,.0f} ({len(when)} of {len(final)})"
    return (
        title_of(curve.environment),
        AGENT_TITLES.get(curve.agent, curve.agent),
        curve.label,
        str(len(final)),
        f"{curve.budget:,}",
        str(spread(final)),
        str(interquartile_mean(final)),
        area,
        solved,
        steps,
    )
