"""What is saved of a graph, and what it must be like before compiled code, which checks nothing, may work on it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.errors import MemecError
from memec.graph.settings import GraphSettings
from memec.graph.tables import ROWS_USED, Entries, Ints, Numbers, Outcomes
from memec.memory.compiled.kernels import COMPILE
from memec.saved_arrays import Arrays, check_arrays, check_not_negative

Tables = Mapping[str, NDArray[Any]]


def check_graph(arrays: Arrays, actions: int, settings: GraphSettings, entries: Tables, outcomes: Tables) -> None:
    """Raise an error unless these arrays are those of a graph with such tables."""
    forms: dict[str, Any] = {
        "present": (np.bool_, (actions * settings.capacity,)),
        "sizes": (np.int64, (actions,)),
        "limits": (np.float64, (3,)),
        "luck": (np.float64, (5,)),
        "step_length": (np.float64, (1,)),
    }
    check_arrays(arrays, forms)
    sizes = arrays["sizes"]
    _refuse(sizes.min() < 0 or sizes.max() > settings.capacity, "it has a larger capacity")
    _refuse(arrays["step_length"][0] <= 0.0 or (arrays["luck"] < 0.0).any(), "no steps are of such a length")
    there = np.arange(settings.capacity) < sizes[:, None]
    _refuse((arrays["present"] != there.reshape(-1)).any(), "it has other entries than it counts")
    count = int(sizes.sum())
    check_arrays(arrays, {"lengths": (np.int32, (count,)), "latest": (np.int32, (count,))} | _forms(entries, count))
    lengths, latest = arrays["lengths"], arrays["latest"]
    room = len(next(iter(outcomes.values())))
    _refuse(
        lengths.min(initial=1) < 1 or lengths.sum(dtype=np.int64) > room, "it has more outcomes than there is room for"
    )
    _refuse(((latest < 0) | (latest >= lengths)).any(), "entries lead to places where there is nothing")
    rows = int(lengths.sum())
    lists = (rows, actions, settings.neighbours)
    check_arrays(arrays, {"near": (np.int32, lists), "distances": (np.float32, lists)} | _forms(outcomes, rows))
    check_not_negative(arrays, "steps")
    _refuse((arrays["counts"] < 1.0).any() or (arrays["distances"] < 0.0).any(), "it counts what never came about")
    check_lists(arrays["near"], sizes, settings.capacity)


def check_lists(near: NDArray[np.integer[Any]], sizes: Ints, capacity: int) -> None:
    """Raise an error unless these are lists of entries that there are, action by action."""
    starts = (np.arange(len(sizes)) * capacity)[:, None]
    listed = (near >= starts) & (near < starts + sizes[:, None])
    _refuse(not ((near == -1) | listed).all(), "entries lead to places where there is nothing")
    _refuse((listed[..., 1:] & ~listed[..., :-1]).any(), "its lists have gaps")


@njit(**COMPILE)
def follow(slots: Ints, entries: Entries, outcomes: Outcomes) -> tuple[Ints, Numbers, Numbers]:
    """Return the rows of these entries' outcomes, chain after chain, how long each is and where in it the latest is."""
    rows = np.empty(outcomes.rows[ROWS_USED], np.int64)
    lengths, latest = np.zeros(len(slots), np.int32), np.zeros(len(slots), np.int32)
    count = 0
    for i, slot in enumerate(slots):
        row = entries.first[slot]
        while row >= 0:
            if row == entries.latest[slot]:
                latest[i] = lengths[i]
            rows[count] = row
            count += 1
            lengths[i] += 1
            row = outcomes.nexts[row]
    return rows[:count], lengths, latest


def _forms(tables: Tables, count: int) -> dict[str, Any]:
    return {name: (table.dtype.type, (count, *table.shape[1:])) for name, table in tables.items()}


def _refuse(wrong: Any, why: str) -> None:
    if wrong:
        raise MemecError(f"The saved memory does not fit: {why}.")
