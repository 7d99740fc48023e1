"""When an index is rebuilt, and how, so that no step waits for it: as a shadow that is filled with every write."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memec.memory.compiled.kernels import slots_in_use
from memec.memory.ivf.index import Index
from memec.memory.ivf.saved import check_counters
from memec.memory.saved import refuse
from memec.memory.search import FEWEST_INDEXED, MOST_REBUILT
from memec.memory.search_tuning import TUNING

# Entries added to the shadow with each write: it takes over after a quarter of the writes the present index took.
ADDED_PER_PUT = 4
LEAST_REBUILT, MOST_PUTS = 0.5, 2.0

COUNTS = ("fits", "_added", "_puts_since_fit", "_entries_at_fit")


class Rebuilder:
    """The index in use, and the one that is to take its place."""

    def __init__(self, keys: NDArray[np.float32], sizes: NDArray[np.int64], *, seed: int, moving: bool) -> None:
        self._keys = keys
        self._sizes = sizes
        self._seed = seed
        self._moving = moving
        self.index: Index | None = None
        self.fits = 0
        self._shadow: Index | None = None
        self._added = 0  # slots below have been considered for the shadow
        self._puts_since_fit = 0
        self._entries_at_fit = 0

    def put(self, slots: NDArray[np.int64], share: float) -> bool:
        """Add what was written; tell whether another index has taken over.

        A search scans that share of the entries at present.
        """
        self._puts_since_fit += len(slots)
        if self.index is not None:
            self.index.add(slots)
        if self._shadow is not None:
            self._shadow.add(slots)
            return self._go_on(ADDED_PER_PUT * len(slots))
        if self._worn(share):
            self._fit()
        return False

    def rebuild(self) -> bool:
        """Start anew at once, as all keys have changed; tell whether there is an index now."""
        self.index = self._shadow = None
        if self._sizes.sum() < FEWEST_INDEXED:
            return False
        self._fit()
        return self._go_on(len(self._keys))

    def _worn(self, share: float) -> bool:
        """Tell whether the table has outgrown its index, or most of it was replaced since.

        Keys that an index was not fitted to lie far from its centroids, so that searches scan more and more: the more
        they scan, the sooner it is rebuilt.
        """
        entries = int(self._sizes.sum())
        if entries < FEWEST_INDEXED or entries > MOST_REBUILT:
            return entries >= FEWEST_INDEXED and self.index is None
        tables = min(max(TUNING.rebuilt_at / (share * entries), LEAST_REBUILT), MOST_PUTS)
        return entries >= 2 * self._entries_at_fit or self._puts_since_fit >= tables * entries

    def _fit(self) -> None:
        present = slots_in_use(self._sizes, len(self._keys))
        rng = np.random.default_rng([self._seed, self.fits])
        last = 2 * len(present) > MOST_REBUILT
        self._shadow = Index.fitted(self._keys, self._sizes, present, rng, last=last, moving=self._moving)
        self.fits += 1
        self._added = 0
        self._puts_since_fit = 0
        self._entries_at_fit = len(present)

    def _go_on(self, count: int) -> bool:
        """Add the next entries to the shadow; when it has them all it takes over."""
        assert self._shadow is not None
        slots, self._added = self._shadow.not_added(self._added, count)
        self._shadow.add(slots)
        complete = self._added == len(self._keys)
        if complete:
            self.index, self._shadow = self._shadow, None
        return complete

    def arrays(self, lagging: NDArray[np.intp]) -> dict[str, NDArray[Any]]:
        """Return what `restore` needs; the keys of `lagging` slots moved since they were put."""
        arrays: dict[str, NDArray[Any]] = self._counts()
        for name, index in (("index", self.index), ("shadow", self._shadow)):
            if index is not None:
                arrays |= {f"{name}.{key}": array for key, array in index.arrays(lagging).items()}
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from where `arrays` was taken; keys and sizes are in place."""
        check_counters(arrays, self._counts())
        for name, count in zip(COUNTS, arrays["rebuilds"], strict=True):
            setattr(self, name, int(count))
        refuse(self._added > len(self._keys), "has added entries that do not exist")
        self.index, self._shadow = (self._restored(f"{name}.", arrays) for name in ("index", "shadow"))

    def _restored(self, prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Index | None:
        own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        return Index.restored(self._keys, self._sizes, own, moving=self._moving) if own else None

    def _counts(self) -> dict[str, NDArray[Any]]:
        return {"rebuilds": np.array([getattr(self, name) for name in COUNTS], np.int64)}
