"""What all strategies can be told: how one of several equal actions is taken, and how the agent is evaluated."""

from abc import abstractmethod
from typing import ClassVar, Literal

from numpy.random import Generator

from memec.explore.belief import Belief, Floats
from memec.settings import Settings


class Exploration(Settings):
    """What every strategy is: settings, and from a belief to an action."""

    ties: Literal["random", "first"] = "random"
    """Which of several best actions is taken, in evaluation too: any of them, or the first as argmax usually has it."""
    needs_std: ClassVar[bool] = False

    @abstractmethod
    def choose(self, belief: Belief, step: int, rng: Generator) -> int:
        """Draw an action."""

    @abstractmethod
    def probabilities(self, belief: Belief, step: int) -> Floats:
        """The distribution `choose` draws from."""

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
    needs_std: ClassVar[bool] = True

    @property
    def judges_as_released(self) -> bool:
        """Whether values and deviations are those of the authors' released code, in evaluation too."""
        return self.gaussian_process == "released"
