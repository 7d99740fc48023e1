"""Saying so where an agent that learns at the end of an episode waits for an end that does not come."""

import warnings
from collections.abc import Callable, Generator
from contextlib import closing

from memec.train.events import Event

LONG_EPISODE = 10_000
SHORT_RUN = 1_000
"""Nothing is said of a run of fewer steps, which may just have been tried out."""


def warn_if_endless(
    events: Generator[Event], name: str, episode_steps: Callable[[], int], learned: Callable[[], bool]
) -> Generator[Event]:
    """Pass the events on, and warn once of an episode that does not end, on the way or when the run is over."""
    told = False
    with closing(events):
        for event in events:
            if not told and episode_steps() >= LONG_EPISODE:
                told = True
                _warn(name, episode_steps())
            yield event
    if not told and episode_steps() >= SHORT_RUN and not learned():
        _warn(name, episode_steps())


def _warn(name: str, steps: int) -> None:
    warnings.warn(
        f"The episode has not ended for {steps:,} steps, and {name} learns only when it does: give the environment a "
        "time limit (max_episode_steps of gymnasium.make), or choose another agent.",
        stacklevel=3,
    )
