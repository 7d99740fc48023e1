"""An agent of one's own in one file: every-visit Monte Carlo control with a table of the mean return of each state."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from memec import register_agent
from memec.agents import Agent, Env, ExploringSettings, GreedyPolicy, Thought
from memec.agents.returns import discounted_returns
from memec.errors import MemecError
from memec.explore import AnyStrategy, Belief, EpsilonGreedy, ExploreSettings, Greedy
from memec.saved_arrays import check_arrays
from memec.train.files import Arrays, part_of


class MonteCarloSettings(ExploringSettings):
    """Everything that makes the agent: each field can be set by --set, and is recorded."""

    name: Literal["monte-carlo"] = "monte-carlo"
    discount: float = Field(0.99, ge=0.0, le=1.0)
    """How much a reward one step later is worth."""
    explore: ExploreSettings = EpsilonGreedy(anneal_start_steps=0, anneal_end_steps=5_000, epsilon_final=0.05)


class MonteCarlo(Agent):
    """Remembers the mean return of every action in every state that it has seen; a state is its id."""

    name: ClassVar[str] = "monte-carlo"
    settings_type: ClassVar[type[ExploringSettings]] = MonteCarloSettings
    settings: MonteCarloSettings

    def __init__(
        self,
        env: Env,
        *,
        explore: AnyStrategy | str | None = None,
        discount: float | None = None,
        seed: int = 0,
        settings: MonteCarloSettings | None = None,
    ) -> None:
        super().__init__(env, settings, {"explore": explore, "discount": discount}, seed)
        self._sums: dict[bytes, NDArray[np.float64]] = {}
        self._counts: dict[bytes, NDArray[np.int64]] = {}
        self._states: list[bytes] = []
        self._actions: list[int] = []
        self._rewards: list[float] = []

    def act(self, observation: NDArray[Any], state_id: Any) -> int:
        """Choose by the mean returns of this state."""
        self.decisions.begin()
        state = state_id().tobytes()
        action = self.decisions.choose(self._belief(state))
        self._states.append(state)
        self._actions.append(action)
        return action

    def observe(self, reward: float, observation: NDArray[Any], terminated: bool, truncated: bool) -> None:
        """Add the returns of an episode to the table at its end."""
        self._rewards.append(reward)
        over = terminated or truncated
        self.decisions.insight.observe(reward, over)
        if not over:
            return
        returns = discounted_returns(self._rewards, self.settings.discount)
        for state, action, value in zip(self._states, self._actions, returns.tolist(), strict=True):
            self._sums.setdefault(state, np.zeros(self.world.actions))[action] += value
            self._counts.setdefault(state, np.zeros(self.world.actions, np.int64))[action] += 1
        self.abandon_episode()

    def abandon_episode(self) -> None:
        """Forget the episode under way."""
        for column in (self._states, self._actions, self._rewards):
            column.clear()
        self.decisions.insight.forget()

    def greedy_policy(self) -> GreedyPolicy:
        """Return the policy that takes the action of the largest mean return."""
        greedy = Greedy(ties=self.explore.ties)

        def policy(observations: Sequence[Any], state_ids: NDArray[np.uint64], luck: Sequence[float]) -> list[int]:
            return greedy.choose_each(np.array([self._values(state.tobytes()) for state in state_ids]), luck)

        return policy

    def beliefs(self, observations: NDArray[Any], state_ids: NDArray[np.uint64] | None) -> Iterable[Belief]:
        """Return what to choose by in each of these states."""
        if state_ids is None:
            raise MemecError(f"In {self.world.id} a state is more than what is observed: pass state_id=...")
        return (self._belief(state.tobytes()) for state in state_ids)

    def think(self, observation: NDArray[Any], state_id: NDArray[np.uint64]) -> Thought:
        """Return what stands behind a choice here, for `memec watch`."""
        return Thought(self._belief(state_id.tobytes()), [], None)

    def arrays(self) -> Arrays:
        """Return everything learned, and the episode under way."""
        known = {
            "states": np.frombuffer(b"".join(self._sums), np.uint64).reshape(-1, 2),
            "sums": np.array(list(self._sums.values()), np.float64).reshape(-1, self.world.actions),
            "counts": np.array(list(self._counts.values()), np.int64).reshape(-1, self.world.actions),
        }
        episode = {
            "states": np.frombuffer(b"".join(self._states), np.uint64).reshape(-1, 2),
            "actions": np.array(self._actions, np.int64),
            "rewards": np.array(self._rewards, np.float64),
        }
        own = {f"known.{name}": array for name, array in known.items()}
        return self.decisions.arrays() | own | {f"episode.{name}": array for name, array in episode.items()}

    def restore(self, arrays: Arrays) -> None:
        """Take over what another agent with the same settings learned."""
        self.decisions.restore(arrays)
        known, episode = part_of(arrays, "known."), part_of(arrays, "episode.")
        states, steps, actions = len(known["states"]), len(episode["rewards"]), self.world.actions
        check_arrays(
            known,
            {
                "states": (np.uint64, (states, 2)),
                "sums": (np.float64, (states, actions)),
                "counts": (np.int64, (states, actions)),
            },
        )
        check_arrays(
            episode,
            {"states": (np.uint64, (steps, 2)), "actions": (np.int64, (steps,)), "rewards": (np.float64, (steps,))},
        )
        names = [state.tobytes() for state in known["states"]]
        self._sums = dict(zip(names, known["sums"].copy(), strict=True))
        self._counts = dict(zip(names, known["counts"].copy(), strict=True))
        self._states = [state.tobytes() for state in episode["states"]]
        self._actions, self._rewards = episode["actions"].tolist(), episode["rewards"].tolist()

    @classmethod
    def general_settings(cls, kind: str) -> MonteCarloSettings:
        """Return settings for an environment of which only the kind of observation is known."""
        return MonteCarloSettings()

    def _values(self, state: bytes) -> NDArray[np.float64]:
        if state not in self._sums:
            return np.zeros(self.world.actions)
        values: NDArray[np.float64] = self._sums[state] / np.maximum(self._counts[state], 1)
        return values

    def _belief(self, state: bytes) -> Belief:
        return self.decisions.insight.believe(Belief(self._values(state)))


register_agent(MonteCarlo)
