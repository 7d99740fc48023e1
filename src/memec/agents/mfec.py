"""Model-free episodic control (Blundell et al., 2016), with the exploration strategies of the MEMEC paper."""

from collections.abc import Generator, Iterable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from memec.agents.agent import Agent, Env
from memec.agents.diagnostics import MOMENTS, memory_diagnostics
from memec.agents.exploring import ExploringSettings
from memec.agents.memories import Memories, Thought, memories_behind
from memec.agents.pictures import make_pictures
from memec.agents.returns import Truncation, after_a_cut, discounted_returns, going_on, uncertain_steps
from memec.embed import AnyEmbedSettings, Embedding, EmbedSettings, key_size_of, make_embedding, taken_up
from memec.envs.world import World
from memec.errors import MemecError
from memec.explore import (
    AnyStrategy,
    Belief,
    EpsilonGreedy,
    ExploreSettings,
    Greedy,
    Mellowmax,
    MellowmaxAuto,
    Need,
)
from memec.memory import KeepLarger, Memory, MemorySettings, Recall
from memec.saved_arrays import check_arrays
from memec.train.endless import warn_if_endless
from memec.train.events import Event
from memec.train.files import Arrays, part_of
from memec.train.journal import Experience
from memec.train.loop import TrainingSettings
from memec.train.protocol import AskStateId, GreedyPolicy, Observation, StateId


class MFECSettings(ExploringSettings):
    """Everything that makes an MFEC agent."""

    offers: ClassVar[tuple[Need, ...]] = ("values", "memory")
    name: Literal["mfec"] = "mfec"
    discount: float = Field(0.99, ge=0.0, le=1.0)
    """How much a reward one step later is worth (gamma)."""
    memory: MemorySettings = MemorySettings()
    explore: ExploreSettings = Mellowmax()
    embed: AnyEmbedSettings = EmbedSettings()
    truncation: Truncation = "terminal"
    """What the return of an episode cut off by a time limit is taken for."""


# Measured on the four small domains of the paper: see docs/better-than-the-paper.md.
SMALL_SETTINGS = MFECSettings(
    memory=MemorySettings(kernel="mean"),
    explore=MellowmaxAuto(),
    embed=EmbedSettings(scaled=True),
    truncation="average",
)
GENERAL_SETTINGS = {
    "vector": SMALL_SETTINGS,
    "discrete": SMALL_SETTINGS,
    # Epsilon-greedy was ahead of mellowmax in all five games of the paper after a million steps: docs/reproduction.md.
    "frames": MFECSettings(memory=MemorySettings(capacity=100_000), explore=EpsilonGreedy()),
}
"""What an environment gets of which only the kind of observation is known."""


class MFEC(Agent):
    """Remembers for every state and action the best return that ever followed, and acts by the most similar memories.

    Arguments that are left out get settings that suit the environment's kind of observation. `memory` and `embed`
    may be given in part: `MFEC("CartPole-v1", memory={"capacity": 5_000})`.
    """

    name: ClassVar[str] = "mfec"
    settings_type: ClassVar[type[ExploringSettings]] = MFECSettings
    settings: MFECSettings

    def __init__(
        self,
        env: Env,
        *,
        explore: AnyStrategy | str | None = None,
        memory: MemorySettings | dict[str, Any] | None = None,
        embed: Any = None,
        discount: float | None = None,
        truncation: Truncation | None = None,
        seed: int = 0,
        settings: MFECSettings | None = None,
    ) -> None:
        embed, self._own_embedding = taken_up(embed)
        changes = {"explore": explore, "memory": memory, "embed": embed, "discount": discount, "truncation": truncation}
        super().__init__(env, settings, changes, seed)
        fit = self.world.observation
        self._embedding: Embedding | None = None
        key_size = key_size_of(self.settings.embed, fit.shape, fit.dtype, self._own_embedding)
        # the best return ever seen stays: Q(s, a) <- max(Q(s, a), R)
        rule, seed = KeepLarger(), self.seeds.number("network", 1)
        self.memory = Memory(self.settings.memory, self.world.actions, key_size, rule=rule, seed=seed)
        self.pictures = make_pictures(self.memory, fit.shape, fit.dtype)
        # The episode under way, decision by decision.
        self._keys: list[NDArray[np.float32]] = []
        self._state_ids: list[StateId] = []
        self._actions: list[int] = []
        self._rewards: list[float] = []

    @property
    def embed(self) -> Embedding:
        """What turns observations into keys; made when first needed, so that nothing is drawn for a restored agent."""
        if self._embedding is None:
            self._embedding = self._make_embedding()
        return self._embedding

    def act(self, observation: Observation, state_id: AskStateId) -> int:
        """Recall what each action led to in the most similar moments (Eq. 4), and let the strategy choose."""
        key, this_state = self.embed(observation), state_id()
        recall = self.memory.recall(key, self._known_by(this_state), fleeting=True)
        self.decisions.begin()
        action = self.decisions.choose(self._belief(key, recall))
        self._keys.append(key)
        self._state_ids.append(this_state)
        self._actions.append(action)
        self.pictures.notice(observation)
        return action

    def observe(self, reward: float, observation: Observation, terminated: bool, truncated: bool) -> None:
        """Keep the reward; at the end of the episode remember the return of every moment in it."""
        self._rewards.append(reward)
        self.decisions.insight.observe(reward, terminated or truncated)
        if terminated or truncated:
            self._remember(observation, "terminal" if terminated else self._after_a_cut())
            self._rescale()
            self.abandon_episode()

    def train(
        self, settings: TrainingSettings, evaluation_worlds: Sequence[World] = (), tick_every_steps: int = 0
    ) -> Generator[Event]:
        """Train, and say so where no episode ends: no return is known before."""
        events = super().train(settings, evaluation_worlds, tick_every_steps)
        return warn_if_endless(events, self.name, lambda: len(self._rewards), lambda: len(self.memory) > 0)

    def abandon_episode(self) -> None:
        """Forget the episode under way."""
        for column in (self._keys, self._state_ids, self._actions, self._rewards):
            column.clear()
        self.decisions.insight.forget()
        self.pictures.forget_episode()

    def greedy_policy(self) -> GreedyPolicy:
        """Return the policy that takes the action of the largest value; looking up leaves no trace in the memory."""
        embed = self.embed.fork()
        greedy = Greedy(ties=self.explore.ties)

        def policy(
            observations: Sequence[Observation], state_ids: NDArray[np.uint64], luck: Sequence[float]
        ) -> list[int]:
            keys = _rows([embed(observation) for observation in observations])
            recalls = self.memory.peek(keys, self._known_by(state_ids), fleeting=True)
            if not self.explore.judges_as_released:
                return greedy.choose_each(recalls.values, luck)
            return [
                self.explore.choose(self._belief(key, Recall(*each)), self.decisions.count, _generator_of(u))
                for key, u, *each in zip(keys, luck, *recalls, strict=True)
            ]

        return policy

    def recall(self, observation: Any, *, state_id: StateId | None = None) -> list[Memories]:
        """Return, for every action, the memories behind its value. Changes nothing."""
        fitted = self.world.observation(observation)
        if state_id is None and (ids := self.world.state_ids(fitted[None])) is not None:
            state_id = ids[0]
        return memories_behind(self.memory, self.memory.peek(self.embed.fork()(fitted), self._known_by(state_id)))

    def think(self, observation: Observation, state_id: StateId) -> Thought:
        """Return what stands behind a choice here, without a trace in the agent."""
        key = self.embed.fork()(observation)
        recall = self.memory.peek(key, self._known_by(state_id))
        return Thought(self._belief(key, recall), memories_behind(self.memory, recall), key)

    @property
    def remembering(self) -> Memory:
        """What keeps its memories."""
        return self.memory

    @property
    def keeps_observations(self) -> bool:
        """Whether `observed` can tell something."""
        return self.embed.keeps_observations or self.pictures.kept

    def observed(self, slot: int) -> NDArray[Any] | None:
        """Return what was observed in a memory: by its key where that tells it, else what was kept."""
        if self.embed.keeps_observations:
            return self.embed.observed(self.memory.keys[slot])
        return self.pictures.of(slot)

    def experience(self) -> Experience:
        """Return the pictures, where some are kept."""
        return self.pictures

    def diagnostics(self) -> dict[str, float]:
        """Return how full the memory is, and how the newest decisions were made."""
        keys, state_ids = self._keys[-MOMENTS:], self._state_ids[-MOMENTS:]
        known_by = None if self.explore.judges_as_released else state_ids
        return memory_diagnostics(self.memory, self.decisions, self._belief, keys, known_by)

    def beliefs(self, observations: NDArray[Any], state_ids: NDArray[np.uint64] | None) -> Iterable[Belief]:
        """Return what to choose by in each of these states, without a trace in the agent."""
        keys = self.embed.batch(observations)
        recalls = self.memory.peek(keys, self._known_by(state_ids))
        return (self._belief(key, Recall(*each)) for key, *each in zip(keys, *recalls, strict=True))

    def arrays(self) -> Arrays:
        """Return the memory, the projection and the episode under way."""
        return self.decisions.arrays() | {
            "episode.keys": np.array(self._keys, np.float32).reshape(-1, self.memory.key_size),
            "episode.state_ids": np.array(self._state_ids, np.uint64).reshape(-1, 2),
            "episode.actions": np.array(self._actions, np.int64),
            "episode.rewards": np.array(self._rewards, np.float64),
            **{f"memory.{name}": array for name, array in self.memory.arrays().items()},
            **{f"embed.{name}": array for name, array in self.embed.arrays().items()},
        }

    def restore(self, arrays: Arrays) -> None:
        """Take over what another agent with the same settings learned."""
        self.decisions.restore(arrays)
        self._embedding = self._make_embedding(part_of(arrays, "embed."))
        if self._embedding.key_size != self.memory.key_size:
            raise MemecError("The saved projection does not fit: its keys are not of the size the settings say.")
        self.memory.restore(part_of(arrays, "memory."))
        episode = part_of(arrays, "episode.")
        count, size = len(episode["rewards"]), self.memory.key_size
        check_arrays(
            episode,
            {
                "keys": (np.float32, (count, size)),
                "state_ids": (np.uint64, (count, 2)),
                "actions": (np.int64, (count,)),
                "rewards": (np.float64, (count,)),
            },
        )
        if not np.isin(episode["actions"], np.arange(self.world.actions)).all():
            raise MemecError(f"The saved episode does not fit: {self.world.id} has no such actions.")
        self._keys, self._state_ids = list(episode["keys"]), list(episode["state_ids"])
        self._actions, self._rewards = episode["actions"].tolist(), episode["rewards"].tolist()

    @classmethod
    def general_settings(cls, kind: str) -> MFECSettings:
        """Return settings for an environment of which only the kind of observation is known."""
        return GENERAL_SETTINGS[kind]

    def _after_a_cut(self) -> Truncation:
        discount, rewards = self.settings.discount, self._rewards
        return after_a_cut(self.settings.truncation, rewards, discount, uncertain_steps(discount, len(rewards)))

    def _remember(self, last_observation: Observation, truncation: Truncation) -> None:
        """Write the return R of every moment of the episode, or of those the truncation leaves certain."""
        discount, count, value_at_end = self.settings.discount, len(self._keys), 0.0
        if truncation == "bootstrap":
            value_at_end = float(self.memory.peek(self.embed.fork()(last_observation)).values.max())
        elif truncation == "average":
            value_at_end = going_on(self._rewards, discount)
        elif truncation == "discard":
            count -= uncertain_steps(discount, count)
        if count == 0:
            return
        returns = discounted_returns(self._rewards, discount, value_at_end)[:count]
        self.decisions.insight.settle(returns)
        actions, ids = self._actions[:count], _rows(self._state_ids[:count])
        steps = self.decisions.count - len(self._keys) + 1 + np.arange(count)
        changed = self.memory.write(actions, _rows(self._keys[:count]), returns, ids, steps)
        self.pictures.keep(self.memory, changed, np.array(actions), ids)

    def _make_embedding(self, arrays: Arrays | None = None) -> Embedding:
        fit, seed = self.world.observation, self.seeds.number("network")
        return make_embedding(self.settings.embed, fit.shape, fit.dtype, seed, arrays, self._own_embedding)

    def _rescale(self) -> None:
        """Learn the scale of observations from the episode, and let the stored keys follow a new one."""
        factors = self.embed.take_in(_rows(self._keys))
        if factors is not None:
            self.memory.rescale(factors)

    def _known_by(self, state_ids: StateId | None) -> StateId | None:
        """Return what a state is known by; the released Gaussian process judges all by their neighbours."""
        return None if self.explore.judges_as_released else state_ids

    def _belief(self, key: NDArray[np.float32], recall: Recall) -> Belief:
        if self.explore.judges_as_released:
            return Belief(*self.memory.released_posterior(recall))
        std = self.memory.std(key, recall) if self.explore.needs_std else None
        return self.decisions.insight.believe(Belief(recall.values, std), recall.squared_distances, recall.exact)


def _generator_of(u: float) -> np.random.Generator:
    """Return a generator for one decision, given a number in [0, 1)."""
    return np.random.default_rng(int(u * 2**53))


def _rows(vectors: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Put vectors one below the other; ten times as fast as numpy's stack, which counts at every step."""
    together = bytearray().join(vectors)  # type: ignore[arg-type]  # that arrays are buffers is told from 3.12 on
    return np.frombuffer(together, vectors[0].dtype).reshape(len(vectors), -1)
