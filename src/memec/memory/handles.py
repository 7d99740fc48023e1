"""Many arrays handed to compiled code as one: numba takes 50 nanoseconds for each, which short searches would notice.

What is handed over is where the arrays are and their shapes. Nobody counts these references: whoever makes handles
keeps the arrays, and makes handles anew when it makes the arrays anew or is copied.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, njit, types  # type: ignore[attr-defined]
from numba.extending import intrinsic
from numba.np.unsafe.ndarray import to_fixed_tuple
from numpy.typing import NDArray

from memec.memory.kernels import COMPILE

MOST_DIMENSIONS = 5
ROW = 1 + MOST_DIMENSIONS


def handles(*arrays: NDArray[Any]) -> NDArray[np.int64]:
    """Return where each array is and its shape; a row for each."""
    rows = np.zeros((len(arrays), ROW), np.int64)
    for row, array in zip(rows, arrays, strict=True):
        assert array.flags.c_contiguous
        row[0] = array.__array_interface__["data"][0]
        row[1 : 1 + array.ndim] = array.shape
    return rows


@intrinsic
def _pointer(_context: Any, address: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), generate


def _taking(dimensions: int) -> Any:
    @njit(inline="always", **COMPILE)
    def take(handles: NDArray[np.int64], row: int, dtype: Any) -> Any:
        shape: Any = to_fixed_tuple(handles[row, 1:], dimensions)  # type: ignore[call-arg]
        return carray(_pointer(handles[row, 0]), shape, dtype)

    return take


vector, matrix, cube, five_dimensional = (_taking(dimensions) for dimensions in (1, 2, 3, 5))
"""Take the array of this row, with so many dimensions, for what it is: its type must be the one it was made with."""
