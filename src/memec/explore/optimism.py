"""Optimism, episode by episode: whether to hope is a bet on what hoping has brought lately."""

from collections import deque
from collections.abc import Mapping
from math import exp
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field, PositiveFloat, PositiveInt

from memec.explore.belief import Belief, Floats
from memec.explore.exploration import Exploration
from memec.explore.greedy import Greedy
from memec.saved_arrays import check_arrays, check_not_negative


class Optimism(Exploration):
    """Play each episode greedily, either by what is believed or by what may be hoped for.

    A two-armed bandit over the scores of the last episodes of either kind decides which: as often as one of them pays.
    For agents that tell hope from belief; what is chosen by reaches `choose` as the mean.
    """

    name: Literal["optimism"] = "optimism"
    temperature: PositiveFloat = 0.1
    """How sure a difference makes the bet, as a fraction of the range of the scores."""
    window: PositiveInt = 20
    """How many of the last episodes of either kind count."""
    least: float = Field(0.05, ge=0.0, le=0.5)
    """How often either kind is played at least."""
    restless: bool = True
    """Whether hope takes over where playing by belief meets nothing new any more."""

    def choose(self, belief: Belief, step: int, rng: Generator) -> int:
        """Draw an action: the best, equals at random."""
        return _GREEDY[self.ties].choose(belief, step, rng)

    def probabilities(self, belief: Belief, step: int) -> Floats:
        """The distribution `choose` draws from."""
        return _GREEDY[self.ties].probabilities(belief, step)


_GREEDY = {greedy.ties: greedy for greedy in (Greedy(), Greedy(ties="first"))}


LEAST_QUIET = 100
"""Steps without anything new after which belief may be going in circles, however little is remembered."""


class Bet:
    """How episodes are played under `Optimism`: a bandit over which kind has paid, restless where nothing is new.

    An episode of belief that met nothing new is followed by one of hope; within one, hope takes over after as many
    quiet steps as there are memories: so no episode goes in circles for ever, also where no time limit ends it.
    """

    def __init__(self, settings: Optimism) -> None:
        self._settings = settings
        self._scores = [deque[float](maxlen=settings.window) for _ in range(2)]
        self._played = [0, 0]
        self._stuck = False
        self._quiet, self._met_new = 0, False
        self.hoping = False
        """Whether the episode under way is played by hope."""

    def begin(self, rng: Generator) -> None:
        """Decide how to play the next episode."""
        self._quiet, self._met_new = 0, False
        self.hoping = self._stuck or self._draw(rng)

    def notice(self, new: bool, memories: int) -> None:
        """Take in whether a step brought anything that is not among the memories yet."""
        self._quiet = 0 if new else self._quiet + 1
        self._met_new |= new
        if self._settings.restless and self._quiet >= max(LEAST_QUIET, memories):
            self.hoping = True

    def settle(self, score: float) -> None:
        """Take in the score of the episode."""
        self._scores[self.hoping].append(score)
        self._played[self.hoping] += 1
        self._stuck = self._settings.restless and not self.hoping and not self._met_new

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return what `restore` needs."""
        return {
            "believing": np.array(self._scores[0], np.float64),
            "hoping": np.array(self._scores[1], np.float64),
            "counts": np.array([*self._played, self._quiet, self._met_new, self._stuck, self.hoping], np.float64),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `arrays` returned."""
        forms: dict[str, Any] = {kind: (np.float64, (arrays[kind].size,)) for kind in ("believing", "hoping")}
        check_arrays(arrays, forms | {"counts": (np.float64, (6,))})
        check_not_negative(arrays, "counts")
        window = self._settings.window
        self._scores = [deque(arrays[kind].tolist(), maxlen=window) for kind in ("believing", "hoping")]
        believed, hoped, self._quiet, met_new, stuck, hoping = (int(count) for count in arrays["counts"])
        self._played = [believed, hoped]
        self._met_new, self._stuck, self.hoping = bool(met_new), bool(stuck), bool(hoping)

    def _draw(self, rng: Generator) -> bool:
        """Bet on one kind as it has paid; each is tried twice first."""
        believing, hoping = self._scores
        for kind in (0, 1):
            if self._played[kind] < 2 or not self._scores[kind]:
                return bool(kind)
        spread = max(*believing, *hoping) - min(*believing, *hoping)
        if spread <= 0.0:
            return True
        advantage = (float(np.mean(hoping)) - float(np.mean(believing))) / spread / self._settings.temperature
        chance = 1.0 / (1.0 + exp(-advantage))
        least = self._settings.least
        return bool(rng.random() < min(max(chance, least), 1.0 - least))
