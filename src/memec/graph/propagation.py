"""Compiled pieces of the graph: what neighbours say about a place, and how values spread."""

import numpy as np
from numba import njit

from memec.graph.slope import fit_slope
from memec.graph.tables import (
    BEST,
    ELSEWHERE,
    HOPE,
    RANGE,
    REPEATS,
    SAME,
    STEPS,
    VALUE,
    WORST,
    Entries,
    Floats,
    Ints,
    Keys,
    Links,
    Numbers,
    Rules,
    Tables,
)
from memec.memory.intrinsics import prefetch
from memec.memory.kernels import COMPILE

AHEAD = 8
"""So many entries ahead, memory is asked for: that takes about as long as bringing them up to date. No processor
foresees the jumps between the tables of the actions: waiting for memory was half of the cost of a sweep (measured on
CartPole with 50,000 entries: 150 ns an entry, 80 ns when asked for in time)."""
ASKED_FOR = 256
"""Bytes of a row that are asked for."""
UNMOVED, UNMOVED_PER_STEP = 10.0, 0.1
"""Repeats without chance that a world is believed to have had before the first, and with every step: where states
hardly ever come again, a few that led elsewhere say little (in LunarLander six did, among 40,000 steps)."""


@njit(inline="always", **COMPILE)
def _weigh(distances: Keys, count: int, rules: Rules, weights: Floats) -> tuple[float, float]:
    """Fill in the weights of the neighbours, which sum to 1; return how new and how doubtful this makes a place.

    Squared distances are measured in squared lengths of a typical step, so that no constant has a unit.
    """
    weights[:] = 0.0
    if distances[0] <= SAME:
        weights[0] = 1.0
        return 0.0, 0.0
    step_length, total = rules.step_length, 0.0
    for i in range(count):
        weights[i] = 1.0 / (distances[i] + rules.width * step_length)
        total += weights[i]
    away = 0.0
    for i in range(count):
        weights[i] /= total
        away += weights[i] * np.sqrt(distances[i] / step_length)
    nearest, limit = np.float64(distances[0]), rules.far * step_length
    return nearest * nearest / (nearest * nearest + limit * limit), rules.doubt * away


@njit(inline="always", **COMPILE)
def _count(near: Numbers) -> int:
    """Return how many neighbours there are; nearly always as many as can be."""
    if near[-1] >= 0:
        return len(near)
    count = 0
    while near[count] >= 0:
        count += 1
    return count


@njit(inline="always", **COMPILE)
def _judge(
    action: int, near: Numbers, weights: Floats, corrections: Floats, opinion: Floats, values: Floats, limits: Floats
) -> tuple[float, float]:
    """Return what the neighbours say an action is worth here, less what is doubtful, and what may be hoped for.

    Each action's mean is moved along the slope to the place itself, but never out of the range of its own neighbours.
    """
    count = _count(near[action])
    if count == 0:
        return limits[WORST], limits[BEST]
    value, hope, lowest, highest = 0.0, 0.0, np.inf, -np.inf
    for i in range(count):
        weight = weights[action, i]
        if weight > 0.0:
            of_neighbour = values[near[action, i], VALUE]
            value += weight * of_neighbour
            hope += weight * values[near[action, i], HOPE]
            lowest, highest = min(lowest, of_neighbour), max(highest, of_neighbour)
    if len(corrections) > 0 and weights[action, 0] < 1.0:
        for other in range(len(near)):
            for i in range(_count(near[other])):
                value += corrections[action, other, i] * values[near[other, i], VALUE]
        value = min(max(value, lowest), highest)
    novelty, doubt = opinion
    return max(limits[WORST], value - doubt * limits[RANGE]), hope + novelty * (limits[BEST] - hope)


@njit(**COMPILE)
def judge(
    near: Ints,
    distances: Keys,
    places: Keys,
    keys: Keys,
    entries: Entries,
    rules: Rules,
    limits: Floats,
    values: Floats,
    hopes: Floats,
) -> None:
    """Say of each place [place, action, neighbour] what each action is worth and what may be hoped for."""
    actions, neighbours = near.shape[1:]
    sloped = rules.ridge >= 0.0
    weights, opinions = np.empty((actions, neighbours)), np.empty((actions, 2))
    corrections = np.zeros((actions if sloped else 0, actions, neighbours))
    listed = np.empty((actions, neighbours), np.int32)
    for place in range(len(near)):
        listed[:] = near[place]
        for action in range(actions):
            count = _count(listed[action])
            if count > 0:
                opinions[action, 0], opinions[action, 1] = _weigh(
                    distances[place, action], count, rules, weights[action]
                )
        if sloped:
            fit_slope(places[place], listed, weights, keys, rules.ridge, corrections)
        for action in range(actions):
            values[place, action], hopes[place, action] = _judge(
                action, listed, weights, corrections, opinions[action], entries.values, limits
            )


@njit(inline="always", **COMPILE)
def _refresh(row: int, place: Keys, links: Links, keys: Keys, rules: Rules) -> None:
    """Weigh the neighbours of a place anew where new ones came."""
    moved = False
    for action in range(links.near.shape[1]):
        if links.stale[row, action]:
            links.stale[row, action] = False
            count = _count(links.near[row, action])
            if count > 0:
                moved = True
                opinion = links.opinions[row, action]
                opinion[0], opinion[1] = _weigh(links.distances[row, action], count, rules, links.weights[row, action])
    if moved and rules.ridge >= 0.0:
        fit_slope(place, links.near[row], links.weights[row], keys, rules.ridge, links.corrections[row])


@njit(**COMPILE)
def sweep(order: Ints, tables: Tables, rules: Rules) -> None:
    """Give each of these entries, in this order, the mean over its outcomes of the reward and the best that follows.

    In a world of chance, some outcomes with the best return are imagined beside those of every entry: as many as
    chance has a share in what happens. So hope lasts where an action's luck is not known yet.
    """
    entries, outcomes, links, limits = tables.entries, tables.outcomes, tables.links, tables.limits
    keys, places = tables.filing[0], tables.places[0]
    sloped = rules.ridge >= 0.0
    believed_repeats = tables.luck[REPEATS] + UNMOVED + UNMOVED_PER_STEP * tables.luck[STEPS]
    imagined = rules.pseudo * tables.luck[ELSEWHERE] / believed_repeats
    for at in range(len(order)):
        slot, later = order[at], entries.first[order[min(at + AHEAD, len(order) - 1)]]
        prefetch(links.near, later, ASKED_FOR)
        prefetch(links.weights, later, ASKED_FOR)
        prefetch(links.opinions, later, ASKED_FOR)
        value, hope = 0.0, 0.0
        row = entries.first[slot]
        while row >= 0:
            best_value, best_hope = 0.0, 0.0
            if not outcomes.terminal[row]:
                _refresh(row, places[row], links, keys, rules)
                best_value, best_hope = -np.inf, -np.inf
                corrections = links.corrections[row if sloped else 0]
                for action in range(links.near.shape[1]):
                    worth, hoped = _judge(
                        action, links.near[row], links.weights[row], corrections, links.opinions[row, action],
                        entries.values, limits,
                    )  # fmt: skip
                    best_value, best_hope = max(best_value, worth), max(best_hope, hoped)
            share = outcomes.counts[row] / entries.visits[slot]
            value += share * (outcomes.rewards[row] + rules.discount * best_value)
            hope += share * (outcomes.rewards[row] + rules.discount * best_hope)
            row = outcomes.nexts[row]
        if imagined > 0.0:
            visits = entries.visits[slot]
            hope = (visits * hope + imagined * max(limits[BEST], hope)) / (visits + imagined)
        entries.values[slot, VALUE] = value
        entries.values[slot, HOPE] = hope
