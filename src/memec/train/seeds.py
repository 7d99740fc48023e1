"""One seed per run, split into streams that never touch each other."""

from typing import Literal

import numpy as np

Stream = Literal["environment", "agent", "network", "evaluation", "prediction"]
STREAMS: dict[Stream, int] = {"environment": 0, "agent": 1, "network": 2, "evaluation": 3, "prediction": 4}


class Seeds:
    """Every random number of a run follows from its seed, the stream it belongs to and a place in that stream.

    Episodes and evaluations are seeded by their number and step rather than drawn one after another, so that evaluating
    more or less often, or resuming in the middle, changes nothing.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def generator(self, stream: Stream, *place: int) -> np.random.Generator:
        """Return the generator of a stream, or of one place in it."""
        return np.random.default_rng(self._sequence(stream, place))

    def number(self, stream: Stream, *place: int) -> int:
        """Return a 31-bit seed for what takes only a number, such as an environment's reset."""
        return int(self._sequence(stream, place).generate_state(1)[0] >> 1)

    def _sequence(self, stream: Stream, place: tuple[int, ...]) -> np.random.SeedSequence:
        return np.random.SeedSequence(self.seed, spawn_key=(STREAMS[stream], *place))
