"""A small multilayer perceptron by hand.

At these sizes torch spends most of its time between operations: 32 rows through two layers of 64, forward and backward,
take it five times as long as the same products in numpy. The tests hold this to agree with the torch module.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


class Perceptron:
    """Linear layers with rectifiers in between, on parameters that lie one after the other as torch orders them.

    With `dueling`, the last layer holds the value of a state and then the advantage of each action.
    """

    def __init__(self, sizes: Sequence[int], parameters: Floats, gradients: Floats, *, dueling: bool) -> None:
        self._layers = _layer_views(sizes, parameters)
        self._gradients = _layer_views(sizes, gradients)
        self._dueling = dueling
        self._inputs: list[Floats] = []

    def __call__(self, rows: Floats) -> Floats:
        """Compute the outputs [n, outputs]."""
        last = len(self._layers) - 1
        for number, (weights, biases) in enumerate(self._layers):
            rows = rows @ weights.T
            rows += biases
            if number < last:
                np.maximum(rows, 0.0, out=rows)
        return _joined(rows) if self._dueling else rows

    def forward(self, rows: Floats) -> Floats:
        """Compute the outputs and remember the input of every layer."""
        self._inputs = []
        for weights, biases in self._layers:
            if self._inputs:
                rows = np.maximum(rows, 0.0)
            self._inputs.append(rows)
            rows = rows @ weights.T + biases
        return _joined(rows) if self._dueling else rows

    def backward(self, output_gradients: Floats) -> None:
        """Fill the gradients, given those at the outputs of the last `forward`."""
        gradients = output_gradients
        if self._dueling:
            mean = gradients.mean(axis=1, keepdims=True)
            gradients = np.concatenate([gradients.sum(axis=1, keepdims=True), gradients - mean], axis=1)
        for number in range(len(self._layers) - 1, -1, -1):
            weight_gradients, bias_gradients = self._gradients[number]
            np.matmul(gradients.T, self._inputs[number], out=weight_gradients)
            np.sum(gradients, axis=0, out=bias_gradients)
            if number > 0:
                gradients = gradients @ self._layers[number][0]
                gradients *= self._inputs[number] > 0.0


def _joined(heads: Floats) -> Floats:
    """Q(s, a) = V(s) + A(s, a) - mean of A(s, .)."""
    advantages = heads[:, 1:]
    joined: Floats = heads[:, :1] + (advantages - advantages.mean(axis=1, keepdims=True))
    return joined


def _layer_views(sizes: Sequence[int], flat: Floats) -> list[tuple[Floats, Floats]]:
    views = []
    start = 0
    for inputs, outputs in pairwise(sizes):
        middle = start + inputs * outputs
        views.append((flat[start:middle].reshape(outputs, inputs), flat[middle : middle + outputs]))
        start = middle + outputs
    return views
