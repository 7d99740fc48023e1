"""Mellowmax without an omega to tune: how much to give up is measured in the differences between actions."""

from collections.abc import Sequence
from math import inf, isfinite, log
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import PositiveFloat, PositiveInt

from memec.errors import MemecError
from memec.explore.belief import Belief, Floats
from memec.explore.choice import span
from memec.explore.exploration import Exploration
from memec.explore.insight import Insight
from memec.explore.mellowmax import Mellowmax, choose_by_mellowmax, mean_beta, mellowmax_policy
from memec.saved_arrays import LARGEST_COUNT, check_arrays

ANY_OMEGA = Mellowmax().omega
"""Where no action is better than another, all omegas choose alike."""


class MellowmaxAuto(Exploration):
    """Maximum-entropy mellowmax with omega = log(n) / (rho * spread of the values).

    Mellowmax gives up at most log(n) / omega return units per decision: with this omega, `rho` times the typical
    difference between the best and the worst action. So nothing changes when all rewards are scaled.
    """

    name: Literal["mellowmax-auto"] = "mellowmax-auto"
    rho: PositiveFloat = 0.1
    """How much of the typical difference between actions may be given up by exploring."""
    window: PositiveInt = 1_000
    """Over how many of the last decisions, about, that difference is averaged."""

    def omega(self, belief: Belief) -> float:
        """Return the omega in use: infinite where the values do not differ, or there is one action only."""
        lost = self.rho * (belief.spread or span(belief.mean))
        return log(belief.mean.size) / lost if lost > 0.0 else inf

    def choose(self, belief: Belief, step: int, rng: Generator) -> int:
        """Draw an action."""
        return choose_by_mellowmax(belief, self._usable_omega(belief), rng)

    def probabilities(self, belief: Belief, step: int) -> Floats:
        """The distribution `choose` draws from."""
        return mellowmax_policy(belief.mean, self._usable_omega(belief))[0]

    def diagnostics(self, beliefs: Sequence[Belief], step: int) -> dict[str, float]:
        """Return the inverse temperature beta."""
        return mean_beta([mellowmax_policy(belief.mean, self._usable_omega(belief))[1] for belief in beliefs])

    def insight(self) -> "Spread":
        """Return what measures the differences between actions."""
        return Spread(self.window)

    def _usable_omega(self, belief: Belief) -> float:
        omega = self.omega(belief)
        return omega if isfinite(omega) and omega > 0.0 else ANY_OMEGA


class Spread(Insight):
    """How far the best and the worst action differ, averaged over the last decisions by how much is at stake in each.

    That is the mean of the squared differences over the mean of the differences: decisions that matter to nobody, as in
    a room whose goal has not been found from most places, say nothing about the size of those that do.
    """

    def __init__(self, window: int) -> None:
        self._window = window
        self._decisions = 0
        self._mean = self._mean_square = 0.0

    @property
    def spread(self) -> float:
        """The spread now; 0 where no difference was ever seen."""
        return self._mean_square / self._mean if self._mean > 0.0 else 0.0

    def believe(
        self,
        belief: Belief,
        squared_distances: NDArray[np.float32] | None = None,
        exact: NDArray[np.bool_] | None = None,
    ) -> Belief:
        """Return the values with the spread of the decisions before."""
        return Belief(belief.mean, spread=self.spread)

    def notice(self, belief: Belief, action: int) -> None:
        """Move the averages towards this decision's difference; the first ones count the same."""
        self._decisions += 1
        share = 1.0 / min(self._decisions, self._window)
        difference = span(belief.mean)
        self._mean += share * (difference - self._mean)
        self._mean_square += share * (difference * difference - self._mean_square)

    def diagnostics(self) -> dict[str, float]:
        """Return the spread."""
        return {"value_spread": self.spread}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the count and the averages."""
        return {"spread": np.array([self._decisions, self._mean, self._mean_square], np.float64)}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from there."""
        check_arrays(arrays, {"spread": (np.float64, (3,))})
        count, _, square = arrays["spread"].tolist()
        if not 0.0 <= count < LARGEST_COUNT or count % 1.0 or square < 0.0:
            raise MemecError("The saved spread does not fit: no values have it.")
        decisions, self._mean, self._mean_square = arrays["spread"].tolist()
        self._decisions = int(decisions)
