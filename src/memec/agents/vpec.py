"""Value-propagating episodic control: episodic memory whose values follow from one another, not from luck."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from memec.agents.agent import Agent, Env, Shapes
from memec.agents.diagnostics import strategy_diagnostics
from memec.agents.memories import Memories, Thought, memories_behind
from memec.agents.returns import discounted_returns
from memec.embed.scale import RunningScale
from memec.envs.world import World, make
from memec.errors import MemecError
from memec.explore import AnyStrategy, Belief, Boltzmann, EpsilonGreedy, Greedy, Mellowmax, evaluated
from memec.explore.optimism import HOPE, Bet, Optimism
from memec.graph import Experience, Graph, GraphSettings, Opinion, View
from memec.saved_arrays import check_arrays, check_not_negative
from memec.settings import Settings
from memec.train.files import Arrays, part_of
from memec.train.protocol import AskStateId, GreedyPolicy, Observation, StateId

FIRST_SCALE = 64
"""After so many steps observations are scaled for the first time, and again whenever there are twice as many."""


class VPECSettings(Settings):
    """Everything that makes a VPEC agent."""

    name: Literal["vpec"] = "vpec"
    discount: float = Field(0.99, ge=0.0, lt=1.0)
    """How much a reward one step later is worth (gamma)."""
    scaled: bool = True
    """Whether each number of an observation is divided by its running standard deviation."""
    memory: GraphSettings = GraphSettings()
    explore: Annotated[Optimism | EpsilonGreedy | Boltzmann | Mellowmax | Greedy, Field(discriminator="name")] = (
        Optimism()
    )


class VPEC(Agent):
    """Remembers every experience and where it led; its value is its reward and the best that similar ones say follows.

    For vector and discrete observations. `memory` may be given in part: `VPEC("CartPole-v1", memory={"doubt": 2.0})`.
    """

    name: ClassVar[str] = "vpec"
    settings_type: ClassVar[type[Settings]] = VPECSettings
    settings: VPECSettings

    def __init__(
        self,
        env: Env,
        *,
        explore: AnyStrategy | str | None = None,
        memory: GraphSettings | dict[str, Any] | None = None,
        discount: float | None = None,
        seed: int = 0,
        settings: VPECSettings | None = None,
    ) -> None:
        world = env if isinstance(env, World) else make(env)
        changes = {"explore": explore, "memory": memory, "discount": discount}
        settings = (settings or self.general_settings(world.observation.kind)).changed(changes)
        super().__init__(world, settings, settings.explore, seed, owns_world=isinstance(env, str))
        size = int(np.prod(world.observation.shape))
        self.graph = Graph(settings.memory, world.actions, size, settings.discount)
        self.scale = RunningScale(size, world.observation.quantities)
        self._bet = Bet(settings.explore) if isinstance(settings.explore, Optimism) else None
        self._best, self._worst = -np.inf, np.inf
        self._decisions = 0
        self._since_sweep = 0
        self._next_scale = FIRST_SCALE
        self._here: View | None = None
        self._observation = np.zeros(size, np.float32)
        self._action = 0
        self._slots: list[int] = []
        self._rewards: list[float] = []

    def act(self, observation: Observation, state_id: AskStateId) -> int:
        """Judge each action by what similar experiences led to, and let the strategy choose."""
        if not self._rewards and self._bet is not None:
            self._bet.begin(self.generator, tempers=self.graph.lucky)
        self._observation = observation
        if self._here is None:
            self._here = self.graph.look(self.scale(observation)[None])
        self._decisions += 1
        belief = self._belief(self.graph.judge(self._here))
        self._action = self.explore.choose(belief, self._decisions, self.generator)
        return self._action

    def observe(self, reward: float, observation: Observation, terminated: bool, truncated: bool) -> None:
        """Remember where the action led; bring values up to date, of the episode at its end and of all now and then."""
        before, here, scale = self._observation, self._here, self.scale
        if here is None:
            raise MemecError("Something is observed only after an action.")
        scale.notice(before, observation)
        if self._decisions < FIRST_SCALE:
            self.graph.measure(scale.step_length)
        experience = Experience(self._action, before, reward, observation, terminated, self._decisions)
        slot, self._here, new = self.graph.remember(experience, here, scale.scale)
        if self._bet is not None:
            self._bet.notice(new, len(self.graph))
        self._slots.append(slot)
        self._rewards.append(reward)
        over = terminated or truncated
        if over:
            self._close_episode(0.0 if terminated else float(self.graph.judge(self._here).values.max()))
        self._since_sweep += 1
        if self._since_sweep * self.settings.memory.sweeps >= len(self.graph) > 0:
            self._since_sweep = 0
            self.graph.sweep(self.graph.newest_first())
        elif over:
            self.graph.sweep(np.array(self._slots[::-1]))
        if self._decisions >= self._next_scale and (over or self._decisions >= 2 * self._next_scale):
            self._next_scale = 2 * self._decisions
            if self.settings.scaled:
                scale.fix()
            self.graph.rescale(scale.scale, scale.step_length)
            self._here = None
        if over:
            self.abandon_episode()

    def abandon_episode(self) -> None:
        """Forget that an episode is under way: what was experienced in it stays."""
        self._here = None
        self._slots.clear()
        self._rewards.clear()

    def greedy_policy(self) -> GreedyPolicy:
        """Return the policy that takes the action of the largest value, by the belief that has paid better lately."""
        greedy = Greedy(ties=self.explore.ties)

        def policy(
            observations: Sequence[Observation], state_ids: NDArray[np.uint64], luck: Sequence[float]
        ) -> list[int]:
            seen = self.graph.look(self.scale(np.stack(observations)))
            return greedy.choose_each(self._trusted(self.graph.judge(seen)), luck)

        return policy

    def recall(self, observation: Any) -> list[Memories]:
        """Return, for every action, the experiences behind its value. Changes nothing."""
        key = self.scale(self.world.observation(observation))
        return self._memories_behind(key)

    def think(self, observation: Observation, state_id: StateId) -> Thought:
        """Return what stands behind a choice here, without a trace in the agent."""
        key = self.scale(observation)
        belief = Belief(self._trusted(self.graph.judge(self.graph.look(key[None])))[0])
        return Thought(belief, self._memories_behind(key), key)

    @property
    def hoping(self) -> bool:
        """Whether the episode under way is played by hope instead of belief."""
        return self._bet is not None and self._bet.kind == HOPE

    def diagnostics(self) -> dict[str, float]:
        """Return how full the memory is, and how decisions are made."""
        found = {"memory_fill": self.graph.fill, "chance": self.graph.chance, "straying": self.graph.straying}
        found |= {"hoping": float(self.hoping)}
        if self._here is None:
            return found
        opinion = self.graph.judge(self._here)
        found["value"] = float(opinion.values.max())
        return found | strategy_diagnostics(self.explore, [self._belief(opinion)], self._decisions)

    def choose_actions(
        self,
        observations: NDArray[Any],
        state_ids: NDArray[np.uint64] | None,
        deterministic: bool,
        generator: np.random.Generator,
    ) -> NDArray[np.int64]:
        """Choose for a batch of observations, without learning from it."""
        opinion = self.graph.judge(self.graph.look(self.scale(observations)))
        strategy = evaluated(self.explore) if deterministic else self.explore
        chosen = self._trusted(opinion) if deterministic else self._chosen_by(opinion)
        return np.array([strategy.choose(Belief(row), self._decisions, generator) for row in chosen], np.int64)

    def arrays(self) -> Arrays:
        """Return all experiences, the scale, the bet and the episode under way."""
        parts: dict[str, Any] = {"graph": self.graph.arrays(), "scale": self.scale.arrays()}
        if self._bet is not None:
            parts["bet"] = self._bet.arrays()
        returns_seen = [self._best, self._worst] if np.isfinite(self._best) else []
        own = {
            "counts": np.array([self._decisions, self._since_sweep, self._next_scale], np.int64),
            "returns_seen": np.array(returns_seen, np.float64),
            "episode.slots": np.array(self._slots, np.int64),
            "episode.rewards": np.array(self._rewards, np.float64),
        }
        if self._here is not None:
            parts["here"] = self._here.arrays()
        return own | {f"{part}.{name}": array for part, arrays in parts.items() for name, array in arrays.items()}

    def restore(self, arrays: Arrays) -> None:
        """Take over what another agent with the same settings learned."""
        steps = arrays["episode.rewards"].size
        forms: dict[str, Any] = {
            "counts": (np.int64, (3,)),
            "episode.slots": (np.int64, (steps,)),
            "episode.rewards": (np.float64, (steps,)),
            "returns_seen": (np.float64, (min(arrays["returns_seen"].size, 2),)),
        }
        check_arrays(arrays, forms)
        check_not_negative(arrays, "counts")
        self._decisions, self._since_sweep, self._next_scale = (int(number) for number in arrays["counts"])
        if arrays["returns_seen"].size == 2:
            self._best, self._worst = (float(seen) for seen in arrays["returns_seen"])
        self.scale.restore(part_of(arrays, "scale."))
        self.graph.restore(part_of(arrays, "graph."), self.scale.scale)
        if self._bet is not None:
            self._bet.restore(part_of(arrays, "bet."))
        self._slots, self._rewards = arrays["episode.slots"].tolist(), arrays["episode.rewards"].tolist()
        if not set(self._slots) <= set(self.graph.used().tolist()):
            raise MemecError("The saved episode does not fit: it was never remembered.")
        here = part_of(arrays, "here.")
        self._here = self.graph.restore_view(here) if here else None

    @classmethod
    def check_claims(cls, settings: VPECSettings, about: dict[str, Any], shapes: Shapes) -> None:
        """Raise an error where the settings claim another memory than the file holds."""
        slots, lists = shapes["graph.present"][0], shapes["graph.near"][1:]
        if settings.memory.capacity * lists[0] > slots or settings.memory.neighbours != lists[1]:
            raise MemecError("The saved memory does not fit: it is of another size than its settings say.")

    @classmethod
    def general_settings(cls, kind: str) -> VPECSettings:
        """Return settings for an environment of which only the kind of observation is known."""
        if kind == "frames":
            raise MemecError("vpec compares observations number by number, which pictures are not made for: use mfec.")
        return VPECSettings()

    @classmethod
    def from_settings(cls, env: Env, settings: VPECSettings, *, seed: int = 0) -> Self:
        """Make the agent from its settings, as the command line does."""
        return cls(env, settings=settings, seed=seed)

    def _memories_behind(self, key: NDArray[np.float32]) -> list[Memories]:
        found = memories_behind(self.graph, self.graph.recall(key))
        return [replace(one, outcomes=[self.graph.told(slot) for slot in one.slots]) for one in found]

    def _close_episode(self, value_at_end: float) -> None:
        """Learn what an episode can come to, and whether hoping pays."""
        returns = discounted_returns(self._rewards, self.settings.discount, value_at_end)
        self._best, self._worst = max(self._best, returns.max()), min(self._worst, returns.min())
        self.graph.saw_returns(self._best, self._worst)
        if self._bet is not None:
            self._bet.settle(float(np.sum(self._rewards)))

    def _belief(self, opinion: Opinion) -> Belief:
        return Belief(self._chosen_by(opinion)[0])

    def _chosen_by(self, opinion: Opinion) -> NDArray[np.float64]:
        """Return what the episode under way is played by."""
        return opinion.values if self._bet is None else opinion[self._bet.kind]

    def _trusted(self, opinion: Opinion) -> NDArray[np.float64]:
        """Return what a greedy policy goes by."""
        return opinion.values if self._bet is None else opinion[self._bet.trusted]
