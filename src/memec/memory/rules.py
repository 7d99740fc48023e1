"""What happens to the return of a known state when it is written again: the agent names the rule."""

from typing import NamedTuple


class KeepLarger(NamedTuple):
    """The larger return stays."""

    @property
    def step_size(self) -> float:
        """How compiled code is told: a step below zero is none."""
        return -1.0


class MoveTowards(NamedTuple):
    """The stored return moves towards the new one, by this fraction of the way."""

    step_size: float


Rule = KeepLarger | MoveTowards
KEEP_LARGER = KeepLarger()
