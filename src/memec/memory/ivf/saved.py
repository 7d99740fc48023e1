"""What a saved search must be like before compiled code, which checks nothing, may work on it.

A file may come from anybody: an index out of range in it would read and write anywhere in the process.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memec.memory.ivf.product import CODEWORDS, quantised_pairs
from memec.memory.ivf.scalar import code_size
from memec.memory.saved import refuse
from memec.saved_arrays import Arrays, check_arrays, check_not_negative


def check_hints(arrays: Arrays, like: Mapping[str, NDArray[Any]], sizes: NDArray[np.int64], slots: int) -> None:
    """Raise an error unless these are slots that hold entries."""
    check_arrays(arrays, {name: (array.dtype.type, array.shape) for name, array in like.items()})
    check_not_negative(arrays, "puts")
    for name in ("last_candidates", "likely", "followers"):
        refuse(not _hold_entries(arrays[name][arrays[name] != -1], sizes, slots), "has candidates that are not present")


def check_counters(arrays: Arrays, like: Mapping[str, NDArray[Any]]) -> None:
    """Raise an error unless these can be the counts and measures of a search."""
    check_arrays(arrays, {name: (array.dtype.type, array.shape) for name, array in like.items()})
    check_not_negative(arrays, *(name for name, array in like.items() if array.dtype.kind == "i"))


def check_index(arrays: Arrays, slots: int, key_size: int, sizes: NDArray[np.int64], together: int) -> None:
    """Raise an error unless these arrays are those of an index, with so many actions together in a list."""
    centroids, groups = len(arrays.get("centroids", ())), len(arrays.get("group_centroids", ()))
    code, lagging, listed = code_size(key_size), arrays.get("lagging_slots"), arrays.get("slots")
    lists_per_cluster = -(-len(sizes) // together)
    check_arrays(
        arrays,
        {
            "mean": (np.float32, (key_size,)),
            "axes": (np.float32, (key_size, code)),
            "centroids": (np.int8, (centroids, code)),
            "group_centroids": (np.int8, (groups, code)),
            "group_begins": (np.int32, (groups + 1,)),
            "fine": (np.int32, (2,)),
            "codewords": (np.int8, (2, CODEWORDS, quantised_pairs(code))),
            "error": (np.float32, (1,)),
            "lengths": (np.int32, (lists_per_cluster * centroids,)),
            "slots": (np.int32, (0 if listed is None else len(listed),)),
            "lagging_slots": (np.int64, (0 if lagging is None else len(lagging),)),
            "lagging_codes": (np.int8, (0 if lagging is None else len(lagging), code)),
        },
    )
    refuse(arrays["error"][0] < 0, "has codes that are wrong by less than nothing")
    begins = arrays["group_begins"]
    refuse(centroids < 1 or begins[0] != 0 or begins[-1] != centroids or (np.diff(begins) < 0).any(), "has no groups")
    fine_clusters, fine_groups = arrays["fine"]
    divided = 0 < fine_clusters <= centroids and 0 < fine_groups <= groups and begins[fine_groups] == fine_clusters
    refuse(not divided, "does not tell coarse lists from others")
    _check_lists(arrays["slots"], arrays["lengths"], sizes, slots, together)
    refuse(not np.isin(arrays["lagging_slots"], arrays["slots"]).all(), "has codes of entries that are in no list")


def _check_lists(
    slots: NDArray[np.int32], lengths: NDArray[np.int32], sizes: NDArray[np.int64], most: int, together: int
) -> None:
    """Raise an error unless these are entries, none of them twice, in lists of their own actions."""
    refuse((lengths < 0).any() or lengths.sum(dtype=np.int64) != len(slots), "has lists of impossible length")
    refuse(not _hold_entries(slots, sizes, most), "lists entries that are not present")
    refuse(len(np.unique(slots)) != len(slots), "lists an entry twice")
    lists_per_cluster = -(-len(sizes) // together)
    own = slots // (most // len(sizes) * together)
    refuse(
        (np.repeat(np.arange(len(lengths)) % lists_per_cluster, lengths) != own).any(),
        "lists entries among those of other actions",
    )


def _hold_entries(listed: NDArray[np.integer[Any]], sizes: NDArray[np.int64], slots: int) -> bool:
    """Tell whether all of these slots hold entries."""
    if ((listed < 0) | (listed >= slots)).any():
        return False
    capacity = slots // len(sizes)
    return bool((listed % capacity < sizes[listed // capacity]).all())
