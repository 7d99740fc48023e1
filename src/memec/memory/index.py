"""One approximate index: how keys become codes, which cluster they belong to, and where their codes are."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memec.memory import filing, pooled
from memec.memory.blocks import CHAIN, PLACE, Blocks, blocks_in_a_run
from memec.memory.clusters import Clusters
from memec.memory.codes import COARSER, LARGEST, Encoding, code_size
from memec.memory.intrinsics import LANES_LOOKED_UP, PLANE
from memec.memory.saved import check_index
from memec.memory.scanning import LANES
from memec.memory.sketches import MOST_TAGS, POINTS, Sketching, sketched_pairs

# Counted on three Atari games with 2 x 100,000 entries: 4,096 clusters instead of 2,048 mean a fifth to a half fewer
# entries to look at for recall .99.
CLUSTERS_PER_ROOT_OF_ENTRIES = 5.0
# Where a network makes the keys most are asked for by replayed batches, of one action each, so that choosing among the
# clusters serves one action instead of all: NEC's share of search in Pong was .128 and .129, and .133 and .139 with 5.
CLUSTERS_PER_ROOT_OF_MOVING = 4.0
SAMPLES_PER_CLUSTER = 16
MOST_CLUSTERS = 6_144

BOOKS = ("chains", "members", "nexts", "places", "free")


def filed_together(actions: int, moving: bool) -> int:
    """Return how many actions share a chain: as many as can be told apart, where most queries are for all of them."""
    return 1 if moving else min(actions, MOST_TAGS)


class Index:
    """Codes of entries, filed by action and cluster around centres that were fitted to a sample and stay."""

    def __init__(self, keys: NDArray[np.float32], actions: int, together: int, fit: Mapping[str, NDArray[Any]]) -> None:
        self._keys = keys
        self._capacity = len(keys) // actions
        self._together = together
        self._fit = (fit["mean"], fit["axes"], fit["centres"])
        self._groups = (fit["group_centres"], fit["group_begins"])
        self._sketching = (fit["points"], fit["sketch_error"])
        self._fine = fit["fine"]
        chains_per_cluster = -(-actions // together)
        self._centre_planes = np.ascontiguousarray(fit["centres"][:, :PLANE])
        chains = chains_per_cluster * len(fit["centres"])
        self._hold(Blocks.empty(len(keys), chains, LANES, blocks_in_a_run(len(keys), chains, LANES)))

    @classmethod
    def fitted(
        cls,
        keys: NDArray[np.float32],
        actions: int,
        present: NDArray[np.intp],
        rng: np.random.Generator,
        *,
        last: bool,
        moving: bool,
    ) -> "Index":
        """Fit an index to the present entries, by a sample of bounded size; nothing is filed yet.

        It is made for as many entries as it will hold: for twice as many as now, or for all if it is to be the `last`.
        """
        expected = len(keys) if last else min(len(keys), 2 * len(present))
        per_root = CLUSTERS_PER_ROOT_OF_MOVING if moving else CLUSTERS_PER_ROOT_OF_ENTRIES
        clusters = min(MOST_CLUSTERS, max(1, round(per_root * expected**0.5)))
        sample = keys[rng.choice(present, min(len(present), SAMPLES_PER_CLUSTER * clusters), replace=False)]
        encoding = Encoding.fit(sample[: 128 * PLANE])
        codes = encoding.rotate(sample)
        outside = (np.abs(codes) > LARGEST).any(1)
        fine = Clusters.fit(codes[~outside], max(1, round(clusters * float(np.mean(~outside)))))
        groups = [fine]
        if outside.any():
            coarse = np.clip(codes[outside] / COARSER, -LARGEST, LARGEST).astype(np.float32)
            groups.append(Clusters.fit(coarse, max(1, round(clusters * float(np.mean(outside))))))
        sizes = np.concatenate([np.diff(each.group_begins) for each in groups])
        sketching = Sketching.fit(codes[~outside])
        return cls(
            keys,
            actions,
            filed_together(actions, moving),
            {
                "mean": encoding.mean,
                "axes": encoding.axes,
                "centres": np.rint(np.concatenate([each.centres for each in groups])).astype(np.int8),
                "group_centres": np.rint(np.concatenate([each.group_centres for each in groups])).astype(np.int8),
                "group_begins": np.concatenate([[0], sizes.cumsum()]).astype(np.int32),
                "fine": np.array([len(fine.centres), len(fine.group_centres)], np.int32),
                "points": sketching.points,
                "sketch_error": sketching.error,
            },
        )

    def file(self, slots: NDArray[np.int64]) -> None:
        """File entries, or file them anew after their keys changed."""
        fit = (*self._fit, *self._groups, self._fine)
        filing.file(slots, self._keys, *fit, *self._points_and_codes, self._counts, self._capacity, *self._books)

    def unfiled(self, present: NDArray[np.bool_], begin: int, count: int) -> tuple[NDArray[np.int64], int]:
        """Return the next present slots from `begin` on that are not filed, and where to go on after them."""
        slots, end = filing.unfiled(present, self._blocks.places, begin, count)
        return slots, int(end)

    def nearest(
        self,
        queries: NDArray[np.float32],
        wanted: NDArray[np.bool_],
        squared_distances: NDArray[np.float32],
        slots: NDArray[np.int64],
        remember: bool,
        effort: float,
        margin: float,
        last_candidates: NDArray[np.int64],
        likely: NDArray[np.int64],
        followers: NDArray[np.int32],
        sizes: NDArray[np.int64],
    ) -> None:
        """Fill in nearly the nearest entries, looking at a share `effort` of each wanted action's."""
        blocks = self._blocks
        pooled.nearest(
            queries, wanted, squared_distances, slots, remember, effort, np.float32(margin),
            self._keys, last_candidates, likely, followers,
            *self._fit[:2], self._centre_planes, self._fine, *self._sketching, *self._coded,
            self._counts, *blocks.books()[:-1], sizes,
        )  # fmt: skip

    def needed(
        self, query: NDArray[np.float32], action: int, slots: NDArray[np.int64], size: int
    ) -> NDArray[np.float32]:
        """Return with how little effort and margin a search comes to each of these nearest, of an action of `size`."""
        needed = np.empty((2, len(slots)), np.float32)
        books = self._counts, self._blocks.places
        pooled.needed(
            query, action, slots, *needed, self._keys,
            *self._fit[:2], self._centre_planes, self._fine, *self._sketching, *self._coded, *books, size,
        )  # fmt: skip
        return needed

    def holds(self, slots: NDArray[np.signedinteger[Any]]) -> bool:
        """Tell whether all of these slots are filed; -1 is nobody."""
        return bool((self._blocks.places[slots[slots >= 0], CHAIN] >= 0).all())

    def arrays(self, lagging: NDArray[np.intp]) -> dict[str, NDArray[Any]]:
        """Return the fit and the books; codes follow from the keys, but for `lagging` slots, which moved meanwhile."""
        names = (
            "mean", "axes", "centres", "group_centres", "group_begins", "fine", "points", "sketch_error",
            *BOOKS,
        )  # fmt: skip
        slots = lagging[self._blocks.places[lagging, CHAIN] >= 0]
        lag = {"lagging_slots": slots, "lagging_codes": self._coded[0][self._blocks.places[slots, PLACE]]}
        fit = (*self._fit, *self._groups, self._fine, *self._sketching)
        return lag | dict(zip(names, (*fit, *self._books), strict=True))

    @classmethod
    def restored(
        cls, keys: NDArray[np.float32], actions: int, arrays: Mapping[str, NDArray[Any]], *, moving: bool
    ) -> "Index":
        """Make the index again from its `arrays`, with the keys in place."""
        axes, together = (keys.shape[1], code_size(keys.shape[1])), filed_together(actions, moving)
        points = 2, POINTS, sketched_pairs(axes[1])
        check_index(arrays, len(keys) // actions * together, len(keys), axes, LANES, points)
        index = cls(keys, actions, together, arrays)
        index._hold(Blocks(*(arrays[name].copy() for name in BOOKS)))
        counts = index._counts, index._capacity
        filing.encode_filed(keys, *index._fit[:2], *index._points_and_codes, *counts, index._blocks.places)
        places = index._blocks.places[arrays["lagging_slots"], PLACE]
        filing.store(places, arrays["lagging_codes"], *index._points_and_codes)
        return index

    def _hold(self, blocks: Blocks) -> None:
        """Keep these books, with room for the codes beside them."""
        self._blocks = blocks
        self._books = blocks.books()
        places, size = len(blocks.members) * LANES, self._fit[1].shape[1]
        codes = np.zeros((places, size), np.int8)
        rows = (self._sketching[0].shape[2] + 1) // 2
        sketches = np.zeros((places // LANES_LOOKED_UP, rows, LANES_LOOKED_UP), np.uint8)
        self._counts = np.zeros((len(blocks.chains), self._together), np.int32)
        self._coded = (codes, sketches)
        self._points_and_codes = (self._sketching[0], codes, sketches)
