"""One approximate index: inverted lists of codes around centroids that were fitted to a sample and stay."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memec.memory.compiled.handle import Handle
from memec.memory.compiled.intrinsics import LANES, LANES_LOOKED_UP
from memec.memory.compiled.lists import LIST, PLACE, append_in_order, blocks_in_a_run, empty_lists, in_order
from memec.memory.ivf import add, query
from memec.memory.ivf.contents import Codes, Contents, Quantisers, hand_over
from memec.memory.ivf.fit import fit, planes_of
from memec.memory.ivf.product import MOST_TAGS
from memec.memory.ivf.query import Effort
from memec.memory.ivf.saved import check_index


def together(actions: int, moving: bool) -> int:
    """Return how many actions share a list: as many as can be told apart, where most queries are for all of them."""
    return 1 if moving else min(actions, MOST_TAGS)


class Index:
    """What finds nearly the nearest of the entries that were added to it."""

    def __init__(
        self, keys: NDArray[np.float32], sizes: NDArray[np.int64], fitted: Quantisers, *, moving: bool
    ) -> None:
        tags = together(len(sizes), moving)
        count = -(-len(sizes) // tags) * len(fitted.centroids)
        lists = empty_lists(len(keys), count, LANES, blocks_in_a_run(len(keys), count, LANES))
        places, rows = len(lists.members) * LANES, (fitted.codewords.shape[2] + 1) // 2
        codes = Codes(
            scalar=np.zeros((places, fitted.axes.shape[1]), np.int8),
            product=np.zeros((places // LANES_LOOKED_UP, rows, LANES_LOOKED_UP), np.uint8),
            counts=np.zeros((count, tags), np.int32),
        )
        self._contents = Contents(keys, sizes, fitted, codes, lists)
        self._handle = hand_over(self._contents)

    @classmethod
    def fitted(
        cls,
        keys: NDArray[np.float32],
        sizes: NDArray[np.int64],
        present: NDArray[np.int64],
        rng: np.random.Generator,
        *,
        last: bool,
        moving: bool,
    ) -> "Index":
        """Fit an index to the present entries; nothing is added yet.

        It is made for as many entries as it will hold: for twice as many as now, or for all if it is to be the `last`.
        """
        expected = len(keys) if last else min(len(keys), 2 * len(present))
        return cls(keys, sizes, fit(keys, present, rng, expected=expected, moving=moving), moving=moving)

    def add(self, slots: NDArray[np.int64]) -> None:
        """Add entries, or add them anew after their keys changed."""
        add.add(slots, self._handle.rows)

    def not_added(self, begin: int, count: int) -> tuple[NDArray[np.int64], int]:
        """Return the next entries from slot `begin` on that are not added, and where to go on after them."""
        slots, end = add.not_added(self._contents.sizes, self._handle.rows, begin, count)
        return slots, int(end)

    def nearest(
        self,
        queries: NDArray[np.float32],
        wanted: NDArray[np.bool_],
        squared_distances: NDArray[np.float32],
        slots: NDArray[np.int64],
        remember: bool,
        effort: Effort,
        hints: Handle,
    ) -> None:
        """Fill in nearly the nearest entries of each wanted action, with this effort."""
        query.nearest(
            queries, wanted, squared_distances, slots, remember, effort, hints.rows, self._handle.rows
        )  # fmt: skip

    def needed(self, asked: NDArray[np.float32], action: int, slots: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return with how little share and margin a search comes to each of these nearest."""
        result: NDArray[np.float32] = query.needed(asked, action, slots, self._handle.rows)
        return result

    def holds(self, slots: NDArray[np.int64]) -> bool:
        """Tell whether all of these slots were added."""
        return bool((self._contents.lists.places[slots, LIST] >= 0).all())

    def arrays(self, lagging: NDArray[np.intp]) -> dict[str, NDArray[Any]]:
        """Return the fit and the lists; codes follow from the keys, but for `lagging` slots, which moved meanwhile."""
        _, _, quantisers, codes, lists = self._contents
        fitted = {name: array for name, array in quantisers._asdict().items() if name != "planes"}
        slots, lengths = in_order(lists)
        late = lagging[lists.places[lagging, LIST] >= 0]
        return fitted | {
            "slots": slots,
            "lengths": lengths,
            "lagging_slots": late,
            "lagging_codes": codes.scalar[lists.places[late, PLACE]],
        }

    @classmethod
    def restored(
        cls, keys: NDArray[np.float32], sizes: NDArray[np.int64], arrays: Mapping[str, NDArray[Any]], *, moving: bool
    ) -> "Index":
        """Make the index again from its `arrays`, with the keys in place."""
        check_index(arrays, len(keys), keys.shape[1], sizes, together(len(sizes), moving))
        names = (name for name in Quantisers._fields if name != "planes")
        fitted = Quantisers(**{name: arrays[name] for name in names}, planes=planes_of(arrays["centroids"]))
        index = cls(keys, sizes, fitted, moving=moving)
        append_in_order(arrays["slots"], arrays["lengths"], index._contents.lists)
        add.encode_all(index._handle.rows)
        add.put_back(arrays["lagging_slots"], arrays["lagging_codes"], index._handle.rows)
        return index
