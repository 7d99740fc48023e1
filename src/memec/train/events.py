"""What can happen in a run, as its readers see it."""

from typing import NamedTuple

TICK_SECONDS = 0.2


class Episode(NamedTuple):
    """An episode ended (for Atari a whole game, however many lives it had)."""

    step: int
    score: float
    length: int


class Evaluation(NamedTuple):
    """The greedy policy was tried out."""

    step: int
    episodes: int
    mean_score: float
    std_score: float
    min_score: float
    max_score: float
    mean_length: float
    seconds: float


class Tick(NamedTuple):
    """Some time has passed: a moment to draw a progress bar, to save, or to stop."""

    step: int


Event = Episode | Evaluation | Tick
