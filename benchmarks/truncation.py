"""`python -m benchmarks.truncation --seeds 310 311 312 313 314`: what follows a time limit, in MFEC.

Tuned MFEC with each rule, in worlds whose rewards are as they are or have a constant added that leaves the best policy
what it was: the mean of the last five of twenty greedy evaluations of ten episodes, over the seeds, the worst of them,
each of them, and the mean of all twenty. Scores are without the constant.
"""

import argparse
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete

from benchmarks.measure import progress
from memec import MFEC
from memec.train import Evaluation, Event


class Task(NamedTuple):
    """A world, what is added to its rewards, and for how long."""

    id: str
    added: float
    steps: int


TASKS = (
    Task("CartPole-v1", 0.0, 50_000),
    Task("CartPole-v1", 10.0, 50_000),
    Task("Acrobot-v1", 0.0, 50_000),
    Task("Acrobot-v1", 1.0, 50_000),
    Task("memec/FourRoom-v0", 0.0, 20_000),
    Task("MountainCar-v0", 0.0, 50_000),
    Task("CliffWalking-v1", 0.0, 20_000),
    Task("Pendulum-v1", 0.0, 30_000),
    Task("Pendulum-v1", 20.0, 30_000),
)
EVALUATIONS, LAST = 20, 5


class Torques(gymnasium.ActionWrapper[Any, Any, Any]):
    """Pendulum with three actions: the largest torque one way, none, and the other way."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.action_space = Discrete(3)

    def action(self, action: Any) -> Any:
        """Return the torque."""
        return np.array([2.0 * (int(action) - 1)], np.float32)


def world_of(task: Task) -> gymnasium.Env[Any, Any]:
    """Make the world; CliffWalking, which has no time limit, with one of 200 steps."""
    limit = {"max_episode_steps": 200} if task.id.startswith("Cliff") else {}
    env: gymnasium.Env[Any, Any] = gymnasium.make(task.id, **limit)
    env = Torques(env) if task.id.startswith("Pendulum") else env
    return gymnasium.wrappers.TransformReward(env, lambda reward: float(reward) + task.added)


def scores_of(task: Task, rule: Any, seed: int) -> list[float]:
    """Train once; return the score of each evaluation."""
    scores: list[float] = []

    def note(event: Event) -> None:
        if isinstance(event, Evaluation):
            scores.append(event.mean_score - task.added * event.mean_length)

    agent = MFEC(world_of(task), truncation=rule, seed=seed)
    every = task.steps // EVALUATIONS
    agent.learn(task.steps, evaluate_every=every, evaluation_env=world_of(task), callback=note)
    return scores


def main() -> None:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.truncation", description=__doc__)
    parser.add_argument("--rules", nargs="+", default=["average", "careful"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    asked = parser.parse_args()
    for task in TASKS:
        for rule in asked.rules:
            curves = []
            for seed in asked.seeds:
                progress(f"{task.id} {task.added:+g} {rule}: seed {seed}")
                curves.append(scores_of(task, rule, seed))
            last = np.mean(np.array(curves)[:, -LAST:], axis=1)
            each = ", ".join(f"{score:.4g}" for score in last)
            numbers = f"{last.mean():.4g} (worst {last.min():.4g}; {each}), whole curve {np.mean(curves):.4g}"
            print(f"{task.id} {task.added:+g}  {rule}  {numbers}", flush=True)


if __name__ == "__main__":
    main()
