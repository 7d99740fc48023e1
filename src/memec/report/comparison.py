"""Which of several competitors in one environment is better, by how much, and how surely."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from memec.errors import MemecError
from memec.report.paper import AGENT_TITLES, title_of
from memec.report.runs import Curve, Run, curves_of, find_runs
from memec.report.significance import LEVEL, difference, holm, least_p_value, probability_of_improvement, rank_test
from memec.report.stats import Estimate, final_scores, spread
from memec.report.tables import Table
from memec.train.run_folder import saying_where


class Rival(NamedTuple):
    """How one competitor stands to the one that ended highest."""

    curve: Curve
    behind: Estimate
    """The difference of mean final scores, with Welch's interval."""
    chance: Estimate
    """How likely a seed of the highest ends above a seed of this one."""
    p_value: float
    """That they do not differ: the exact rank test, two-sided, corrected for all rivals."""

    @property
    def sure(self) -> bool:
        """Whether the difference is more than luck, as far as these seeds can tell."""
        return self.p_value <= LEVEL


class Comparison(NamedTuple):
    """The competitors in one environment, by how high they ended."""

    environment: str
    best: Curve
    rivals: list[Rival]

    def sentences(self) -> list[str]:
        """Say which is better, by how much, and how surely."""
        said = []
        for rival in self.rivals:
            best, other = _name(self.best), _name(rival.curve)
            if rival.sure:
                said.append(
                    f"{best} is better than {other}: it ends {rival.behind} higher, a seed of it above the other's "
                    f"with probability {rival.chance} (p = {rival.p_value:.2g})."
                )
            elif rival.behind.value == 0.0 and rival.behind.low == rival.behind.high:
                said.append(f"{best} and {other} end alike.")
            else:
                least = 2 * least_p_value(len(self.best.seeds), len(rival.curve.seeds)) * len(self.rivals)
                why = f": so few seeds can decide nothing (p is {min(least, 1):.2g} at best)" if least > LEVEL else ""
                said.append(
                    f"Whether {best} or {other} is better is undecided{why}: the difference is {rival.behind} "
                    f"(p = {rival.p_value:.2g})."
                )
        return said

    def table(self) -> Table:
        """Return all competitors with what they came to."""
        columns = (
            "competitor",
            "seeds",
            "steps",
            "final score",
            "mean over the run",
            "behind",
            "chance",
            "p",
            "verdict",
        )
        verdicts = {True: "worse", False: "undecided"}
        rows = [(*self._row(self.best), "", "", "", "highest" if self.rivals else "")]
        for rival in self.rivals:
            verdict = verdicts[rival.sure]
            rows.append(
                (*self._row(rival.curve), str(rival.behind), str(rival.chance), f"{rival.p_value:.2g}", verdict)
            )
        return Table("comparison", f"Which is better in {title_of(self.environment)}", columns, rows)

    @staticmethod
    def _row(curve: Curve) -> tuple[str, ...]:
        whole = spread(curve.scores.mean(axis=1))
        return (
            _name(curve),
            str(len(curve.seeds)),
            f"{curve.budget:,}",
            str(spread(final_scores(curve.scores))),
            str(whole),
        )


def compare(runs: Sequence[Run]) -> list[Comparison]:
    """Compare all who played in the same environment."""
    curves = curves_of(runs)
    return [
        _compared(environment, [curve for curve in curves if curve.environment == environment])
        for environment in sorted({curve.environment for curve in curves})
    ]


def surely_better(one: Path, other: Path) -> bool:
    """Tell whether the runs of one folder are better than those of another, which differ by one thing."""
    scores, others = (final_scores(curves_of(find_runs(folder).runs)[0].scores) for folder in (one, other))
    return bool(scores.mean() > others.mean()) and 2 * rank_test(scores, others) <= LEVEL


def write_comparison(folder: Path) -> list[str]:
    """Compare the finished runs of a folder, in comparison.md and comparison.csv; return what there is to say."""
    found = find_runs(folder)
    if not found.runs:
        reason = f" {found.passed_over[0]}" if found.passed_over else ""
        raise MemecError(f"{folder} holds no finished run with evaluations to compare.{reason}")
    said, pages, tables = [], [], []
    for comparison in compare(found.runs):
        table = comparison.table()
        sentences = comparison.sentences()
        lines = "\n".join(f"- {sentence}" for sentence in sentences)
        pages.append(f"## {table.title}\n\n{lines}\n\n{table.markdown()}\n")
        tables.append(table.csv())
        said += sentences
    with saying_where(folder):
        (folder / "comparison.md").write_text(f"# Comparison\n\n{METHOD}\n\n" + "\n".join(pages))
        (folder / "comparison.csv").write_text("\n".join(tables))
    return [*said, f"Table: {folder / 'comparison.md'}"]


METHOD = (
    "A final score is the mean of a seed's last five greedy evaluations. Differences have Welch's 95% interval; p is "
    "of the exact rank test, two-sided, corrected (Holm) for all rivals of the highest; where it is "
    f"{LEVEL:g} or less a difference is called sure. The highest was found by looking at these seeds, which makes its "
    "lead look larger than it is: where that matters, compare again with other seeds (`--set seed=100`)."
)


def _compared(environment: str, curves: Sequence[Curve]) -> Comparison:
    best, *others = sorted(curves, key=lambda curve: -final_scores(curve.scores).mean())
    scores = final_scores(best.scores)
    raw = [
        min(1.0, 2 * min(rank_test(scores, other), rank_test(other, scores)))
        for other in (final_scores(curve.scores) for curve in others)
    ]
    rivals = [
        Rival(curve, _difference(best, curve), probability_of_improvement(scores, final_scores(curve.scores)), p_value)
        for curve, p_value in zip(others, holm(raw) if raw else [], strict=True)
    ]
    return Comparison(environment, best, rivals)


def _difference(one: Curve, other: Curve) -> Estimate:
    if min(len(one.seeds), len(other.seeds)) < 2:
        return Estimate(float(final_scores(one.scores).mean() - final_scores(other.scores).mean()))
    return difference(final_scores(one.scores), final_scores(other.scores))


def _name(curve: Curve) -> str:
    return f"{AGENT_TITLES.get(curve.agent, curve.agent)} {curve.label}"
