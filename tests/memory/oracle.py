"""What both searches are held to: numpy, one action at a time, every entry."""

import numpy as np
from numpy.typing import NDArray

Answer = tuple[NDArray[np.float32], NDArray[np.int64]]


def ask(backend, queries, actions, neighbours, *, wanted=None, remember=True) -> Answer:
    """Ask a backend for the nearest of all wanted actions; what it leaves untouched stays -7."""
    queries = np.ascontiguousarray(queries, np.float32)
    wanted = np.ones((len(queries), actions), np.bool_) if wanted is None else wanted
    squared_distances = np.full((len(queries), actions, neighbours), -7, np.float32)
    slots = np.full(squared_distances.shape, -7, np.int64)
    backend.nearest(queries, wanted, squared_distances, slots, remember)
    return squared_distances, slots


def nearest(keys, present, queries, actions, neighbours) -> Answer:
    """Return the true answer in double precision, ties in order of slots."""
    capacity = len(keys) // actions
    squared_distances = np.full((len(queries), actions, neighbours), np.inf)
    slots = np.full(squared_distances.shape, -1, np.int64)
    for row, query in enumerate(queries.astype(np.float64)):
        for action in range(actions):
            own = np.flatnonzero(present[action * capacity : (action + 1) * capacity]) + action * capacity
            distances = ((keys[own].astype(np.float64) - query) ** 2).sum(1)
            order = np.argsort(distances, kind="stable")[:neighbours]
            squared_distances[row, action, : len(order)] = distances[order]
            slots[row, action, : len(order)] = own[order]
    return squared_distances, slots


def recall(found: NDArray[np.float32], best: NDArray[np.float32]) -> float:
    """Return the share of true neighbours found; any of several equally near will do."""
    furthest = np.where(np.isfinite(best), best, -1).max(-1, keepdims=True)
    there = np.isfinite(best)
    return float((found <= furthest * (1 + 1e-4) + 1e-30)[there].mean())
