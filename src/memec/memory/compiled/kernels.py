"""Small compiled pieces that every search shares."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

# Sums may be reordered so that they vectorise, but infinities and NaN keep their meaning.
COMPILE: dict[str, Any] = {
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
    "error_model": "numpy",
    "boundscheck": False,
    "nogil": True,
    "cache": True,
}

LARGEST = np.float32(np.finfo(np.float32).max)


@njit(inline="always", **COMPILE)
def insert(distances: NDArray[np.float32], slots: NDArray[np.int64], distance: np.float32, slot: int) -> None:
    """Insert into a list ascending by (distance, slot), whose last item falls out."""
    place = len(distances) - 1
    while place > 0 and (
        distances[place - 1] > distance or (distances[place - 1] == distance and slots[place - 1] > slot)
    ):
        distances[place] = distances[place - 1]
        slots[place] = slots[place - 1]
        place -= 1
    distances[place] = distance
    slots[place] = slot


@njit(inline="always", **COMPILE)
def squared_distance(keys: NDArray[np.float32], slot: int, query: NDArray[np.float32]) -> np.float32:
    """Squared distance of one key to the query; a finite number even where float32 overflows."""
    total = np.float32(0)
    for dimension in range(len(query)):
        difference = keys[slot, dimension] - query[dimension]
        total += difference * difference
    return min(total, LARGEST)


def slots_in_use(sizes: NDArray[np.int64], slots: int) -> NDArray[np.int64]:
    """Return the slots that hold an entry, of so many: those of an action are filled from its first one on."""
    starts = np.arange(len(sizes)) * (slots // len(sizes))
    return np.concatenate([np.arange(start, start + size) for start, size in zip(starts, sizes, strict=True)])


@njit(**COMPILE)
def take_in(slots: NDArray[np.int64], sizes: NDArray[np.int64], capacity: int) -> None:
    """Let the sizes of the actions tell that these slots hold entries."""
    for slot in slots:
        sizes[slot // capacity] = max(sizes[slot // capacity], slot % capacity + 1)


@njit(**COMPILE)
def brute_force(
    queries: NDArray[np.float32],
    wanted: NDArray[np.bool_],
    squared_distances: NDArray[np.float32],
    slots: NDArray[np.int64],
    keys: NDArray[np.float32],
    sizes: NDArray[np.int64],
) -> None:
    """Look at every entry of every wanted action: what approximations are checked against, and their last resort."""
    capacity = len(keys) // len(sizes)
    for row in range(len(queries)):
        for action in range(len(sizes)):
            if not wanted[row, action]:
                continue
            found_distances, found_slots = squared_distances[row, action], slots[row, action]
            found_distances[:] = np.inf
            found_slots[:] = -1
            for slot in range(action * capacity, action * capacity + sizes[action]):
                distance = squared_distance(keys, slot, queries[row])
                if distance < found_distances[-1]:  # of equals the earlier slot stays
                    insert(found_distances, found_slots, distance, slot)


@njit(inline="always", **COMPILE)
def rerank(
    query: NDArray[np.float32],
    candidates: NDArray[np.int64],
    keys: NDArray[np.float32],
    found_distances: NDArray[np.float32],
    found_slots: NDArray[np.int64],
) -> None:
    """Fill in the nearest of the candidates, by their keys; after -1 there are none."""
    found_distances[:] = np.inf
    found_slots[:] = -1
    for slot in candidates:
        if slot < 0:
            break
        distance = squared_distance(keys, slot, query)
        if distance < found_distances[-1] or (distance == found_distances[-1] and slot < found_slots[-1]):
            insert(found_distances, found_slots, distance, slot)
