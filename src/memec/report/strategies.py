"""MFEC with its tuned settings and different strategies: the areas under their learning curves."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

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
SEEDS = 10
"""With fewer, nothing is judged."""
MEASURES = ("coverage_50", "coverage_90", "std_error_correlation")
CALIBRATION_COLUMNS = ("env", "strategy", "seed", *MEASURES)
COVERAGE = (0.80, 0.97)
"""The share of returns that 90% intervals must cover."""
Areas = Mapping[str, Values]


def strategies_tables(runs: Sequence[Run]) -> list[Table]:
    """Return the areas of each strategy, and what they come to against the best omega and epsilon-greedy."""
    curves = curves_of(run for run in runs if run.preset == "tuned" and run.subject[1] == "mfec")
    areas: dict[str, Areas] = {}
    shared: dict[str, set[int]] = {}
    for name in RANGES:
        here = [curve for curve in curves if curve.environment == name]
        shared[name] = set.intersection(*(set(curve.seeds) for curve in here)) if here else set()
        areas[name] = {curve.label: _area(curve.of(shared[name])) for curve in here if shared[name]}
    labels = sorted({label for each in areas.values() for label in each}, key=_order)
    titles = [_title(name) for name in RANGES]
    rows = [
        (
            label,
            *(str(spread(areas[name][label])) if label in areas[name] else NOTHING for name in RANGES),
            _mean(areas, label),
        )
        for label in labels
    ]
    if rows:
        rows.append(("seeds", *(str(len(shared[name])) for name in RANGES), NOTHING))
    seeds = min(map(len, shared.values()))
    against = [_against_omegas(areas, seeds), *(_against_epsilon(areas, name, seeds) for name in CALIBRATED)]
    return [
        Table("areas", "Areas under the curve", ("strategy", *titles, "mean"), rows),
        Table("ratios", "Against the best omega and epsilon-greedy", ("", *titles, "mean", "target", ""), against),
    ]


def calibration_table(file: Path) -> Table:
    """Return the coverage of intervals and the correlation of deviations with errors: mean over seeds."""
    rows: list[tuple[str, ...]] = []
    records: list[dict[str, str]] = []
    if file.exists():
        with file.open(newline="") as lines:
            records = list(csv.DictReader(lines))
    for strategy in CALIBRATED:
        for name in RANGES:
            here = [record for record in records if (record["env"], record["strategy"]) == (name, strategy)]
            if here:
                means = [_mean_of([float(record[measure]) for record in here]) for measure in MEASURES]
                verdict = "reached" if COVERAGE[0] <= means[1] <= COVERAGE[1] else "**not reached**"
                cells = (NOTHING if np.isnan(mean) else f"{mean:.2f}" for mean in means)
                rows.append((strategy, _title(name), str(len(here)), *cells, verdict))
    columns = ("strategy", "", "seeds", "50% intervals", "90% intervals", "std and error", "90%: .80 to .97")
    return Table("calibration", "Calibration", columns, rows)


def _mean_of(values: Sequence[float]) -> float:
    """Return the mean of those that are there: where all errors are zero, nothing correlates with them."""
    there = [value for value in values if not np.isnan(value)]
    return float(np.mean(there)) if there else np.nan


def _title(environment: str) -> str:
    return environment.rpartition("/")[2].partition("-")[0]


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


def _against_omegas(areas: Mapping[str, Areas], seeds: int) -> tuple[str, ...]:
    ratios, all_there = [], True
    for each in areas.values():
        omegas = [area.mean() for label, area in each.items() if _order(label)[0]]
        all_there = all_there and "mellowmax-auto" in each and len(omegas) == 5
        ratios.append(float(each["mellowmax-auto"].mean() / max(omegas)) if all_there else np.nan)
    says = f">= {LEAST} in each, >= 1 on average"
    reached = min(ratios) >= LEAST and float(np.mean(ratios)) >= 1.0
    return _row("mellowmax-auto / best of five omegas", ratios, float(np.mean(ratios)), says, reached, seeds)


def _against_epsilon(areas: Mapping[str, Areas], name: str, seeds: int) -> tuple[str, ...]:
    """Compare the means over all environments: where epsilon-greedy learns nothing, a ratio alone says little."""
    pairs = [
        (each[name].mean(), each["epsilon-greedy"].mean())
        for each in areas.values()
        if {name, "epsilon-greedy"} <= set(each)
    ]
    if len(pairs) < len(RANGES):
        return _row(f"{name} / epsilon-greedy", [np.nan], np.nan, ">= 1 on average", False, seeds)
    ours, theirs = np.array(pairs).T
    mean = float(ours.mean() / theirs.mean())
    return _row(f"{name} / epsilon-greedy", list(ours / theirs), mean, ">= 1 on average", mean >= 1.0, seeds)


def _row(title: str, ratios: Sequence[float], mean: float, says: str, reached: bool, seeds: int) -> tuple[str, ...]:
    if np.isnan(mean):
        return title, *[NOTHING] * (len(RANGES) + 1), says, "not yet run"
    verdict = "reached" if reached else "**not reached**"
    if seeds < SEEDS:
        verdict = f"{seeds} of {SEEDS} seeds run"
    return title, *(f"{ratio:.2f}" for ratio in ratios), f"{mean:.2f}", says, verdict
