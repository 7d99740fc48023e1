"""The page about what goes beyond the paper: the targets, the paper beside them, and what each part brings."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.own_targets.baselines import baselines_table
from benchmarks.own_targets.judging import MISSED, RULE, Asked, mean_of, median_of, outcome
from benchmarks.own_targets.strategies import calibration_table, strategies_tables
from memec.errors import MemecError
from memec.report.runs import Curve, Run, curves_of, find_runs
from memec.report.stats import Estimate, Values, final_scores, spread, steps_to_reach
from memec.report.tables import NOTHING, Table
from memec.train.run_folder import saying_where

COMMANDS = (
    "memec reproduce small --agents mfec --seeds 10 --results results",
    "memec reproduce openroom --agents mfec --seeds 10 --steps 5000 --set training.evaluate_every_steps=50 "
    "--results results/beyond",
    "memec reproduce better --seeds 10 --results results/beyond",
    "memec reproduce ablation --seeds 5 --results results/beyond",
    "memec reproduce strategies --seeds 10 --results results/beyond",
    "python -m benchmarks.calibration --seeds 5 --out results/beyond",
    "python -m benchmarks.stable_baselines --seeds 10 --out results/beyond/baselines",
    "python -m benchmarks.own_targets results docs/better-than-the-paper.md",
)


SETTINGS = (
    "**The runs of VPEC here are of the agent before it kept all outcomes of an action and followed slopes**; the "
    "agent of today is in [the league](worlds.md). One set of settings everywhere, chosen on the first four "
    "environments with seeds 0 to 4. MountainCar had a part in the design: the first sketch, which showed that values "
    "must spread and that hope is needed, was tried on it, too. LunarLander had no part in what is shown here, but by "
    "now VPEC has been changed by what it did there with seeds 0 to 5. The commands below make runs of the agents of "
    "today, with seeds that have been looked at."
)
SEEDS = (
    "The seeds are from 100 on, but in one study they had been looked at before a rule was changed. After a first "
    "report of the strategies below the tuned MFEC was made to believe episodes that are cut off without any reward, "
    "because some runs in rooms went in circles for good, and the rooms were run again with the same seeds. In "
    "OpenRoom that raised epsilon-greedy, Thompson sampling and four of the five omegas; it brought "
    "thompson-calibrated from 0.97 of epsilon-greedy's mean area to 1.01, which was then called reached. So in rooms "
    "these strategies are not reported with held-out seeds ([the rule](reproducing.md#held-out-seeds))."
)
CALIBRATION = (
    "How well the calibrated strategies know what they do not know, over about the last 20,000 decisions of a run: the "
    "share of returns inside their intervals, and the rank correlation of deviation and error, mean over seeds. In "
    "rooms nearly every return is known exactly: its interval has no width, and there is nothing to leave out."
)


class Target(NamedTuple):
    """What was asked of the default agent in an environment, after so many steps."""

    environment: str
    title: str
    steps: int
    bound: float
    """The mean score must be at least this, or the median number of steps to solve a room at most."""
    every: float | None = None
    """What every single seed must keep."""
    in_steps: bool = False
    """Whether the measure is the number of steps to solve it, not the score at the end."""

    @property
    def says(self) -> str:
        """The target in words."""
        if self.in_steps:
            return f"median <= {self.bound:,.0f} steps" + (f", all <= {self.every:,.0f}" if self.every else "")
        return f"mean >= {self.bound:g}" + (f", no seed below {self.every:g}" if self.every else "")

    def middle(self, values: Values) -> Estimate:
        """Return the mean of scores or the median of steps, with its interval."""
        return median_of(values) if self.in_steps else mean_of(values)

    def outcome(self, values: Values) -> str:
        """Return whether these seeds reach it."""
        sign = -1.0 if self.in_steps else 1.0
        if self.every is not None and (sign * values < sign * self.every).any():
            return MISSED
        middle = self.middle(values)
        return outcome(Asked(middle, most=self.bound) if self.in_steps else Asked(middle, least=self.bound))


TARGETS = (
    Target("CartPole-v1", "CartPole", 50_000, 475.0),
    Target("Acrobot-v1", "Acrobot", 50_000, -100.0, every=-150.0),
    Target("memec/FourRoom-v0", "FourRoom", 5_000, 800.0, every=3_000.0, in_steps=True),
    Target("memec/OpenRoom-v0", "OpenRoom", 5_000, 600.0, in_steps=True),
    Target("MountainCar-v0", "MountainCar", 100_000, -120.0),
    Target("LunarLander-v3", "LunarLander", 100_000, 100.0),
)


def write_beyond(folder: Path, page: Path) -> None:
    """Write the page from the runs below a folder of results."""
    runs = find_runs(folder).runs
    if not any(map(_is_ours, runs)):
        raise MemecError(f"{folder} holds no finished run of vpec to report on: see `memec reproduce better`.")
    with saying_where(page):
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(beyond_page(runs, calibration_table(folder / "beyond" / "calibration.csv")))


def beyond_page(runs: Sequence[Run], calibration: Table | None = None) -> str:
    """Return the page as Markdown."""
    ours, paper = curves_of(filter(_is_ours, runs)), [run for run in runs if _is_papers(run)]
    whole = {curve.environment: curve for curve in ours if _ablated(curve) == ""}
    rows = [_target_row(target, whole.get(target.environment), curves_of(paper)) for target in TARGETS]
    columns = (
        "", "after steps", "the paper's best MFEC", "vpec, mean ± std or median", "95% interval of it", "worst seed",
        "target", "",
    )  # fmt: skip
    parts = [
        "# Better than the paper",
        "Made from the recorded runs by `python -m benchmarks.own_targets`; not written by hand. How the agent works: "
        "[vpec.md](vpec.md).",
        SETTINGS,
        SEEDS,
        "A score is the mean of the last 5 greedy evaluations of 10 episodes; a room is solved at the first of 5 "
        "evaluations in a row at 1.0. The paper's column is the best of its five strategies by our own runs with its "
        "settings. Evaluations are 500 steps apart, VPEC's in rooms 50; how far MFEC's are apart there stands beside "
        "it, as those that are further apart find a room solved later.",
        RULE,
        Table("targets", "Targets", columns, rows).markdown(),
        "## What each part brings",
        "The same runs with one part taken away: mean ± std over seeds, and for rooms the median steps to solve.",
        _ablation(ours, whole).markdown(),
        "## Strategies",
        "MFEC with the tuned settings it then had (scaled keys, mean kernel, careful truncation, 10,000 entries per "
        "action; today it takes what was cut off for what the episode brought on average) and each "
        "strategy: the area under the learning curve of greedy scores, mapped to 0 at the worst and 1 at the best "
        "score (CartPole 0 to 500, Acrobot -500 to -70, rooms 0 to 1), mean ± std over seeds; 50,000 steps, in rooms "
        "20,000. Only seeds that all strategies were run with count. The second table has ratios of these areas, and "
        "of their means over environments, with 95% intervals; the best omega is the best of five by these same seeds, "
        "which flatters it.",
        *(table.markdown() for table in strategies_tables(runs)),
        *([] if calibration is None or not calibration.rows else [CALIBRATION, calibration.markdown()]),
        "## Beside Stable-Baselines3",
        "Steps to a score: the first of 5 evaluations in a row at or above it, for all agents alike, each evaluation "
        "10 greedy episodes every 500 steps, with the same seeds and the same starts. DQN and PPO have the settings "
        "and budgets of rl-baselines3-zoo for each environment, and end once that step is known. A seed that never "
        "got there counts as later than all others: a median or quartile it has part in is past the budget. The target "
        "is that a seed of VPEC needs at most half the steps of one of theirs more often than not, where theirs count "
        "as there at their budget at the latest; the medians' ratio is only told.",
        baselines_table(whole, runs).markdown(),
        "## Commands",
        "\n".join(f"    {command}" for command in COMMANDS),
    ]
    return "\n\n".join(parts) + "\n"


def _is_ours(run: Run) -> bool:
    return run.preset == "tuned" and run.subject[1] == "vpec"


def _is_papers(run: Run) -> bool:
    return run.preset == "paper" and run.subject[1] == "mfec" and not run.searched


def _ablated(curve: Curve) -> str:
    """Return what was taken away, as the label of the curve tells it; empty for the agent itself."""
    parts = {"doubt=0.0": "doubt", "sweeps=0.0": "sweeps", "scaled=False": "scale", "capacity=10000": "10,000 entries"}
    for sign, name in parts.items():
        if sign in curve.label.split():
            return name
    return "hope" if curve.strategy == "greedy" else ""


def _measure(curve: Curve, target: Target) -> Values:
    """Return each seed's score at the end or its steps to solve; of a seed that never did, twice the budget."""
    curve = curve.until(target.steps)
    if not target.in_steps:
        return final_scores(curve.scores)
    reached = [steps_to_reach(curve.steps, scores, 1.0) for scores in curve.scores]
    return np.array([2.0 * target.steps if step is None else step for step in reached])


def _target_row(target: Target, curve: Curve | None, paper: Sequence[Curve]) -> tuple[str, ...]:
    theirs = _best_of_the_paper(target, curve, paper)
    if curve is None or curve.budget < target.steps:
        return target.title, f"{target.steps:,}", theirs, NOTHING, NOTHING, NOTHING, target.says, "not yet run"
    values = _measure(curve, target)
    worst = f"{values.max() if target.in_steps else values.min():.4g}"
    middle = f"median {np.median(values):.4g} steps" if target.in_steps else str(spread(values))
    estimate = target.middle(values)
    interval = NOTHING if estimate.low is None else f"{estimate.low:.4g} to {estimate.high:.4g}"
    return (
        target.title, f"{target.steps:,}", theirs, f"{middle} ({len(values)} seeds)", interval, worst, target.says,
        target.outcome(values),
    )  # fmt: skip


def _best_of_the_paper(target: Target, ours: Curve | None, paper: Sequence[Curve]) -> str:
    """Return how MFEC's best strategy did with the paper's settings: by mean score, or by median steps to solve.

    Steps depend on how often they are looked at: runs evaluated as often as ours come before others.
    """
    curves = [curve for curve in paper if curve.environment == target.environment]
    if not curves:
        return NOTHING
    if not target.in_steps:
        best = max(curves, key=lambda curve: float(_measure(curve, target).mean()))
        return f"{spread(_measure(best, target))} ({best.strategy})"
    alike = [curve for curve in curves if ours is not None and _every(curve) == _every(ours)] or curves
    steps = [_measure(curve, target._replace(steps=curve.budget)) for curve in alike]
    place = int(np.argmin([np.median(each) for each in steps]))
    best, worst = alike[place], float(steps[place].max())
    latest = f"{worst:,.0f}" if worst <= best.budget else f"not in {best.budget:,}"
    return f"median {np.median(steps[place]):,.0f}, worst {latest} ({best.strategy}, every {_every(best)})"


def _every(curve: Curve) -> int:
    """Return how many steps lie between evaluations."""
    return int(curve.steps[0])


def _ablation(ours: Sequence[Curve], whole: dict[str, Curve]) -> Table:
    targets = [target for target in TARGETS if target.environment in whole]
    names = ["", "doubt", "hope", "sweeps", "scale", "10,000 entries"]
    rows = []
    for name in names:
        cells = []
        for target in targets:
            found = [curve for curve in ours if curve.environment == target.environment and _ablated(curve) == name]
            cells.append(_ablation_cell(found[0] if found else None, target))
        title = "the agent itself" if not name else f"only {name}" if name[0].isdigit() else f"without {name}"
        if any(cell != NOTHING for cell in cells):
            rows.append((title, *cells))
    return Table("ablation", "Ablation", ("", *(target.title for target in targets)), rows)


def _ablation_cell(curve: Curve | None, target: Target) -> str:
    if curve is None or curve.budget < target.steps:
        return NOTHING
    values = _measure(curve, target)
    if not target.in_steps:
        return str(spread(values))
    solved = values < 2 * target.steps
    return f"{np.median(values):,.0f} steps" if solved.all() else f"{int(solved.sum())} of {len(values)} solved"
