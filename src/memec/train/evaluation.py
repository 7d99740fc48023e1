"""Trying out the greedy policy, without a trace in the agent."""

import time
from collections.abc import Generator
from typing import Protocol

import numpy as np

from memec.envs.world import World
from memec.errors import MemecError, NotFiniteError, environment_failed
from memec.train.events import TICK_SECONDS, Evaluation, Tick
from memec.train.protocol import Learner
from memec.train.seeds import Seeds


class EvaluationSettings(Protocol):
    """What an evaluation needs to know; `TrainingSettings` has it."""

    @property
    def evaluation_episodes(self) -> int: ...  # noqa: D102

    @property
    def evaluation_episode_steps(self) -> int: ...  # noqa: D102


def evaluating(
    agent: Learner, world: World, settings: EvaluationSettings, seeds: Seeds, step: int
) -> Generator[Tick, None, Evaluation]:
    """Play whole greedy episodes in a world of their own; seeded by the step, so independent of earlier evaluations.

    A generator, so that a run can be stopped or shown while long games are played; it returns the evaluation.
    """
    started = time.perf_counter()
    next_tick = started + TICK_SECONDS
    policy = agent.greedy_policy(seeds.generator("evaluation", step))
    scores, lengths = [], []
    for episode in range(settings.evaluation_episodes):
        score, length = 0.0, 0
        try:
            observation = world.reset(seeds.number("evaluation", step, episode))
            terminated = truncated = False
            while not (terminated or truncated) and length < settings.evaluation_episode_steps:
                observation, reward, terminated, truncated = world.step(policy(observation, world.state_id()))
                score += reward
                length += 1
                if time.perf_counter() >= next_tick:
                    yield Tick(step)
                    next_tick = time.perf_counter() + TICK_SECONDS
        except NotFiniteError as error:
            raise environment_failed(f"failed in the evaluation at step {step}: {error}") from None
        except MemecError:
            raise
        except Exception as error:
            where = f"in the evaluation at step {step}"
            raise environment_failed(f"raised {type(error).__name__} {where}: {error}") from error
        scores.append(score)
        lengths.append(length)
    return Evaluation(
        step=step,
        episodes=len(scores),
        mean_score=float(np.mean(scores)),
        std_score=float(np.std(scores)),
        min_score=min(scores),
        max_score=max(scores),
        mean_length=float(np.mean(lengths)),
        seconds=time.perf_counter() - started,
    )
