"""Learning curves of NEC and D3QN: `python -m benchmarks.neural_learning AGENT PRESET ENV STRATEGY SEED ...`.

`SETTING=VALUE` among the seeds changes the preset. Rows are appended to results/neural/evaluations.csv, with what was
changed and the mean value that D3QN estimated while it learned since the row before. The greedy policy is tried out
every 10,000 steps and every 500 in the last 2,500, so that the mean of the last five evaluations is the one that
`memec train` prints, which evaluates every 500 steps. Evaluations are seeded by their step and change nothing in
training.

Without arguments it prints what is in the file: the mean of the last five evaluations of each seed.
"""

import csv
import sys
import time
from pathlib import Path

from memec.agents import AGENTS
from memec.experiments.presets import settings_for
from memec.experiments.run_settings import changes_from
from memec.train import Evaluation, Event

FILE = Path(__file__).parents[1] / "results" / "neural" / "evaluations.csv"
COLUMNS = ("agent", "preset", "env", "strategy", "changes", "seed", "step", "mean_score", "value")
STEPS, LAST = 100_000, 2_500


def learn(
    agent_name: str, preset: str, env: str, strategy: str, changes: list[str], seed: int
) -> list[tuple[Evaluation, float | None]]:
    """Train one agent and return its evaluations, each with the mean value estimated while learning."""
    changed = changes_from(changes, agent_name)
    settings = settings_for(env, "vector", agent=agent_name, preset=preset, explore=strategy, changes=changed)
    agent = AGENTS[agent_name].from_settings(env, settings.agent, seed=seed)
    evaluations: list[tuple[Evaluation, float | None]] = []

    def listen(event: Event) -> None:
        if isinstance(event, Evaluation):
            value = agent.diagnostics().get("value") if agent_name == "d3qn" else None
            evaluations.append((event, value))

    agent.learn(STEPS - LAST, evaluate_every=10_000, callback=listen)
    agent.learn(LAST, evaluate_every=500, callback=listen)
    return evaluations


def show() -> None:
    """Print the mean of the last five evaluations of each seed."""
    scores: dict[tuple[str, ...], dict[str, list[float]]] = {}
    with FILE.open(newline="") as file:
        for row in csv.DictReader(file):
            group = tuple(row[name] for name in COLUMNS[:5])
            scores.setdefault(group, {}).setdefault(row["seed"], []).append(float(row["mean_score"]))
    for group, seeds in sorted(scores.items()):
        last = {seed: sum(each[-5:]) / 5 for seed, each in sorted(seeds.items())}
        print(*group, "|", ", ".join(f"seed {seed}: {score:.1f}" for seed, score in last.items()))


def main() -> None:
    """Run what the command line names."""
    if len(sys.argv) == 1:
        show()
        return
    agent, preset, env, strategy, *rest = sys.argv[1:]
    changes = [word for word in rest if "=" in word]
    for seed in (word for word in rest if "=" not in word):
        started = time.perf_counter()
        evaluations = learn(agent, preset, env, strategy, changes, int(seed))
        new = not FILE.exists()
        with FILE.open("a", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if new:
                writer.writerow(COLUMNS)
            for evaluation, value in evaluations:
                score, estimated = round(evaluation.mean_score, 2), "" if value is None else round(value, 2)
                changed = " ".join(changes)
                writer.writerow([agent, preset, env, strategy, changed, seed, evaluation.step, score, estimated])
        last = sum(evaluation.mean_score for evaluation, _ in evaluations[-5:]) / 5
        took = time.perf_counter() - started
        print(agent, preset, env, strategy, *changes, f"seed {seed}: {last:.1f} ({took:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
