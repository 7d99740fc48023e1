"""How much is remembered, and how values spread over it."""

from typing import Self

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from memec.memory.limits import neighbours_fit
from memec.settings import Settings


class GraphSettings(Settings):
    """How much is remembered, and how values spread over it. Lengths are in steps as the world typically makes them."""

    capacity: PositiveInt = 50_000
    """Entries per action; when they are used up, the nearest entry makes room."""
    neighbours: PositiveInt = 11
    """How many of the most similar entries speak for a state."""
    width: PositiveFloat = 0.1
    """The squared distance below which neighbours count about the same, in squared steps."""
    far: PositiveFloat = 0.5
    """The squared distance of the nearest entry at which a state is half unknown, in squared steps."""
    doubt: NonNegativeFloat = 1.0
    """How much a value is lowered per step of distance to its neighbours, in what a step can be worth."""
    sweeps: NonNegativeFloat = 100.0
    """Entries whose values are brought up to date per step, besides those of the episode; 0 for those alone."""
    outcomes: PositiveInt = 64
    """How many different outcomes of one state and action are told apart."""
    pseudo: NonNegativeFloat = 3.0
    """Outcomes with the best return that are hoped for beside an entry's own, where nothing but chance rules."""
    slope_numbers: int = Field(16, ge=0)
    """Up to how many numbers of an observation the slope between neighbours is followed; 0 for means alone."""
    ridge: PositiveFloat = 0.1
    """How flat the slope is drawn where neighbours scatter little, in their mean scatter."""

    @model_validator(mode="after")
    def _neighbours_fit(self) -> Self:
        return neighbours_fit(self)
