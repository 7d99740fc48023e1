"""The agent's side of exploring: the strategy it was given, and what that learns on the way."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import model_validator

from memec.errors import MemecError
from memec.explore import MEANING, STRATEGIES, Belief, ExploreSettings, Need, Strategy, evaluated
from memec.saved_arrays import count_in
from memec.settings import Settings
from memec.train.files import Arrays, part_of

PREFIX = "insight."


class ExploringSettings(Settings):
    """The settings of every agent: what it is, and how it explores."""

    offers: ClassVar[tuple[Need, ...]] = ("values",)
    """What a strategy can choose by."""
    name: str
    explore: ExploreSettings

    @model_validator(mode="after")
    def _strategy_gets_what_it_needs(self) -> Self:
        self.refuse_unless_offered(self.explore.name, self.explore.needs)
        return self

    @classmethod
    def suiting(cls, kind: str) -> "ExploringSettings":
        """Return settings for an environment whose observations are of this kind: vector, discrete or frames."""
        return cls()  # type: ignore[call-arg]  # what is no agent's own has neither name nor strategy

    def refuse_unless_offered(self, strategy: str, needs: Need) -> None:
        """Raise an error where a strategy needs what this agent does not have."""
        if needs not in self.offers:
            others = [name for name, kind in STRATEGIES.items() if kind.needs in self.offers]
            raise MemecError(
                f"To explore by {strategy} takes {MEANING[needs]}, which {self.name} does not have: "
                f"choose from {', '.join(others)}."
            )


class Decisions:
    """How an agent explores: its strategy, what that learns, and how many decisions there have been."""

    def __init__(self, strategy: Strategy, generator: Generator) -> None:
        self.strategy = strategy
        self.insight = strategy.insight()
        self.count = 0
        self._generator = generator

    def begin(self) -> None:
        """Count a decision that is to be taken now."""
        self.count += 1
        self.insight.begin(self._generator)

    def choose(self, belief: Belief) -> int:
        """Take it, to learn from."""
        action = self.strategy.choose(belief, self.count, self._generator)
        self.insight.notice(belief, action)
        return action

    def choose_each(self, beliefs: Iterable[Belief], deterministic: bool, generator: Generator) -> NDArray[np.int64]:
        """Choose by each of several beliefs, without learning from it; if deterministic, as when evaluated."""
        strategy = evaluated(self.strategy) if deterministic else self.strategy
        with self.insight.untouched():
            return np.array([strategy.choose(belief, self.count, generator) for belief in beliefs], np.int64)

    def diagnostics(self, beliefs: Sequence[Belief]) -> dict[str, float]:
        """Return how the newest decisions were made: the entropy of the policy in nats, and what the strategy shows."""
        found = self.strategy.diagnostics(beliefs, self.count) | self.insight.diagnostics()
        policies = [self.strategy.probabilities(belief, self.count) for belief in beliefs]
        told = np.array([policy for policy in policies if policy is not None])
        if len(told):
            logarithms = np.log(told, out=np.zeros_like(told), where=told > 0.0)
            found["policy_entropy"] = float(-(told * logarithms).sum(axis=1).mean())
        return found

    def arrays(self) -> Arrays:
        """Return what `restore` needs to go on identically."""
        learned = {PREFIX + name: array for name, array in self.insight.arrays().items()}
        return {"decisions": np.array([self.count])} | learned

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from what `arrays` returned, among the agent's other arrays."""
        self.count = count_in(arrays, "decisions")
        self.insight.restore(part_of(arrays, PREFIX))
