"""How much a memory holds and how it is recalled, as a user may set it."""

from typing import Literal, Self

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from memec.memory.limits import neighbours_fit
from memec.settings import Settings


class MemorySettings(Settings):
    """How much is remembered and how it is recalled."""

    capacity: PositiveInt = 10_000
    """Entries per action."""
    neighbours: PositiveInt = 11
    """How many of the most similar entries speak for a state that is not known (k in the paper)."""
    kernel: Literal["inverse-distance", "mean"] = "inverse-distance"
    """How the neighbours are weighted: 1 / (squared distance + delta), or all the same."""
    delta: PositiveFloat = 1e-3
    """The inverse-distance kernel's delta: the squared distance below which neighbours count about the same."""
    initial_value: float = 0.0
    """The value of an action of which nothing is remembered."""
    search: Literal["auto", "exact", "approximate"] = "auto"
    """How neighbours are found; `auto` is exact unless the tables are large and the keys long."""
    target_recall: float = Field(0.99, gt=0.0, le=1.0)
    """Approximate search: the share of true neighbours it must find, by its own running check."""
    keep_frames: NonNegativeInt = 0
    """How many of the newest memories keep what was observed, for people to look at (an Atari frame takes 7 KB)."""

    @model_validator(mode="after")
    def _neighbours_fit(self) -> Self:
        return neighbours_fit(self)
