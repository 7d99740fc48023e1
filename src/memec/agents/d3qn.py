"""The dueling double deep Q-network (Mnih et al., 2015; van Hasselt et al., 2016; Wang et al., 2016)."""

from collections.abc import Iterable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from memec.agents.agent import Env, Part
from memec.agents.averaging import NoAverage, WeightAverage
from memec.agents.exploring import ExploringSettings
from memec.agents.neural import NeuralAgent
from memec.agents.optimiser import parameter_optimiser
from memec.agents.replays import LaneReplay, transition_replay
from memec.agents.settings import D3QNSettings
from memec.errors import NotFiniteError
from memec.explore import Belief
from memec.train.journal import Experience
from memec.train.protocol import AskStateId, Observation

if TYPE_CHECKING:
    from memec.embed.networks import Network


class D3QN(NeuralAgent):
    """Learns the value of each action with a network, from single transitions and its own estimate of what follows.

    Arguments that are left out get settings that suit the environment's kind of observation. Any setting of
    `D3QNSettings` may be given by its name, `optimiser` also in part:
    `D3QN("CartPole-v1", explore="boltzmann", optimiser={"learning_rate": 1e-3}, seed=1)`.
    """

    name: ClassVar[str] = "d3qn"
    settings_type: ClassVar[type[ExploringSettings]] = D3QNSettings
    settings: D3QNSettings

    def __init__(self, env: Env, **given: Any) -> None:
        super().__init__(env, **given)
        settings, fit, number = self.settings, self.world.observation, self.seeds.number("network")

        def network() -> "Network":
            return self.make_network(settings, fit.shape, self.world.actions, number)

        self.network, self.target = network(), network()  # Q(s, a; theta) and Q(s, a; theta-)
        power = settings.weight_averaging
        self.average = WeightAverage(network(), power) if power else NoAverage(self.network)
        self.judge = self.average.network
        """The network that decides where nothing is to be learned."""
        self.replay = transition_replay(
            settings.replay_capacity, fit.shape, fit.dtype, self.world.actions, self.environments
        )
        self.optimiser = parameter_optimiser(settings.optimiser, self.network.parameters)

    def act(self, observation: Observation, state_id: AskStateId) -> int:
        """Let the strategy choose by the network's values."""
        self.decisions.begin()
        try:
            action = self.decisions.choose(self._belief(self.network, observation))
        except NotFiniteError as error:
            raise self._explained(error, observation) from None
        self.replay.begin(observation, action)
        return action

    def act_each(
        self, lanes: Sequence[Self], observations: Sequence[Observation], state_ids: Sequence[AskStateId]
    ) -> list[int]:
        """Ask the network about all environments at once."""
        batch, actions = np.stack(observations), []
        try:
            for lane, observation, values in zip(lanes, observations, self.network(batch), strict=True):
                lane.decisions.begin()
                actions.append(lane.decisions.choose(lane._believed(values.astype(np.float64))))
                lane.replay.begin(observation, actions[-1])
        except NotFiniteError as error:
            raise self._explained(error, batch) from None
        return actions

    def beside(self, lane: int) -> Self:
        """Return the agent in a further environment, with a replay of its own."""
        other = copy(self)
        assert isinstance(self.replay, LaneReplay)
        other.replay = self.replay.of(lane)
        return other

    def observe(self, reward: float, observation: Observation, terminated: bool, truncated: bool) -> None:
        """Keep the transition, and train every few steps."""
        self.decisions.insight.observe(reward, terminated or truncated)
        clip = self.settings.reward_clip
        self.replay.complete(min(max(reward, -clip), clip) if clip else reward, terminated)
        if truncated and not terminated:
            self.replay.cut_off(observation)  # a time limit is no end: what comes after is still worth something
        if self._training_is_due(len(self.replay)):
            self._train()
        if self.decisions.count % self.settings.target_update_steps == 0:
            self.target.copy_from(self.network)

    def _train(self) -> None:
        """Move the values of a batch towards r + gamma Q'(s', argmax Q(s', .)), Q' being the target network (Eq. 2)."""
        settings = self.settings
        batch = self.replay.sample(settings.batch_size, self.generator)
        rows = np.arange(settings.batch_size)
        best = self.network(batch.next_observations).argmax(axis=1)
        following = self.target(batch.next_observations)[rows, best]
        targets = batch.rewards + settings.discount * np.where(batch.terminated, 0.0, following)
        values = self.network.forward(batch.observations)
        errors = values[rows, batch.actions] - targets

        share = 1.0 if settings.loss_over_batch == "sum" else 1.0 / settings.batch_size
        slopes = np.zeros_like(values)
        slopes[rows, batch.actions] = share * (np.clip(errors, -1.0, 1.0) if settings.loss == "huber" else errors)
        loss = share * float(np.sum(_huber(errors) if settings.loss == "huber" else 0.5 * errors**2))
        self.network.backward(slopes)
        norm = self.network.gradient_norm()
        self._refuse_if_diverged(loss, norm)
        if 0.0 < settings.gradient_norm_limit < norm:
            self.network.gradients.mul_(settings.gradient_norm_limit / norm)
        self.optimiser.step(self.network.parameters, self.network.gradients)
        self.average.take_in(self.network)
        self._means.add(loss=loss, value=float(values.max(axis=1).mean()), gradient_norm=norm)

    def _belief(self, network: "Network", observation: Observation) -> Belief:
        return self._believed(network(observation[None])[0].astype(np.float64))

    def _believed(self, values: NDArray[np.float64]) -> Belief:
        return self.decisions.insight.believe(Belief(values))

    @classmethod
    def network_of(
        cls, settings: D3QNSettings, shape: tuple[int, ...], actions: int, seed: int, device: str
    ) -> "Network":
        """Make the network that these settings mean."""
        from memec.embed.networks import dueling_network  # torch takes seconds to import

        width, threads = settings.hidden_size, settings.threads
        return dueling_network(shape, actions, hidden_size=width, seed=seed, device=device, threads=threads)

    def abandon_episode(self) -> None:
        """Forget the step under way: what came before it is whole."""
        self.replay.abandon()
        self.decisions.insight.forget()

    def beliefs(self, observations: NDArray[Any], state_ids: NDArray[np.uint64] | None) -> Iterable[Belief]:
        """Return what to choose by in each of these states, without a trace in the agent."""
        return map(self._believed, self.judge(observations).astype(np.float64))

    def parts(self) -> dict[str, Part]:
        """Return the networks and the optimiser, without the replay."""
        return {
            "network": self.network,
            "target": self.target,
            "optimiser": self.optimiser,
            "average": self.average,
        }

    def experience(self) -> Experience:
        """Return the replay, which holds the episode under way as well."""
        return self.replay

    def diagnostics(self) -> dict[str, float]:
        """Return how the network is doing, and how the newest decision was made."""
        newest = self.replay.newest()
        beliefs = [] if newest is None else [self._belief(self.network, newest)]
        return super().diagnostics() | self.decisions.diagnostics(beliefs)


def _huber(errors: NDArray[Any]) -> NDArray[Any]:
    size = np.abs(errors)
    losses: NDArray[Any] = np.where(size < 1.0, 0.5 * size**2, size - 0.5)
    return losses
