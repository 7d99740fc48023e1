"""Value-propagating episodic control: episodic memory whose values follow from one another, not from luck."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from memec.agents.agent import Agent, Env, Shapes
from memec.agents.exploring import ExploringSettings
from memec.agents.memories import Memories, Thought, memories_behind
from memec.agents.returns import discounted_returns
from memec.embed.scale import RunningScale
from memec.errors import MemecError
from memec.explore import AnyStrategy, Belief, ExploreSettings, Greedy, Need
from memec.explore.optimism import Optimism
from memec.graph import Experience, Graph, GraphSettings, Opinion, View
from memec.saved_arrays import check_arrays, check_not_negative
from memec.train.files import Arrays, part_of
from memec.train.protocol import AskStateId, GreedyPolicy, Observation, StateId

FIRST_SCALE = 64
"""After so many steps observations are scaled for the first time, and again whenever there are twice as many."""


class VPECSettings(ExploringSettings):
    """Everything that makes a VPEC agent."""

    offers: ClassVar[tuple[Need, ...]] = ("values", "hopes")
    name: Literal["vpec"] = "vpec"
    discount: float = Field(0.99, ge=0.0, lt=1.0)
    """How much a reward one step later is worth (gamma)."""
    scaled: bool = True
    """Whether each number of an observation is divided by its running standard deviation."""
    memory: GraphSettings = GraphSettings()
    explore: ExploreSettings = Optimism()


class VPEC(Agent):
    """Remembers every experience and where it led; its value is its reward and the best that similar ones say follows.

    For vector and discrete observations. `memory` may be given in part: `VPEC("CartPole-v1", memory={"doubt": 2.0})`.
    """

    name: ClassVar[str] = "vpec"
    settings_type: ClassVar[type[ExploringSettings]] = VPECSettings
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
        super().__init__(env, settings, {"explore": explore, "memory": memory, "discount": discount}, seed)
        fit = self.world.observation
        size = int(np.prod(fit.shape))
        self.graph = Graph(self.settings.memory, self.world.actions, size, self.settings.discount)
        self.scale = RunningScale(size, fit.quantities)
        self._best, self._worst = -np.inf, np.inf
        self._since_sweep = 0
        self._next_scale = FIRST_SCALE
        self._here: View | None = None
        self._observation = np.zeros(size, np.float32)
        self._action = 0
        self._slots: list[int] = []
        self._rewards: list[float] = []

    def act(self, observation: Observation, state_id: AskStateId) -> int:
        """Judge each action by what similar experiences led to, and let the strategy choose."""
        if not self._rewards:
            self.decisions.insight.is_offered(3 if self.graph.lucky else 2)
        self.decisions.begin()
        self._observation = observation
        if self._here is None:
            self._here = self.graph.look(self.scale(observation)[None])
        self._action = self.decisions.choose(self._belief(self.graph.judge(self._here)))
        return self._action

    def observe(self, reward: float, observation: Observation, terminated: bool, truncated: bool) -> None:
        """Remember where the action led; bring values up to date, of the episode at its end and of all now and then."""
        before, here, scale = self._observation, self._here, self.scale
        if here is None:
            raise MemecError("Something is observed only after an action.")
        scale.notice(before, observation)
        if self.decisions.count < FIRST_SCALE:
            self.graph.measure(scale.step_length)
        experience = Experience(self._action, before, reward, observation, terminated, self.decisions.count)
        slot, self._here, new = self.graph.remember(experience, here, scale.scale)
        self.decisions.insight.meet(new, len(self.graph))
        self._slots.append(slot)
        self._rewards.append(reward)
        over = terminated or truncated
        self.decisions.insight.observe(reward, over)
        if over:
            self._close_episode(0.0 if terminated else float(self.graph.judge(self._here).values.max()))
        self._since_sweep += 1
        if self._since_sweep * self.settings.memory.sweeps >= len(self.graph) > 0:
            self._since_sweep = 0
            self.graph.sweep(self.graph.newest_first())
        elif over:
            self.graph.sweep(np.array(self._slots[::-1]))
        if self.decisions.count >= self._next_scale and (over or self.decisions.count >= 2 * self._next_scale):
            self._next_scale = 2 * self.decisions.count
            if self.settings.scaled:
                scale.fix()
            self.graph.rescale(scale.scale, scale.step_length)
            self._here = None
        if over:
            self.abandon_episode()

    def abandon_episode(self) -> None:
        """Forget that an episode is under way: what was experienced in it stays."""
        self._here = None
        self.decisions.insight.forget()
        self._slots.clear()
        self._rewards.clear()

    def greedy_policy(self) -> GreedyPolicy:
        """Return the policy that takes the action of the largest value, by the belief that has paid better lately."""
        greedy = Greedy(ties=self.explore.ties)

        def policy(
            observations: Sequence[Observation], state_ids: NDArray[np.uint64], luck: Sequence[float]
        ) -> list[int]:
            seen = self.graph.look(self.scale(np.stack(observations)))
            opinion = self.graph.judge(seen)
            values = [self._belief(opinion, row).mean for row in range(len(observations))]
            return greedy.choose_each(np.array(values), luck)

        return policy

    def recall(self, observation: Any) -> list[Memories]:
        """Return, for every action, the experiences behind its value. Changes nothing."""
        key = self.scale(self.world.observation(observation))
        return self._memories_behind(key)

    @property
    def remembering(self) -> Graph:
        """What keeps its memories."""
        return self.graph

    @property
    def keeps_observations(self) -> bool:
        """Whether `observed` can tell something: an experience holds what was observed."""
        return True

    def observed(self, slot: int) -> NDArray[Any]:
        """Return what was observed in a memory."""
        seen: NDArray[Any] = self.graph.observations[slot].reshape(self.world.observation.shape)
        return seen

    def think(self, observation: Observation, state_id: StateId) -> Thought:
        """Return what stands behind a choice here, without a trace in the agent."""
        key = self.scale(observation)
        belief = Belief(self._belief(self.graph.judge(self.graph.look(key[None]))).mean)
        return Thought(belief, self._memories_behind(key), key)

    def diagnostics(self) -> dict[str, float]:
        """Return how full the memory is, and how decisions are made."""
        found = {"memory_fill": self.graph.fill, "chance": self.graph.chance, "straying": self.graph.straying}
        if self._here is None:
            return found | self.decisions.diagnostics([])
        opinion = self.graph.judge(self._here)
        found["value"] = float(opinion.values.max())
        return found | self.decisions.diagnostics([self._belief(opinion)])

    def beliefs(self, observations: NDArray[Any], state_ids: NDArray[np.uint64] | None) -> Iterable[Belief]:
        """Return what to choose by in each of these states, without a trace in the agent."""
        opinion = self.graph.judge(self.graph.look(self.scale(observations)))
        return (self._belief(opinion, row) for row in range(len(observations)))

    def arrays(self) -> Arrays:
        """Return all experiences, the scale and the episode under way."""
        parts: dict[str, Any] = {"graph": self.graph.arrays(), "scale": self.scale.arrays()}
        returns_seen = [self._best, self._worst] if np.isfinite(self._best) else []
        own = {
            "counts": np.array([self._since_sweep, self._next_scale], np.int64),
            "returns_seen": np.array(returns_seen, np.float64),
            "episode.slots": np.array(self._slots, np.int64),
            "episode.rewards": np.array(self._rewards, np.float64),
        }
        if self._here is not None:
            parts["here"] = self._here.arrays()
        own |= self.decisions.arrays()
        return own | {f"{part}.{name}": array for part, arrays in parts.items() for name, array in arrays.items()}

    def restore(self, arrays: Arrays) -> None:
        """Take over what another agent with the same settings learned."""
        steps = arrays["episode.rewards"].size
        forms: dict[str, Any] = {
            "counts": (np.int64, (2,)),
            "episode.slots": (np.int64, (steps,)),
            "episode.rewards": (np.float64, (steps,)),
            "returns_seen": (np.float64, (min(arrays["returns_seen"].size, 2),)),
        }
        check_arrays(arrays, forms)
        check_not_negative(arrays, "counts")
        self.decisions.restore(arrays)
        self._since_sweep, self._next_scale = (int(number) for number in arrays["counts"])
        if arrays["returns_seen"].size == 2:
            self._best, self._worst = (float(seen) for seen in arrays["returns_seen"])
        self.scale.restore(part_of(arrays, "scale."))
        self.graph.restore(part_of(arrays, "graph."), self.scale.scale)
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

    def _memories_behind(self, key: NDArray[np.float32]) -> list[Memories]:
        found = memories_behind(self.graph, self.graph.recall(key))
        return [replace(one, outcomes=[self.graph.told(slot) for slot in one.slots]) for one in found]

    def _close_episode(self, value_at_end: float) -> None:
        """Learn what an episode can come to."""
        returns = discounted_returns(self._rewards, self.settings.discount, value_at_end)
        self._best, self._worst = max(self._best, returns.max()), min(self._worst, returns.min())
        self.graph.saw_returns(self._best, self._worst)

    def _belief(self, opinion: Opinion, row: int = 0) -> Belief:
        values, hopes, tempered = opinion
        readings = values[row], hopes[row], tempered[row]
        return self.decisions.insight.believe(Belief(readings[0], readings=readings))
