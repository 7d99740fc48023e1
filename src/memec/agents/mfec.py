"""Model-free episodic control (Blundell et al., 2016), with the exploration strategies of the MEMEC paper."""

from collections.abc import Generator, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memec.agents.agent import Agent, Env, Part
from memec.agents.episode import Column, Episode
from memec.agents.exploring import ExploringSettings
from memec.agents.lookups import MOMENTS, MemoryLookUps
from memec.agents.pictures import make_pictures
from memec.agents.returns import certain_moments, discounted_returns, uncertain_steps
from memec.agents.settings import MFECSettings
from memec.embed import late_embedding, rows, taken_up
from memec.envs.world import World
from memec.explore import Belief
from memec.memory import KeepLarger, Memory, Recall
from memec.train.endless import warn_if_endless
from memec.train.events import Event
from memec.train.journal import Experience
from memec.train.loop import TrainingSettings
from memec.train.protocol import AskStateId, Observation, StateId


class Moment(NamedTuple):
    """One decision of the episode under way."""

    key: NDArray[np.float32]
    state_id: StateId
    action: int


class MFEC(Agent):
    """Remembers for every state and action the best return that ever followed, and acts by the most similar memories.

    Arguments that are left out get settings that suit the environment's kind of observation. Any setting of
    `MFECSettings` may be given by its name, `memory` and `embed` also in part:
    `MFEC("CartPole-v1", explore="ucb", discount=0.95, memory={"capacity": 5_000}, seed=1)`.
    """

    name: ClassVar[str] = "mfec"
    settings_type: ClassVar[type[ExploringSettings]] = MFECSettings
    settings: MFECSettings
    lookups: MemoryLookUps

    def __init__(self, env: Env, *, embed: Any = None, **given: Any) -> None:
        described, own = taken_up(embed)
        super().__init__(env, embed=described, **given)
        fit, actions, numbers = self.world.observation, self.world.actions, self.seeds
        # phi(o), the key of an observation, is found first, and then what is known of keys near by.
        self.embed = late_embedding(self.settings.embed, fit.shape, fit.dtype, numbers.number("network"), own)
        # Q(s, a) <- max(Q(s, a), R): the best return that ever followed a known state stays.
        rule, seed = KeepLarger(), numbers.number("network", 1)
        self.memory = Memory(self.settings.memory, actions, self.embed.key_size, rule=rule, seed=seed)
        key, state_id = Column("keys", np.float32, (self.embed.key_size,)), Column("state_ids", np.uint64, (2,))
        self.episode = Episode(Moment, (key, state_id, Column("actions", np.int64, below=actions)))
        self.pictures = make_pictures(self.memory, fit.shape, fit.dtype)
        # The Gaussian process of the released code judges known states by their neighbours, too, and in evaluation.
        self._by_state = not self.explore.judges_as_released
        self.lookups = MemoryLookUps(
            self.decisions, self.memory, self.embed, self._belief, self.pictures, by_state=self._by_state,
            by_strategy=not self._by_state,
        )  # fmt: skip

    def act(self, observation: Observation, state_id: AskStateId) -> int:
        """Recall what each action led to in the most similar moments (Eq. 4), and let the strategy choose."""
        key, this_state = self.embed.own(observation), state_id()
        recall = self.memory.recall(key, this_state if self._by_state else None, fleeting=True)
        self.decisions.begin()
        action = self.decisions.choose(self._belief(key, recall))
        self.episode.moments.append(Moment(key, this_state, action))
        self.pictures.notice(observation)
        return action

    def observe(self, reward: float, observation: Observation, terminated: bool, truncated: bool) -> None:
        """Keep the reward; at the end of the episode remember the return of every moment in it."""
        self.episode.rewards.append(reward)
        self.decisions.insight.observe(reward, terminated or truncated)
        if terminated or truncated:
            self._remember(observation, cut_off=not terminated)
            self._rescale()
            self.abandon_episode()

    def _remember(self, last_observation: Observation, cut_off: bool) -> None:
        """Write the return R_t = r_t + gamma R_{t+1} of every moment, or of those that a time limit leaves certain."""
        discount, rewards = self.settings.discount, self.episode.rewards
        truncation = self.settings.truncation if cut_off else "terminal"
        uncertain = uncertain_steps(discount, len(rewards))
        count, value_at_end = certain_moments(
            truncation, rewards, discount, uncertain, lambda: self.lookups.value(last_observation)
        )
        if count == 0:
            return
        returns = discounted_returns(rewards, discount, value_at_end)[:count]
        self.decisions.insight.settle(returns)
        keys, state_ids, actions = self.episode.first(count)
        steps = self.decisions.count - len(self.episode) + 1 + np.arange(count)
        written = self.memory.write(actions, rows(keys), returns, rows(state_ids), steps)
        self.pictures.keep(written)

    def _rescale(self) -> None:
        """Learn the scale of observations from the episode, and let the stored keys follow a new one."""
        factors = self.embed.take_in(rows([moment.key for moment in self.episode.moments]))
        if factors is not None:
            self.memory.rescale(factors)

    def _belief(self, key: NDArray[np.float32], recall: Recall) -> Belief:
        """Take the values of Eq. 4, and where the strategy asks for it how sure the memories near by make of them."""
        if not self._by_state:
            return Belief(*self.memory.released_posterior(recall))
        std = self.memory.std(key, recall) if self.explore.needs_std else None
        return self.decisions.insight.believe(Belief(recall.values, std), recall.squared_distances, recall.exact)

    def abandon_episode(self) -> None:
        """Forget the episode under way."""
        self.episode.clear()
        self.decisions.insight.forget()
        self.pictures.forget_episode()

    def beliefs(self, observations: NDArray[Any], state_ids: NDArray[np.uint64] | None) -> Iterable[Belief]:
        """Return what to choose by in each of these states, without a trace in the agent."""
        return self.lookups.beliefs(observations, state_ids)

    def parts(self) -> dict[str, Part]:
        """Return all that learns, and the episode under way."""
        return {"embed": self.embed, "memory": self.memory, "episode": self.episode}

    def experience(self) -> Experience:
        """Return the pictures, where some are kept."""
        return self.pictures

    def diagnostics(self) -> dict[str, float]:
        """Return how full the memory is, and how the newest decisions were made."""
        newest = self.episode.moments[-MOMENTS:]
        return self.lookups.diagnostics([moment.key for moment in newest], [moment.state_id for moment in newest])

    def train(
        self, settings: TrainingSettings, evaluation_worlds: Sequence[World] = (), tick_every_steps: int = 0
    ) -> Generator[Event]:
        """Train, and say so where no episode ends: no return is known before."""
        events = super().train(settings, evaluation_worlds, tick_every_steps)
        return warn_if_endless(events, self.name, lambda: len(self.episode), lambda: len(self.memory) > 0)
