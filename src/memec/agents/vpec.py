"""Value-propagating episodic control: episodic memory whose values follow from one another, not from luck."""

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from memec.agents.agent import Agent, Env, Part, Shapes
from memec.agents.course import FIRST_SCALE, Course
from memec.agents.exploring import ExploringSettings
from memec.agents.lookups import GraphLookUps
from memec.agents.returns import discounted_returns
from memec.agents.settings import VPECSettings
from memec.embed.scale import RunningScale
from memec.errors import MemecError
from memec.explore import Belief
from memec.graph import Experience, Graph, Opinion
from memec.train.files import Arrays, part_of
from memec.train.protocol import AskStateId, Observation


class VPEC(Agent):
    """Remembers every experience and where it led; its value is its reward and the best that similar ones say follows.

    For vector and discrete observations. Any setting of `VPECSettings` may be given by its name, `memory` also in part:
    `VPEC("CartPole-v1", discount=0.95, memory={"doubt": 2.0}, seed=1)`.
    """

    name: ClassVar[str] = "vpec"
    settings_type: ClassVar[type[ExploringSettings]] = VPECSettings
    settings: VPECSettings

    def __init__(self, env: Env, **given: Any) -> None:
        super().__init__(env, **given)
        fit = self.world.observation
        size = int(np.prod(fit.shape))
        self.graph = Graph(self.settings.memory, self.world.actions, size, self.settings.discount)
        self.scale = RunningScale(size, fit.quantities)
        self.course = Course()
        self._observation = np.zeros(size, np.float32)
        self._action = 0
        self.lookups = GraphLookUps(self.decisions, self.beliefs, self.graph, self.scale, fit.shape)

    def act(self, observation: Observation, state_id: AskStateId) -> int:
        """Judge each action by what similar experiences led to, and let the strategy choose."""
        course = self.course
        if not course.rewards:
            self.decisions.insight.is_offered(3 if self.graph.lucky else 2)
        self.decisions.begin()
        self._observation = observation
        if course.here is None:
            course.here = self.graph.look(self.scale(observation)[None])
        self._action = self.decisions.choose(self._belief(self.graph.judge(course.here)))
        return self._action

    def observe(self, reward: float, observation: Observation, terminated: bool, truncated: bool) -> None:
        """Remember where the action led; bring values up to date, of the episode at its end and of all now and then."""
        before, course, over = self._observation, self.course, terminated or truncated
        if course.here is None:
            raise MemecError("Something is observed only after an action.")
        self.scale.notice(before, observation)
        if self.decisions.count < FIRST_SCALE:
            self.graph.measure(self.scale.step_length)
        experience = Experience(self._action, before, reward, observation, terminated, self.decisions.count)
        slot, course.here, new = self.graph.remember(experience, course.here, self.scale.scale)
        course.slots.append(slot)
        course.rewards.append(reward)
        self.decisions.insight.meet(new, len(self.graph))
        self.decisions.insight.observe(reward, over)
        if over:
            self._learn_what_episodes_come_to(0.0 if terminated else float(self.graph.judge(course.here).values.max()))
        self._sweep(over)
        self._rescale(over)
        if over:
            self.abandon_episode()

    def _learn_what_episodes_come_to(self, value_at_end: float) -> None:
        """Keep the largest and the smallest return: no value is beyond them."""
        returns = discounted_returns(self.course.rewards, self.settings.discount, value_at_end)
        self.course.best = max(self.course.best, returns.max())
        self.course.worst = min(self.course.worst, returns.min())
        self.graph.saw_returns(self.course.best, self.course.worst)

    def _sweep(self, over: bool) -> None:
        """Let Q(e) <- r + gamma max Q(where e led) pass through all experiences, or back through the episode."""
        course = self.course
        course.since_sweep += 1
        if course.since_sweep * self.settings.memory.sweeps >= len(self.graph) > 0:
            course.since_sweep = 0
            self.graph.sweep(self.graph.newest_first())
        elif over:
            self.graph.sweep(np.array(course.slots[::-1]))

    def _rescale(self, over: bool) -> None:
        """Whenever there are twice as many steps, scale by what was observed until now; keys and lists follow."""
        step, course = self.decisions.count, self.course
        if step >= course.next_scale and (over or step >= 2 * course.next_scale):
            course.next_scale = 2 * step
            if self.settings.scaled:
                self.scale.fix()
            self.graph.rescale(self.scale.scale, self.scale.step_length)
            course.here = None

    def beliefs(self, observations: NDArray[Any], state_ids: NDArray[np.uint64] | None) -> Iterable[Belief]:
        """Return what to choose by in each of these states, without a trace in the agent."""
        opinion = self.graph.judge(self.graph.look(self.scale(observations)))
        return (self._belief(opinion, row) for row in range(len(observations)))

    def _belief(self, opinion: Opinion, row: int = 0) -> Belief:
        """Offer what is believed, what may be hoped for, and what is believed if luck is not trusted."""
        values, hopes, tempered = opinion
        readings = values[row], hopes[row], tempered[row]
        return self.decisions.insight.believe(Belief(readings[0], readings=readings))

    def abandon_episode(self) -> None:
        """Forget that an episode is under way: what was experienced in it stays."""
        self.course.forget_episode()
        self.decisions.insight.forget()

    def diagnostics(self) -> dict[str, float]:
        """Return how full the memory is, and how decisions are made."""
        found = {"memory_fill": self.graph.fill, "chance": self.graph.chance, "straying": self.graph.straying}
        if self.course.here is None:
            return found | self.decisions.diagnostics([])
        opinion = self.graph.judge(self.course.here)
        found["value"] = float(opinion.values.max())
        return found | self.decisions.diagnostics([self._belief(opinion)])

    def parts(self) -> dict[str, Part]:
        """Return the scale; the graph and the course are restored with it."""
        return {"scale": self.scale}

    def arrays(self) -> Arrays:
        """Return all experiences, the scale and the episode under way."""
        graph = {f"graph.{name}": array for name, array in self.graph.arrays().items()}
        return super().arrays() | graph | self.course.arrays()

    def restore(self, arrays: Arrays) -> None:
        """Take over what another agent with the same settings learned."""
        super().restore(arrays)
        self.graph.restore(part_of(arrays, "graph."), self.scale.scale)
        self.course.restore(arrays, self.graph)

    @classmethod
    def check_claims(cls, settings: VPECSettings, about: dict[str, Any], shapes: Shapes) -> None:
        """Raise an error where the settings claim another memory than the file holds."""
        slots, lists = shapes["graph.present"][0], shapes["graph.near"][1:]
        if settings.memory.capacity * lists[0] > slots or settings.memory.neighbours != lists[1]:
            raise MemecError("The saved memory does not fit: it is of another size than its settings say.")
