"""The slope of values between neighbours: a local linear regression, as coefficients of the neighbours' values."""

import numpy as np
from numba import njit

from memec.graph.tables import Floats, Keys, Numbers
from memec.memory.compiled.kernels import COMPILE

NO_SPREAD = 1e-12
"""Neighbours that scatter less than this lie in one place: there is no slope between them."""


@njit(**COMPILE)
def fit_slope(place: Keys, near: Numbers, weights: Floats, keys: Keys, ridge: float, corrections: Floats) -> None:
    """Fill in corrections[a, b * neighbours + i]: what neighbour i of action b adds to the mean value of action a.

    A ridge regression with an intercept for each action and one slope g for all of them: with x the neighbours' keys as
    seen from the place, m_a their weighted mean for an action and X = x - m their deviations from it,
    g = (sum w X X' + ridge * mean scatter)^-1 sum w X v, and the value of an action at the place itself is its weighted
    mean less m_a' g. That is linear in the values v, so what is kept are their coefficients.
    """
    actions, neighbours = near.shape
    size = keys.shape[1]
    means, scatter = np.zeros((actions, size)), np.zeros((size, size))
    for action in range(actions):
        for i in range(neighbours):
            if near[action, i] < 0:
                break
            weight = weights[action, i]
            for d in range(size):
                means[action, d] += weight * (keys[near[action, i], d] - place[d])
    deviation = np.empty(size)
    for action in range(actions):
        for i in range(neighbours):
            if near[action, i] < 0:
                break
            weight = weights[action, i]
            if weight == 0.0 or weight == 1.0:
                continue
            for d in range(size):
                deviation[d] = keys[near[action, i], d] - place[d] - means[action, d]
            for d in range(size):
                for e in range(d + 1):
                    scatter[d, e] += weight * deviation[d] * deviation[e]
    corrections[:] = 0.0
    total = 0.0
    for d in range(size):
        total += scatter[d, d]
    if total <= NO_SPREAD:
        return
    for d in range(size):
        scatter[d, d] += ridge * total / size
    _factor(scatter)
    for action in range(actions):
        _solve(scatter, means[action], deviation)
        for other in range(actions):
            for i in range(neighbours):
                if near[other, i] < 0:
                    break
                weight = weights[other, i]
                if weight == 0.0 or weight == 1.0:
                    continue
                along = 0.0
                for d in range(size):
                    along += deviation[d] * (keys[near[other, i], d] - place[d] - means[other, d])
                corrections[action, other * neighbours + i] = -weight * along


@njit(inline="always", **COMPILE)
def _factor(matrix: Floats) -> None:
    """Cholesky's factor of a positive matrix, in its lower half."""
    for i in range(len(matrix)):
        for j in range(i + 1):
            rest = matrix[i, j]
            for k in range(j):
                rest -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = np.sqrt(rest) if i == j else rest / matrix[j, j]


@njit(inline="always", **COMPILE)
def _solve(factor: Floats, right: Floats, solution: Floats) -> None:
    """Solve factor factor' solution = right."""
    size = len(right)
    for i in range(size):
        rest = right[i]
        for k in range(i):
            rest -= factor[i, k] * solution[k]
        solution[i] = rest / factor[i, i]
    for i in range(size - 1, -1, -1):
        rest = solution[i]
        for k in range(i + 1, size):
            rest -= factor[k, i] * solution[k]
        solution[i] = rest / factor[i, i]
