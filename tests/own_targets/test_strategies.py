"""Strategies are compared by the areas under their curves."""

from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.own_targets.strategies import CALIBRATION_COLUMNS, RANGES, calibration_table, strategies_tables

from memec.report.runs import Run
from memec.report.tables import NOTHING

OMEGAS = (5.0, 7.0, 7.5, 9.0, 12.0)


def runs(heights: dict[str, float], seeds: int = 10, omegas: tuple[float, ...] = OMEGAS) -> list[Run]:
    """Flat curves at these heights of each environment's range; mellowmax has the same with every omega."""
    found = []
    for environment, (lowest, highest) in RANGES.items():
        for name, height in heights.items():
            for omega in omegas if name == "mellowmax" else (None,):
                explore: dict[str, Any] = {"name": name} if omega is None else {"name": name, "omega": omega}
                for seed in range(seeds):
                    settings = {
                        "environment": {"id": environment}, "agent": {"name": "mfec", "explore": explore},
                        "training": {"steps": 50_000}, "seed": seed,
                    }  # fmt: skip
                    scores = np.full(100, lowest + height * (highest - lowest))
                    variant = name if omega is None else f"{name}-omega{omega:g}"
                    found.append(Run(settings, "tuned", np.arange(1, 101) * 500, scores, variant, "", {}))
    return found


def verdicts(found: list[Run]) -> dict[str, tuple[str, ...]]:
    return {row[0].split(" ")[0]: row[1:] for row in strategies_tables(found)[1].rows}


def test_auto_is_held_against_the_best_omega_and_calibrated_strategies_against_epsilon_greedy() -> None:
    heights = {"mellowmax": 0.5, "mellowmax-auto": 0.6, "epsilon-greedy": 0.5, "ucb-calibrated": 0.4}
    found = verdicts(runs(heights | {"thompson-calibrated": 0.5}))
    assert found["mellowmax-auto"][-1] == "reached" and found["mellowmax-auto"][0] == "1.20 [1.20, 1.20]"
    assert found["ucb-calibrated"][-1] == "**not reached**" and found["ucb-calibrated"][4] == "0.80 [0.80, 0.80]"
    assert found["thompson-calibrated"][-1] == "reached"


def test_a_ratio_of_means_alone_decides_nothing() -> None:
    lucky = runs({"epsilon-greedy": 0.5, "ucb-calibrated": 0.5})
    for run in lucky:
        if run.subject == ("CartPole-v1", "mfec", "ucb-calibrated") and run.seed == 0:
            run.scores[:] = 500.0
    found = verdicts(lucky)["ucb-calibrated"]
    assert found[4] == "1.02 [0.97, 1.08]" and found[-1] == "undecided"


def test_nothing_is_judged_before_all_omegas_were_run() -> None:
    found = verdicts(runs({"mellowmax": 0.5, "mellowmax-auto": 0.6, "epsilon-greedy": 0.5}, omegas=(5.0,)))
    assert {row[-1] for row in found.values()} == {"not yet run"}
    assert {row[-1] for row in verdicts([]).values()} == {"not yet run"}


def test_strategies_are_compared_by_the_seeds_they_share_and_judged_with_ten() -> None:
    shared = runs({"epsilon-greedy": 0.1}, seeds=4)
    others = [run for run in runs({"epsilon-greedy": 0.5}) if run.seed >= 4]
    mixed = shared + others + runs({"ucb-calibrated": 0.2}, seeds=4)
    areas = {row[0]: row[1:] for row in strategies_tables(mixed)[0].rows}
    assert areas["epsilon-greedy"][0] == "0.1 ± 0" and areas["seeds"][0] == "4"
    found = verdicts(mixed)["ucb-calibrated"]
    assert found[0] == "2.00 [2.00, 2.00]" and found[-1] == "4 of 10 seeds run"


def test_calibration_is_judged_by_what_90_percent_intervals_cover(tmp_path: Path) -> None:
    rows = ["CartPole-v1,ucb-calibrated,100,0.5,0.88,0.3", "CartPole-v1,ucb-calibrated,101,0.5,0.88,0.1"]
    rows += [f"memec/OpenRoom-v0,ucb-calibrated,{seed},1.0,0.99,nan" for seed in (100, 101)]
    rows += [f"Acrobot-v1,ucb-calibrated,{seed},0.5,{coverage},nan" for seed, coverage in ((100, 0.81), (101, 0.96))]
    (tmp_path / "calibration.csv").write_text("\n".join([",".join(CALIBRATION_COLUMNS), *rows]) + "\n")
    cartpole, acrobot, room = calibration_table(tmp_path / "calibration.csv").rows
    assert cartpole[1:] == ("CartPole", "2", "0.50", "0.88", "0.20", "reached")
    assert acrobot[-1] == "undecided", "two seeds as far apart as that say little"
    assert room[-1] == "**not reached**" and room[-2] == NOTHING
    assert calibration_table(tmp_path / "none.csv").rows == []
