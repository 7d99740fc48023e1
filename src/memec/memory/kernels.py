"""Small compiled pieces that both searches share."""

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


@njit(**COMPILE)
def note(
    slots: NDArray[np.int64], present: NDArray[np.bool_], rows: NDArray[np.int64], sizes: NDArray[np.int64]
) -> None:
    """Note which slots hold entries: per action how many, and how many rows from the first one reach them all."""
    capacity = len(present) // len(sizes)
    for slot in slots:
        action = slot // capacity
        rows[action] = max(rows[action], slot % capacity + 1)
        if not present[slot]:
            present[slot] = True
            sizes[action] += 1


@njit(**COMPILE)
def brute_force(
    queries: NDArray[np.float32],
    wanted: NDArray[np.bool_],
    squared_distances: NDArray[np.float32],
    slots: NDArray[np.int64],
    keys: NDArray[np.float32],
    present: NDArray[np.bool_],
    rows: NDArray[np.int64],
) -> None:
    """Look at every entry of every wanted action: what approximations are checked against, and their last resort."""
    capacity = len(keys) // len(rows)
    for row in range(len(queries)):
        for action in range(len(rows)):
            if not wanted[row, action]:
                continue
            found_distances, found_slots = squared_distances[row, action], slots[row, action]
            found_distances[:] = np.inf
            found_slots[:] = -1
            for slot in range(action * capacity, action * capacity + rows[action]):
                if present[slot]:
                    distance = squared_distance(keys, slot, queries[row])
                    if distance < found_distances[-1]:  # of equals the earlier slot stays
                        insert(found_distances, found_slots, distance, slot)
