"""The training loop: a generator of what happened. Progress bars, logs and checkpoints are its readers."""

import time
from collections.abc import Generator

from pydantic import NonNegativeInt, PositiveInt

from memec.envs.world import World
from memec.errors import NotFiniteError, environment_failed
from memec.settings import Settings
from memec.train.evaluation import evaluating
from memec.train.events import TICK_SECONDS, Episode, Event, Tick
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


class Loop:
    """Lets an agent live in a world; it can be left and taken up again at any step."""

    def __init__(self, agent: Learner, world: World, seeds: Seeds) -> None:
        self.step = 0
        self._agent = agent
        self._world = world
        self._seeds = seeds
        self._observation: Observation | None = None
        self._evaluated = 0
        self._games = 0
        self._score = 0.0
        self._length = 0

    def run(self, settings: TrainingSettings, evaluation_world: World | None = None) -> Generator[Event]:
        """Train until `settings.steps` steps have been taken in all, and yield what happens on the way."""
        agent, world = self._agent, self._world
        every = settings.evaluate_every_steps if evaluation_world is not None else 0
        next_tick = time.perf_counter() + TICK_SECONDS
        observation = self._reset(new_game=True) if self._observation is None else self._observation
        while True:
            if every and self.step % every == 0 and self.step > self._evaluated and evaluation_world is not None:
                evaluation = yield from evaluating(agent, evaluation_world, settings, self._seeds, self.step)
                self._evaluated = self.step
                yield evaluation
            if self.step >= settings.steps:
                return
            step = self.step + 1
            try:
                action = agent.act(observation, world.state_id())
            except NotFiniteError:
                raise NotFiniteError(
                    f"The environment's observation before step {step} holds NaN or infinity."
                ) from None
            try:
                observation, reward, terminated, truncated = world.step(action)
            except NotFiniteError as error:
                raise NotFiniteError(f"{str(error).rstrip('.')} at step {step}.") from None
            except Exception as error:
                raise environment_failed(error, f"at step {step}") from error
            agent.observe(reward, observation, terminated, truncated)
            self.step = step
            self._score += reward
            self._length += 1
            if terminated or truncated:
                ended = Episode(step, self._score, self._length)
                if game_over := world.game_over or truncated:
                    self._games += 1
                    self._score, self._length = 0.0, 0
                observation = self._reset(new_game=game_over)
                if game_over:
                    self._observation = observation
                    yield ended
            self._observation = observation
            if time.perf_counter() >= next_tick:
                yield Tick(step)
                next_tick = time.perf_counter() + TICK_SECONDS

    def abandon_episode(self) -> None:
        """Begin with a new episode when the loop goes on."""
        if self._observation is not None:
            self._agent.abandon_episode()
            self._observation = None
            self._games += 1
            self._score, self._length = 0.0, 0

    def _reset(self, *, new_game: bool) -> Observation:
        seed = self._seeds.number("environment", self._games) if new_game else None
        try:
            return self._world.reset(seed)
        except Exception as error:
            raise environment_failed(error, f"when it was reset after step {self.step}") from error
