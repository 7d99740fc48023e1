"""Optimism, episode by episode: whether to hope is a bet on what hoping has brought lately."""

from collections import deque
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field, PositiveFloat, PositiveInt

from memec.errors import MemecError
from memec.explore.belief import Belief, Floats
from memec.explore.exploration import Exploration
from memec.explore.greedy import Greedy
from memec.saved_arrays import check_arrays, check_not_negative


class Optimism(Exploration):
    """Play each episode greedily: by what is believed, by what may be hoped for, or by belief that does not trust luck.

    A bandit over the scores of the last episodes of each kind decides which: as often as one of them pays. For agents
    that tell these apart; what is chosen by reaches `choose` as the mean.
    """

    name: Literal["optimism"] = "optimism"
    temperature: PositiveFloat = 0.1
    """How sure a difference makes the bet, as a fraction of the range of the scores."""
    window: PositiveInt = 20
    """How many of the last episodes of each kind count."""
    least: float = Field(0.05, ge=0.0, le=1 / 3)
    """How often each kind is played at least."""
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


BELIEF, HOPE, TEMPERED = range(3)
"""How an episode can be played: by what is believed, by what may be hoped for, by belief that does not trust luck."""


class Bet:
    """How episodes are played under `Optimism`: a bandit over which kind has paid, restless where nothing is new.

    An episode of belief that met nothing new is followed by one of hope; within one, hope takes over after as many
    quiet steps as there are memories: so no episode goes in circles for ever, also where no time limit ends it.
    """

    def __init__(self, settings: Optimism, *, tempers: bool = False) -> None:
        self._settings = settings
        self._kinds = (HOPE, BELIEF, TEMPERED) if tempers else (HOPE, BELIEF)
        self._scores = [deque[float](maxlen=settings.window) for _ in range(3)]
        self._played = [0, 0, 0]
        self._stuck = False
        self._quiet, self._met_new = 0, False
        self.kind = BELIEF
        """How the episode under way is played."""

    @property
    def trusted(self) -> int:
        """Which belief has paid better lately: what a greedy policy goes by."""
        believed, tempered = self._scores[BELIEF], self._scores[TEMPERED]
        return TEMPERED if believed and tempered and np.mean(tempered) > np.mean(believed) else BELIEF

    def begin(self, rng: Generator) -> None:
        """Decide how to play the next episode."""
        self._quiet, self._met_new = 0, False
        self.kind = HOPE if self._stuck else self._draw(rng)

    def notice(self, new: bool, memories: int) -> None:
        """Take in whether a step brought anything that is not among the memories yet."""
        self._quiet = 0 if new else self._quiet + 1
        self._met_new |= new
        if self._settings.restless and self._quiet >= max(LEAST_QUIET, memories):
            self.kind = HOPE

    def settle(self, score: float) -> None:
        """Take in the score of the episode."""
        self._scores[self.kind].append(score)
        self._played[self.kind] += 1
        self._stuck = self._settings.restless and self.kind != HOPE and not self._met_new

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return what `restore` needs."""
        scores = {name: np.array(found, np.float64) for name, found in zip(NAMES, self._scores, strict=True)}
        counts = [*self._played, self._quiet, self._met_new, self._stuck, self.kind]
        return scores | {"counts": np.array(counts, np.float64)}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `arrays` returned."""
        forms: dict[str, Any] = {name: (np.float64, (arrays[name].size,)) for name in NAMES if name in arrays}
        check_arrays(arrays, dict.fromkeys(NAMES, (np.float64, (0,))) | forms | {"counts": (np.float64, (7,))})
        check_not_negative(arrays, "counts")
        *self._played, self._quiet, met_new, stuck, kind = (int(count) for count in arrays["counts"])
        if kind not in self._kinds:
            raise MemecError("The saved bet does not fit: it is on a kind of episode that is not played.")
        self._scores = [deque(arrays[name].tolist(), maxlen=self._settings.window) for name in NAMES]
        self._met_new, self._stuck, self.kind = bool(met_new), bool(stuck), kind

    def _draw(self, rng: Generator) -> int:
        """Bet on one kind as it has paid; each is tried twice first."""
        for kind in (BELIEF, HOPE):
            if self._played[kind] < 2 or not self._scores[kind]:
                return kind
        scores = [score for kind in self._kinds for score in self._scores[kind]]
        spread = max(scores) - min(scores)
        if spread <= 0.0:
            return HOPE
        for kind in self._kinds:
            if self._played[kind] < 2 or not self._scores[kind]:
                return kind
        means = np.array([np.mean(self._scores[kind]) for kind in self._kinds])
        odds = np.exp((means - means.max()) / spread / self._settings.temperature)
        shares = np.maximum(odds / odds.sum(), self._settings.least)
        shares[shares.argmax()] -= shares.sum() - 1.0
        drawn = int(np.searchsorted(np.cumsum(shares), rng.random(), side="right"))
        return self._kinds[min(drawn, len(shares) - 1)]


NAMES = ("believing", "hoping", "tempering")
"""The three kinds, in files."""
