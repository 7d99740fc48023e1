"""An agent in several environments side by side: one of it for each, which learn together."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, ClassVar, Self

from memec.agents.exploring import Decisions, LaneDecisions
from memec.agents.file import Part
from memec.errors import MemecError
from memec.train.files import Arrays, part_of
from memec.train.protocol import AskStateId, Observation


class SideBySide(ABC):
    """What an agent does with several environments; a class that gives it `beside` can have them."""

    name: ClassVar[str]
    environments: int
    decisions: Decisions
    settings: Any

    def beside(self, lane: int) -> Self:
        """Return the agent in a further environment: a copy that shares what learns and has an episode of its own."""
        raise NotImplementedError

    def episode_parts(self) -> Mapping[str, Part]:
        """Return those parts of which every environment has its own."""
        return {}

    def act_each(
        self, lanes: Sequence[Self], observations: Sequence[Observation], state_ids: Sequence[AskStateId]
    ) -> list[int]:
        """Choose an action to learn from in each of several environments, in this order."""
        each = zip(lanes, observations, state_ids, strict=True)
        return [lane.act(observation, state_id) for lane, observation, state_id in each]

    @cached_property
    def lanes(self) -> list[Self]:
        """The agent in each of its environments, where they are several."""
        return self._in_each() if self.environments > 1 else []

    def _in_each(self) -> list[Self]:
        lanes = [copy(self), *(self.beside(lane) for lane in range(1, self.environments))]
        for number, lane in enumerate(lanes):
            lane.decisions = LaneDecisions(self.decisions, number, len(lanes))
        return lanes

    def refuse_unless_ready(self) -> None:
        """Raise an error where the agent or a part of it can do with one environment only."""
        if self.environments == 1:
            return
        if type(self).beside is SideBySide.beside:
            raise MemecError(f"{self.name} learns in one environment at a time: leave environments=... out.")
        if getattr(getattr(self.settings, "memory", None), "keep_frames", 0):
            raise MemecError("Pictures of memories are kept of one environment only: leave keep_frames out.")
        for lane in range(self.environments):
            self.decisions.insight.enter(lane)

    @abstractmethod
    def act(self, observation: Observation, state_id: AskStateId) -> int:
        """Choose an action to learn from."""


def arrays_of(lanes: Sequence[SideBySide]) -> Arrays:
    """Return what the environments but the first have of their own."""
    return {f"{prefix}{name}": array for prefix, part in _parts(lanes) for name, array in part.arrays().items()}


def restore_lanes(lanes: Sequence[SideBySide], arrays: dict[str, Any]) -> None:
    """Go on from what `arrays_of` returned."""
    for prefix, part in _parts(lanes):
        part.restore(part_of(arrays, prefix))


def _parts(lanes: Sequence[SideBySide]) -> list[tuple[str, Part]]:
    """Return the parts by what the names of their arrays begin with."""
    others = enumerate(lanes[1:], 1)
    return [(f"lane{at}.{name}.", part) for at, lane in others for name, part in lane.episode_parts().items()]
