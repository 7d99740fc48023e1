"""`python -m benchmarks.temperature Acrobot-v1`: what rho of mellowmax-auto and omega of mellowmax are worth.

Tuned MFEC with seeds from 0 on, 50,000 steps, evaluated every 2,500 by three greedy episodes: the area under that
curve, mapped to [0, 1], with its standard error; and the area from the second evaluation after the first success on,
which leaves out the luck of finding one.
"""

import argparse
from typing import Any

import numpy as np

from benchmarks.measure import progress
from memec import MFEC, Mellowmax, MellowmaxAuto
from memec.train import Episode, Evaluation, Event

RANGES = {"CartPole-v1": (0.0, 500.0), "Acrobot-v1": (-500.0, -70.0)}
STEPS, EVALUATE_EVERY, EPISODES = 50_000, 2_500, 3


def areas(env: str, explore: Any, seed: int) -> tuple[float, float]:
    """Return the area of one run, and that after its first success; NaN where there was none."""
    worst, best = RANGES[env]
    scores: list[float] = []
    successes: list[int] = []

    def note(event: Event) -> None:
        if isinstance(event, Evaluation):
            scores.append((event.mean_score - worst) / (best - worst))
        elif isinstance(event, Episode) and event.score > worst:
            successes.append(event.step)

    agent = MFEC(env, explore=explore, seed=seed)
    agent.learn(STEPS, evaluate_every=EVALUATE_EVERY, evaluation_episodes=EPISODES, callback=note)
    curve = np.clip(scores, 0.0, 1.0)
    later = curve[successes[0] // EVALUATE_EVERY + 2 :] if successes else curve[:0]
    return float(curve.mean()), float(later.mean()) if len(later) else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.temperature", description=__doc__)
    parser.add_argument("environments", nargs="+", choices=RANGES)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rhos", type=float, nargs="*", default=[0.02, 0.03, 0.05, 0.1])
    parser.add_argument("--omegas", type=float, nargs="*", default=[7.5])
    asked = parser.parse_args()
    tried = [MellowmaxAuto(rho=rho) for rho in asked.rhos] + [Mellowmax(omega=omega) for omega in asked.omegas]
    for env in asked.environments:
        for explore in tried:
            found = []
            for seed in range(asked.seeds):
                progress(f"{env}, {explore!r}: {seed} of {asked.seeds} seeds")
                found.append(areas(env, explore, seed))
            means = np.nanmean(found, axis=0)
            errors = np.nanstd(found, axis=0) / np.sqrt(np.isfinite(found).sum(axis=0))
            parts = " and ".join(f"{mean:.3f} ± {error:.3f}" for mean, error in zip(means, errors, strict=True))
            print(f"{env}  {explore!r}  {parts}", flush=True)


if __name__ == "__main__":
    main()
