"""MFEC with its tuned settings and different strategies: the areas under their learning curves."""

import csv
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path

import numpy as np

from benchmarks.own_targets.judging import Asked, mean_of, outcome, ratio_of_means
from memec.report.runs import Curve, Run, curves_of
from memec.report.stats import Estimate, Values, area_under_curve, spread
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
Pair = tuple[Values, Values]


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
                covered = mean_of(np.array([float(record[MEASURES[1]]) for record in here]))
                verdict = outcome(Asked(covered, *COVERAGE))
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
    title, says = "mellowmax-auto / best of five omegas", f">= {LEAST} in each, >= 1 on average"
    pairs: list[Pair] = []
    for each in areas.values():
        omegas = [area for label, area in each.items() if _order(label)[0]]
        if "mellowmax-auto" in each and len(omegas) == 5:
            pairs.append((each["mellowmax-auto"], max(omegas, key=lambda area: float(area.mean()))))
    return _row(title, pairs, says, LEAST, seeds)


def _against_epsilon(areas: Mapping[str, Areas], name: str, seeds: int) -> tuple[str, ...]:
    pairs = [(each[name], each["epsilon-greedy"]) for each in areas.values() if {name, "epsilon-greedy"} <= set(each)]
    return _row(f"{name} / epsilon-greedy", pairs, ">= 1 on average", -inf, seeds)


def _row(title: str, pairs: Sequence[Pair], says: str, least: float, seeds: int) -> tuple[str, ...]:
    """Compare areas, with at least so much asked in each environment and all on average.

    The average is that of the areas: where one of a pair learns nothing, their ratio alone says little.
    """
    if len(pairs) < len(RANGES):
        return title, *[NOTHING] * (len(RANGES) + 1), says, "not yet run"
    ratios, mean = [ratio_of_means(pair) for pair in pairs], ratio_of_means(*pairs)
    asked = [Asked(ratio, least) for ratio in ratios] if least > -inf else []
    verdict = outcome(*asked, Asked(mean, 1.0)) if seeds >= SEEDS else f"{seeds} of {SEEDS} seeds run"
    return title, *map(_said, [*ratios, mean]), says, verdict


def _said(ratio: Estimate) -> str:
    if ratio.low is None or ratio.high is None:
        return f"{ratio.value:.2f}"
    return f"{ratio.value:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"
