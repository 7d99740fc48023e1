"""Compiled pieces of the graph of experiences: who is near to whom, what that says, and how values spread.

`near[slot, action]` lists the entries of an action whose keys are nearest to where the experience in `slot` led. A new
key has to enter the lists it belongs to: the places where experiences led are sorted into cells as keys are, and a cell
is ruled out when its box is further away than the furthest listed neighbour of any place in it.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.blocks import CHAIN, FILLED, FIRST, NEXT
from memec.memory.exact import LANES, block_distances, box_distances
from memec.memory.kernels import COMPILE

VALUE, HOPE = 0, 1
"""The two columns of values: what is believed, and what may be hoped for."""
BEST, WORST, RANGE = 0, 1, 2
"""The best and the worst return ever seen, and how much of what is between them one step may change."""
SAME = np.float32(1e-10)
"""Keys at this squared distance are one state."""

Keys = NDArray[np.float32]
Floats = NDArray[np.float64]
Slots = NDArray[np.int32]


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
    count = 0
    while count < len(near) and near[count] >= 0:
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
    order: NDArray[np.int64],
    rewards: Floats,
    terminal: NDArray[np.bool_],
    discount: float,
    near: Slots,
    distances: Keys,
    weights: Floats,
    opinions: Floats,
    stale: NDArray[np.bool_],
    rules: Floats,
    values: Floats,
    limits: Floats,
) -> None:
    """Give each of these entries, in this order, its reward and the best that its neighbours say about what follows."""
    step_length, width, far, doubt_weight = rules
    for slot in order:
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


@njit(**COMPILE)
def lead_to(
    slots: NDArray[np.int64],
    found: NDArray[np.int64],
    found_distances: Keys,
    terminal: NDArray[np.bool_],
    near: Slots,
    distances: Keys,
    stale: NDArray[np.bool_],
    bounds: Keys,
    cells: NDArray[np.int32],
    reach: Keys,
) -> None:
    """Take down what is nearest to where these experiences led, and how near a key must be to enter those lists."""
    last = near.shape[2] - 1
    for row in range(len(slots)):
        slot = slots[row]
        for action in range(near.shape[1]):
            for i in range(last + 1):
                near[slot, action, i] = found[row, action, i]
                distances[slot, action, i] = found_distances[row, action, i]
            stale[slot, action] = True
            bounds[action, slot] = np.float32(-1) if terminal[slot] else found_distances[row, action, last]
            cell = cells[slot, CHAIN]
            reach[action, cell] = max(reach[action, cell], bounds[action, slot])


@njit(**COMPILE)
def introduce(
    slot: int,
    action: int,
    key: Keys,
    near: Slots,
    distances: Keys,
    stale: NDArray[np.bool_],
    bounds: Keys,
    reach: Keys,
    boxes: Keys,
    block_keys: Keys,
    chains: NDArray[np.int32],
    members: NDArray[np.int32],
) -> None:
    """Enter a new key into the lists of all places it is among the nearest of."""
    away = np.empty(LANES, np.float32)
    gaps = np.empty(LANES, np.float32)
    query = np.zeros(block_keys.shape[1], np.float32)
    query[: len(key)] = key
    for group in range(boxes.shape[1]):
        box_distances(boxes[0, group], query, gaps)
        for lane in range(min(LANES, len(chains) - group * LANES)):
            cell = group * LANES + lane
            if gaps[lane] > reach[action, cell]:
                continue
            block, filled = chains[cell, FIRST], chains[cell, FILLED]
            furthest = np.float32(-1)
            while block >= 0:
                block_distances(block_keys, block, query, away)
                for member in range(filled):
                    other = members[block, member]
                    if away[member] < bounds[action, other] and other != slot:
                        _enter(slot, away[member], near[other, action], distances[other, action])
                        bounds[action, other] = distances[other, action, -1]
                        stale[other, action] = True
                    furthest = max(furthest, bounds[action, other])
                block = members[block, NEXT]
                filled = LANES
            reach[action, cell] = furthest


@njit(inline="always", **COMPILE)
def _enter(slot: int, distance: np.float32, near: Slots, distances: Keys) -> None:
    """Put an entry in its place in a list ascending by distance, where it may have stood with an older key."""
    place = len(near) - 1
    for i in range(len(near) - 1):
        if near[i] == slot:
            place = i
            break
    while place < len(near) - 1 and near[place] == slot and distances[place + 1] < distance:  # it moved away
        near[place], distances[place] = near[place + 1], distances[place + 1]
        place += 1
        near[place] = slot
    while place > 0 and distances[place - 1] > distance:
        near[place], distances[place] = near[place - 1], distances[place - 1]
        place -= 1
    near[place], distances[place] = slot, distance
