"""What the memory says about each action, as a strategy sees it."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memec.errors import MemecError, NotFiniteError

Floats = npt.NDArray[np.float64]


class Belief(NamedTuple):
    """The value of each action and how sure the memory is of it.

    A named tuple, because one is made at every step.
    """

    mean: Floats
    """The estimated value of each action."""

    std: Floats | None = None
    """The standard deviation of each estimate, where the strategy asked for it."""

    spread: float = 0.0
    """How far actions usually differ, where the strategy asked for it; 0 where nothing is known."""

    distances: Floats | None = None
    """The mean squared distance of the memories behind each estimate, where the strategy asked for it."""

    readings: tuple[Floats, ...] = ()
    """The value of each action read in several ways, where the agent has them: VPEC tells what is believed, what may be
    hoped for, and what is believed if luck is not trusted."""

    played_by: Floats | None = None
    """The reading by which the episode under way is played, where that is not the mean."""


def required_std(belief: Belief, strategy: str) -> Floats:
    """The belief's standard deviations, or a clear error where it has none."""
    if belief.std is None:
        raise MemecError(f"The strategy {strategy!r} needs a belief with standard deviations, and this one has none.")
    return belief.std


def unusable(belief: Belief) -> MemecError:
    """Say why a compiled kernel refused this belief (it only says that it did)."""
    if belief.mean.size == 0:
        return MemecError("The belief speaks of no action, so there is none to choose.")
    if not np.isfinite(belief.mean).all():
        return NotFiniteError(f"The value of every action must be finite, but the belief says {belief.mean.tolist()}.")
    spread = None if belief.std is None else belief.std.tolist()
    return NotFiniteError(
        f"There must be one standard deviation per action, finite and not negative, but the belief says {spread}."
    )
