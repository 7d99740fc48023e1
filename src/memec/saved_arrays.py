"""What arrays from a file must be like before anything is computed with them: a file may come from anybody."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memec.errors import MemecError

Arrays = Mapping[str, NDArray[Any]]
Form = tuple[type[np.generic], tuple[int, ...]]
LARGEST_COUNT = 2**60
"""Doubled, it is a number of 64 bits still."""


def check_arrays(arrays: Arrays, forms: Mapping[str, Form]) -> None:
    """Raise an error unless each of these arrays is there, of this type and shape, and finite."""
    for name, (kind, shape) in forms.items():
        if name not in arrays:
            raise MemecError(f"The saved agent does not fit: it has no {name}.")
        array = arrays[name]
        if array.dtype != kind or array.shape != shape:
            raise MemecError(
                f"The saved agent does not fit: {name} is {array.dtype} of shape {array.shape} instead of "
                f"{np.dtype(kind)} of shape {shape}."
            )
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise MemecError(f"The saved agent does not fit: {name} holds NaN or infinity.")


def check_not_negative(arrays: Arrays, *names: str) -> None:
    """Raise an error unless counting can come to all of these, or adding up squares where they are no integers."""
    for name in names:
        array = arrays[name]
        if array.min(initial=0) < 0 or (array.dtype.kind == "i" and array.max(initial=0) >= LARGEST_COUNT):
            raise MemecError(f"The saved agent does not fit: {name} holds numbers that cannot have come about.")


def count_in(arrays: Arrays, name: str) -> int:
    """Return a single count."""
    check_arrays(arrays, {name: (np.int64, (1,))})
    check_not_negative(arrays, name)
    return int(arrays[name][0])
