"""MFEC with its tuned settings and different strategies: the areas under their learning curves."""

from collections.abc import Mapping, Sequence

import numpy as np

from memec.report.runs import Curve, Run, curves_of
from memec.report.stats import Values, area_under_curve, spread
from memec.report.tables import NOTHING, Table

RANGES = {
    "CartPole-v1": (0.0, 500.0),
    "Acrobot-v1": (-500.0, -70.0),
    "memec/OpenRoom-v0": (0.0, 1.0),
    "memec/FourRoom-v0": (0.0, 1.0),
}
"""The scores that count as 0 and as 1."""
CALIBRATED = ("ucb-calibrated", "thompson-calibrated")
LEAST = 0.95
"""What mellowmax-auto must reach of the best omega in every environment; on average, all of it."""
Areas = Mapping[str, Values]


def strategies_tables(runs: Sequence[Run]) -> list[Table]:
    """Return the areas of each strategy, and what they come to against the best omega and epsilon-greedy."""
    curves = curves_of(run for run in runs if run.preset == "tuned" and run.subject[1] == "mfec")
    areas: dict[str, Areas] = {}
    for name in RANGES:
        here = [curve for curve in curves if curve.environment == name]
        seeds = max((len(curve.seeds) for curve in here), default=0)
        areas[name] = {curve.label: _area(curve) for curve in here if len(curve.seeds) == seeds}
    labels = sorted({label for each in areas.values() for label in each}, key=_order)
    titles = [name.partition("/")[2].partition("-")[0] or name.partition("-")[0] for name in RANGES]
    rows = [
        (
            label,
            *(str(spread(areas[name][label])) if label in areas[name] else NOTHING for name in RANGES),
            _mean(areas, label),
        )
        for label in labels
    ]
    against = [_against_omegas(areas), *(_against_epsilon(areas, name) for name in CALIBRATED)]
    return [
        Table("areas", "Areas under the curve", ("strategy", *titles, "mean"), rows),
        Table("ratios", "Against the best omega and epsilon-greedy", ("", *titles, "mean", "target", ""), against),
    ]


def _area(curve: Curve) -> Values:
    lowest, highest = RANGES[curve.environment]
    return area_under_curve(curve.steps, np.clip(curve.scores, lowest, highest), lowest, highest)


def _order(label: str) -> tuple[bool, str, float]:
    """Sort omegas by their size, after the strategies without one."""
    name, _, omega = label.partition(" omega=")
    return bool(omega), name, float(omega or 0.0)


def _mean(areas: Mapping[str, Areas], label: str) -> str:
    found = [each[label].mean() for each in areas.values() if label in each]
    return f"{np.mean(found):.3f}" if len(found) == len(RANGES) else NOTHING


def _against_omegas(areas: Mapping[str, Areas]) -> tuple[str, ...]:
    ratios, all_there = [], True
    for each in areas.values():
        omegas = [area.mean() for label, area in each.items() if _order(label)[0]]
        all_there = all_there and "mellowmax-auto" in each and len(omegas) == 5
        ratios.append(float(each["mellowmax-auto"].mean() / max(omegas)) if all_there else np.nan)
    says = f">= {LEAST} in each, >= 1 on average"
    reached = min(ratios) >= LEAST and float(np.mean(ratios)) >= 1.0
    return _row("mellowmax-auto / best of five omegas", ratios, float(np.mean(ratios)), says, reached)


def _against_epsilon(areas: Mapping[str, Areas], name: str) -> tuple[str, ...]:
    """Compare the means over all environments: where epsilon-greedy learns nothing, a ratio alone says little."""
    pairs = [
        (each[name].mean(), each["epsilon-greedy"].mean())
        for each in areas.values()
        if {name, "epsilon-greedy"} <= set(each)
    ]
    if len(pairs) < len(RANGES):
        return _row(f"{name} / epsilon-greedy", [np.nan], np.nan, ">= 1 on average", reached=False)
    ours, theirs = np.array(pairs).T
    mean = float(ours.mean() / theirs.mean())
    return _row(f"{name} / epsilon-greedy", list(ours / theirs), mean, ">= 1 on average", mean >= 1.0)


def _row(title: str, ratios: Sequence[float], mean: float, says: str, reached: bool) -> tuple[str, ...]:
    if np.isnan(mean):
        return title, *[NOTHING] * (len(RANGES) + 1), says, "not yet run"
    return (
        title,
        *(f"{ratio:.2f}" for ratio in ratios),
        f"{mean:.2f}",
        says,
        "reached" if reached else "**not reached**",
    )
