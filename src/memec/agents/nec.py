"""Neural episodic control (Pritzel et al., 2017), with the exploration strategies of the MEMEC paper."""

from collections.abc import Iterable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from memec.agents.agent import Env, Part
from memec.agents.dictionary import Dictionary
from memec.agents.episode import Column, Episode
from memec.agents.exploring import ExploringSettings
from memec.agents.lookups import MOMENTS, MemoryLookUps
from memec.agents.neural import NetworkKeys, NeuralAgent
from memec.agents.optimiser import parameter_optimiser
from memec.agents.pictures import Joined, make_pictures
from memec.agents.replay import ReturnReplay
from memec.agents.returns import certain_moments, n_step_returns
from memec.agents.settings import NECSettings
from memec.errors import NotFiniteError
from memec.explore import Belief
from memec.memory import Memory, MoveTowards, Recall
from memec.train.journal import Experience
from memec.train.protocol import AskStateId, Observation, StateId

if TYPE_CHECKING:
    from memec.embed.networks import Network


class Moment(NamedTuple):
    """One decision of the episode under way."""

    observation: Observation
    key: NDArray[np.float32]
    state_id: StateId
    action: int
    step: int
    value: float
    """The largest value of any action, as the memory said when acting."""


class NEC(NeuralAgent):
    """Learns the keys by which it remembers: a network embeds observations, and dictionaries hold their values.

    Arguments that are left out get settings that suit the environment's kind of observation. Any setting of
    `NECSettings` may be given by its name, `memory` and `optimiser` also in part:
    `NEC("CartPole-v1", explore="boltzmann", optimiser={"learning_rate": 1e-4}, seed=1)`.
    """

    name: ClassVar[str] = "nec"
    settings_type: ClassVar[type[ExploringSettings]] = NECSettings
    settings: NECSettings
    lookups: MemoryLookUps

    def __init__(self, env: Env, **given: Any) -> None:
        super().__init__(env, **given)
        settings, fit, actions = self.settings, self.world.observation, self.world.actions
        self.network = self.make_network(settings, fit.shape, actions, self.seeds.number("network"))
        self.embed = NetworkKeys(self.network)
        # Q_i <- Q_i + alpha (R - Q_i): the value of a known state moves towards a new return (Eq. 6).
        rule, seed = MoveTowards(settings.memory_learning_rate), self.seeds.number("network", 1)
        self.memory = Memory(settings.memory, actions, settings.key_size, rule=rule, replace_known_keys=True, seed=seed)
        self.dictionary = Dictionary(self.memory, settings.optimiser)
        self.replay = ReturnReplay(settings.replay_capacity, fit.shape, fit.dtype, actions)
        self.optimiser = parameter_optimiser(settings.optimiser, self.network.parameters)
        columns = (
            Column("observation", fit.dtype.type, fit.shape),
            Column("key", np.float32, (settings.key_size,)),
            Column("state_id", np.uint64, (2,)),
            Column("action", np.int64, below=actions),
            Column("step", np.int64),
            Column("value", np.float64),
        )
        self.episode = Episode(Moment, columns)
        self.pictures = make_pictures(self.memory, fit.shape, fit.dtype)
        self.lookups = MemoryLookUps(
            self.decisions, self.memory, self.embed, self._belief, self.pictures, by_state=False
        )

    def act(self, observation: Observation, state_id: AskStateId) -> int:
        """Look up the value of each action by the observation's key (Eq. 5), and let the strategy choose."""
        self.decisions.begin()
        try:
            key = self.embed(observation)
            return self._decide(observation, state_id, key, self.memory.recall(key))
        except NotFiniteError as error:
            raise self._explained(error, observation) from None

    def act_each(
        self, lanes: Sequence[Self], observations: Sequence[Observation], state_ids: Sequence[AskStateId]
    ) -> list[int]:
        """Let the network see all environments at once, and recall for all."""
        batch = np.stack(observations)
        try:
            keys = self.embed.batch(batch)
            recalls = zip(*self.memory.recall(keys), strict=True)
            actions = []
            for lane, one, state_id, key, found in zip(lanes, observations, state_ids, keys, recalls, strict=True):
                lane.decisions.begin()
                actions.append(lane._decide(one, state_id, key, Recall(*found)))
        except NotFiniteError as error:
            raise self._explained(error, batch) from None
        return actions

    def _decide(self, observation: Observation, state_id: AskStateId, key: NDArray[np.float32], recall: Recall) -> int:
        """Choose by what was recalled, and take note of the moment."""
        action = self.decisions.choose(self._belief(key, recall))
        value = float(recall.values.max())
        self.episode.moments.append(Moment(observation, key, state_id(), action, self.decisions.count, value))
        self.pictures.notice(observation)
        return action

    def observe(self, reward: float, observation: Observation, terminated: bool, truncated: bool) -> None:
        """Keep the reward, remember the returns that are known by now, and train every few steps."""
        self.episode.rewards.append(reward)
        self.decisions.insight.observe(reward, terminated or truncated)
        if terminated or truncated:
            self._remember_the_rest(observation, cut_off=not terminated)
        elif len(self.episode) >= 2 * self.settings.n_step:
            self._remember(self.settings.n_step)  # the returns of this half are known: n more steps have been seen
        if self._training_is_due(len(self.replay)):
            self._train()

    def _remember_the_rest(self, last_observation: Observation, cut_off: bool) -> None:
        """Write what is left of an episode that ended, or what of it a time limit leaves certain."""
        truncation = self.settings.truncation if cut_off else "terminal"
        rewards, discount, uncertain = self.episode.rewards, self.settings.discount, self.settings.n_step
        count, value_at_end = certain_moments(
            truncation, rewards, discount, uncertain, lambda: self.lookups.value(last_observation)
        )
        if count > 0:
            self._remember(count, value_at_end)
        self.abandon_episode()

    def _remember(self, count: int, value_at_end: float = 0.0) -> None:
        """Write the first moments of the episode with R = r_t + ... + gamma^n max Q(s_{t+n}, .), the n-step return."""
        rewards, values = self.episode.rewards, [moment.value for moment in self.episode.moments]
        returns = n_step_returns(rewards, values, self.settings.discount, self.settings.n_step, value_at_end)[:count]
        self.decisions.insight.settle(returns)
        observations, keys, state_ids, actions, steps, _ = self.episode.first(count)
        written = self.dictionary.write(
            np.array(actions), np.stack(keys), returns, np.stack(state_ids), np.array(steps)
        )
        self.pictures.keep(written)
        for observation, action, value in zip(observations, actions, returns.tolist(), strict=True):
            self.replay.append(observation, action, value)
        self.episode.drop(count)

    def _train(self) -> None:
        """Lessen (Q(s, a) - R)^2 over a batch, by the network and by the keys and values of all entries behind Q."""
        batch = self.replay.sample(self.settings.batch_size, self.generator)
        keys = self.network.forward(batch.observations)
        try:
            gradients = self.dictionary.gradients(keys, batch.actions, batch.returns)
        except NotFiniteError as error:
            raise self._explained(error, batch.observations) from None
        self.network.backward(gradients.keys)
        self._refuse_if_diverged(gradients.loss, self.network.gradient_norm(), float(gradients.entries.sum()))
        self.optimiser.step(self.network.parameters, self.network.gradients)
        self.dictionary.step(gradients)
        self._means.add(
            loss=gradients.loss,
            key_norm=float(np.sqrt(np.square(keys).sum(axis=1)).mean()),
            neighbour_distance=gradients.distance,
            effective_neighbours=gradients.effective_neighbours,
        )

    def _belief(self, key: NDArray[np.float32], recall: Recall) -> Belief:
        """Take the mean of the neighbours' values, weighted by Eq. 5, and how sure of it they make where asked for."""
        if self.explore.judges_as_released:
            return Belief(recall.values, np.zeros(len(recall.values)))  # the released NEC has no uncertainty
        std = self.memory.std(key, recall) if self.explore.needs_std else None
        return self.decisions.insight.believe(Belief(recall.values, std), recall.squared_distances, recall.exact)

    @classmethod
    def network_of(
        cls, settings: NECSettings, shape: tuple[int, ...], actions: int, seed: int, device: str
    ) -> "Network":
        """Make the embedding that these settings mean."""
        from memec.embed.networks import key_network  # torch takes seconds to import, which other agents need not wait

        width, threads = settings.hidden_size, settings.threads
        return key_network(shape, settings.key_size, hidden_size=width, seed=seed, device=device, threads=threads)

    def abandon_episode(self) -> None:
        """Forget the episode under way."""
        self.episode.clear()
        self.decisions.insight.forget()
        self.pictures.forget_episode()

    def beliefs(self, observations: NDArray[Any], state_ids: NDArray[np.uint64] | None) -> Iterable[Belief]:
        """Return what to choose by in each of these states, without a trace in the agent."""
        return self.lookups.beliefs(observations, state_ids)

    def parts(self) -> dict[str, Part]:
        """Return the network, the dictionaries, their optimisers and the episode under way, without the replay."""
        return {
            "network": self.network,
            "optimiser": self.optimiser,
            "memory": self.dictionary,
            **self.episode_parts(),
        }

    def beside(self, lane: int) -> Self:
        """Return the agent in a further environment, with an episode of its own."""
        other = copy(self)
        other.episode = self.episode.another()
        return other

    def episode_parts(self) -> dict[str, Part]:
        """Return the episode under way."""
        return {"episode": self.episode}

    def experience(self) -> Experience:
        """Return the replay, and the pictures where some are kept."""
        return Joined(self.replay, self.pictures)

    def diagnostics(self) -> dict[str, float]:
        """Return how the network and the memory are doing, and how the newest decisions were made."""
        newest = self.episode.moments[-MOMENTS:]
        keys, state_ids = [moment.key for moment in newest], [moment.state_id for moment in newest]
        return super().diagnostics() | self.lookups.diagnostics(keys, state_ids)
