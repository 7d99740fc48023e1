"""Model-free episodic control (Blundell et al., 2016), with the exploration strategies of the MEMEC paper."""

from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from memec.agents.agent import Agent, Env
from memec.agents.memories import Memories, memories_behind
from memec.agents.returns import discounted_returns
from memec.embed import EmbedSettings, make_embedding
from memec.envs.world import World, make
from memec.explore import AnyStrategy, Belief, Greedy, Mellowmax, Strategy
from memec.memory import Memory, MemorySettings, Recall
from memec.settings import Settings
from memec.train.files import Arrays, part_of
from memec.train.protocol import GreedyPolicy, Observation, StateId


class MFECSettings(Settings):
    """Everything that makes an MFEC agent."""

    name: Literal["mfec"] = "mfec"
    discount: float = Field(0.99, ge=0.0, le=1.0)
    """How much a reward one step later is worth (gamma)."""
    memory: MemorySettings = MemorySettings()
    explore: Strategy = Mellowmax()
    embed: EmbedSettings = EmbedSettings()
    truncation: Literal["terminal"] = "terminal"
    """What the return of an episode cut off by a time limit is taken for."""


GENERAL_SETTINGS = {
    "vector": MFECSettings(),
    "discrete": MFECSettings(),
    "frames": MFECSettings(memory=MemorySettings(capacity=100_000), explore=Mellowmax(omega=40.0)),
}
"""What an environment gets of which only the kind of observation is known."""


class Moment(NamedTuple):
    """One decision of the episode under way."""

    key: NDArray[np.float32]
    state_id: StateId
    action: int
    step: int


class MFEC(Agent):
    """Remembers for every state and action the best return that ever followed, and acts by the most similar memories.

    Arguments that are left out get settings that suit the environment's kind of observation. `memory` and `embed`
    may be given in part: `MFEC("CartPole-v1", memory={"capacity": 5_000})`.
    """

    name: ClassVar[str] = "mfec"
    settings_type: ClassVar[type[Settings]] = MFECSettings
    settings: MFECSettings

    def __init__(
        self,
        env: Env,
        *,
        explore: AnyStrategy | None = None,
        memory: MemorySettings | dict[str, Any] | None = None,
        embed: EmbedSettings | dict[str, Any] | None = None,
        discount: float | None = None,
        truncation: Literal["terminal"] | None = None,
        seed: int = 0,
        settings: MFECSettings | None = None,
    ) -> None:
        world = env if isinstance(env, World) else make(env)
        changes = {"explore": explore, "memory": memory, "embed": embed, "discount": discount, "truncation": truncation}
        settings = (settings or self.general_settings(world.observation.kind)).changed(changes)
        super().__init__(world, settings, seed, owns_world=isinstance(env, str))
        fit = self.world.observation
        self.embed = make_embedding(settings.embed, fit.shape, fit.dtype, self.seeds.number("network"))
        self.memory = Memory(
            settings.memory, self.world.actions, self.embed.key_size, seed=self.seeds.number("network", 1)
        )
        self.explore: AnyStrategy = settings.explore
        self._episode: list[Moment] = []
        self._rewards: list[float] = []
        self._decisions = 0

    def act(self, observation: Observation, state_id: StateId) -> int:
        """Recall what each action led to in the most similar moments (Eq. 4), and let the strategy choose."""
        key = self.embed(observation)
        recall = self.memory.recall(key, state_id, fleeting=True)
        self._decisions += 1
        action = self.explore.choose(self._belief(key, recall), self._decisions, self.generator)
        self._episode.append(Moment(key, state_id, action, self._decisions))
        return action

    def observe(self, reward: float, observation: Observation, terminated: bool, truncated: bool) -> None:
        """Keep the reward; at the end of the episode remember the return of every moment in it."""
        self._rewards.append(reward)
        if terminated or truncated:
            keys, state_ids, actions, steps = zip(*self._episode, strict=True)
            returns = discounted_returns(self._rewards, self.settings.discount)
            self.memory.write(actions, np.stack(keys), returns, np.stack(state_ids), steps)
            self.abandon_episode()

    def abandon_episode(self) -> None:
        """Forget the episode under way."""
        self._episode.clear()
        self._rewards.clear()

    def greedy_policy(self, generator: np.random.Generator) -> GreedyPolicy:
        """Return the policy that takes the action of the largest value; looking up leaves no trace in the memory."""
        embed, greedy = self.embed.fork(), Greedy()

        def policy(observation: Observation, state_id: StateId) -> int:
            values = self.memory.peek(embed(observation), state_id, fleeting=True).values
            return greedy.choose(Belief(values), 0, generator)

        return policy

    def recall(self, observation: Any, *, state_id: StateId | None = None) -> list[Memories]:
        """Return, for every action, the memories behind its value. Changes nothing."""
        fitted = self.world.observation(observation)
        if state_id is None and (ids := self.world.state_ids(fitted[None])) is not None:
            state_id = ids[0]
        return memories_behind(self.memory, self.memory.peek(self.embed.fork()(fitted), state_id))

    def choose_actions(
        self,
        observations: NDArray[Any],
        state_ids: NDArray[np.uint64] | None,
        deterministic: bool,
        generator: np.random.Generator,
    ) -> NDArray[np.int64]:
        """Choose for a batch of observations, without learning from it."""
        keys = self.embed.batch(observations)
        recalls = self.memory.peek(keys, state_ids)
        strategy: AnyStrategy = Greedy() if deterministic else self.explore
        beliefs = (self._belief(key, Recall(*each)) for key, *each in zip(keys, *recalls, strict=True))
        return np.array([strategy.choose(belief, self._decisions, generator) for belief in beliefs], np.int64)

    def arrays(self) -> Arrays:
        """Return the memory, the projection and the episode under way."""
        return {
            "decisions": np.array([self._decisions]),
            "episode.keys": np.array([moment.key for moment in self._episode], np.float32).reshape(
                -1, self.embed.key_size
            ),
            "episode.state_ids": np.array([moment.state_id for moment in self._episode], np.uint64).reshape(-1, 2),
            "episode.actions": np.array([moment.action for moment in self._episode], np.int64),
            "episode.steps": np.array([moment.step for moment in self._episode], np.int64),
            "episode.rewards": np.array(self._rewards, np.float64),
            **{f"memory.{name}": array for name, array in self.memory.arrays().items()},
            **{f"embed.{name}": array for name, array in self.embed.arrays().items()},
        }

    def restore(self, arrays: Arrays) -> None:
        """Take over what another agent with the same settings learned."""
        self._decisions = int(arrays["decisions"][0])
        fit = self.world.observation
        self.embed = make_embedding(self.settings.embed, fit.shape, fit.dtype, arrays=part_of(arrays, "embed."))
        self.memory.restore(part_of(arrays, "memory."))
        episode = part_of(arrays, "episode.")
        columns = (episode["keys"], episode["state_ids"], episode["actions"].tolist(), episode["steps"].tolist())
        self._episode = [Moment(*moment) for moment in zip(*columns, strict=True)]
        self._rewards = episode["rewards"].tolist()

    @classmethod
    def general_settings(cls, kind: str) -> MFECSettings:
        """Return settings for an environment of which only the kind of observation is known."""
        return GENERAL_SETTINGS[kind]

    @classmethod
    def from_settings(cls, env: Env, settings: MFECSettings, *, seed: int = 0) -> Self:
        """Make the agent from its settings, as the command line does."""
        return cls(env, settings=settings, seed=seed)

    def _belief(self, key: NDArray[np.float32], recall: Recall) -> Belief:
        return Belief(recall.values, self.memory.std(key, recall) if self.explore.needs_std else None)
