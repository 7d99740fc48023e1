"""A running scale of vector observations, so that distances do not mix units."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.errors import MemecError
from memec.saved_arrays import check_arrays, count_in

SMALLEST = 1e-8
"""What varies less than this counts as constant and keeps its unit."""
SMALLEST_STEP = 1e-9

Floats = NDArray[np.float64]


class RunningScale:
    """Divides each number of an observation by its standard deviation, as last fixed.

    The statistics run all the time; the scale in use changes only when `fix` says so, because stored keys must follow.
    Only `quantities` are divided: a one that stands for a name has no spread, and divided by how rarely it is a one,
    all common names would be near to each other.
    """

    def __init__(self, size: int, quantities: NDArray[np.bool_] | None = None) -> None:
        self.scale = np.ones(size, np.float32)
        self._quantities = np.ones(size, np.bool_) if quantities is None else quantities
        self._count = 0
        self._mean, self._squares, self._step_squares = np.zeros((3, size))

    def __call__(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the keys of one or several observations."""
        return observations * self.scale

    def notice(self, before: NDArray[np.float32], after: NDArray[np.float32]) -> None:
        """Take in that one observation followed another."""
        self._count += 1
        _notice(before, after, self._count, self._mean, self._squares, self._step_squares)

    def notice_all(self, observations: NDArray[np.float32]) -> None:
        """Take in several observations at once."""
        rows = observations.astype(np.float64)
        count, mean = len(rows), rows.mean(axis=0)
        difference, together = mean - self._mean, self._count + count
        self._squares += ((rows - mean) ** 2).sum(axis=0) + difference**2 * (self._count * count / together)
        self._mean += difference * (count / together)
        self._count = together

    def fix(self) -> None:
        """From now on, scale by what was seen until now."""
        deviations = np.sqrt(self._squares / self._count)
        divided = self._quantities & (deviations > SMALLEST)
        self.scale = (1.0 / np.where(divided, deviations, 1.0)).astype(np.float32)

    @property
    def count(self) -> int:
        """How many observations were taken in."""
        return self._count

    @property
    def step_length(self) -> float:
        """The mean squared length of a step, in the scale in use."""
        return max(float((self._step_squares * self.scale.astype(np.float64) ** 2).sum()), SMALLEST_STEP)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return what `restore` needs."""
        return {
            "scale": self.scale.copy(),
            "count": np.array([self._count]),
            "mean": self._mean.copy(),
            "squares": self._squares.copy(),
            "step_squares": self._step_squares.copy(),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `arrays` returned."""
        size = self.scale.size
        sums = ("mean", "squares", "step_squares")
        check_arrays(arrays, {"scale": (np.float32, (size,)), **dict.fromkeys(sums, (np.float64, (size,)))})
        if not (arrays["scale"] > 0.0).all() or any((arrays[name] < 0.0).any() for name in sums[1:]):
            raise MemecError("The saved scale does not fit: no observations have such a spread.")
        self._count = count_in(arrays, "count")
        self.scale = arrays["scale"].copy()
        self._mean[:] = arrays["mean"]
        self._squares[:] = arrays["squares"]
        self._step_squares[:] = arrays["step_squares"]


@njit(cache=True, error_model="numpy", nogil=True)
def _notice(
    before: NDArray[np.float32],
    after: NDArray[np.float32],
    count: int,
    mean: Floats,
    squares: Floats,
    step_squares: Floats,
) -> None:
    """Welford's running mean and sum of squares, and the running mean of squared steps."""
    for i in range(len(mean)):
        difference = after[i] - mean[i]
        mean[i] += difference / count
        squares[i] += difference * (after[i] - mean[i])
        step = np.float64(after[i]) - before[i]
        step_squares[i] += (step * step - step_squares[i]) / count
