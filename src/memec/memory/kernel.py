"""The kernel: how much a neighbour counts by its distance."""

from typing import Any

from numba import njit


@njit(inline="always", error_model="numpy", fastmath=False)
def inverse_distance(distance: Any, delta: float) -> Any:
    """Return k = 1 / (distance + delta) (Eq. 5 has squared distances); of arrays, as `inverse_distance.py_func`."""
    return 1.0 / (distance + delta)
