"""An agent in several environments side by side: one of it for each, which learn together."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Protocol, Self, TypeVar

from memec.agents.exploring import Decisions, LaneDecisions
from memec.errors import MemecError
from memec.train.files import Arrays, part_of


class Part(Protocol):
    """Something of an agent that learns, or that has a state."""

    def arrays(self) -> Arrays:
        """Return what `restore` needs to go on identically."""

    def restore(self, arrays: Arrays) -> None:
        """Go on from what `arrays` returned."""


class Lane(Protocol):
    """An agent, to those beside it."""

    environments: int
    decisions: Decisions

    def beside(self, lane: int) -> Self:
        """Return the agent in a further environment."""

    def episode_parts(self) -> Mapping[str, Part]:
        """Return those parts of which every environment has its own."""


def refuse_unless_ready(decisions: Decisions, settings: Any, environments: int) -> None:
    """Raise an error where a part of an agent can do with one environment only."""
    if getattr(getattr(settings, "memory", None), "keep_frames", 0):
        raise MemecError("Pictures of memories are kept of one environment only: leave keep_frames out.")
    for lane in range(environments):
        decisions.insight.enter(lane)


A = TypeVar("A", bound=Lane)


def lanes_of(agent: A) -> list[A]:
    """Return an agent in each of its environments; in the first one with the episode of its own."""
    lanes = [copy(agent), *(agent.beside(lane) for lane in range(1, agent.environments))]
    for number, lane in enumerate(lanes):
        lane.decisions = LaneDecisions(agent.decisions, number, len(lanes))
    return lanes


def arrays_of(lanes: Sequence[Lane]) -> Arrays:
    """Return what the environments but the first have of their own."""
    return {f"{prefix}{name}": array for prefix, part in _parts(lanes) for name, array in part.arrays().items()}


def restore_lanes(lanes: Sequence[Lane], arrays: dict[str, Any]) -> None:
    """Go on from what `arrays_of` returned."""
    for prefix, part in _parts(lanes):
        part.restore(part_of(arrays, prefix))


def _parts(lanes: Sequence[Lane]) -> list[tuple[str, Part]]:
    """Return the parts by what the names of their arrays begin with."""
    others = enumerate(lanes[1:], 1)
    return [(f"lane{at}.{name}.", part) for at, lane in others for name, part in lane.episode_parts().items()]
