"""How gradients become steps: for the parameters of a network, and for single entries of the memory."""

from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numba import njit
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt, PositiveFloat

from memec.saved_arrays import check_arrays, check_not_negative, count_in
from memec.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float32]
Arrays = dict[str, NDArray[Any]]

ONLY_ROW = np.zeros(1, np.int64)


class OptimiserSettings(Settings):
    """RMSprop as DQN uses it (epsilon inside the root), or Adam."""

    name: Literal["rmsprop", "adam"] = "rmsprop"
    learning_rate: PositiveFloat = 7.92e-6
    learning_rate_final: PositiveFloat = 1e-5
    """Where the learning rate ends, if it is annealed."""
    anneal_updates: NonNegativeInt = 0
    """Updates over which the learning rate changes linearly to its final value; 0 leaves it as it is."""
    decay: float = Field(0.95, ge=0.0, lt=1.0)
    """How much of the average squared gradient is kept at each step (the paper's tables call it momentum)."""
    mean_decay: float = Field(0.9, ge=0.0, lt=1.0)
    """Adam: how much of the average gradient is kept at each step."""
    epsilon: PositiveFloat = 0.01
    """What keeps the step finite: under the root for RMSprop, beside it for Adam."""
    centred: bool = False
    """RMSprop: divide by the deviation of the gradients rather than by their size."""

    def rate(self, update: int) -> float:
        """Return the learning rate of an update, the first being number 1."""
        if self.anneal_updates == 0:
            return self.learning_rate
        done = min(1.0, update / self.anneal_updates)
        return self.learning_rate + done * (self.learning_rate_final - self.learning_rate)

    @property
    def keeps_mean(self) -> bool:
        """Whether the average gradient is needed beside the average squared one."""
        return self.centred or self.name == "adam"


class ParameterOptimiser(Protocol):
    """Steps for one flat tensor of parameters."""

    def step(self, parameters: "Tensor", gradients: "Tensor") -> None:
        """Move the parameters against their gradients."""

    def arrays(self) -> Arrays:
        """Return the averages, for a checkpoint."""

    def restore(self, arrays: Arrays) -> None:
        """Go on from what `arrays` returned."""


def parameter_optimiser(settings: OptimiserSettings, parameters: "Tensor") -> ParameterOptimiser:
    """Return the quickest optimiser for where the parameters lie."""
    kind = CompiledOptimiser if parameters.device.type == "cpu" else TensorOptimiser
    return kind(settings, parameters)


class TensorOptimiser:
    """Steps in tensor operations, for any device."""

    def __init__(self, settings: OptimiserSettings, parameters: "Tensor") -> None:
        self.settings = settings
        self._squares = parameters.clone().zero_()
        self._means = parameters.clone().zero_() if settings.keeps_mean else None
        self._steps = 0

    def step(self, parameters: "Tensor", gradients: "Tensor") -> None:
        """Move the parameters against their gradients."""
        settings, squares, means = self.settings, self._squares, self._means
        self._steps += 1
        rate = settings.rate(self._steps)
        squares.mul_(settings.decay).addcmul_(gradients, gradients, value=1.0 - settings.decay)
        if means is None:
            scale = (squares + settings.epsilon).sqrt_()
            parameters.addcdiv_(gradients, scale, value=-rate)
        elif settings.name == "adam":
            means.lerp_(gradients, 1.0 - settings.mean_decay)
            scale = (squares / (1.0 - settings.decay**self._steps)).sqrt_().add_(settings.epsilon)
            parameters.addcdiv_(means, scale, value=-rate / (1.0 - settings.mean_decay**self._steps))
        else:
            means.lerp_(gradients, 1.0 - settings.decay)
            variances = squares.addcmul(means, means, value=-1.0).clamp_min_(0.0)
            parameters.addcdiv_(gradients, variances.add_(settings.epsilon).sqrt_(), value=-rate)

    def arrays(self) -> Arrays:
        """Return the averages, for a checkpoint."""
        arrays = {"squares": self._squares.cpu().numpy().copy(), "steps": np.array([self._steps])}
        return arrays if self._means is None else arrays | {"means": self._means.cpu().numpy().copy()}

    def restore(self, arrays: Arrays) -> None:
        """Go on from what `arrays` returned."""
        averages = ("squares", "means") if self._means is not None else ("squares",)
        check_arrays(arrays, dict.fromkeys(averages, (np.float32, tuple(self._squares.shape))))
        check_not_negative(arrays, "squares")
        self._steps = count_in(arrays, "steps")
        for average, name in ((self._squares, "squares"), (self._means, "means")):
            if average is not None:
                average.copy_(average.new_tensor(arrays[name]))


class CompiledOptimiser:
    """The same steps on the CPU: the parameters are one row of an `EntryOptimiser`, which passes over them once."""

    def __init__(self, settings: OptimiserSettings, parameters: "Tensor") -> None:
        self._row = EntryOptimiser(settings, 1, parameters.numel())

    def step(self, parameters: "Tensor", gradients: "Tensor") -> None:
        """Move the parameters against their gradients."""
        row = parameters.numpy()
        row += self._row.steps(ONLY_ROW, gradients.numpy()[None])[0]

    def arrays(self) -> Arrays:
        """Return the averages, for a checkpoint."""
        return self._row.arrays(ONLY_ROW)

    def restore(self, arrays: Arrays) -> None:
        """Go on from what `arrays` returned."""
        self._row.restore(arrays, ONLY_ROW)


class EntryOptimiser:
    """Steps for rows of numbers, one row per slot of the memory; a row's averages move only when the row does.

    When another state takes a slot over, `claim` makes it start afresh.
    """

    def __init__(self, settings: OptimiserSettings, slots: int, size: int) -> None:
        self.settings = settings
        self._owners = np.zeros((slots, 2), np.uint64)
        self._squares = np.zeros((slots, size), np.float32)
        self._means = np.zeros((slots if settings.keeps_mean else 0, size), np.float32)
        self._steps = np.zeros(slots, np.int64)
        self._updates = 0

    def claim(self, slots: NDArray[np.int64], state_ids: NDArray[np.uint64]) -> None:
        """Take note that these states were written to these slots, in this order."""
        _claim(slots, state_ids, self._owners, self._squares, self._means, self._steps)

    def steps(self, slots: NDArray[np.int64], gradients: Floats) -> Floats:
        """Return how far to move each row, given its gradient; no slot may come twice."""
        settings = self.settings
        self._updates += 1
        moves = np.empty_like(gradients)
        _step(
            slots, gradients, self._squares, self._means, self._steps, settings.name == "adam",
            settings.rate(self._updates), settings.decay, settings.mean_decay, settings.epsilon, moves,
        )  # fmt: skip
        return moves

    def arrays(self, used: NDArray[np.int64]) -> Arrays:
        """Return the averages of the used slots, for a checkpoint."""
        arrays: Arrays = {"owners": self._owners[used], "squares": self._squares[used], "steps": self._steps[used]}
        arrays["updates"] = np.array([self._updates])
        return arrays | ({"means": self._means[used]} if self.settings.keeps_mean else {})

    def restore(self, arrays: Arrays, used: NDArray[np.int64]) -> None:
        """Go on from what `arrays` returned."""
        shape = (len(used), self._squares.shape[1])
        forms: dict[str, Any] = {
            "owners": (np.uint64, (len(used), 2)),
            "squares": (np.float32, shape),
            "steps": (np.int64, shape[:1]),
        }
        check_arrays(arrays, forms | ({"means": (np.float32, shape)} if self.settings.keeps_mean else {}))
        check_not_negative(arrays, "squares", "steps")
        self._updates = count_in(arrays, "updates")
        self._owners[used], self._squares[used], self._steps[used] = (
            arrays["owners"], arrays["squares"], arrays["steps"],
        )  # fmt: skip
        if self.settings.keeps_mean:
            self._means[used] = arrays["means"]


@njit(cache=True, nogil=True)
def _claim(
    slots: NDArray[np.int64],
    state_ids: NDArray[np.uint64],
    owners: NDArray[np.uint64],
    squares: Floats,
    means: Floats,
    steps: NDArray[np.int64],
) -> None:
    """Clear the averages of each slot whose state is another than before."""
    for i in range(len(slots)):
        slot = slots[i]
        if owners[slot, 0] != state_ids[i, 0] or owners[slot, 1] != state_ids[i, 1]:
            owners[slot] = state_ids[i]
            squares[slot] = 0.0
            steps[slot] = 0
            if len(means) > 0:
                means[slot] = 0.0


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def _step(
    slots: NDArray[np.int64],
    gradients: Floats,
    squares: Floats,
    means: Floats,
    steps: NDArray[np.int64],
    adam: bool,
    learning_rate: float,
    decay: float,
    mean_decay: float,
    epsilon: float,
    moves: Floats,
) -> None:
    """Advance the averages of these rows and write the step of each; a loop, to touch each row only once.

    All in single precision, which computes eight columns at a time.
    """
    one = np.float32(1.0)
    kept, kept_of_mean = np.float32(decay), np.float32(mean_decay if adam else decay)
    added = np.float32(epsilon)
    for i in range(len(slots)):
        slot = slots[i]
        steps[slot] += 1
        gradient, square, move = gradients[i], squares[slot], moves[i]
        for column in range(len(gradient)):
            square[column] = kept * square[column] + (one - kept) * gradient[column] * gradient[column]
        rate = np.float32(-learning_rate)
        if len(means) == 0:
            for column in range(len(gradient)):
                move[column] = rate * gradient[column] / np.sqrt(square[column] + added)
            continue
        mean = means[slot]
        for column in range(len(gradient)):
            mean[column] = kept_of_mean * mean[column] + (one - kept_of_mean) * gradient[column]
        if adam:
            rate = np.float32(-learning_rate / (1.0 - mean_decay ** steps[slot]))
            share = np.float32(1.0 / (1.0 - decay ** steps[slot]))
            for column in range(len(gradient)):
                move[column] = rate * mean[column] / (np.sqrt(square[column] * share) + added)
        else:
            for column in range(len(gradient)):
                variance = max(square[column] - mean[column] * mean[column], np.float32(0.0))
                move[column] = rate * gradient[column] / np.sqrt(variance + added)
