"""What a search for nearest neighbours is, which there are, and at which sizes one takes the place of another."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memec.memory.compiled.handle import Handle

# --- every size at which another way is taken ------------------------------------------------------------------------

LONGEST_KEY_FOR_EXACT = 32
"""Shorter keys are pruned exactly in a few microseconds, however many there are."""
MOST_SLOTS_FOR_EXACT = 10_000
"""Tables that small are read whole as quickly."""
FEWEST_CUT = 2_048
"""Exact search: below so many entries reading all is quicker than leaving out cells of space."""
LONGEST_KEY_CUT = 32
"""Exact search: in more dimensions no bounding box can be ruled out."""
FEWEST_INDEXED = 8_192
"""Approximate search: below so many entries all are read."""
MOST_REBUILT = 2**21
"""Approximate search: larger tables keep their index, as two sets of codes would no longer fit beside the keys."""


class Search(Protocol):
    """Finds the nearest keys of each action. The entries of an action fill its slots from the first one on."""

    @property
    def recall_estimate(self) -> float:
        """The share of true neighbours that is found, as far as it knows."""

    @property
    def handle(self) -> Handle | None:
        """What compiled code needs where all of a recall is one call; another one after each rearrangement."""

    def put(self, slots: NDArray[np.int64]) -> None:
        """Take note that these slots hold new keys."""

    def nearest(
        self,
        queries: NDArray[np.float32],
        wanted: NDArray[np.bool_],
        squared_distances: NDArray[np.float32],
        slots: NDArray[np.int64],
        remember: bool,
        learn: bool = False,
    ) -> None:
        """Fill in the nearest slots of each wanted action, to `remember` them for a next query that is near by.

        Then, or where it is to `learn` from these queries, they may change how it searches; else they leave no trace.
        """

    def rebuild(self) -> None:
        """Take note that every key may have changed."""

    def arrays(self, lagging: NDArray[np.intp]) -> dict[str, NDArray[Any]]:
        """Return what `restore` needs to go on identically, where the keys of `lagging` slots moved since their put."""

    def restore(self, arrays: dict[str, NDArray[Any]], sizes: NDArray[np.int64]) -> None:
        """Go on from what `arrays` returned; the keys of so many entries of each action are in place."""


def is_approximate(wish: str, slots: int, key_size: int) -> bool:
    """Tell whether tables of so many slots are searched approximately, by the setting `memory.search`."""
    large = key_size > LONGEST_KEY_FOR_EXACT and slots > MOST_SLOTS_FOR_EXACT
    return wish == "approximate" or (wish == "auto" and large)


def make_search(
    keys: NDArray[np.float32],
    actions: int,
    neighbours: int,
    *,
    approximate: bool,
    moving: bool,
    seed: int,
    target_recall: float,
) -> Search:
    """Make the search of a memory with these keys, which a network makes and gradients move if they are `moving`.

    Imported when needed: the kernels of one search are not what another waits for.
    """
    if approximate:
        from memec.memory.ivf import Approximate

        return Approximate(keys, actions, neighbours, seed=seed, target_recall=target_recall, moving=moving)
    from memec.memory.exact import Exact, Following

    return (Following if moving else Exact)(keys, actions, neighbours, seed=seed)
