"""The episode under way: its moments until they are remembered, and how they are saved."""

from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from memec.errors import MemecError
from memec.saved_arrays import check_arrays, check_not_negative
from memec.train.files import Arrays

M = TypeVar("M", bound=tuple[Any, ...])
Form = tuple[type[np.generic], tuple[int, ...]]


class Column(NamedTuple):
    """What a field of every moment is in a file."""

    name: str
    kind: Any
    shape: tuple[int, ...] = ()
    below: int | None = None
    """What its numbers are smaller than, where that is known."""


class Episode(Generic[M]):
    """Moments, each a named tuple of what was decided, and the reward that followed each of them."""

    def __init__(self, moment: type[M], columns: tuple[Column, ...]) -> None:
        self.moments: list[M] = []
        self.rewards: list[float] = []
        self._moment: Any = moment
        self._columns = columns

    def __len__(self) -> int:
        return len(self.moments)

    def first(self, count: int) -> tuple[Any, ...]:
        """Return the fields of the first moments, each with all its values."""
        return tuple(zip(*self.moments[:count], strict=True))

    def drop(self, count: int) -> None:
        """Forget the first moments."""
        del self.moments[:count], self.rewards[:count]

    def clear(self) -> None:
        """Forget all of it."""
        self.moments.clear()
        self.rewards.clear()

    def arrays(self) -> Arrays:
        """Return all of it, column by column."""
        fields = self.first(len(self)) or tuple(() for _ in self._columns)
        arrays = {
            column.name: np.array(values, column.kind).reshape(len(self), *column.shape)
            for column, values in zip(self._columns, fields, strict=True)
        }
        return arrays | {"rewards": np.array(self.rewards, np.float64)}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `arrays` returned; moments that cannot have been are refused."""
        rewards = arrays["rewards"]
        count = rewards.size
        if count or set(arrays) != {"rewards"}:  # an older file leaves the columns of no moments out
            forms: dict[str, Form] = {one.name: (one.kind, (count, *one.shape)) for one in self._columns}
            check_arrays(arrays, forms | {"rewards": (np.float64, (count,))})
        self.clear()
        if not count:
            return
        for name, kind, shape, below in self._columns:
            if kind is np.int64 and not shape:
                check_not_negative(arrays, name)
            if below is not None and not (arrays[name] < below).all():
                raise MemecError(f"The saved episode does not fit: it has a number of {name} that there is not.")
        values = [arrays[one.name] if one.shape else arrays[one.name].tolist() for one in self._columns]
        self.moments = [self._moment(*each) for each in zip(*values, strict=True)]
        self.rewards = rewards.tolist()
