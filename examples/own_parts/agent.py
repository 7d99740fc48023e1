"""An agent of one's own in one file: every-visit Monte Carlo control with a table of the mean return of each state."""

from collections.abc import Iterable
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from memec import register_agent
from memec.agents import Agent, Column, Env, Episode, ExploringSettings, Part
from memec.agents.returns import discounted_returns
from memec.errors import MemecError
from memec.explore import Belief, EpsilonGreedy, ExploreSettings
from memec.saved_arrays import check_arrays
from memec.train.files import Arrays


class MonteCarloSettings(ExploringSettings):
    """Everything that makes the agent: each field can be set by --set, and is recorded."""

    name: Literal["monte-carlo"] = "monte-carlo"
    discount: float = Field(0.99, ge=0.0, le=1.0)
    """How much a reward one step later is worth."""
    explore: ExploreSettings = EpsilonGreedy(anneal_start_steps=0, anneal_end_steps=5_000, epsilon_final=0.05)


class Moment(NamedTuple):
    """One decision of the episode under way."""

    state_id: NDArray[np.uint64]
    action: int


class MonteCarlo(Agent):
    """Remembers the mean return of every action in every state that it has seen; a state is its id."""

    name: ClassVar[str] = "monte-carlo"
    settings_type: ClassVar[type[ExploringSettings]] = MonteCarloSettings
    settings: MonteCarloSettings

    def __init__(self, env: Env, **given: Any) -> None:
        super().__init__(env, **given)
        self.table = MeanReturns(self.world.actions)
        columns = Column("states", np.uint64, (2,)), Column("actions", np.int64, below=self.world.actions)
        self.episode = Episode(Moment, columns)

    def act(self, observation: NDArray[Any], state_id: Any) -> int:
        """Choose by the mean returns of this state."""
        self.decisions.begin()
        state = state_id()
        action = self.decisions.choose(self._belief(state))
        self.episode.moments.append(Moment(state, action))
        return action

    def observe(self, reward: float, observation: NDArray[Any], terminated: bool, truncated: bool) -> None:
        """Add the returns of an episode to the table at its end."""
        self.episode.rewards.append(reward)
        over = terminated or truncated
        self.decisions.insight.observe(reward, over)
        if over:
            returns = discounted_returns(self.episode.rewards, self.settings.discount)
            for moment, value in zip(self.episode.moments, returns.tolist(), strict=True):
                self.table.add(*moment, value)
            self.abandon_episode()

    def abandon_episode(self) -> None:
        """Forget the episode under way."""
        self.episode.clear()
        self.decisions.insight.forget()

    def beliefs(self, observations: NDArray[Any], state_ids: NDArray[np.uint64] | None) -> Iterable[Belief]:
        """Return what to choose by in each of these states."""
        if state_ids is None:
            raise MemecError(f"In {self.world.id} a state is more than what is observed: pass state_id=...")
        return map(self._belief, state_ids)

    def parts(self) -> dict[str, Part]:
        """Return everything learned, and the episode under way."""
        return {"known": self.table, "episode": self.episode}

    def _belief(self, state: NDArray[np.uint64]) -> Belief:
        return self.decisions.insight.believe(Belief(self.table.values(state)))


class MeanReturns:
    """The mean return of every action, state by state."""

    def __init__(self, actions: int) -> None:
        self._actions = actions
        self._sums: dict[bytes, NDArray[np.float64]] = {}
        self._counts: dict[bytes, NDArray[np.int64]] = {}

    def add(self, state: NDArray[np.uint64], action: int, value: float) -> None:
        """Take in the return that followed an action in a state."""
        name = state.tobytes()
        self._sums.setdefault(name, np.zeros(self._actions))[action] += value
        self._counts.setdefault(name, np.zeros(self._actions, np.int64))[action] += 1

    def values(self, state: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the mean of each action in a state, 0 where there is none."""
        name = state.tobytes()
        if name not in self._sums:
            return np.zeros(self._actions)
        values: NDArray[np.float64] = self._sums[name] / np.maximum(self._counts[name], 1)
        return values

    def arrays(self) -> Arrays:
        """Return all of it, a state in each row."""
        return {
            "states": np.frombuffer(b"".join(self._sums), np.uint64).reshape(-1, 2),
            "sums": np.array(list(self._sums.values()), np.float64).reshape(-1, self._actions),
            "counts": np.array(list(self._counts.values()), np.int64).reshape(-1, self._actions),
        }

    def restore(self, arrays: Arrays) -> None:
        """Go on from what `arrays` returned."""
        shape = len(arrays["states"]), self._actions
        check_arrays(
            arrays, {"states": (np.uint64, (shape[0], 2)), "sums": (np.float64, shape), "counts": (np.int64, shape)}
        )
        names = [state.tobytes() for state in arrays["states"]]
        self._sums = dict(zip(names, arrays["sums"].copy(), strict=True))
        self._counts = dict(zip(names, arrays["counts"].copy(), strict=True))


register_agent(MonteCarlo)
