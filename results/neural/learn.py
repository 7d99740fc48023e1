"""Learning curves of NEC and D3QN: `python results/neural/learn.py AGENT PRESET ENV STRATEGY SEED [SEED ...]`.

Rows are appended to evaluations.csv. The greedy policy is tried out every 10,000 steps and every 500 in the last 2,500,
so that the mean of the last five evaluations is the one that `memec train` prints, which evaluates every 500 steps.
Evaluations are seeded by their step and change nothing in training.

Without arguments it prints what is in the file: the mean of the last five evaluations of each seed.
"""

import csv
import sys
import time
from pathlib import Path

from memec.agents import AGENTS
from memec.experiments.presets import settings_for
from memec.train import Evaluation, Event

FILE = Path(__file__).with_name("evaluations.csv")
COLUMNS = ("agent", "preset", "env", "strategy", "seed", "step", "mean_score")
STEPS, LAST = 100_000, 2_500


def learn(agent_name: str, preset: str, env: str, strategy: str, seed: int) -> list[Evaluation]:
    """Train one agent and return its evaluations."""
    settings = settings_for(env, "vector", agent=agent_name, preset=preset, explore=strategy)
    agent = AGENTS[agent_name].from_settings(env, settings.agent, seed=seed)
    evaluations: list[Evaluation] = []

    def listen(event: Event) -> None:
        if isinstance(event, Evaluation):
            evaluations.append(event)

    agent.learn(STEPS - LAST, evaluate_every=10_000, callback=listen)
    agent.learn(LAST, evaluate_every=500, callback=listen)
    return evaluations


def show() -> None:
    """Print the mean of the last five evaluations of each seed."""
    scores: dict[tuple[str, ...], dict[str, list[float]]] = {}
    with FILE.open(newline="") as file:
        for row in csv.DictReader(file):
            group = tuple(row[name] for name in COLUMNS[:4])
            scores.setdefault(group, {}).setdefault(row["seed"], []).append(float(row["mean_score"]))
    for group, seeds in sorted(scores.items()):
        last = {seed: sum(each[-5:]) / 5 for seed, each in sorted(seeds.items())}
        print(*group, "|", ", ".join(f"seed {seed}: {score:.1f}" for seed, score in last.items()))


def main() -> None:
    """Run what the command line names."""
    if len(sys.argv) == 1:
        show()
        return
    agent, preset, env, strategy, *seeds = sys.argv[1:]
    for seed in seeds:
        started = time.perf_counter()
        evaluations = learn(agent, preset, env, strategy, int(seed))
        new = not FILE.exists()
        with FILE.open("a", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if new:
                writer.writerow(COLUMNS)
            for evaluation in evaluations:
                score = round(evaluation.mean_score, 2)
                writer.writerow([agent, preset, env, strategy, seed, evaluation.step, score])
        last = sum(evaluation.mean_score for evaluation in evaluations[-5:]) / 5
        print(
            f"{agent} {preset} {env} {strategy} seed {seed}: {last:.1f} ({time.perf_counter() - started:.0f} s)",
            flush=True,
        )


if __name__ == "__main__":
    main()
