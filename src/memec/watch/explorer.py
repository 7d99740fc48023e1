"""The memory explorer: an episode of a trained agent, and the memories behind each of its decisions."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memec.agents.memories import Memories, Remembering
from memec.envs.rooms import Room
from memec.errors import MemecError
from memec.frames import are_pixels
from memec.train.protocol import Observation, StateId
from memec.train.seeds import Seeds
from memec.watch.drawing import THUMBNAIL, can_draw, draw_observation, png
from memec.watch.episode import play
from memec.watch.maps import Plane, room_map
from memec.watch.names import action_names
from memec.watch.trained import Names, Trained, drawn_world, load_trained

MOST_STEPS = 2_000
"""Steps of an episode that are shown: every one keeps its observation and its picture in memory."""
EPISODES_KEPT = 3
HOW_TO_KEEP = "Pictures of memories were not kept: train with --keep-frames to see them here."


@dataclass(frozen=True)
class Moment:
    """One moment of an episode as the explorer keeps it."""

    observation: Observation
    state_id: StateId
    picture: bytes | None
    score: float
    action: int | None


@dataclass(frozen=True)
class Played:
    """An episode that can be looked at moment by moment."""

    moments: list[Moment]
    ending: str


class Explorer:
    """Plays episodes of one checkpoint's agent and shows what is behind them, to one who asks at a time."""

    def __init__(
        self, run: Path, env: str | None = None, parts: Names = None, stopped: Callable[[], bool] = lambda: False
    ) -> None:
        self._trained: Trained = load_trained(run, env, parts, pictures=True)
        self.agent = self._trained.agent
        self.step = self.agent.steps
        self._world = drawn_world(self._trained.settings)
        self._drawing_world = drawn_world(self._trained.settings)
        self._drawing_world.reset(seed=0)
        self._names = action_names(self._world)
        self._episodes: dict[tuple[int, bool], Played] = {}
        self._stopped = stopped

    @property
    def memory(self) -> Remembering | None:
        """What keeps the agent's memories, where it has any."""
        return self.agent.lookups.remembering

    def episode(self, seed: int, exploring: bool) -> dict[str, Any]:
        """Play an episode, and return what does not need its memories."""
        played = self._play(seed, exploring)
        return {
            "checkpoint": self.step,
            "actions": self._names,
            "chosen": [moment.action for moment in played.moments],
            "scores": [moment.score for moment in played.moments],
            "ending": played.ending,
            "drawn": played.moments[0].picture is not None,
            "note": self._note(),
            "entries": 0 if self.memory is None else len(self.memory),
        }

    def moment(self, seed: int, exploring: bool, number: int) -> dict[str, Any]:
        """Return what the agent thinks at a moment of an episode: values, policy and memories of every action."""
        moment = self._moment(seed, exploring, number)
        belief, memories, key = self.agent.think(moment.observation, moment.state_id)
        policy = self.agent.explore.probabilities(belief, self.step)
        place = self._place(key)
        return {
            "chosen": moment.action,
            "score": moment.score,
            "values": belief.mean.tolist(),
            "std": None if belief.std is None else belief.std.tolist(),
            "spread": [_spread(one) for one in memories] or None,
            "policy": None if policy is None else policy.tolist(),
            "observation": None if moment.observation.size > 16 else moment.observation.astype(float).tolist(),
            "memories": [self._remembered(one) for one in memories],
            "place": place,
        }

    def moment_picture(self, seed: int, exploring: bool, number: int) -> bytes | None:
        """Return the picture of a moment as a PNG file."""
        return self._moment(seed, exploring, number).picture

    def memory_picture(self, slot: int) -> bytes | None:
        """Return the picture of a memory as a PNG file, where there is one."""
        observation = self._observed(slot)
        if observation is None:
            return None
        picture = draw_observation(self._drawing_world, observation)
        return None if picture is None else png(picture, THUMBNAIL)

    def map(self) -> dict[str, Any]:
        """Return the whole memory at a glance."""
        environment = self._world.environment.unwrapped
        if isinstance(environment, Room):
            return room_map(self.agent, environment) | {"actions": self._names}
        if self._plane is None:
            return {"kind": "none"}
        return self._plane.points() | {"actions": self._names}

    @cached_property
    def _plane(self) -> Plane | None:
        return Plane(self.memory) if self.memory is not None and len(self.memory) else None

    def _play(self, seed: int, exploring: bool) -> Played:
        if (seed, exploring) not in self._episodes:
            moments, ending = [], ""
            most = min(MOST_STEPS, self._trained.settings.training.evaluation_episode_steps)
            shown = play(self.agent, self._world, Seeds(seed), exploring=exploring, most_steps=most)
            for seen in shown:
                if self._stopped():
                    raise MemecError("The page is about to close: the episode was broken off.")
                picture = None if seen.picture is None else png(seen.picture)
                moments.append(Moment(seen.observation, seen.state_id, picture, seen.score, seen.action))
                ending = seen.ending
            while len(self._episodes) >= EPISODES_KEPT:
                self._episodes.pop(next(iter(self._episodes)))
            self._episodes[seed, exploring] = Played(moments, ending)
        return self._episodes[seed, exploring]

    def _moment(self, seed: int, exploring: bool, number: int) -> Moment:
        moments = self._play(seed, exploring).moments
        if not 0 <= number < len(moments):
            raise MemecError(f"The episode has the moments 0 to {len(moments) - 1}, not {number}.")
        return moments[number]

    def _place(self, key: NDArray[np.float32] | None) -> list[float] | None:
        """Return where a key lies on the map of the memory."""
        if key is None or self._plane is None or isinstance(self._world.environment.unwrapped, Room):
            return None
        return [float(number) for number in self._plane.place(key[None])[0]]

    def _remembered(self, memories: Memories) -> dict[str, Any]:
        return {
            "value": memories.value,
            "exact": memories.exact,
            "distances": memories.distances.tolist(),
            "weights": memories.weights.tolist(),
            "returns": memories.returns.tolist(),
            "steps": memories.steps.tolist(),
            "slots": memories.slots.tolist(),
            "outcomes": [[(one.count, one.reward, one.terminated) for one in came] for came in memories.outcomes],
            "pictures": [self._has_picture(slot) for slot in memories.slots.tolist()],
        }

    def _has_picture(self, slot: int) -> bool:
        observation = self._observed(slot)
        return observation is not None and (
            are_pixels(observation.shape, observation.dtype) or can_draw(self._drawing_world)
        )

    def _observed(self, slot: int) -> NDArray[Any] | None:
        """Return what was observed in a memory, where that is known."""
        memory = self.memory
        return None if memory is None or not 0 <= slot < len(memory.keys) else self.agent.lookups.observed(slot)

    def _note(self) -> str:
        """Return why memories have no pictures, where they have none."""
        if self.memory is None:
            return f"A {self.agent.name} agent has no memories: its values come from its network alone."
        if self._world.observation.kind != "frames" and not can_draw(self._drawing_world):
            return "This environment's observations cannot be drawn one by one, so memories have no pictures."
        return "" if self.agent.lookups.keeps_observations else HOW_TO_KEEP


def _spread(memories: Memories) -> float:
    """Return the standard deviation of the returns behind a value, weighted as they are in it."""
    if not len(memories):
        return 0.0
    mean = float(np.average(memories.returns, weights=memories.weights))
    return float(np.sqrt(np.average((memories.returns - mean) ** 2, weights=memories.weights)))
