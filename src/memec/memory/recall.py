"""What a memory says when it is asked."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memec.memory.kernel import inverse_distance


class Recall(NamedTuple):
    """What the memory says about each action; with a batch of keys, each array has one more dimension in front."""

    values: NDArray[np.float64]
    """[actions] The stored return of a known state, else the kernel-weighted mean of the neighbours' returns."""
    squared_distances: NDArray[np.float32]
    """[actions, neighbours] Ascending; infinite where there are fewer entries than neighbours."""
    slots: NDArray[np.int64]
    """[actions, neighbours] Where the neighbours stand in the memory; -1 where there is none."""
    exact: NDArray[np.bool_]
    """[actions] Whether the state is known, so that `slots[:, 0]` is this very state."""

    def weights(self, delta: float | None) -> NDArray[np.float64]:
        """Return how much each neighbour counts, by 1 / (squared distance + delta), or all the same where that is None.

        Rows sum to 1, or to 0 where there is no neighbour.
        """
        there = self.slots >= 0
        raw = there.astype(np.float64)
        if delta is not None:
            raw *= inverse_distance.py_func(self.squared_distances.astype(np.float64), delta)
        weights: NDArray[np.float64] = raw / np.maximum(raw.sum(axis=-1, keepdims=True), np.finfo(np.float64).tiny)
        return weights


class Written(NamedTuple):
    """Where moments went that were written."""

    slots: NDArray[np.int64]
    """[moments] The slot of each."""
    keyed: NDArray[np.bool_]
    """[moments] Whether that slot got the moment's key: it is new, or known keys are replaced."""
