"""What the paper's whole protocol costs, evaluations included, against the environment steps it contains."""

import time

from benchmarks.measure import Row, at_most, progress, seconds
from benchmarks.steps import environment_alone, paper_agent
from memec.experiments.presets import settings_for
from memec.train import Evaluation

STEPS, PARTS = 30_000, 6
TARGET = 2.5


def rows() -> list[Row]:
    return [_protocol(env) for env in ("CartPole-v1", "Acrobot-v1")]


def _protocol(env: str) -> Row:
    """Train and evaluate as the paper does, in parts; between them, step the environment alone."""
    training = settings_for(env, "vector", preset="paper").training
    paper_agent(env).learn(1_000, evaluate_every=500)  # what is compiled or loaded once is no part of it
    agent = paper_agent(env)
    yardstick_steps = 20_000
    alone = environment_alone(env, yardstick_steps)
    mine = theirs = 0.0
    for part in range(PARTS):
        progress(f"the paper's protocol in {env}: {part * STEPS // PARTS:,} of {STEPS:,} steps")
        evaluated: list[Evaluation] = []
        started = time.perf_counter()
        agent.learn(
            STEPS // PARTS,
            evaluate_every=training.evaluate_every_steps,
            evaluation_episodes=training.evaluation_episodes,
            callback=lambda event, evaluated=evaluated: (
                evaluated.append(event) if isinstance(event, Evaluation) else None
            ),
        )
        mine += time.perf_counter() - started
        steps = STEPS // PARTS + sum(each.episodes * each.mean_length for each in evaluated)
        theirs += steps * seconds(alone) / yardstick_steps
    name = f"the paper's whole protocol / the environment steps in it, {env}"
    return at_most(name, mine / theirs, TARGET, f"{STEPS:,} training steps and their evaluations in {mine:.0f} s")
