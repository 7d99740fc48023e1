"""How soon VPEC reaches a score, beside DQN and PPO of Stable-Baselines3."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor, inf, isinf
from typing import NamedTuple

import numpy as np

from benchmarks.own_targets.judging import Asked, outcome
from memec.report.runs import UNTIL_A_SCORE, Curve, Run
from memec.report.significance import probability_of_improvement
from memec.report.stats import Values, steps_to_reach
from memec.report.tables import NOTHING, Table

PRESET = UNTIL_A_SCORE
"""The settings of rl-baselines3-zoo."""
SCORES = {"CartPole-v1": 400.0, "Acrobot-v1": -120.0}
AT_MOST = 0.5
"""The share of another's steps that a seed of VPEC is to need at most, more often than not."""
TARGET = "above 0.5"
TITLES = {"sb3-dqn": "DQN", "sb3-ppo": "PPO"}


class Reached(NamedTuple):
    """The steps each seed took to reach a score; infinite for a seed that did not within its budget."""

    steps: Values
    budget: int

    def quantile(self, share: float) -> float:
        """Return a quantile over seeds; infinite where a seed that never reached the score has part in it."""
        ordered = np.sort(self.steps)
        place = share * (len(ordered) - 1)
        low, high = float(ordered[floor(place)]), float(ordered[ceil(place)])
        return inf if isinf(high) else low + (place - floor(place)) * (high - low)

    def said(self, share: float) -> str:
        """Return a quantile in words."""
        steps = self.quantile(share)
        return f"> {self.budget:,}" if isinf(steps) else f"{steps:,.0f}"


def baselines_table(ours: Mapping[str, Curve], runs: Iterable[Run]) -> Table:
    """Return how soon each reached the scores; `ours` has VPEC's curve of each environment."""
    columns = (
        "", "agent", "median steps", "interquartile range", "seeds that reached it", "budget",
        "VPEC's median / its", "a seed of VPEC is sooner [95%]", "it needs at most half the steps [95%]", "target", "",
    )  # fmt: skip
    others = [run for run in runs if run.preset == PRESET]
    rows: list[tuple[str, ...]] = []
    for environment, score in SCORES.items():
        title = f"{environment.partition('-')[0]} {score:g}"
        curve = ours.get(environment)
        mine = None if curve is None else _of_curve(curve, score)
        rows.append((title, "VPEC", *_spread(mine), *[NOTHING] * 4, "" if mine else "not yet run"))
        for agent, name in TITLES.items():
            theirs = _of_runs([run for run in others if run.subject[:2] == (environment, agent)], score)
            rows.append((title, name, *_spread(theirs), *_judged(mine, theirs)))
    return Table("baselines", "Beside Stable-Baselines3", columns, rows)


def _of_curve(curve: Curve, score: float) -> Reached:
    return Reached(_steps([(curve.steps, scores) for scores in curve.scores], score), curve.budget)


def _of_runs(runs: Sequence[Run], score: float) -> Reached | None:
    if not runs:
        return None
    budget = max(int(run.settings["training"]["steps"]) for run in runs)
    return Reached(_steps([(run.steps, run.scores) for run in runs], score), budget)


def _steps(evaluations: Iterable[tuple[np.ndarray[tuple[int], np.dtype[np.int64]], Values]], score: float) -> Values:
    reached = [steps_to_reach(steps, scores, score) for steps, scores in evaluations]
    return np.array([inf if step is None else step for step in reached], np.float64)


def _spread(reached: Reached | None) -> tuple[str, ...]:
    if reached is None:
        return (NOTHING,) * 4
    seeds = f"{int(np.isfinite(reached.steps).sum())} of {len(reached.steps)}"
    return reached.said(0.5), f"{reached.said(0.25)} to {reached.said(0.75)}", seeds, f"{reached.budget:,}"


def _judged(mine: Reached | None, theirs: Reached | None) -> tuple[str, ...]:
    """Return the share of their steps, how likely we are sooner, and need half at most, and what that comes to.

    A seed that did not get there within its budget counts as theirs at the budget, the least it can be, and as ours
    never.
    """
    if mine is None or theirs is None:
        return NOTHING, NOTHING, NOTHING, TARGET, "not yet run"
    if len(theirs.steps) < len(mine.steps):
        return NOTHING, NOTHING, NOTHING, TARGET, f"{len(theirs.steps)} of {len(mine.steps)} seeds run"
    sooner = probability_of_improvement(-mine.steps, -theirs.steps)
    by_far = probability_of_improvement(-mine.steps / AT_MOST, -np.minimum(theirs.steps, theirs.budget))
    needed, needed_by_theirs = mine.quantile(0.5), theirs.quantile(0.5)
    share = needed / min(needed_by_theirs, theirs.budget)  # of a median past the budget, the least it can be
    said = NOTHING if isinf(needed) else f"{'< ' if isinf(needed_by_theirs) else ''}{share:.2f}"
    return said, str(sooner), str(by_far), TARGET, outcome(Asked(by_far, least=0.5))
