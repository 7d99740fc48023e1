"""Trying out the greedy policy, without a trace in the agent."""

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from memec.envs.world import World
from memec.errors import MemecError, NotFiniteError, environment_failed
from memec.train.events import TICK_SECONDS, Evaluation, Tick
from memec.train.protocol import Learner
from memec.train.seeds import Seeds

MOST_WORLDS = 10
LUCK_AT_ONCE = 128


class EvaluationSettings(Protocol):
    """What an evaluation needs to know; `TrainingSettings` has it."""

    @property
    def evaluation_episodes(self) -> int: ...  # noqa: D102

    @property
    def evaluation_episode_steps(self) -> int: ...  # noqa: D102


class _Game:
    """An episode under way; seeded by its number, so that it is the same whatever is played beside it."""

    __slots__ = ("_generator", "_luck", "episode", "length", "observation", "score", "world")

    def __init__(self, world: World, seeds: Seeds, step: int, episode: int) -> None:
        self.world = world
        self.episode = episode
        self._generator = seeds.generator("evaluation", step, episode)
        self._luck: list[float] = []
        self.observation = world.reset(seeds.number("evaluation", step, episode))
        self.score = 0.0
        self.length = 0

    def luck(self) -> float:
        """Draw a number in [0, 1): from a supply, because drawing one takes as long as drawing many."""
        if not self._luck:
            self._luck = self._generator.random(LUCK_AT_ONCE)[::-1].tolist()
        return self._luck.pop()


def worlds_for_evaluation(kind: str, episodes: int) -> int:
    """Return how many worlds to play in at once.

    Asking a policy about ten states at once costs little more than about one. Games of frames cost more than the
    asking, and their embedding is quicker when one frame follows the other.
    """
    return 1 if kind == "frames" else min(episodes, MOST_WORLDS)


def evaluating(
    agent: Learner, worlds: Sequence[World], settings: EvaluationSettings, seeds: Seeds, step: int
) -> Generator[Tick, None, Evaluation]:
    """Play whole greedy episodes in worlds of their own; seeded by the step, so independent of earlier evaluations.

    A generator, so that a run can be stopped or shown while long games are played; it returns the evaluation.
    """
    started = time.perf_counter()
    next_tick = started + TICK_SECONDS
    policy = agent.greedy_policy()
    episodes = settings.evaluation_episodes
    scores, lengths = np.zeros(episodes), np.zeros(episodes, np.int64)
    begun = min(len(worlds), episodes)
    with _naming_the_evaluation(step):
        games = [_Game(world, seeds, step, episode) for episode, world in enumerate(worlds[:begun])]
        while games:
            actions = policy(
                [game.observation for game in games],
                World.state_ids_of([game.world for game in games]),
                [game.luck() for game in games],
            )
            over = False
            for game, action in zip(games, actions, strict=True):
                game.observation, reward, terminated, truncated = game.world.step(action)
                game.score += reward
                game.length += 1
                if terminated or truncated or game.length >= settings.evaluation_episode_steps:
                    scores[game.episode], lengths[game.episode] = game.score, game.length
                    game.length = -1
                    over = True
            if over:
                ended = [game for game in games if game.length < 0]
                games = [game for game in games if game.length >= 0]
                for game in ended[: episodes - begun]:
                    games.append(_Game(game.world, seeds, step, begun))
                    begun += 1
            if time.perf_counter() >= next_tick:
                yield Tick(step)
                next_tick = time.perf_counter() + TICK_SECONDS
    return Evaluation(
        step=step,
        episodes=episodes,
        mean_score=float(np.mean(scores)),
        std_score=float(np.std(scores)),
        min_score=float(np.min(scores)),
        max_score=float(np.max(scores)),
        mean_length=float(np.mean(lengths)),
        seconds=time.perf_counter() - started,
    )


@contextmanager
def _naming_the_evaluation(step: int) -> Generator[None]:
    """Say of what fails in the environment that it failed in this evaluation."""
    try:
        yield
    except NotFiniteError as error:
        raise environment_failed(f"failed in the evaluation at step {step}: {error}") from None
    except (MemecError, MemoryError):
        raise
    except Exception as error:
        where = f"in the evaluation at step {step}"
        raise environment_failed(f"raised {type(error).__name__} {where}: {error}") from error
