"""A strategy with a state that it learns: the closer the latest scores come to the best, the less it tries."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from memec.explore import Belief


@dataclass
class EpsilonByScore:
    """Take any action with a probability that falls as the scores of the latest episodes rise to the best one seen."""

    window: int = 20
    """How many episodes are the latest."""
    smallest: float = 0.02
    """The probability of a random action where every score is as good as the best."""
    scores: list[float] = field(init=False, default_factory=lambda: [0.0])
    """Of all episodes; the last one is under way."""

    @property
    def epsilon(self) -> float:
        """The probability of a random action."""
        seen = self.scores[:-1]
        if len(seen) < 2 or max(seen) == min(seen):
            return 1.0
        share = (float(np.mean(seen[-self.window :])) - min(seen)) / (max(seen) - min(seen))
        return max(1.0 - share, self.smallest)

    def choose(self, belief: Belief, step: int, rng: Generator) -> int:
        """Draw an action: all that a strategy must be able to do."""
        return int(rng.choice(belief.mean.size, p=self.probabilities(belief, step)))

    def observe(self, reward: float, over: bool) -> None:
        """Hear what the action brought, and whether the episode is over."""
        self.scores[-1] += reward
        if over:
            self.scores.append(0.0)

    def forget(self) -> None:
        """Begin the next episode from nothing, also where the one under way was given up."""
        self.scores[-1] = 0.0

    def probabilities(self, belief: Belief, step: int) -> NDArray[np.float64]:
        """Return the distribution that actions are drawn from, for `memec watch` and the diary."""
        best = belief.mean == belief.mean.max()
        return (1.0 - self.epsilon) * best / best.sum() + self.epsilon / belief.mean.size

    def diagnostics(self, beliefs: Sequence[Belief], step: int) -> dict[str, float]:
        """Return what to write into the diary."""
        return {"epsilon": self.epsilon}

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return what was learned, for checkpoints."""
        return {"scores": np.array(self.scores)}

    def restore(self, arrays: dict[str, NDArray[np.float64]]) -> None:
        """Go on from there."""
        self.scores = arrays["scores"].tolist()
