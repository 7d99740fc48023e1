"""How well calibrated MFEC's uncertainty is: `python -m benchmarks.calibration --seeds 5 --out results/beyond`.

Each run is one of the study of strategies, with held-out seeds. What it says of itself at its end, over about the last
20,000 decisions, goes into `calibration.csv` at once; runs that stand there are not done again.
"""

import argparse
import csv
import sys
from pathlib import Path

from benchmarks.own_targets.strategies import CALIBRATED, CALIBRATION_COLUMNS, MEASURES
from memec import MFEC
from memec.experiments.better import plan_better


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("results/beyond"))
    options = parser.parse_args()
    file = options.out / "calibration.csv"
    file.parent.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, str]] = []
    if file.exists():
        with file.open(newline="") as lines:
            rows = list(csv.DictReader(lines))
    done = {(row["env"], row["strategy"], row["seed"]) for row in rows}
    runs = [run for run in plan_better(seeds=options.seeds, part="strategies") if run.variant in CALIBRATED]
    for number, run in enumerate(runs, 1):
        env = run.settings.environment.id
        if (env, run.variant, str(run.seed)) in done:
            continue
        agent = MFEC(env, settings=run.settings.agent, seed=run.seed).learn(run.settings.training.steps)
        found = agent.diagnostics()
        measured = {name: f"{found.get(name, float('nan')):.4f}" for name in MEASURES}
        rows.append({"env": env, "strategy": run.variant, "seed": str(run.seed), **measured})
        with file.open("w", newline="") as lines:
            writer = csv.DictWriter(lines, CALIBRATION_COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(sorted(rows, key=lambda row: (row["env"], row["strategy"], int(row["seed"]))))
        print(f"[{number}/{len(runs)}] {run.name}: {measured}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
