"""The authors' own code beside ours: `authors_code_curves.csv` holds runs of it in the small environments."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from memec.errors import MemecError
from memec.report.paper import AGENT_TITLES, DOMAINS, title_of
from memec.report.runs import Curve, Values, longest
from memec.report.significance import LEVEL, rank_test
from memec.report.stats import final_scores
from memec.report.tables import Table

FILE = "authors_code_curves.csv"
NAMES = {"egreedy": "epsilon-greedy"}
DRAWS = 10_000
Steps = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True)
class TheirRun:
    """A run of the authors' code."""

    environment: str
    agent: str
    strategy: str
    seed: int
    steps: Steps
    scores: Values

    @property
    def subject(self) -> tuple[str, str, str]:
        """Environment, agent and strategy."""
        return self.environment, self.agent, self.strategy


def read_authors(folder: Path) -> list[TheirRun]:
    """Return the runs of the authors' code that a folder of results holds; none if it has no such file."""
    file = folder / FILE
    if not file.is_file():
        return []
    environments = {domain.name: name for name, domain in DOMAINS.items()}
    rows: dict[tuple[str, str, str, int], list[tuple[int, float]]] = {}
    try:
        with file.open(newline="") as lines:
            for row in csv.DictReader(lines):
                strategy = NAMES.get(row["strategy"], row["strategy"])
                key = (environments[row["env"]], row["agent"].lower(), strategy, int(row["seed"]))
                rows.setdefault(key, []).append((int(row["step"]), float(row["mean_score"])))
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise MemecError(f"{file} cannot be read: {type(error).__name__} {error}.") from None
    return [
        TheirRun(*key, np.array([step for step, _ in sorted(row)]), np.array([score for _, score in sorted(row)]))
        for key, row in sorted(rows.items())
    ]


class Cell(NamedTuple):
    """One strategy in one environment, by both codes at the same steps."""

    subject: tuple[str, str, str]
    steps: int
    theirs: Values
    ours: Values

    @property
    def p(self) -> float:
        """The two-sided p-value that the final scores come from two distributions."""
        return min(1.0, 2 * min(rank_test(self.theirs, self.ours), rank_test(self.ours, self.theirs)))

    @property
    def apart(self) -> float:
        """How much higher ours end, as a share of the range of scores."""
        domain = DOMAINS[self.subject[0]]
        return float(self.ours.mean() - self.theirs.mean()) / (domain.highest - domain.lowest)


class Agreement(NamedTuple):
    """All that both codes ran."""

    cells: list[Cell]

    def said(self) -> str:
        """Return what the cells come to."""
        told_apart = sum(cell.p <= LEVEL + 1e-9 for cell in self.cells)
        share = float(np.mean([cell.apart for cell in self.cells]))
        low, high = self._interval()
        runs = sum(len(cell.theirs) for cell in self.cells)
        return (
            f"{runs} runs of the authors' released code, unmodified, against ours with the paper's settings: final "
            "scores on the same grid of evaluations at the same step, by cells of one agent, strategy and environment. "
            f"**In {told_apart} of {len(self.cells)} cells the two can be told apart** (two-sided rank test, "
            f"p <= {LEVEL:g}; {LEVEL * len(self.cells):.1g} would be by chance). Over all cells ours end "
            f"{100 * share:+.1f}% of the range of scores above theirs (95% interval {100 * low:+.1f}% to "
            f"{100 * high:+.1f}%), and a test of all cells together, by permutation within cells, gives "
            f"p = {self.together():.2g}. Learning is a lottery in some cells: what agrees is the distribution over "
            "seeds, as far as three seeds or one of theirs can tell, not one curve with another."
        )

    def together(self) -> float:
        """Return the p-value of a permutation within cells: how far apart the means are, in all cells."""
        rng = np.random.default_rng(0)
        observed, drawn = 0.0, np.zeros(DRAWS)
        for cell in self.cells:
            values = np.concatenate([cell.theirs, cell.ours])
            scale = float(values.std()) or 1.0
            orders = rng.random((DRAWS, len(values))).argsort(axis=1)
            count = len(cell.theirs)
            observed += ((cell.theirs.mean() - values.mean()) / scale) ** 2 * count
            drawn += ((values[orders[:, :count]].mean(axis=1) - values.mean()) / scale) ** 2 * count
        return float((1 + (drawn >= observed - 1e-9).sum()) / (1 + DRAWS))

    def _interval(self) -> tuple[float, float]:
        """Return the interval of the mean difference: seeds are drawn anew within cells, one fewer than there are."""
        rng = np.random.default_rng(0)
        drawn = np.zeros(DRAWS)
        for cell in self.cells:
            domain = DOMAINS[cell.subject[0]]
            for values, sign in ((cell.ours, 1), (cell.theirs, -1)):
                if len(values) == 1:  # its spread is taken to be ours
                    noise = rng.choice(cell.ours - cell.ours.mean(), DRAWS)
                    means = values[0] + noise
                else:
                    means = values[rng.integers(0, len(values), (DRAWS, len(values) - 1))].mean(axis=1)
                drawn += sign * means / (domain.highest - domain.lowest) / len(self.cells)
        low, high = np.quantile(drawn, [0.025, 0.975])
        return float(low), float(high)

    def table(self) -> Table:
        """Return both codes' final scores."""
        rows: list[tuple[str, ...]] = []
        for cell in self.cells:
            environment, agent, strategy = cell.subject
            scores = ", ".join(f"{score:.3g}" for score in np.sort(cell.theirs))
            ours = (
                f"{cell.ours.min():.3g} to {cell.ours.max():.3g}, mean {cell.ours.mean():.3g} ({len(cell.ours)} seeds)"
            )
            rows.append(
                (title_of(environment), AGENT_TITLES[agent], strategy, f"{cell.steps:,}", scores, ours, f"{cell.p:.2f}")
            )
        columns = ("environment", "agent", "strategy", "after steps", "authors' code, each seed", "ours", "p")
        return Table("authors", "Beside the authors' code", columns, rows)


def agreement(theirs: Iterable[TheirRun], ours: Sequence[Curve]) -> Agreement | None:
    """Compare both codes where both ran, at the last step that all of their seeds reached."""
    by_subject: dict[tuple[str, str, str], list[TheirRun]] = {}
    for run in theirs:
        by_subject.setdefault(run.subject, []).append(run)
    curves = longest(ours)
    cells = []
    for subject, runs in by_subject.items():
        if subject not in curves:
            continue
        grid = set.intersection(*(set(run.steps.tolist()) for run in runs)) & set(curves[subject].steps.tolist())
        if grid:
            cells.append(_cell(subject, runs, curves[subject], np.array(sorted(grid))))
    return Agreement(cells) if cells else None


def _cell(subject: tuple[str, str, str], runs: Sequence[TheirRun], curve: Curve, grid: Steps) -> Cell:
    theirs = np.stack([run.scores[np.isin(run.steps, grid)] for run in runs])
    ours = curve.scores[:, np.isin(curve.steps, grid)]
    return Cell(subject, int(grid[-1]), final_scores(theirs), final_scores(ours))
