"""The training loop in several environments side by side: a round takes one action in every one of them."""

import logging
import time
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, Self

import numpy as np

from memec.envs.lanes import Engine, InProcess, Pace, Worlds, engine_for, played_by
from memec.envs.world import Step, World
from memec.errors import EnvironmentFailedError, MemecError, NotFiniteError, environment_failed
from memec.saved_arrays import check_arrays, check_not_negative
from memec.train.evaluation import evaluating
from memec.train.events import TICK_SECONDS, Episode, Event, Tick
from memec.train.files import Arrays
from memec.train.loop import Position, TrainingSettings, not_finite
from memec.train.protocol import AskStateId, Learner, Observation
from memec.train.seeds import Seeds

LOG = logging.getLogger("memec")
TIMED_SECONDS = 0.2
"""How long the first steps are timed."""


class LaneLearner(Learner, Protocol):
    """An agent in several environments, to the loop."""

    @property
    def lanes(self) -> Sequence[Self]:
        """The agent in each of them: they share what is learned, and each has an episode of its own."""

    def act_each(
        self, lanes: Sequence[Self], observations: Sequence[Observation], state_ids: Sequence[AskStateId]
    ) -> list[int]:
        """Choose an action to learn from in each of some environments."""


class Lane:
    """Where one environment stands."""

    __slots__ = ("actions", "game", "observation", "score")

    def __init__(self, game: int) -> None:
        self.game = game
        self.observation: Observation | None = None
        """None where an episode begins with the next round."""
        self.score = 0.0
        self.actions: list[int] = []  # of the game under way: with its seed they lead back to where it is


class Lockstep:
    """Lets an agent live in several worlds; it can be left, saved and taken up again between any two rounds.

    Steps are counted in all of them together. A game has the number that it is the how-manieth to begin.
    """

    def __init__(self, agent: LaneLearner, worlds: Worlds, seeds: Seeds, engine: Engine = "auto") -> None:
        self.step = 0
        self._agent = agent
        self._worlds = worlds
        self._pace: Pace | None = None
        if isinstance(worlds, InProcess) and engine == "auto":
            self._pace = Pace()  # the first steps are timed
        elif isinstance(worlds, InProcess):
            self._worlds = played_by(engine, worlds)
        self._seeds = seeds
        self._lanes: list[Lane] = []
        self._evaluated = 0
        self._games = 0
        self._ended: list[Episode] = []  # that nobody was told of yet

    def run(
        self, settings: TrainingSettings, evaluation_worlds: Sequence[World] = (), tick_every_steps: int = 0
    ) -> Generator[Event]:
        """Train until at least `settings.steps` steps have been taken in all, and yield what happens on the way.

        Rounds are whole: what is due at a step happens after the round in which that is reached. Whenever it yields,
        the loop can be saved. Ticks come by time, and for every multiple of `tick_every_steps`.
        """
        every = settings.evaluate_every_steps if evaluation_worlds else 0
        next_tick = time.perf_counter() + TICK_SECONDS
        if not self._lanes:
            before, self._games = self._games, self._games + len(self._worlds.worlds)
            self._begin(range(before, self._games))
        while True:
            while self._ended:
                yield self._ended.pop(0)
            if every and self.step // every > self._evaluated // every:
                evaluation = yield from evaluating(self._agent, evaluation_worlds, settings, self._seeds, self.step)
                self._evaluated = self.step
                yield evaluation
            if self.step >= settings.steps:
                return
            before = self.step
            self._round()
            if self._pace is not None and self._pace.seconds >= TIMED_SECONDS:
                self._choose_engine()
            if tick_every_steps and self.step // tick_every_steps > before // tick_every_steps:
                yield Tick(self.step - self.step % tick_every_steps)
            elif time.perf_counter() >= next_tick:
                yield Tick(self.step)
                next_tick = time.perf_counter() + TICK_SECONDS

    def _round(self) -> None:
        """Take an action wherever an episode is under way, and let the agent learn from what came of them, in order."""
        agent, worlds, lanes = self._agent, self._worlds.worlds, self._lanes
        acting = [number for number, lane in enumerate(lanes) if lane.observation is not None]
        observations = [lane.observation for lane in lanes if lane.observation is not None]
        actions: list[int | None] = [None] * len(lanes)
        if acting:
            try:
                chosen = agent.act_each(
                    [agent.lanes[number] for number in acting], observations, [worlds[n].state_id for n in acting]
                )
            except NotFiniteError as error:
                raise not_finite(error, np.stack(observations), f"before step {self.step + 1}") from None
            for number, one in zip(acting, chosen, strict=True):
                actions[number] = one
        with _naming_the_step(f"at one of the steps {self.step + 1} to {self.step + len(acting)}"):
            results = self._worlds.step(actions) if self._pace is None else self._timed(actions)
        for number, (lane, action, result) in enumerate(zip(lanes, actions, results, strict=True)):
            if result is None:
                continue
            observation, reward, terminated, truncated = result
            lane.observation = observation
            if action is None:  # its episode begins
                continue
            try:
                agent.lanes[number].observe(reward, observation, terminated, truncated)
            except NotFiniteError as error:
                raise not_finite(error, observation, f"at step {self.step + 1}") from None
            self.step += 1
            lane.score += reward
            lane.actions.append(action)
            if terminated or truncated:
                game_over = worlds[number].game_over or truncated
                if game_over:
                    self._ended.append(Episode(self.step, lane.score, len(lane.actions)))
                self._reset(number, new_game=game_over)

    def _timed(self, actions: Sequence[int | None]) -> list[Step | None]:
        assert self._pace is not None
        results, self._pace = self._pace.timed(self._worlds, actions)
        return results

    def _choose_engine(self) -> None:
        """Let the environments be played where that is quickest, by how long the first steps took."""
        here, pace, self._pace = self._worlds, self._pace, None
        assert isinstance(here, InProcess)
        assert pace is not None
        engine, why = engine_for(here, pace)
        LOG.info("The %d environments are played %s.", len(here.worlds), why)
        if engine != "workers":
            self._worlds = played_by(engine, here)
            return
        before = self._lanes
        try:
            self._worlds = played_by(engine, here)
            self._begin([lane.game for lane in before])
            repeated = self._play_again([lane.actions for lane in before])
            pairs: Any = [(lane.observation, now.observation) for lane, now in zip(before, self._lanes, strict=True)]
            if all(repeated) and all(np.array_equal(*pair) for pair in pairs):
                return
            why = "their games are not repeatable"
        except MemecError as error:
            why = str(error)
        LOG.info("They stay in this process: %s", why)
        self._worlds, self._lanes = here, before

    def _begin(self, games: Sequence[int]) -> None:
        """Begin these games."""
        self._lanes = [Lane(game) for game in games]
        with _naming_the_step(f"when it was reset after step {self.step}"):
            began = self._worlds.begin([self._seed(lane) for lane in self._lanes])
        for lane, observation in zip(self._lanes, began, strict=True):
            lane.observation = observation

    def _reset(self, number: int, *, new_game: bool) -> None:
        if new_game:
            self._lanes[number] = Lane(self._games)
            self._games += 1
        lane = self._lanes[number]
        with _naming_the_step(f"when it was reset after step {self.step}"):
            seed = self._seed(lane) if new_game else None
            lane.observation = self._worlds.reset(number, seed, new_game=new_game)

    def _seed(self, lane: Lane) -> int | None:
        return self._seeds.number("environment", lane.game) if self._worlds.worlds[0].is_random else None

    def abandon_episode(self) -> None:
        """Begin with new episodes when the loop goes on."""
        for lane in self._agent.lanes:
            lane.abandon_episode()
        self._lanes = []

    def snapshot(self) -> tuple[Arrays, dict[str, Any]]:
        """Return where the loop stands: what `restore` needs to go on as if it had never stopped."""
        position = Position(step=self.step, evaluated=self._evaluated, games=self._games, score=0.0)
        arrays = {"ended": np.array(self._ended, np.float64).reshape(-1, 3)}
        if self._lanes:
            arrays["games"] = np.array([lane.game for lane in self._lanes], np.int64)
        for number, lane in enumerate(self._lanes):
            arrays[f"actions.{number}"] = np.array(lane.actions, np.int64)
            if lane.observation is not None:
                arrays[f"observation.{number}"] = lane.observation.copy()
        return arrays, position.model_dump(mode="json")

    def restore(self, arrays: Arrays, about: dict[str, Any]) -> None:
        """Go on from a snapshot: the games under way are played again from their seeds, up to the last actions.

        A game that does not repeat itself cannot go on from its middle, and is given up.
        """
        position = Position.read(about)
        self.step, self._evaluated, self._games = position.step, position.evaluated, position.games
        self._lanes = []
        self._ended = [Episode(int(step), score, int(length)) for step, score, length in arrays["ended"].tolist()]
        if "games" not in arrays:
            return
        games, actions = self._saved_games(arrays)
        if not self._worlds.repeats:
            warnings.warn("A vector environment repeats no games: those under way are given up.", stacklevel=2)
            self.abandon_episode()
            return
        self._begin(games)
        repeated = self._play_again(actions)
        for number, lane in enumerate(self._lanes):
            saved = arrays.get(f"observation.{number}")
            same = saved is not None and lane.observation is not None and np.array_equal(saved, lane.observation)
            if not (same and repeated[number]):
                self._give_up(number)

    def _saved_games(self, arrays: Arrays) -> tuple[list[int], list[list[int]]]:
        count = len(self._worlds.worlds)
        check_arrays(arrays, {"games": (np.int64, (count,))})
        check_not_negative(arrays, "games")
        world = self._worlds.worlds[0]
        actions = [arrays[f"actions.{number}"].tolist() for number in range(count)]
        if not all(isinstance(action, int) and 0 <= action < world.actions for own in actions for action in own):
            raise MemecError(f"The saved games do not fit: {world.id} has no such actions.")
        return arrays["games"].tolist(), actions

    def _play_again(self, actions: list[list[int]]) -> list[bool]:
        """Take these actions, in all environments side by side; return where all could be taken."""
        under_way = [True] * len(actions)
        for at in range(max(map(len, actions))):
            due = [own[at] if at < len(own) and up else None for own, up in zip(actions, under_way, strict=True)]
            for number, (action, result) in enumerate(zip(due, self._worlds.step(due), strict=True)):
                lane = self._lanes[number]
                if action is None or result is None:
                    continue
                lane.observation, reward, terminated, truncated = result
                lane.score += reward
                lane.actions.append(action)
                if truncated or (terminated and self._worlds.worlds[number].game_over):
                    under_way[number] = False
                elif terminated:
                    lane.observation = self._worlds.reset(number, None, new_game=False)
        return under_way

    def _give_up(self, number: int) -> None:
        warnings.warn(
            f"{self._worlds.worlds[number].id} did not repeat the game under way, which is given up for a new one.",
            stacklevel=2,
        )
        self._agent.lanes[number].abandon_episode()
        self._reset(number, new_game=True)

    def skip_to(self, about: dict[str, Any]) -> None:
        """Go on after a snapshot with new episodes, in worlds that may have moved meanwhile."""
        self.restore({"ended": np.zeros((0, 3))}, about)


@contextmanager
def _naming_the_step(when: str) -> Iterator[None]:
    """Say when an environment failed."""
    try:
        yield
    except EnvironmentFailedError:
        raise
    except MemecError as error:
        raise environment_failed(f"failed {when}: {error}") from None
    except Exception as error:
        raise environment_failed(f"raised {type(error).__name__} {when}: {error}") from error
