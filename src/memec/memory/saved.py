"""What a saved memory must be like before compiled code, which checks nothing, may work on it.

A file may come from anybody: an index out of range in it would read and write anywhere in the process.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memec.errors import MemecError
from memec.saved_arrays import Arrays, check_arrays

LARGEST_CLOCK = 2**62


def check_memory(arrays: Arrays, actions: int, capacity: int, tables: Mapping[str, NDArray[Any]]) -> None:
    """Raise an error unless these arrays are those of a memory with such tables."""
    check_arrays(arrays, {"sizes": (np.int64, (actions,)), "clock": (np.int64, (1,))})
    sizes, clock = arrays["sizes"], int(arrays["clock"][0])
    if sizes.min() < 0 or sizes.max() > capacity:
        raise MemecError("The saved memory does not fit: it has a larger capacity.")
    check_arrays(arrays, {name: (table.dtype.type, (sizes.sum(), *table.shape[1:])) for name, table in tables.items()})
    refuse(not 0 < clock < LARGEST_CLOCK or arrays["last_used"].max(initial=0) >= clock, "was used in its future")
    # The file holds a byte for every slot, so that it is at least as large as what is now made for them.
    check_arrays(arrays, {"present": (np.bool_, (actions * capacity,))})
    rows = np.arange(actions * capacity).reshape(actions, capacity) % capacity
    refuse((arrays["present"] != (rows < sizes[:, None]).reshape(-1)).any(), "is not present where it should be")


def refuse(wrong: bool | np.bool_, what: str) -> None:
    """Raise an error that says what is wrong with a saved memory, if it is."""
    if wrong:
        raise MemecError(f"The saved memory does not fit: it {what}.")
