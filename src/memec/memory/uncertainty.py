"""How sure the memory is: the posterior of a Gaussian process over the neighbours.

A solve by hand, because a LAPACK call per action costs more than eleven rows of Cholesky.
"""

import numpy as np
from numpy.typing import NDArray

from memec.memory.kernel import inverse_distance
from memec.memory.tables import compiled


@compiled
def gaussian_process_std(
    key: NDArray[np.float32],
    slots: NDArray[np.int64],
    squared_distances: NDArray[np.float32],
    exact: NDArray[np.bool_],
    table_keys: NDArray[np.float32],
    delta: float,
    std: NDArray[np.float64],
) -> None:
    """Fill `std` with each action's posterior standard deviation; 0 where the state is known.

    The covariance is the paper's kernel `1 / (squared distance + delta)`: positive definite, prior variance 1 / delta.
    """
    actions, neighbours = slots.shape
    prior = 1.0 / delta
    jitter = 1e-6 * prior  # equal keys among the neighbours would make the matrix singular
    lower = np.empty((neighbours, neighbours))
    solved = np.empty(neighbours)
    for action in range(actions):
        if exact[action]:
            std[action] = 0.0
            continue
        explained = 0.0
        for i in range(neighbours):
            if slots[action, i] < 0:
                break
            solved[i] = inverse_distance(np.float64(squared_distances[action, i]), delta)
            for j in range(i + 1):
                squared = 0.0
                for dimension in range(table_keys.shape[1]):
                    difference = (
                        np.float64(table_keys[slots[action, i], dimension]) - table_keys[slots[action, j], dimension]
                    )
                    squared += difference * difference
                covariance = inverse_distance(squared, delta)
                if i == j:
                    covariance += jitter
                for m in range(j):
                    covariance -= lower[i, m] * lower[j, m]
                if i == j:
                    lower[i, i] = np.sqrt(max(covariance, jitter))
                else:
                    lower[i, j] = covariance / lower[j, j]
            for m in range(i):
                solved[i] -= lower[i, m] * solved[m]
            solved[i] /= lower[i, i]
            explained += solved[i] * solved[i]
        std[action] = np.sqrt(max(prior - explained, 0.0))


@compiled
def released_posterior(
    slots: NDArray[np.int64],
    squared_distances: NDArray[np.float32],
    table_keys: NDArray[np.float32],
    returns: NDArray[np.float64],
    delta: float,
    mean: NDArray[np.float64],
    std: NDArray[np.float64],
) -> None:
    """Fill in each action's posterior mean and standard deviation as the authors' released code has them.

    The covariance is `1 / (distance + delta)`, of distances that are not squared, and returns have noise of variance 1.
    """
    actions, neighbours = slots.shape
    lower = np.empty((neighbours, neighbours))
    solved = np.empty(neighbours)
    whitened = np.empty(neighbours)
    for action in range(actions):
        mean[action] = 0.0
        explained = 0.0
        for i in range(neighbours):
            if slots[action, i] < 0:
                break
            solved[i] = inverse_distance(np.sqrt(np.float64(squared_distances[action, i])), delta)
            whitened[i] = returns[slots[action, i]]
            for j in range(i + 1):
                squared = 0.0
                for dimension in range(table_keys.shape[1]):
                    difference = (
                        np.float64(table_keys[slots[action, i], dimension]) - table_keys[slots[action, j], dimension]
                    )
                    squared += difference * difference
                covariance = inverse_distance(np.sqrt(squared), delta)
                if i == j:
                    covariance += 1.0
                for m in range(j):
                    covariance -= lower[i, m] * lower[j, m]
                lower[i, j] = np.sqrt(covariance) if i == j else covariance / lower[j, j]
            for m in range(i):
                solved[i] -= lower[i, m] * solved[m]
                whitened[i] -= lower[i, m] * whitened[m]
            solved[i] /= lower[i, i]
            whitened[i] /= lower[i, i]
            explained += solved[i] * solved[i]
            mean[action] += solved[i] * whitened[i]
        std[action] = np.sqrt(max(1.0 / delta - explained, 0.0))
