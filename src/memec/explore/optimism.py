"""Optimism, episode by episode: whether to hope is a bet on what hoping has brought lately."""

from collections import deque
from dataclasses import dataclass, field
from math import exp
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field, PositiveFloat, PositiveInt

from memec.errors import MemecError
from memec.explore.belief import Belief, Floats
from memec.explore.exploration import Exploration
from memec.explore.greedy import Greedy
from memec.explore.insight import Insight
from memec.explore.strategy import Need
from memec.saved_arrays import check_arrays, check_not_negative


class Optimism(Exploration):
    """Play each episode greedily: by what is believed, by what may be hoped for, or by belief that does not trust luck.

    A bandit over the scores of the last episodes of each kind decides which: as often as one of them pays. For agents
    that tell these apart.
    """

    name: Literal["optimism"] = "optimism"
    needs: ClassVar[Need] = "hopes"
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
        return _GREEDY[self.ties].choose(_chosen_by(belief), step, rng)

    def probabilities(self, belief: Belief, step: int) -> Floats:
        """The distribution `choose` draws from."""
        return _GREEDY[self.ties].probabilities(_chosen_by(belief), step)

    def insight(self) -> "Bet":
        """Return the bandit."""
        return Bet(self)


_GREEDY = {greedy.ties: greedy for greedy in (Greedy(), Greedy(ties="first"))}


FADING = 0.95
"""What the score of an episode counts when another has been played: agents get better, and old scores with them old."""
SURPRISE = 0.2
"""How often the belief that has lost is played all the same: both are worth learning from."""


def _chosen_by(belief: Belief) -> Belief:
    return belief if belief.played_by is None else Belief(belief.played_by)


LEAST_QUIET = 100
"""Steps without anything new after which belief may be going in circles, however little is remembered."""


BELIEF, HOPE, TEMPERED = range(3)
"""How an episode can be played: by what is believed, by what may be hoped for, by belief that does not trust luck."""
NAMES = ("believing", "hoping", "tempering")
"""The same, in files."""


@dataclass
class Played:
    """How an episode is played."""

    kind: int = BELIEF
    quiet: int = 0
    """Steps since anything was new."""
    met_new: bool = False
    under_way: bool = False
    rewards: list[float] = field(default_factory=list)


class Bet(Insight):
    """How episodes are played under `Optimism`: a bandit over which kind has paid, restless where nothing is new.

    An episode of belief that met nothing new is followed by one of hope; within one, hope takes over after as many
    quiet steps as there are memories: so no episode goes in circles for ever, also where no time limit ends it.
    Where there are two beliefs, the one to play by is drawn as likely as it has the higher mean (Thompson sampling).
    """

    def __init__(self, settings: Optimism) -> None:
        self._settings = settings
        self._scores = [deque[float](maxlen=settings.window) for _ in NAMES]
        self._when = [deque[int](maxlen=settings.window) for _ in NAMES]
        self._episodes = 0
        self._stuck = False
        self._tempers = False
        self.trusted = BELIEF
        """Which belief has paid better lately: what a greedy policy goes by."""
        self._episode = Played()
        self._lanes = [self._episode]  # that of each environment

    @property
    def kind(self) -> int:
        """How the episode under way, or the last one, is played."""
        return self._episode.kind

    def enter(self, lane: int) -> None:
        """Go on with the episode in another environment."""
        while len(self._lanes) <= lane:
            self._lanes.append(Played())
        self._episode = self._lanes[lane]

    def is_offered(self, readings: int) -> None:
        """Hear whether there are two beliefs, which is a matter of how much luck there is."""
        self._tempers = readings > TEMPERED
        self._trust()

    def begin(self, rng: Generator) -> None:
        """Decide how to play an episode, at its first decision."""
        if self._episode.under_way:
            return
        episode = self._episode
        episode.under_way = True
        episode.quiet, episode.met_new = 0, False
        episode.kind = HOPE if self._stuck else self._draw(rng)

    def believe(
        self,
        belief: Belief,
        squared_distances: NDArray[np.float32] | None = None,
        exact: NDArray[np.bool_] | None = None,
    ) -> Belief:
        """Return the reading that is trusted, and the one that the episode is played by."""
        if not belief.readings:
            return belief
        return Belief(belief.readings[self.trusted], played_by=belief.readings[self._episode.kind])

    def meet(self, new: bool, memories: int) -> None:
        """Take in whether a step brought anything that is not among the memories yet."""
        episode = self._episode
        episode.quiet = 0 if new else episode.quiet + 1
        episode.met_new |= new
        if self._settings.restless and episode.quiet >= max(LEAST_QUIET, memories):
            episode.kind = HOPE

    def observe(self, reward: float, over: bool) -> None:
        """Add up the score of the episode, and bet on it at the end."""
        self._episode.rewards.append(reward)
        if over:
            self._score(float(np.sum(self._episode.rewards)))
            self.forget()

    def forget(self) -> None:
        """Drop the episode under way: it has no score."""
        self._episode.under_way = False
        self._episode.rewards.clear()

    def diagnostics(self) -> dict[str, float]:
        """Return how the episode is played."""
        return {"hoping": float(self.kind == HOPE)}

    def _score(self, score: float) -> None:
        """Take in the score of the episode."""
        self._episodes += 1
        self._scores[self.kind].append(score)
        self._when[self.kind].append(self._episodes)
        self._trust()
        self._stuck = self._settings.restless and self.kind != HOPE and not self._episode.met_new

    def _trust(self) -> None:
        self.trusted = BELIEF
        if self._tempers and self._scores[BELIEF] and self._scores[TEMPERED]:
            believed, tempered = (mean - error for mean, error in map(self._estimate, (BELIEF, TEMPERED)))
            self.trusted = TEMPERED if tempered > believed else BELIEF

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what `restore` needs."""
        found: dict[str, NDArray[Any]] = {}
        for lane, one in enumerate(self._lanes):
            counts = [self._episodes, one.quiet, one.met_new, self._stuck, self._tempers, one.kind, one.under_way]
            found |= {_named("counts", lane): np.array(counts, np.float64)}
            found |= {_named("rewards", lane): np.array(one.rewards, np.float64)}
        for name, scores, when in zip(NAMES, self._scores, self._when, strict=True):
            found |= {name: np.array(scores, np.float64), f"{name}.when": np.array(when, np.float64)}
        return found

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from what `arrays` returned."""
        sizes = {name: min(arrays[name].size, self._settings.window) if name in arrays else 0 for name in NAMES}
        forms: dict[str, Any] = {name: (np.float64, (size,)) for name, size in sizes.items()}
        forms |= {f"{name}.when": form for name, form in forms.items()}
        lanes = range(max(1, sum(name.startswith("counts") for name in arrays)))
        for name in (_named("rewards", lane) for lane in lanes):
            forms[name] = (np.float64, (arrays[name].size if name in arrays else 0,))
        names = [_named("counts", lane) for lane in lanes]
        check_arrays(arrays, forms | dict.fromkeys(names, (np.float64, (7,))))
        check_not_negative(arrays, *names, *(f"{name}.when" for name in NAMES))
        counts = np.array([arrays[name] for name in names])
        when = np.concatenate([arrays[f"{name}.when"] for name in NAMES])
        if (when > counts[0, 0]).any():
            raise MemecError("The saved bet does not fit: episodes of its future are in it.")
        if (when % 1.0).any() or (counts % 1.0).any() or (counts[:, [2, 3, 4, 6]] > 1.0).any():
            raise MemecError("The saved bet does not fit: nothing comes to such counts.")
        self._lanes = []
        for lane, numbers in enumerate(counts.astype(np.int64).tolist()):
            self._episodes, quiet, met_new, stuck, tempers, kind, under_way = numbers
            if kind not in (BELIEF, HOPE, TEMPERED):
                raise MemecError("The saved bet does not fit: it is on a kind of episode that is not played.")
            rewards = arrays[_named("rewards", lane)].tolist()
            self._lanes.append(Played(kind, quiet, bool(met_new), bool(under_way), rewards))
        self._episode = self._lanes[0]
        window = self._settings.window
        self._scores = [deque(arrays[name].tolist(), maxlen=window) for name in NAMES]
        self._when = [deque(map(int, arrays[f"{name}.when"]), maxlen=window) for name in NAMES]
        self._stuck, self._tempers = bool(stuck), bool(tempers)
        self._trust()

    def _draw(self, rng: Generator) -> int:
        """Bet on hope or belief as they have paid; each kind is tried twice first."""
        tries = min(2, self._settings.window)
        for kind in (BELIEF, HOPE):
            if len(self._scores[kind]) < tries:
                return kind
        believing, hoping = self._scores[self.trusted], self._scores[HOPE]
        spread = max(*believing, *hoping) - min(*believing, *hoping)
        if spread <= 0.0:
            return HOPE
        advantage = (float(np.mean(hoping)) - float(np.mean(believing))) / spread / self._settings.temperature
        chance = 1.0 / (1.0 + exp(-advantage))
        least = self._settings.least
        if rng.random() < min(max(chance, least), 1.0 - least):
            return HOPE
        if not self._tempers:
            return BELIEF
        if len(self._scores[TEMPERED]) < tries:
            return TEMPERED
        drawn = (mean + error * rng.normal() for mean, error in map(self._estimate, (BELIEF, TEMPERED)))
        believed, tempered = drawn
        surprised = rng.random() < SURPRISE
        return TEMPERED if (tempered > believed) != surprised else BELIEF

    def _estimate(self, kind: int) -> tuple[float, float]:
        """Return the mean score of a belief as of now, and its standard error: what is long ago counts little."""
        ages = self._episodes - np.array(self._when[kind])
        weights = FADING**ages
        both = np.concatenate([self._scores[BELIEF], self._scores[TEMPERED]])
        mean = float(np.average(self._scores[kind], weights=weights))
        return mean, float(np.std(both) / np.sqrt(weights.sum()))


def _named(what: str, lane: int) -> str:
    """Return what something of the episode in an environment is called in files."""
    return f"{what}.{lane}" if lane else what
