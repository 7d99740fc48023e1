"""A running scale of vector observations, so that distances do not mix units."""

import numpy as np
from numpy.typing import NDArray

SMALLEST = 1e-8
"""What varies less than this counts as constant and keeps its unit."""
SMALLEST_STEP = 1e-9


class RunningScale:
    """Divides each number of an observation by its standard deviation, as last fixed.

    The statistics run all the time; the scale in use changes only when `fix` says so, because stored keys must follow.
    """

    def __init__(self, size: int) -> None:
        self.scale = np.ones(size, np.float32)
        self._count = 0
        self._mean = np.zeros(size)
        self._squares = np.zeros(size)
        self._step_squares = np.zeros(size)

    def __call__(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the keys of one or several observations."""
        return observations * self.scale

    def notice(self, before: NDArray[np.float32], after: NDArray[np.float32]) -> None:
        """Take in that one observation followed another."""
        self._count += 1
        difference = after - self._mean
        self._mean += difference / self._count
        self._squares += difference * (after - self._mean)
        self._step_squares += ((after - before).astype(np.float64) ** 2 - self._step_squares) / self._count

    def fix(self) -> None:
        """From now on, scale by what was seen until now."""
        deviations = np.sqrt(self._squares / self._count)
        self.scale = (1.0 / np.where(deviations > SMALLEST, deviations, 1.0)).astype(np.float32)

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

    def restore(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Go on from what `arrays` returned."""
        self.scale = arrays["scale"].astype(np.float32)
        self._count = int(arrays["count"][0])
        self._mean[:] = arrays["mean"]
        self._squares[:] = arrays["squares"]
        self._step_squares[:] = arrays["step_squares"]
