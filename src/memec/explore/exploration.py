"""What all strategies can be told: how one of several equal actions is taken, and how the agent is evaluated."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal

from numpy.random import Generator

from memec.explore.belief import Belief, Floats
from memec.explore.insight import Insight
from memec.explore.strategy import Need
from memec.settings import Settings


class Exploration(Settings):
    """What memec's own strategies have in common: each is its settings and has no state."""

    name: str
    ties: Literal["random", "first"] = "random"
    """Which of several best actions is taken, in evaluation too: any of them, or the first as argmax usually has it."""
    needs: ClassVar[Need] = "values"
    needs_std: ClassVar[bool] = False

    @abstractmethod
    def choose(self, belief: Belief, step: int, rng: Generator) -> int:
        """Draw an action."""

    @abstractmethod
    def probabilities(self, belief: Belief, step: int) -> Floats:
        """The distribution `choose` draws from."""

    def diagnostics(self, beliefs: Sequence[Belief], step: int) -> dict[str, float]:
        """Return its own measures of how it chose by the newest beliefs."""
        return {}

    def insight(self) -> Insight:
        """Return, new, what learns for it: nothing does, unless it says otherwise."""
        return Insight()

    def among_equals(self, u: float) -> float:
        """Return what chooses among equals, given a number that is uniform in [0, 1)."""
        return u if self.ties == "random" else 0.0

    @property
    def judges_as_released(self) -> bool:
        """Whether values and deviations are those of the authors' released code, in evaluation too."""
        return False


class GaussianProcess(Exploration):
    """The settings of strategies that go by the standard deviation of the paper's Gaussian process."""

    gaussian_process: Literal["paper", "released"] = "paper"
    """`paper`: the kernel 1 / (squared distance + delta) without noise, certainty where the state is known, and greedy
    evaluation. `released`, as in the authors' code: the kernel 1 / (distance + delta) with noise of variance 1, the
    posterior mean for all states, known or not, and evaluation with bonus or noise; in NEC no uncertainty at all."""
    needs: ClassVar[Need] = "memory"
    needs_std: ClassVar[bool] = True

    @property
    def judges_as_released(self) -> bool:
        """Whether values and deviations are those of the authors' released code, in evaluation too."""
        return self.gaussian_process == "released"
