"""What agents answer without a trace in them: how they act when evaluated, what they think and by which memories."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memec.agents.exploring import Decisions
from memec.agents.memories import Remembering, Thought, memories_behind
from memec.agents.pictures import NoPictures, Pictures
from memec.embed.scale import RunningScale
from memec.explore import Belief, Greedy
from memec.graph import Graph
from memec.memory import Memory, Recall
from memec.train.protocol import GreedyPolicy, Observation, StateId

Keys = NDArray[np.float32]
AskBeliefs = Callable[[NDArray[Any], NDArray[np.uint64] | None], Iterable[Belief]]
Believe = Callable[[Keys, Recall], Belief]
MOMENTS = 32
"""How many of the newest decisions diagnostics look at: looked up again then, so that acting need not keep count."""


class LookUps:
    """Of an agent that has no memories to show: all follows from what it believes."""

    remembering: Remembering | None = None
    """What keeps the agent's memories, where it has any."""

    def __init__(self, decisions: Decisions, beliefs: AskBeliefs) -> None:
        self.decisions = decisions
        self.beliefs = beliefs
        self.greedy = Greedy(ties=decisions.strategy.ties)

    @property
    def keeps_observations(self) -> bool:
        """Whether `observed` can tell something."""
        return False

    def greedy_policy(self) -> GreedyPolicy:
        """Return the policy that takes the action of the largest value."""

        def policy(
            observations: Sequence[Observation], state_ids: NDArray[np.uint64], luck: Sequence[float]
        ) -> list[int]:
            values = [belief.mean for belief in self.beliefs(np.stack(observations), state_ids)]
            return self.greedy.choose_each(np.array(values), luck)

        return policy

    def think(self, observation: Observation, state_id: StateId | None) -> Thought:
        """Return what stands behind a choice here."""
        (belief,) = self.beliefs(observation[None], None if state_id is None else state_id[None])
        return Thought(belief, [], None)

    def observed(self, slot: int) -> NDArray[Any] | None:
        """Return what was observed in a memory, where that is known."""
        return None


class Embeds(Protocol):
    """What makes the keys to look up: an embedding, or a network."""

    @property
    def keeps_observations(self) -> bool:
        """Whether a key tells what was observed."""

    def stream(self) -> Callable[[Sequence[Observation]], Keys]:
        """Return what makes the keys of observations that follow others, beside those of the training."""

    def batch(self, observations: NDArray[Any]) -> Keys:
        """Return the keys of several observations, one per row."""

    def observed(self, key: Keys) -> NDArray[Any]:
        """Return the observation that has this key, where keys tell it."""


class MemoryLookUps(LookUps):
    """Of an agent with a `Memory`: keys are looked up, and `believe` makes beliefs of what is found."""

    def __init__(
        self,
        decisions: Decisions,
        memory: Memory,
        embed: Embeds,
        believe: Believe,
        pictures: Pictures | NoPictures,
        *,
        by_state: bool,
        by_strategy: bool = False,
    ) -> None:
        """Take what to look up in; `by_state` if known states are, `by_strategy` if that acts in evaluation too."""
        super().__init__(decisions, self._beliefs)
        self.remembering: Memory = memory
        self._embed = embed
        self._believe = believe
        self._pictures = pictures
        self._by_state = by_state
        self._by_strategy = by_strategy

    def known_by(self, state_ids: NDArray[np.uint64] | None) -> NDArray[np.uint64] | None:
        """Return what states are known by, if by anything but their neighbours."""
        return state_ids if self._by_state else None

    def greedy_policy(self) -> GreedyPolicy:
        """Return the policy that takes the action of the largest value."""
        keys_of, memory = self._embed.stream(), self.remembering

        def policy(
            observations: Sequence[Observation], state_ids: NDArray[np.uint64], luck: Sequence[float]
        ) -> list[int]:
            keys = keys_of(observations)
            recalls = memory.peek(keys, self.known_by(state_ids), fleeting=True)
            if not self._by_strategy:
                return self.greedy.choose_each(recalls.values, luck)
            choose, step = self.decisions.strategy.choose, self.decisions.count
            beliefs = (self._believe(key, Recall(*each)) for key, *each in zip(keys, *recalls, strict=True))
            return [choose(belief, step, _generator_of(u)) for belief, u in zip(beliefs, luck, strict=True)]

        return policy

    def think(self, observation: Observation, state_id: StateId | None) -> Thought:
        """Return what stands behind a choice here."""
        (key,) = self._embed.stream()([observation])
        recall = self.remembering.peek(key, self.known_by(state_id))
        return Thought(self._believe(key, recall), memories_behind(self.remembering, recall), key)

    def value(self, observation: Observation) -> float:
        """Return the largest value that an action has by the neighbours alone."""
        (key,) = self._embed.stream()([observation])
        return float(self.remembering.peek(key).values.max())

    @property
    def keeps_observations(self) -> bool:
        """Whether `observed` can tell something."""
        return self._embed.keeps_observations or self._pictures.kept

    def observed(self, slot: int) -> NDArray[Any] | None:
        """Return what was observed in a memory: by its key where that tells it, else what was kept."""
        if self._embed.keeps_observations:
            return self._embed.observed(self.remembering.keys[slot])
        return self._pictures.of(slot)

    def diagnostics(self, keys: Sequence[Keys], state_ids: Sequence[StateId]) -> dict[str, float]:
        """Return how full the memory is, and how the decisions with these keys were made."""
        memory = self.remembering
        found = {"memory_fill": memory.fill, "recall_estimate": memory.recall_estimate}
        if not keys:
            return found | self.decisions.diagnostics([])
        queries, known_by = np.stack(keys), self.known_by(np.stack(state_ids))
        recalls = memory.peek(queries, known_by)
        if known_by is not None:
            found["exact_hit_rate"] = float(recalls.exact.mean())
        found["value"] = float(recalls.values.max(axis=1).mean())
        beliefs = [self._believe(key, Recall(*each)) for key, *each in zip(queries, *recalls, strict=True)]
        return found | self.decisions.diagnostics(beliefs)

    def _beliefs(self, observations: NDArray[Any], state_ids: NDArray[np.uint64] | None) -> Iterable[Belief]:
        keys = self._embed.batch(observations)
        recalls = self.remembering.peek(keys, self.known_by(state_ids))
        return (self._believe(key, Recall(*each)) for key, *each in zip(keys, *recalls, strict=True))


class GraphLookUps(LookUps):
    """Of an agent with a `Graph`: an experience holds what was observed, and what came of it."""

    def __init__(
        self, decisions: Decisions, beliefs: AskBeliefs, graph: Graph, scale: RunningScale, shape: tuple[int, ...]
    ) -> None:
        super().__init__(decisions, beliefs)
        self.remembering: Graph = graph
        self._scale = scale
        self._shape = shape

    def think(self, observation: Observation, state_id: StateId | None) -> Thought:
        """Return what stands behind a choice here."""
        key, graph = self._scale(observation), self.remembering
        (belief,) = self.beliefs(observation[None], None)
        found = memories_behind(graph, graph.recall(key))
        told = [replace(one, outcomes=[graph.told(slot) for slot in one.slots]) for one in found]
        return Thought(Belief(belief.mean), told, key)

    @property
    def keeps_observations(self) -> bool:
        """Whether `observed` can tell something."""
        return True

    def observed(self, slot: int) -> NDArray[Any]:
        """Return what was observed in a memory."""
        seen: NDArray[Any] = self.remembering.observations[slot].reshape(self._shape)
        return seen


def _generator_of(u: float) -> np.random.Generator:
    """Return a generator for one decision, given a number in [0, 1)."""
    return np.random.default_rng(int(u * 2**53))
