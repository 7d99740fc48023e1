"""The memories behind a decision, for people to look at."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from memec.explore import Belief
from memec.graph import Outcome
from memec.memory import Recall


@dataclass(frozen=True)
class Memories:
    """What stands behind the value of one action: `value` is the mean of `returns` weighted by `weights`."""

    action: int
    value: float
    exact: bool
    """Whether this very state is known for this action; then it is the one memory there is, with weight 1."""
    distances: NDArray[np.float64]
    """How far each memory's key is from the key of the observation, nearest first."""
    weights: NDArray[np.float64]
    """How much each memory counts; the sum is 1."""
    returns: NDArray[np.float64]
    """The return that followed in each memory."""
    steps: NDArray[np.int64]
    """The step of training at which each memory was stored."""
    keys: NDArray[np.float32]
    """What each memory is recognised by."""
    slots: NDArray[np.int64]
    """Where each memory stands in the agent's memory."""
    outcomes: list[list[Outcome]] = field(default_factory=list)
    """What came of each memory, the most frequent first; empty for agents that keep returns instead."""

    def __len__(self) -> int:
        return len(self.returns)


class Thought(NamedTuple):
    """What an agent thinks of a moment."""

    belief: Belief
    """What its strategy chooses by: each action's value, and its standard deviation where the strategy asks for it."""
    memories: list[Memories]
    """What is behind each action's value; empty for an agent without a memory."""
    key: NDArray[np.float32] | None
    """What the moment is recognised by, where the agent has a memory."""


class Remembering(Protocol):
    """What keeps memories, slot by slot: `Memory` and `Graph`, or what another agent has."""

    @property
    def settings(self) -> Any:
        """Its settings; `capacity` is how many slots an action has."""

    @property
    def key_size(self) -> int:
        """How many numbers a key has."""

    def __len__(self) -> int: ...

    def used(self) -> NDArray[np.int64]:
        """Return the slots that hold a memory."""

    @property
    def returns(self) -> NDArray[np.float64]:
        """What is believed to follow, slot by slot."""

    @property
    def steps(self) -> NDArray[np.int64]:
        """When each was written."""

    @property
    def keys(self) -> NDArray[np.float32]:
        """What each is recognised by."""

    def weights(self, recall: Recall) -> NDArray[np.float64]:
        """Return how much each neighbour counts."""


def memories_behind(memory: Remembering, recall: Recall) -> list[Memories]:
    """Return the memories behind each action's value in a recall of one key."""
    weights = memory.weights(recall)
    found: list[Memories] = []
    for action in range(len(recall.values)):
        there = recall.slots[action] >= 0
        slots = recall.slots[action][there]
        contents: dict[str, Any] = {
            "distances": np.sqrt(recall.squared_distances[action][there].astype(np.float64)),
            "weights": weights[action][there],
            "returns": memory.returns[slots],
            "steps": memory.steps[slots],
            "keys": memory.keys[slots],
            "slots": slots,
        }
        found.append(Memories(action, float(recall.values[action]), bool(recall.exact[action]), **contents))
    return found
