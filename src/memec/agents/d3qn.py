"""The dueling double deep Q-network (Mnih et al., 2015; van Hasselt et al., 2016; Wang et al., 2016)."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import NonNegativeFloat, PositiveInt

from memec.agents.agent import Env
from memec.agents.averaging import WeightAverage
from memec.agents.exploring import ExploringSettings
from memec.agents.memories import Thought
from memec.agents.neural import NeuralAgent, NeuralSettings
from memec.agents.optimiser import OptimiserSettings, parameter_optimiser
from memec.agents.replay import TransitionReplay
from memec.errors import NotFiniteError
from memec.explore import AnyStrategy, Belief, EpsilonGreedy, ExploreSettings, Greedy
from memec.train.files import Arrays, part_of
from memec.train.journal import Experience
from memec.train.protocol import AskStateId, GreedyPolicy, Observation, StateId

if TYPE_CHECKING:
    from memec.embed.networks import Network


class D3QNSettings(NeuralSettings):
    """Everything that makes a D3QN agent.

    Time limits are no ends, in every preset: the targets bootstrap through them, and no setting changes that.
    """

    name: Literal["d3qn"] = "d3qn"
    explore: ExploreSettings = EpsilonGreedy(anneal_start_steps=1, anneal_end_steps=50_000)
    optimiser: OptimiserSettings = OptimiserSettings(learning_rate=2.5e-4, centred=True)
    train_start_steps: int = 5_000
    """Steps before the network is trained for the first time."""
    target_update_steps: PositiveInt = 7_500
    """Steps between two copies of the network into the target network."""
    reward_clip: NonNegativeFloat = 1.0
    """Rewards are cut to this size in either direction; 0 leaves them as they are."""
    loss: Literal["huber", "squared"] = "huber"
    """The error of a value: its square, or beyond 1 only its size, as in DQN."""
    loss_over_batch: Literal["sum", "mean"] = "sum"
    """How errors add up. RMSprop's epsilon is tuned to DQN's sum; a mean makes gradients a batch size smaller."""
    gradient_norm_limit: NonNegativeFloat = 10.0
    """Longer gradients are shortened to this length; 0 leaves them as they are."""
    weight_averaging: NonNegativeFloat = 0.0
    """Who is not learning acts by an average of the network's weights in which those after update t count about t to
    this power; with 0 by the newest."""


# Measured on CartPole and Acrobot within 100,000 steps: docs/neural-agents.md. The squared error and gradients of any
# length matter most: failures are rare and far off the estimate, and to hold such errors back is to overestimate.
SMALL_SETTINGS = D3QNSettings(
    explore=EpsilonGreedy(epsilon_final=0.05, anneal_start_steps=1, anneal_end_steps=10_000),
    optimiser=OptimiserSettings(name="adam", learning_rate=2e-3, decay=0.999, epsilon=1e-8, centred=False),
    batch_size=128,
    train_start_steps=1_000,
    train_every_steps=2,
    target_update_steps=200,
    reward_clip=0.0,
    loss="squared",
    loss_over_batch="mean",
    gradient_norm_limit=0.0,
    weight_averaging=9.0,
)
GENERAL_SETTINGS = {
    "vector": SMALL_SETTINGS,
    "discrete": SMALL_SETTINGS,
    "frames": D3QNSettings(
        explore=EpsilonGreedy(epsilon_final=0.01, anneal_start_steps=1, anneal_end_steps=1_000_000),
        replay_capacity=1_000_000,
        train_start_steps=12_500,
        target_update_steps=1_000,
    ),
}
"""What an environment gets of which only the kind of observation is known."""


class D3QN(NeuralAgent):
    """Learns the value of each action with a network, from single transitions and its own estimate of what follows.

    Arguments that are left out get settings that suit the environment's kind of observation. `optimiser` may be given
    in part: `D3QN("CartPole-v1", optimiser={"learning_rate": 1e-3})`. Any other setting of `D3QNSettings` may be given
    by its name.
    """

    name: ClassVar[str] = "d3qn"
    settings_type: ClassVar[type[ExploringSettings]] = D3QNSettings
    settings: D3QNSettings

    def __init__(
        self,
        env: Env,
        *,
        explore: AnyStrategy | str | None = None,
        optimiser: OptimiserSettings | dict[str, Any] | None = None,
        seed: int = 0,
        settings: D3QNSettings | None = None,
        **changes: Any,
    ) -> None:
        super().__init__(env, settings, changes | {"explore": explore, "optimiser": optimiser}, seed)
        settings, fit = self.settings, self.world.observation
        number, power = self.seeds.number("network"), settings.weight_averaging
        self.network, self._target = (
            self.make_network(settings, fit.shape, self.world.actions, number) for _ in range(2)
        )
        averaged = self.make_network(settings, fit.shape, self.world.actions, number) if power else None
        self._average = WeightAverage(averaged, power) if averaged else None
        self.judge = averaged or self.network
        """The network that decides where nothing is to be learned."""
        self.replay = TransitionReplay(settings.replay_capacity, fit.shape, fit.dtype)
        self._optimiser = parameter_optimiser(settings.optimiser, self.network.parameters)

    def act(self, observation: Observation, state_id: AskStateId) -> int:
        """Let the strategy choose by the network's values."""
        self.decisions.begin()
        try:
            action = self.decisions.choose(self._belief(self.network, observation))
        except NotFiniteError as error:
            raise self._explained(error, observation) from None
        self.replay.begin(observation, action)
        return action

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
            self._target.copy_from(self.network)

    def abandon_episode(self) -> None:
        """Forget the step under way: what came before it is whole."""
        self.replay.abandon()
        self.decisions.insight.forget()

    def greedy_policy(self) -> GreedyPolicy:
        """Return the policy that takes the action of the largest value."""
        greedy = Greedy(ties=self.explore.ties)

        def policy(
            observations: Sequence[Observation], state_ids: NDArray[np.uint64], luck: Sequence[float]
        ) -> list[int]:
            return greedy.choose_each(self.judge(np.stack(observations)).astype(np.float64), luck)

        return policy

    def think(self, observation: Observation, state_id: StateId) -> Thought:
        """Return the values behind a choice here; there are no memories behind them."""
        return Thought(self._belief(self.judge, observation), [], None)

    def diagnostics(self) -> dict[str, float]:
        """Return how the network is doing, and how the newest decision was made."""
        newest = self.replay.newest()
        beliefs = [] if newest is None else [self._belief(self.network, newest)]
        return super().diagnostics() | self.decisions.diagnostics(beliefs)

    def beliefs(self, observations: NDArray[Any], state_ids: NDArray[np.uint64] | None) -> Iterable[Belief]:
        """Return what to choose by in each of these states, without a trace in the agent."""
        return map(self._believed, self.judge(observations).astype(np.float64))

    def arrays(self) -> Arrays:
        """Return the networks and the optimiser, without the replay."""
        parts = {
            "network": self.network.arrays(),
            "target": self._target.arrays(),
            "optimiser": self._optimiser.arrays(),
            "average": {} if self._average is None else self._average.arrays(),
        }
        named = {f"{part}.{name}": array for part, arrays in parts.items() for name, array in arrays.items()}
        return self.decisions.arrays() | named

    def restore(self, arrays: Arrays) -> None:
        """Take over what another agent with the same settings learned."""
        self.decisions.restore(arrays)
        self.network.restore(part_of(arrays, "network."))
        self._target.restore(part_of(arrays, "target."))
        self._optimiser.restore(part_of(arrays, "optimiser."))
        if self._average is not None:
            self._average.restore(part_of(arrays, "average."))

    def experience(self) -> Experience:
        """Return the replay, which holds the episode under way as well."""
        return self.replay

    @classmethod
    def network_of(
        cls, settings: D3QNSettings, shape: tuple[int, ...], actions: int, seed: int, device: str
    ) -> "Network":
        """Make the network that these settings mean."""
        from memec.embed.networks import dueling_network  # torch takes seconds to import

        width, threads = settings.hidden_size, settings.threads
        return dueling_network(shape, actions, hidden_size=width, seed=seed, device=device, threads=threads)

    @classmethod
    def general_settings(cls, kind: str) -> D3QNSettings:
        """Return settings for an environment of which only the kind of observation is known."""
        return GENERAL_SETTINGS[kind]

    def _train(self) -> None:
        """Move the values of a batch towards r + gamma Q'(s', argmax Q(s', .)), Q' being the target network (Eq. 2)."""
        settings = self.settings
        batch = self.replay.sample(settings.batch_size, self.generator)
        rows = np.arange(settings.batch_size)
        best = self.network(batch.next_observations).argmax(axis=1)
        following = self._target(batch.next_observations)[rows, best]
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
        self._optimiser.step(self.network.parameters, self.network.gradients)
        if self._average is not None:
            self._average.take_in(self.network)
        self._means.add(loss=loss, value=float(values.max(axis=1).mean()), gradient_norm=norm)

    def _belief(self, network: "Network", observation: Observation) -> Belief:
        return self._believed(network(observation[None])[0].astype(np.float64))

    def _believed(self, values: NDArray[np.float64]) -> Belief:
        return self.decisions.insight.believe(Belief(values))


def _huber(errors: NDArray[Any]) -> NDArray[Any]:
    size = np.abs(errors)
    losses: NDArray[Any] = np.where(size < 1.0, 0.5 * size**2, size - 0.5)
    return losses
