"""Compiled pieces of the graph: what neighbours say about a place, and how values spread."""

import numpy as np
from numba import njit

from memec.graph.handle import Handle
from memec.graph.slope import fit_slope
from memec.graph.tables import (
    BEST,
    COMPARED,
    ELSEWHERE,
    HOPE,
    RANGE,
    REPEATS,
    SAME,
    STEPS,
    STRAYED,
    TEMPERED,
    VALUE,
    WORST,
    Flags,
    Floats,
    Ints,
    Keys,
    Links,
    Numbers,
    Rules,
)
from memec.memory.compiled.intrinsics import prefetch
from memec.memory.compiled.kernels import COMPILE

MUCH_LUCK = 0.01
"""The mean square by which moves stray, in those of typical steps, from which on there is luck to be reckoned with.
Worlds lie far from it: below .0003 where nothing is left to chance, above .1 where much is (docs/vpec.md)."""
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

    Squared distances are measured in squared lengths of a typical step, so that no constant has a unit. A known state
    is neither new nor doubtful; where there is no slope it speaks for itself alone.
    """
    known = distances[0] <= SAME
    weights[:] = 0.0
    if known and rules.ridge < 0.0:
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
    if known:
        return 0.0, 0.0
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


@njit(**COMPILE)
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


@njit(inline="always", **COMPILE)
def _gather(near: Numbers, values: Floats, worths: Floats) -> None:
    """Fetch what all neighbours are worth; those that are missing have no weight, whatever stands for them."""
    for action in range(near.shape[0]):
        for i in range(near.shape[1]):
            slot = np.uint64(max(near[action, i], 0))
            for kind in range(worths.shape[0]):
                worths[kind, action, i] = values[slot, kind]


@njit(inline="always", **COMPILE)
def _judge(
    action: int, near: Numbers, weights: Floats, corrections: Floats, opinions: Floats, worths: Floats, visits: Floats,
    lucky: bool, limits: Floats,
) -> tuple[float, float, float]:  # fmt: skip
    """Return what the neighbours say an action is worth here, less what is doubtful; what may be hoped for; and what it
    is worth where luck is not trusted.

    Each action's mean is moved along the slope to the place itself, but never out of the range of its own neighbours.
    A known state is worth what came of it. In a world of luck a second value is tempered by its neighbours, the less
    the more often it was experienced; elsewhere both are the same.
    """
    if near[action, 0] < 0:
        return limits[WORST], limits[BEST], limits[WORST]
    novelty, doubt = opinions[action, 0], opinions[action, 1]
    value, hope, tempered = worths[VALUE, action, 0], worths[HOPE, action, 0], worths[TEMPERED, action, 0]
    if weights[action, 0] < 1.0:
        known = novelty == 0.0
        own = tempered
        if not known:
            value = _mean(VALUE, action, near, weights, corrections, worths)
            hope = 0.0
            for i in range(near.shape[1]):
                hope += weights[action, i] * worths[HOPE, action, i]
        tempered = value
        if lucky:
            tempered = _mean(TEMPERED, action, near, weights, corrections, worths)
            if known:
                again = visits[near[action, 0]] - 1.0
                tempered = own + (tempered - own) / (1.0 + again * weights[action, 0])
    if not lucky:
        tempered = value
    doubted = doubt * limits[RANGE]
    hope += novelty * (limits[BEST] - hope)
    return max(limits[WORST], value - doubted), hope, max(limits[WORST], tempered - doubted)


@njit(inline="always", **COMPILE)
def _mean(kind: int, action: int, near: Numbers, weights: Floats, corrections: Floats, worths: Floats) -> float:
    """Return the mean of an action's neighbours, moved along the slope to the place, within their range."""
    mean, lowest, highest = 0.0, np.inf, -np.inf
    for i in range(near.shape[1]):
        mean += weights[action, i] * worths[kind, action, i]
    if len(corrections) > 0:
        for other in range(near.shape[0]):
            for i in range(near.shape[1]):
                mean += corrections[action, other * near.shape[1] + i] * worths[kind, other, i]
        for i in range(near.shape[1]):
            if near[action, i] >= 0:
                lowest, highest = min(lowest, worths[kind, action, i]), max(highest, worths[kind, action, i])
        mean = min(max(mean, lowest), highest)
    return mean


@njit(inline="always", **COMPILE)
def _any_of(flags: Flags, row: int) -> bool:
    found = 0
    for i in range(flags.shape[1]):
        found += flags[row, i]
    return found > 0


@njit(**COMPILE)
def judge(near: Ints, distances: Keys, places: Keys, handle: Handle, worths: Floats) -> None:
    """Say of each place [place, action, neighbour] what each action is worth there, in all three ways."""
    tables, rules = handle.tables, handle.rules
    actions, neighbours = near.shape[1:]
    sloped = rules.ridge >= 0.0
    gathered, lucky = np.empty((3, actions, neighbours)), is_lucky(tables.luck, rules)
    links = Links(
        np.empty((1, actions, neighbours), np.int32), distances[:1].copy(), np.zeros((1, actions, neighbours)),
        np.zeros((1, actions if sloped else 0, actions * neighbours)), np.empty((1, actions, 2)),
        np.ones((1, actions), np.bool_),
    )  # fmt: skip
    for place in range(len(near)):
        links.near[0], links.distances[0], links.stale[0] = near[place], distances[place], True
        _refresh(0, places[place], links, tables.filing.keys, rules)
        _gather(links.near[0], tables.entries.values, gathered)
        for action in range(actions):
            worths[VALUE, place, action], worths[HOPE, place, action], worths[TEMPERED, place, action] = _judge(
                action, links.near[0], links.weights[0], links.corrections[0], links.opinions[0], gathered,
                tables.entries.visits, lucky, tables.limits,
            )  # fmt: skip


@njit(**COMPILE)
def sweep(order: Ints, handle: Handle) -> None:
    """Give each of these entries, in this order, the mean over its outcomes of the reward and the best that follows.

    In a world of chance, some outcomes with the best return are imagined beside those of every entry: as many as
    chance has a share in what happens. So hope lasts where an action's luck is not known yet.
    """
    tables, rules = handle.tables, handle.rules
    entries, outcomes, links, limits = tables.entries, tables.outcomes, tables.links, tables.limits
    # as arrays of their own: to count who refers to all tables whenever one is used takes longer than the arithmetic
    values, visits, first = entries.values, entries.visits, entries.first
    counts, rewards, terminal, nexts = outcomes.counts, outcomes.rewards, outcomes.terminal, outcomes.nexts
    all_near, all_weights, all_opinions = links.near, links.weights, links.opinions
    all_corrections, stale = links.corrections, links.stale
    keys, places = tables.filing.keys, tables.places.keys
    actions, neighbours = links.near.shape[1:]
    sloped = rules.ridge >= 0.0
    worths = np.empty((3, actions, neighbours))
    no_slope = np.empty((0, actions * neighbours))
    lucky, imagined = is_lucky(tables.luck, rules), rules.pseudo * _share_of_chance(tables.luck)
    for at in range(len(order)):
        slot, later = order[at], first[order[min(at + AHEAD, len(order) - 1)]]
        prefetch(all_near, later, ASKED_FOR)
        prefetch(all_weights, later, ASKED_FOR)
        prefetch(all_opinions, later, ASKED_FOR)
        if sloped:
            prefetch(all_corrections, later, ASKED_FOR)
        value, hope, tempered = 0.0, 0.0, 0.0
        row = first[slot]
        while row >= 0:
            best_value, best_hope, best_tempered = 0.0, 0.0, 0.0
            if not terminal[row]:
                if _any_of(stale, row):
                    _refresh(row, places[row], links, keys, rules)
                near, weights, opinions = all_near[row], all_weights[row], all_opinions[row]
                corrections = all_corrections[row] if sloped else no_slope
                _gather(near, values, worths)
                best_value, best_hope, best_tempered = -np.inf, -np.inf, -np.inf
                for action in range(actions):
                    worth, hopeful, sober = _judge(
                        action, near, weights, corrections, opinions, worths, visits, lucky, limits
                    )
                    best_value, best_hope = max(best_value, worth), max(best_hope, hopeful)
                    best_tempered = max(best_tempered, sober)
            share = counts[row] / visits[slot]
            value += share * (rewards[row] + rules.discount * best_value)
            hope += share * (rewards[row] + rules.discount * best_hope)
            tempered += share * (rewards[row] + rules.discount * best_tempered)
            row = nexts[row]
        if imagined > 0.0:
            hope = (visits[slot] * hope + imagined * max(limits[BEST], hope)) / (visits[slot] + imagined)
        values[slot, VALUE], values[slot, HOPE], values[slot, TEMPERED] = value, hope, tempered


@njit(inline="always", **COMPILE)
def _share_of_chance(luck: Floats) -> float:
    """Return the share of repeats that led elsewhere than the last time."""
    return float(luck[ELSEWHERE]) / (float(luck[REPEATS]) + UNMOVED + UNMOVED_PER_STEP * float(luck[STEPS]))


@njit(**COMPILE)
def is_lucky(luck: Floats, rules: Rules) -> bool:
    """Tell whether moments that are near to each other go on so differently that one experience may have been luck."""
    return bool(rules.ridge >= 0.0 and luck[STRAYED] > MUCH_LUCK * (luck[COMPARED] + UNMOVED))
