"""What a strategy is to an agent, and to those who look on."""

from collections.abc import Sequence
from typing import Literal, Protocol

from numpy.random import Generator

from memec.explore.belief import Belief, Floats
from memec.explore.insight import Insight

Need = Literal["values", "memory", "hopes"]
"""What a strategy chooses by: values alone, which every agent has; how far its memories are and how sure it is of them;
what may be hoped for, as VPEC tells it from what is believed."""
MEANING: dict[Need, str] = {
    "values": "values",
    "memory": "memories behind each value",
    "hopes": "hopes told apart from beliefs",
}


class Strategy(Protocol):
    """Turns a belief over action values into an action."""

    @property
    def name(self) -> str:
        """What it is called, on the command line and in run folders."""

    @property
    def ties(self) -> Literal["random", "first"]:
        """Which of several best actions is taken, in evaluation too."""

    @property
    def needs(self) -> Need:
        """What it chooses by."""

    @property
    def needs_std(self) -> bool:
        """Whether it wants the standard deviation of the paper's Gaussian process."""

    @property
    def judges_as_released(self) -> bool:
        """Whether values and deviations are those of the authors' released code, in evaluation too."""

    def choose(self, belief: Belief, step: int, rng: Generator) -> int:
        """Draw an action."""

    def probabilities(self, belief: Belief, step: int) -> Floats | None:
        """Return the distribution `choose` draws from, where it can tell."""

    def diagnostics(self, beliefs: Sequence[Belief], step: int) -> dict[str, float]:
        """Return its own measures of how it chose by the newest beliefs."""

    def insight(self) -> Insight:
        """Return, new, what learns for it."""
