"""Compiled pieces of the graph of experiences: what neighbours say about a place, and how values spread."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.intrinsics import prefetch
from memec.memory.kernels import COMPILE

VALUE, HOPE = 0, 1
"""The two columns of values: what is believed, and what may be hoped for."""
BEST, WORST, RANGE = 0, 1, 2
"""The best and the worst return ever seen, and how much of what is between them one step may change."""
SAME = np.float32(1e-10)
"""Keys at this squared distance are one state."""
AHEAD = 8
"""So many entries ahead, memory is asked for: that takes about as long as bringing them up to date. No processor
foresees the jumps between the tables of the actions: waiting for memory was half of the cost of a sweep (measured on
CartPole with 50,000 entries: 150 ns an entry, 80 ns when asked for in time)."""
ASKED_FOR = 256
"""Bytes of a row that are asked for."""

Keys = NDArray[np.float32]
Floats = NDArray[np.float64]
Slots = NDArray[np.int32]
Outcomes = tuple[Floats, NDArray[np.bool_], Floats]
"""Of each entry: its reward, whether the episode ended there, and its two values."""
Links = tuple[Slots, Keys, Floats, Floats, NDArray[np.bool_]]
"""Of each entry and action: who is nearest to where it led and how far, their weights, the novelty and doubt they make,
and whether weights, novelty and doubt are out of date."""


@njit(inline="always", **COMPILE)
def _weigh(
    distances: Keys, count: int, step_length: float, width: float, far: float, doubt: float, weights: Floats
) -> tuple[float, float]:
    """Fill in the weights of the neighbours, which sum to 1; return how new and how doubtful this makes a state.

    Squared distances are measured in squared lengths of a typical step, so that no constant has a unit.
    """
    if distances[0] <= SAME:
        weights[:count] = 0.0
        weights[0] = 1.0
        return 0.0, 0.0
    total = 0.0
    for i in range(count):
        weights[i] = 1.0 / (distances[i] + width * step_length)
        total += weights[i]
    away = 0.0
    for i in range(count):
        weights[i] /= total
        away += weights[i] * np.sqrt(distances[i] / step_length)
    nearest, limit = np.float64(distances[0]), far * step_length
    return nearest * nearest / (nearest * nearest + limit * limit), doubt * away


@njit(inline="always", **COMPILE)
def _judge(
    near: Slots, weights: Floats, count: int, novelty: float, doubt: float, values: Floats, limits: Floats
) -> tuple[float, float]:
    """Return what the neighbours say an action is worth, less what is doubtful, and what may be hoped for where new."""
    if count == 0:
        return limits[WORST], limits[BEST]
    value, hope = 0.0, 0.0
    for i in range(count):
        value += weights[i] * values[near[i], VALUE]
        hope += weights[i] * values[near[i], HOPE]
    return max(limits[WORST], value - doubt * limits[RANGE]), hope + novelty * (limits[BEST] - hope)


@njit(inline="always", **COMPILE)
def _count(near: Slots) -> int:
    """Return how many neighbours there are; nearly always as many as can be."""
    if near[-1] >= 0:
        return len(near)
    count = 0
    while near[count] >= 0:
        count += 1
    return count


@njit(**COMPILE)
def judge(
    near: Slots,
    distances: Keys,
    rules: Floats,
    table_values: Floats,
    limits: Floats,
    values: Floats,
    hopes: Floats,
) -> None:
    """Say of each state [state, action, neighbour] what each action is worth and what may be hoped for."""
    weights = np.empty(near.shape[2])
    step_length, width, far, doubt_weight = rules
    for state in range(near.shape[0]):
        for action in range(near.shape[1]):
            count = _count(near[state, action])
            novelty, doubt = 1.0, 0.0
            if count > 0:
                novelty, doubt = _weigh(distances[state, action], count, step_length, width, far, doubt_weight, weights)
            values[state, action], hopes[state, action] = _judge(
                near[state, action], weights, count, novelty, doubt, table_values, limits
            )


@njit(**COMPILE)
def sweep(
    order: NDArray[np.int64], discount: float, outcomes: Outcomes, links: Links, rules: Floats, limits: Floats
) -> None:
    """Give each of these entries, in this order, its reward and the best that its neighbours say about what follows."""
    rewards, terminal, values = outcomes
    near, distances, weights, opinions, stale = links
    step_length, width, far, doubt_weight = rules
    for at in range(len(order)):
        slot, later = order[at], order[min(at + AHEAD, len(order) - 1)]
        prefetch(near, later, ASKED_FOR)
        prefetch(weights, later, ASKED_FOR)
        prefetch(opinions, later, ASKED_FOR)
        best_value, best_hope = 0.0, 0.0
        if not terminal[slot]:
            best_value, best_hope = -np.inf, -np.inf
            for action in range(near.shape[1]):
                listed, weight, opinion = near[slot, action], weights[slot, action], opinions[slot, action]
                count = _count(listed)
                if stale[slot, action] and count > 0:
                    opinion[0], opinion[1] = _weigh(
                        distances[slot, action], count, step_length, width, far, doubt_weight, weight
                    )
                    stale[slot, action] = False
                value, hope = _judge(listed, weight, count, opinion[0], opinion[1], values, limits)
                best_value, best_hope = max(best_value, value), max(best_hope, hope)
        values[slot, VALUE] = rewards[slot] + discount * best_value
        values[slot, HOPE] = rewards[slot] + discount * best_hope
