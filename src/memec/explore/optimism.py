"""Optimism, episode by episode: whether to hope is a bet on what hoping has brought lately."""

from collections import deque
from math import exp
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field, PositiveFloat, PositiveInt

from memec.explore.belief import Belief, Floats
from memec.explore.exploration import Exploration
from memec.explore.greedy import Greedy


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

    def choose(self, belief: Belief, step: int, rng: Generator) -> int:
        """Draw an action: the best, equals at random."""
        return _GREEDY[self.ties].choose(belief, step, rng)

    def probabilities(self, belief: Belief, step: int) -> Floats:
        """The distribution `choose` draws from."""
        return _GREEDY[self.ties].probabilities(belief, step)


_GREEDY = {greedy.ties: greedy for greedy in (Greedy(), Greedy(ties="first"))}


class Bet:
    """The bandit of `Optimism`: which kind of episode has paid."""

    def __init__(self, settings: Optimism) -> None:
        self._settings = settings
        self._scores = [deque[float](maxlen=settings.window) for _ in range(2)]
        self._played = [0, 0]

    def hope(self, rng: Generator) -> bool:
        """Decide how to play the next episode; each kind is tried twice first."""
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

    def settle(self, hoped: bool, score: float) -> None:
        """Take in the score of an episode."""
        self._scores[hoped].append(score)
        self._played[hoped] += 1

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return what `restore` needs."""
        return {
            "believing": np.array(self._scores[0], np.float64),
            "hoping": np.array(self._scores[1], np.float64),
            "played": np.array(self._played, np.float64),
        }

    def restore(self, arrays: dict[str, NDArray[np.float64]]) -> None:
        """Go on from what `arrays` returned."""
        window = self._settings.window
        self._scores = [deque(arrays[kind].tolist(), maxlen=window) for kind in ("believing", "hoping")]
        self._played = [int(played) for played in arrays["played"]]
