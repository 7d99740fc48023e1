"""Neural episodic control (Pritzel et al., 2017), with the exploration strategies of the MEMEC paper."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveInt

from memec.agents.agent import Env
from memec.agents.diagnostics import MOMENTS, memory_diagnostics
from memec.agents.dictionary import Dictionary
from memec.agents.exploring import ExploringSettings
from memec.agents.memories import Memories, Thought, memories_behind
from memec.agents.neural import NeuralAgent, NeuralSettings
from memec.agents.optimiser import OptimiserSettings, parameter_optimiser
from memec.agents.pictures import Joined, make_pictures
from memec.agents.replay import ReturnReplay
from memec.agents.returns import Truncation, after_a_cut, going_on, n_step_returns
from memec.errors import MemecError, NotFiniteError
from memec.explore import AnyStrategy, Belief, ExploreSettings, Greedy, Mellowmax, Need
from memec.memory import Memory, MemorySettings, MoveTowards, Recall
from memec.saved_arrays import check_arrays, check_not_negative
from memec.train.files import Arrays, part_of
from memec.train.journal import Experience
from memec.train.protocol import AskStateId, GreedyPolicy, Observation, StateId

if TYPE_CHECKING:
    from memec.embed.networks import Network


class NECSettings(NeuralSettings):
    """Everything that makes a NEC agent."""

    offers: ClassVar[tuple[Need, ...]] = ("values", "memory")
    name: Literal["nec"] = "nec"
    memory: MemorySettings = MemorySettings(search="exact")
    explore: ExploreSettings = Mellowmax()
    key_size: PositiveInt = 64
    n_step: PositiveInt = 100
    """How many rewards a return adds up before it trusts the value the memory gave (n)."""
    memory_learning_rate: float = Field(0.1, gt=0.0, le=1.0)
    """How far the stored value of a known state moves towards a new return (alpha)."""
    truncation: Truncation = "terminal"
    """What the returns that an episode's time limit cut off are taken for; `discard` leaves out the last n steps."""


# Measured on Acrobot within 100,000 steps: docs/neural-agents.md. A return is one sample, and entries hardly move at
# this learning rate, so that it takes many neighbours of about the same weight to tell actions apart; and a value
# recorded while little was known is a bad one to go on with, the worse the sooner a return does.
SMALL_SETTINGS = NECSettings(
    memory=MemorySettings(neighbours=50, delta=0.1, search="exact"),
    n_step=200,
    truncation="discard-or-average",
)
GENERAL_SETTINGS = {
    "vector": SMALL_SETTINGS,
    "discrete": SMALL_SETTINGS,
    "frames": NECSettings(
        memory=MemorySettings(capacity=100_000),
        explore=Mellowmax(omega=40.0),
        key_size=128,
        train_start_steps=50_000,
    ),
}
"""What an environment gets of which only the kind of observation is known."""


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

    Arguments that are left out get settings that suit the environment's kind of observation. `memory` and `optimiser`
    may be given in part: `NEC("CartPole-v1", optimiser={"learning_rate": 1e-4})`. Any other setting of `NECSettings`
    may be given by its name.
    """

    name: ClassVar[str] = "nec"
    settings_type: ClassVar[type[ExploringSettings]] = NECSettings
    settings: NECSettings

    def __init__(
        self,
        env: Env,
        *,
        explore: AnyStrategy | str | None = None,
        memory: MemorySettings | dict[str, Any] | None = None,
        optimiser: OptimiserSettings | dict[str, Any] | None = None,
        seed: int = 0,
        settings: NECSettings | None = None,
        **changes: Any,
    ) -> None:
        super().__init__(env, settings, changes | {"explore": explore, "memory": memory, "optimiser": optimiser}, seed)
        settings, fit = self.settings, self.world.observation
        self.embed = self.make_network(settings, fit.shape, self.world.actions, self.seeds.number("network"))
        self.memory = Memory(
            settings.memory,
            self.world.actions,
            settings.key_size,
            rule=MoveTowards(settings.memory_learning_rate),  # Q <- Q + alpha (R - Q) (Eq. 6)
            replace_known_keys=True,
            seed=self.seeds.number("network", 1),
        )
        self.pictures = make_pictures(self.memory, fit.shape, fit.dtype)
        self.replay = ReturnReplay(settings.replay_capacity, fit.shape, fit.dtype)
        self._dictionary = Dictionary(self.memory, settings.optimiser)
        self._optimiser = parameter_optimiser(settings.optimiser, self.embed.parameters)
        self._episode: list[Moment] = []
        self._rewards: list[float] = []

    def act(self, observation: Observation, state_id: AskStateId) -> int:
        """Look up the value of each action by the observation's key (Eq. 5), and let the strategy choose."""
        self.decisions.begin()
        try:
            key = self.embed(observation[None])[0]
            recall = self.memory.recall(key)
            action = self.decisions.choose(self._belief(key, recall))
        except NotFiniteError as error:
            raise self._explained(error, observation) from None
        value = float(recall.values.max())
        self._episode.append(Moment(observation, key, state_id(), action, self.decisions.count, value))
        self.pictures.notice(observation)
        return action

    def observe(self, reward: float, observation: Observation, terminated: bool, truncated: bool) -> None:
        """Keep the reward, remember the returns that are known by now, and train every few steps."""
        self._rewards.append(reward)
        self.decisions.insight.observe(reward, terminated or truncated)
        if terminated or truncated:
            self._remember_the_rest(observation, cut_off=truncated and not terminated)
        elif len(self._episode) >= 2 * self.settings.n_step:
            self._remember(self.settings.n_step)  # the returns of this half are known: n more steps have been seen
        if self._training_is_due(len(self.replay)):
            self._train()

    def abandon_episode(self) -> None:
        """Forget the episode under way."""
        self._episode.clear()
        self._rewards.clear()
        self.decisions.insight.forget()
        self.pictures.forget_episode()

    def greedy_policy(self) -> GreedyPolicy:
        """Return the policy that takes the action of the largest value; looking up leaves no trace in the memory."""
        greedy = Greedy(ties=self.explore.ties)

        def policy(
            observations: Sequence[Observation], state_ids: NDArray[np.uint64], luck: Sequence[float]
        ) -> list[int]:
            return greedy.choose_each(self.memory.peek(self.embed(np.stack(observations))).values, luck)

        return policy

    def recall(self, observation: Any) -> list[Memories]:
        """Return, for every action, the memories behind its value. Changes nothing."""
        fitted = self.world.observation(observation)
        return memories_behind(self.memory, self.memory.peek(self.embed(fitted[None])[0]))

    def think(self, observation: Observation, state_id: StateId) -> Thought:
        """Return what stands behind a choice here, without a trace in the agent."""
        key = self.embed(observation[None])[0]
        recall = self.memory.peek(key)
        return Thought(self._belief(key, recall), memories_behind(self.memory, recall), key)

    def diagnostics(self) -> dict[str, float]:
        """Return how the network and the memory are doing, and how the newest decisions were made."""
        keys = [moment.key for moment in self._episode[-MOMENTS:]]
        return super().diagnostics() | memory_diagnostics(self.memory, self.decisions, self._belief, keys, None)

    def beliefs(self, observations: NDArray[Any], state_ids: NDArray[np.uint64] | None) -> Iterable[Belief]:
        """Return what to choose by in each of these states, without a trace in the agent."""
        keys = self.embed(observations)
        recalls = self.memory.peek(keys)
        return (self._belief(key, Recall(*each)) for key, *each in zip(keys, *recalls, strict=True))

    def arrays(self) -> Arrays:
        """Return the network, the dictionaries, their optimisers and the episode under way, without the replay."""
        episode: Arrays = {"rewards": np.array(self._rewards, np.float64)}
        if self._episode:
            columns = zip(Moment._fields, zip(*self._episode, strict=True), strict=True)
            episode |= {name: np.array(column) for name, column in columns}
        parts = {
            "network": self.embed.arrays(),
            "optimiser": self._optimiser.arrays(),
            "memory": self._dictionary.arrays(),
            "episode": episode,
        }
        named = {f"{part}.{name}": array for part, arrays in parts.items() for name, array in arrays.items()}
        return self.decisions.arrays() | named

    def restore(self, arrays: Arrays) -> None:
        """Take over what another agent with the same settings learned."""
        self.decisions.restore(arrays)
        self.embed.restore(part_of(arrays, "network."))
        self._optimiser.restore(part_of(arrays, "optimiser."))
        self._dictionary.restore(part_of(arrays, "memory."))
        episode = part_of(arrays, "episode.")
        count = episode["rewards"].size
        check_arrays(episode, {"rewards": (np.float64, (count,))})
        self._rewards = episode["rewards"].tolist()
        self._episode = []
        if "action" in episode:
            self._check_episode(episode)
            plain = {name: episode[name].tolist() for name in ("action", "step", "value")}
            columns = [(episode | plain)[name] for name in Moment._fields]
            self._episode = [Moment(*moment) for moment in zip(*columns, strict=True)]

    def _check_episode(self, episode: Arrays) -> None:
        """Refuse moments that cannot have been."""
        count, fit = len(episode["action"]), self.world.observation
        forms: dict[str, Any] = {
            "observation": (fit.dtype.type, (count, *fit.shape)),
            "key": (np.float32, (count, self.settings.key_size)),
            "state_id": (np.uint64, (count, 2)),
            "action": (np.int64, (count,)),
            "step": (np.int64, (count,)),
            "value": (np.float64, (count,)),
        }
        check_arrays(episode, forms)
        check_not_negative(episode, "step")
        if not np.isin(episode["action"], np.arange(self.world.actions)).all():
            raise MemecError(f"The saved episode does not fit: {self.world.id} has no such actions.")

    @property
    def remembering(self) -> Memory:
        """What keeps its memories."""
        return self.memory

    @property
    def keeps_observations(self) -> bool:
        """Whether `observed` can tell something."""
        return self.pictures.kept

    def observed(self, slot: int) -> NDArray[Any] | None:
        """Return what was observed in a memory, where it was kept."""
        return self.pictures.of(slot)

    def experience(self) -> Experience:
        """Return the replay, and the pictures where some are kept."""
        return Joined(self.replay, self.pictures)

    @classmethod
    def network_of(
        cls, settings: NECSettings, shape: tuple[int, ...], actions: int, seed: int, device: str
    ) -> "Network":
        """Make the embedding that these settings mean."""
        from memec.embed.networks import key_network  # torch takes seconds to import, which other agents need not wait

        width, threads = settings.hidden_size, settings.threads
        return key_network(shape, settings.key_size, hidden_size=width, seed=seed, device=device, threads=threads)

    @classmethod
    def general_settings(cls, kind: str) -> NECSettings:
        """Return settings for an environment of which only the kind of observation is known."""
        return GENERAL_SETTINGS[kind]

    def _remember_the_rest(self, last_observation: Observation, cut_off: bool) -> None:
        """Write what is left of an episode that ended."""
        rewards, discount, n = self._rewards, self.settings.discount, self.settings.n_step
        truncation = after_a_cut(self.settings.truncation, rewards, discount, n) if cut_off else "terminal"
        if truncation == "discard":
            whole = len(self._episode) - n
            if whole > 0:
                self._remember(whole)
            self.abandon_episode()
            return
        value_at_end = 0.0
        if truncation == "bootstrap":
            value_at_end = self._value(last_observation)
        elif truncation == "average":
            value_at_end = going_on(rewards, discount)
        self._remember(len(self._episode), value_at_end)

    def _remember(self, count: int, value_at_end: float = 0.0) -> None:
        """Write the first moments of the episode, with their n-step returns, to the dictionaries and the replay."""
        values = [moment.value for moment in self._episode]
        returns = n_step_returns(self._rewards, values, self.settings.discount, self.settings.n_step, value_at_end)
        self.decisions.insight.settle(returns[:count])
        observations, keys, state_ids, actions, steps, _ = zip(*self._episode[:count], strict=True)
        each_action, each_state = np.array(actions), np.stack(state_ids)
        changed = self._dictionary.write(each_action, np.stack(keys), returns[:count], each_state, np.array(steps))
        self.pictures.keep(self.memory, changed, each_action, each_state)
        for observation, action, value in zip(observations, actions, returns[:count].tolist(), strict=True):
            self.replay.append(observation, action, value)
        del self._episode[:count], self._rewards[:count]

    def _train(self) -> None:
        """Lessen the squared error of the values of a batch: of the network, and of every entry that took part."""
        batch = self.replay.sample(self.settings.batch_size, self.generator)
        keys = self.embed.forward(batch.observations)
        try:
            gradients = self._dictionary.gradients(keys, batch.actions, batch.returns)
        except NotFiniteError as error:
            raise self._explained(error, batch.observations) from None
        self.embed.backward(gradients.keys)
        self._refuse_if_diverged(gradients.loss, self.embed.gradient_norm(), float(gradients.entries.sum()))
        self._optimiser.step(self.embed.parameters, self.embed.gradients)
        self._dictionary.step(gradients)
        self._means.add(
            loss=gradients.loss,
            key_norm=float(np.sqrt(np.square(keys).sum(axis=1)).mean()),
            neighbour_distance=gradients.distance,
            effective_neighbours=gradients.effective_neighbours,
        )

    def _value(self, observation: Observation) -> float:
        return float(self.memory.peek(self.embed(observation[None])[0]).values.max())

    def _belief(self, key: NDArray[np.float32], recall: Recall) -> Belief:
        if self.explore.judges_as_released:
            return Belief(recall.values, np.zeros(len(recall.values)))  # the released NEC has no uncertainty
        std = self.memory.std(key, recall) if self.explore.needs_std else None
        return self.decisions.insight.believe(Belief(recall.values, std), recall.squared_distances, recall.exact)
