"""How far the memory's values err, learned from the returns that really followed."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.errors import MemecError
from memec.explore.belief import Belief, Floats
from memec.explore.insight import Insight
from memec.saved_arrays import LARGEST_COUNT, check_arrays, check_not_negative

LATEST = 2_048
"""How many of the latest decisions the errors are learned from."""
REFIT_EVERY = 64
WAITING = "waiting"
COVERED = (0.5, 0.9)
"""The intervals for returns."""
COUNTED = 20_000.0
"""About how many of the latest decisions the count of their coverage goes back."""


class Calibration(Insight):
    """A model of the error of a value: its variance is noise + signal * novelty.

    Novelty lies between 0 (the state is known) and 1 (nothing is like it); it is one half where the neighbours are as
    far as they usually are. The signal is what nearer neighbours would have told: exploring lessens it, so its standard
    deviation is what strategies see. The noise, by which returns differ however near the memories are, it cannot
    lessen; intervals for returns have both. Their widths are the errors' own quantiles: errors are far from normal.
    """

    def __init__(self) -> None:
        self._distances, self._errors = np.zeros((2, LATEST))
        self._count = 0
        self._fitted_at = 0
        self._usual_distance = self._noise = self._signal = 0.0
        self._widths = np.zeros(len(COVERED))
        self._inside, self._judged = np.zeros(len(COVERED)), 0.0
        self._waiting: list[tuple[float, float]] = []
        self._lanes = [self._waiting]  # those of each environment

    def enter(self, lane: int) -> None:
        """Wait on for what follows in another environment."""
        while len(self._lanes) <= lane:
            self._lanes.append([])
        self._waiting = self._lanes[lane]

    def believe(
        self,
        belief: Belief,
        squared_distances: NDArray[np.float32] | None = None,
        exact: NDArray[np.bool_] | None = None,
    ) -> Belief:
        """Return the values, each with the standard deviation that exploring could lessen."""
        if squared_distances is None or exact is None:
            raise MemecError("Standard deviations are learned from neighbours, and this agent has no memory of any.")
        values = belief.mean
        distances, std = np.empty((2, len(values)))
        _judge(squared_distances, exact, self._usual_distance, self._signal, distances, std)
        return Belief(values, std, distances=distances)

    def notice(self, belief: Belief, action: int) -> None:
        """Wait for what will follow this decision."""
        if belief.distances is not None:
            self._waiting.append((float(belief.mean[action]), float(belief.distances[action])))

    def settle(self, returns: Floats) -> None:
        """See how far the values were off."""
        count = len(returns)
        if count == 0:
            return
        values, distances = np.array(self._waiting[:count]).T
        del self._waiting[:count]
        errors = np.abs(returns - values)
        if self._fitted_at:
            kept = max(0.0, 1.0 - count / COUNTED)
            inside = errors <= self._widths[:, None] * self._std_of_returns(distances)
            self._inside = kept * self._inside + inside.sum(axis=1)
            self._judged = kept * self._judged + count
        places = np.arange(self._count, self._count + count)[-LATEST:] % LATEST
        self._distances[places], self._errors[places] = distances[-LATEST:], errors[-LATEST:]
        self._count += count
        if self._count >= self._fitted_at + REFIT_EVERY:
            self._fit()

    def forget(self) -> None:
        """Stop waiting."""
        self._waiting.clear()

    def diagnostics(self) -> dict[str, float]:
        """Return which share of returns lay inside their intervals, and whether larger deviations went with errors."""
        found = {"value_noise": self._noise**0.5, "value_signal": self._signal**0.5}
        if self._judged:
            shares = (self._inside / self._judged).tolist()
            found |= {f"coverage_{round(100 * part)}": share for part, share in zip(COVERED, shares, strict=True)}
        latest = slice(0, min(self._count, LATEST))
        std, errors = self._std_of_returns(self._distances[latest]), self._errors[latest]
        if len(errors) > 1 and np.ptp(std) > 0.0 and np.ptp(errors) > 0.0:
            found["std_error_correlation"] = float(np.corrcoef(_ranks(std), _ranks(errors))[0, 1])
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what `restore` needs to go on identically."""
        numbers = [self._count, self._fitted_at, self._usual_distance, self._noise, self._signal, self._judged]
        return {
            "numbers": np.array(numbers, np.float64),
            "latest": np.stack([self._distances, self._errors]),
            "intervals": np.stack([self._widths, self._inside]),
            **{
                name: np.array(waiting, np.float64).reshape(-1, 2)
                for name, waiting in zip(_names(len(self._lanes)), self._lanes, strict=True)
            },
        }

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from what `arrays` returned."""
        forms: dict[str, Any] = {"numbers": (np.float64, (6,)), "intervals": (np.float64, (2, len(COVERED)))}
        check_arrays(arrays, forms)
        check_not_negative(arrays, "numbers", "intervals")
        latest = arrays["latest"]
        lanes = [arrays[name] for name in _names(sum(name.startswith(WAITING) for name in arrays))]
        fit = latest.shape == (2, LATEST) and all(each.ndim == 2 and each.shape[1] == 2 for each in lanes)
        # A distance may be infinite, where nothing was near; nothing else may be, and nothing is no number.
        sound = fit and np.isfinite(latest[1]).all() and all(np.isfinite(each[:, 0]).all() for each in lanes)
        if not sound or not (latest >= 0.0).all() or not all((each[:, 1] >= 0.0).all() for each in lanes):
            raise MemecError("The saved calibration does not fit: no errors are like that.")
        count, fitted_at, *others = arrays["numbers"].tolist()
        if not fitted_at <= count < LARGEST_COUNT:
            raise MemecError("The saved calibration does not fit: it was learned in its future.")
        self._count, self._fitted_at = int(count), int(fitted_at)
        self._usual_distance, self._noise, self._signal, self._judged = others
        self._distances[:], self._errors[:] = arrays["latest"]
        self._widths, self._inside = arrays["intervals"].copy()
        self._lanes = [[(value, distance) for value, distance in each.tolist()] for each in lanes]
        self._waiting = self._lanes[0]

    def _fit(self) -> None:
        """Learn usual distance, noise, signal and widths from the latest decisions: a line through squared errors."""
        self._fitted_at = self._count
        latest = slice(0, min(self._count, LATEST))
        distances, errors = self._distances[latest], self._errors[latest]
        away = distances[(distances > 0.0) & np.isfinite(distances)]
        self._usual_distance = float(np.median(away)) if len(away) else 0.0
        novelty, squares = self._novelty(distances), errors**2
        mean_novelty, mean_square = float(novelty.mean()), float(squares.mean())
        variance = float(((novelty - mean_novelty) ** 2).mean())
        slope = float(((novelty - mean_novelty) * squares).mean()) / variance if variance > 0.0 else 0.0
        self._signal = min(max(slope, 0.0), mean_square / mean_novelty if mean_novelty > 0.0 else 0.0)
        self._noise = max(mean_square - self._signal * mean_novelty, 0.0)  # rounding may take it below
        std = self._std_of_returns(distances)
        there = std > 0.0
        self._widths = np.quantile(errors[there] / std[there], COVERED) if there.any() else np.zeros(len(COVERED))

    def _novelty(self, distances: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            novelty = distances / (distances + self._usual_distance)
        novelty[np.isinf(distances)] = 1.0
        return np.nan_to_num(novelty)

    def _std_of_returns(self, distances: Floats) -> Floats:
        std: Floats = np.sqrt(self._noise + self._signal * self._novelty(distances))
        return std


def _names(lanes: int) -> list[str]:
    """Return what the decisions that wait are called in files, environment by environment."""
    return [WAITING, *(f"{WAITING}.{lane}" for lane in range(1, lanes))]


def _ranks(numbers: Floats) -> Floats:
    """Return each number's rank; equal numbers share the mean of theirs."""
    _, places, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Floats = (last - 0.5 * (counts - 1))[places]
    return ranks


@njit(cache=True, nogil=True)
def _judge(
    squared_distances: NDArray[np.float32],
    exact: NDArray[np.bool_],
    usual_distance: float,
    signal: float,
    distances: Floats,
    std: Floats,
) -> None:
    """Write each action's mean squared distance to its neighbours, and the standard deviation of its signal."""
    actions = len(squared_distances)
    for action in range(actions):
        total = 0.0
        found = 0
        for distance in squared_distances[action]:
            if distance < np.inf:
                total += distance
                found += 1
        if exact[action]:
            distances[action] = 0.0
            std[action] = 0.0
        elif found == 0:
            distances[action] = np.inf
            std[action] = np.sqrt(signal)
        else:
            distances[action] = total / found
            both = distances[action] + usual_distance
            std[action] = np.sqrt(signal * distances[action] / both) if both > 0.0 else 0.0
