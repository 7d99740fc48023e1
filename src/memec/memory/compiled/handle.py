"""Many arrays handed to compiled code as one: numba takes 50 nanoseconds for each, which short searches would notice.

What is handed over is where the arrays are and their shapes, which compiled code counts no references of. So a `Handle`
keeps the arrays it tells of, never tells of others, and is made anew where it is copied: one that outlived a change of
its owner's arrays tells of the old ones, which are still there.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, njit, types  # type: ignore[attr-defined]
from numba.extending import intrinsic
from numba.np.unsafe.ndarray import to_fixed_tuple
from numpy.typing import NDArray

from memec.memory.compiled.kernels import COMPILE

MOST_DIMENSIONS = 5
Rows = NDArray[np.int64]


class Handle:
    """Arrays, and `rows` that tell where each is and its shape; a handle among them stands for its own rows."""

    __slots__ = ("_kept", "rows")

    def __init__(self, *kept: "NDArray[Any] | Handle") -> None:
        self._kept = kept
        self.rows: Rows = np.zeros((len(kept), 1 + MOST_DIMENSIONS), np.int64)
        for row, each in zip(self.rows, kept, strict=True):
            array = each.rows if isinstance(each, Handle) else each
            assert array.flags.c_contiguous
            row[0] = array.__array_interface__["data"][0]
            row[1 : 1 + array.ndim] = array.shape

    def __reduce__(self) -> tuple[Any, ...]:
        """Make a copy's handle of the copy's arrays."""
        return Handle, self._kept

    def __copy__(self) -> "Handle":
        """Return itself: it never changes."""
        return self


@intrinsic
def _pointer(_context: Any, address: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), generate


def _taking(dimensions: int) -> Any:
    @njit(inline="always", **COMPILE)
    def take(rows: Rows, row: int, dtype: Any) -> Any:
        shape: Any = to_fixed_tuple(rows[row, 1:], dimensions)  # type: ignore[call-arg]
        return carray(_pointer(rows[row, 0]), shape, dtype)

    return take


vector, matrix, cube, five_dimensional = (_taking(dimensions) for dimensions in (1, 2, 3, 5))
"""Take the array of this row, with so many dimensions, for what it is: its type must be the one it was made with."""
