"""The training loop: a generator of what happened. Progress bars, logs and checkpoints are its readers."""

import time
import warnings
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from memec.envs.world import World
from memec.errors import EnvironmentFailedError, MemecError, NotFiniteError, environment_failed
from memec.settings import Settings
from memec.train.evaluation import evaluating
from memec.train.events import TICK_SECONDS, Episode, Event, Tick
from memec.train.files import Arrays
from memec.train.protocol import Learner, Observation
from memec.train.seeds import Seeds


class TrainingSettings(Settings):
    """How long to train and how often to look."""

    steps: PositiveInt = 100_000
    """Decisions of the agent in all (Atari: four frames each)."""
    evaluate_every_steps: NonNegativeInt = 500
    """Steps between two evaluations; 0 never evaluates."""
    evaluation_episodes: PositiveInt = 10
    """Greedy episodes in an evaluation."""
    evaluation_episode_steps: PositiveInt = 27_000
    """Where an evaluation episode is cut off, should the environment never end it."""
    environments: int = Field(1, ge=1, le=4_096)
    """How many environments are played in side by side; steps are counted in all of them together."""


class Position(Settings):
    """Where a loop stands, as a checkpoint says it."""

    step: NonNegativeInt
    evaluated: NonNegativeInt
    games: NonNegativeInt
    score: float


class Loop:
    """Lets an agent live in a world; it can be left, saved and taken up again at any step."""

    def __init__(self, agent: Learner, world: World, seeds: Seeds) -> None:
        self.step = 0
        self._agent = agent
        self._world = world
        self._seeds = seeds
        self._observation: Observation | None = None
        self._evaluated = 0
        self._games = 0
        self._score = 0.0
        self._actions: list[int] = []  # of the game under way: with its seed they lead back to where it is

    def run(
        self, settings: TrainingSettings, evaluation_worlds: Sequence[World] = (), tick_every_steps: int = 0
    ) -> Generator[Event]:
        """Train until `settings.steps` steps have been taken in all, and yield what happens on the way.

        Whenever it yields, the loop can be saved. Ticks come by time, and at every multiple of `tick_every_steps`.
        """
        agent, world, last_step = self._agent, self._world, settings.steps
        state_id = world.state_id
        every = settings.evaluate_every_steps if evaluation_worlds else 0
        next_tick = time.perf_counter() + TICK_SECONDS
        observation = self._reset(new_game=True) if self._observation is None else self._observation
        while True:
            if every and self.step % every == 0 and self.step > self._evaluated:
                evaluation = yield from evaluating(agent, evaluation_worlds, settings, self._seeds, self.step)
                self._evaluated = self.step
                yield evaluation
            if self.step >= last_step:
                return
            step = self.step + 1
            try:
                action = agent.act(observation, state_id)
            except NotFiniteError as error:
                raise not_finite(error, observation, f"before step {step}") from None
            try:
                observation, reward, terminated, truncated = world.step(action)
            except MemecError as error:
                raise environment_failed(f"failed at step {step}: {error}") from None
            except MemoryError:  # ended in the environment by chance: not to be gone on from without its game
                raise
            except Exception as error:
                raise environment_failed(f"raised {type(error).__name__} at step {step}: {error}") from error
            try:
                agent.observe(reward, observation, terminated, truncated)
            except NotFiniteError as error:
                raise not_finite(error, observation, f"at step {step}") from None
            self.step = step
            self._score += reward
            self._actions.append(action)
            if terminated or truncated:
                ended = Episode(step, self._score, len(self._actions))
                game_over = world.game_over or truncated
                self._games += game_over
                observation = self._reset(new_game=game_over)
                if game_over:
                    yield ended
            self._observation = observation
            if (tick_every_steps and step % tick_every_steps == 0) or time.perf_counter() >= next_tick:
                yield Tick(step)
                next_tick = time.perf_counter() + TICK_SECONDS

    def abandon_episode(self) -> None:
        """Begin with a new episode when the loop goes on."""
        self._agent.abandon_episode()
        if self._observation is not None:
            self._observation = None
            self._games += 1

    def snapshot(self) -> tuple[Arrays, dict[str, Any]]:
        """Return where the loop stands: what `restore` needs to go on as if it had never stopped."""
        position = Position(step=self.step, evaluated=self._evaluated, games=self._games, score=self._score)
        about = position.model_dump(mode="json")
        if self._observation is None:
            return {}, about
        return {"observation": self._observation.copy(), "actions": np.array(self._actions, np.int64)}, about

    def restore(self, arrays: Arrays, about: dict[str, Any]) -> None:
        """Go on from a snapshot: the game under way is played again from its seed, up to the last action.

        An environment that does not repeat itself cannot go on from the middle of a game: that game is given up.
        """
        position = Position.read(about)
        self.step, self._evaluated, self._games = position.step, position.evaluated, position.games
        self._observation = None
        if "observation" not in arrays:
            return
        actions = arrays["actions"].tolist()
        if not all(isinstance(action, int) and 0 <= action < self._world.actions for action in actions):
            raise MemecError(f"The saved game does not fit: {self._world.id} has no such actions.")
        observation = self._reset(new_game=True)
        for action in actions:
            observation, reward, terminated, truncated = self._world.step(action)
            self._score += reward
            self._actions.append(action)
            if truncated or (terminated and self._world.game_over):
                break
            if terminated:
                observation = self._reset(new_game=False)
        self._observation = observation
        if not (np.array_equal(observation, arrays["observation"]) and len(self._actions) == len(actions)):
            warnings.warn(
                f"{self._world.id} did not repeat the game under way, which is given up for a new one.",
                stacklevel=2,
            )
            self.abandon_episode()

    def skip_to(self, about: dict[str, Any]) -> None:
        """Go on after a snapshot with a new episode, in a world that may have moved meanwhile."""
        self.restore({}, about)
        self._games += 1

    def _reset(self, *, new_game: bool) -> Observation:
        seed = None
        if new_game:
            if self._world.is_random:
                seed = self._seeds.number("environment", self._games)
            self._score = 0.0
            self._actions = []
        try:
            self._observation = self._world.reset(seed)
        except MemecError as error:
            raise environment_failed(f"failed when it was reset after step {self.step}: {error}") from None
        except MemoryError:
            raise
        except Exception as error:
            when = f"when it was reset after step {self.step}"
            raise environment_failed(f"raised {type(error).__name__} {when}: {error}") from error
        return self._observation


def not_finite(error: NotFiniteError, observation: Observation, when: str) -> EnvironmentFailedError:
    """Blame the observation only where it is not finite itself."""
    if np.isfinite(observation).all():
        return EnvironmentFailedError(f"What was learned from the environment's rewards failed {when}: {error}")
    return environment_failed(f"returned an observation with NaN or infinity {when}.")
