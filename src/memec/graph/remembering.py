"""Compiled pieces of the graph: taking down what came of an action, all of a step in one call."""

from typing import NamedTuple

import numpy as np
from numba import njit

from memec.graph.handle import Handle
from memec.graph.lists import bound, depart, introduce, lead_to
from memec.graph.propagation import sweep
from memec.graph.tables import (
    COMPARED,
    ELSEWHERE,
    REPEATS,
    ROWS_FREE,
    ROWS_USED,
    SAME,
    STEPS,
    STRAYED,
    Ints,
    Keys,
    Tables,
)
from memec.memory.compiled.intrinsics import LANES
from memec.memory.compiled.kernels import COMPILE
from memec.memory.compiled.lists import PLACE
from memec.memory.exact.query import file_keys, find_nearest

NOWHERE = -1
NEARBY = 0.25
"""The squared distance in squared typical steps up to which two moments are compared."""
CURVED = 4.0
"""How much of the squared distance between two moments their moves may differ by without any chance: dynamics bend."""


class Experience(NamedTuple):
    """What came of an action, in observations as they are."""

    action: int
    before: Keys
    reward: float
    after: Keys
    terminal: bool
    step: int


@njit(**COMPILE)
def remember(
    experience: Experience,
    scale: Keys,
    here: Ints,
    here_distances: Keys,
    there: Ints,
    there_distances: Keys,
    most_outcomes: int,
    handle: Handle,
) -> tuple[int, int, int, bool]:
    """Write one experience, tell all places of its key, look at where it led and value it.

    What is nearest to where it began is given, what is nearest to where it led is filled in. Returns its slot, or -1 if
    an observation is not finite, how many keys and places are new, and whether it was nothing but a repeat.
    """
    action, before, _, after, _, step = experience
    tables = handle.tables
    entries, outcomes, luck = tables.entries, tables.outcomes, tables.luck
    for i in range(len(scale)):
        if not (np.isfinite(before[i] * scale[i]) and np.isfinite(after[i] * scale[i])):
            return NOWHERE, 0, 0, False
    slot = here[0, action, 0]
    known = slot >= 0 and here_distances[0, action, 0] <= SAME
    if slot >= 0:
        _compare(slot, np.float64(here_distances[0, action, 0]), experience, scale, tables, handle.rules.step_length)
    new_keys, new_places = 0, 0
    luck[STEPS] = step
    if not known:
        slot, new_keys = _new_entry(slot, experience, scale, tables)
    entries.steps[slot] = step
    row = _same_outcome(slot, experience, tables) if known else NOWHERE
    repeated = row >= 0
    if known:
        luck[REPEATS] += 1.0
        luck[ELSEWHERE] += row != entries.latest[slot]
    if repeated:
        outcomes.counts[row] += 1.0
        outcomes.rewards[row] += (experience.reward - outcomes.rewards[row]) / outcomes.counts[row]
        there[0], there_distances[0] = tables.links.near[row], tables.links.distances[row]
    else:
        row = _new_outcome(slot, experience, most_outcomes, tables)
        new_places = _look_ahead(row, scale, after, there, there_distances, handle)
    entries.visits[slot] += 1.0
    entries.latest[slot] = row
    sweep(np.array([slot]), handle)
    return slot, new_keys, new_places, repeated


@njit(**COMPILE)
def _compare(
    nearest: int, distance: float, experience: Experience, scale: Keys, tables: Tables, step_length: float
) -> None:
    """Take note of how differently a moment nearby went on: by more than the two are apart, chance was in it."""
    row = tables.entries.latest[nearest]
    if distance > NEARBY * step_length or experience.terminal or tables.outcomes.terminal[row]:
        return
    apart = 0.0
    for i in range(len(scale)):
        move = experience.after[i] - experience.before[i]
        other = tables.outcomes.observations[row, i] - tables.entries.observations[nearest, i]
        apart += np.float64((move - other) * scale[i]) ** 2
    tables.luck[COMPARED] += 1.0
    tables.luck[STRAYED] += max(0.0, apart - CURVED * distance) / (2.0 * step_length)


@njit(**COMPILE)
def _new_entry(nearest: int, experience: Experience, scale: Keys, tables: Tables) -> tuple[int, int]:
    """Take a slot for a state and action seen for the first time; in a full table the nearest entry makes room."""
    entries, outcomes, keys = tables.entries, tables.outcomes, tables.filing.keys
    action, before = experience.action, experience.before
    capacity = len(entries.steps) // len(entries.sizes)
    slot = max(nearest, action * capacity)
    replaced = entries.sizes[action] == capacity
    if not replaced:
        slot = action * capacity + entries.sizes[action]
        entries.sizes[action] += 1
    old_key = keys[slot].copy()
    for i in range(len(scale)):
        entries.observations[slot, i], keys[slot, i] = before[i], before[i] * scale[i]
    if replaced:
        depart(slot, action, old_key, tables)
        row = entries.first[slot]
        while row >= 0:
            outcomes.free[outcomes.rows[ROWS_FREE]] = row
            outcomes.rows[ROWS_FREE] += 1
            row = outcomes.nexts[row]
    entries.first[slot] = NOWHERE
    entries.visits[slot] = 0.0
    new_keys = file_keys(np.array([slot]), tables.filing)
    introduce(slot, action, keys[slot], tables)
    return slot, new_keys


@njit(**COMPILE)
def _same_outcome(slot: int, experience: Experience, tables: Tables) -> int:
    """Return the row in which exactly this came of an entry before, or -1."""
    outcomes, after = tables.outcomes, experience.after
    row = tables.entries.first[slot]
    while row >= 0:
        same = outcomes.terminal[row] == experience.terminal
        i = 0
        while same and i < len(after):
            same = outcomes.observations[row, i] == after[i]
            i += 1
        if same:
            return int(row)
        row = outcomes.nexts[row]
    return NOWHERE


@njit(**COMPILE)
def _new_outcome(slot: int, experience: Experience, most: int, tables: Tables) -> int:
    """Take a row for what never came of an entry before; where there is no room, its rarest outcome is forgotten."""
    entries, outcomes = tables.entries, tables.outcomes
    rows, room = outcomes.rows, len(outcomes.counts) - len(entries.steps)
    rarest, length, row = NOWHERE, 0, entries.first[slot]
    while row >= 0:
        length += 1
        if rarest < 0 or outcomes.counts[row] <= outcomes.counts[rarest]:  # of equals the oldest
            rarest = row
        row = outcomes.nexts[row]
    beyond_the_first = rows[ROWS_USED] - rows[ROWS_FREE] - entries.sizes.sum()
    if length > 0 and (length >= most or beyond_the_first >= room):
        row = rarest
        entries.visits[slot] -= outcomes.counts[row]
    else:
        if rows[ROWS_FREE] > 0:
            rows[ROWS_FREE] -= 1
            row = outcomes.free[rows[ROWS_FREE]]
        else:
            row = rows[ROWS_USED]
            rows[ROWS_USED] += 1
        outcomes.nexts[row] = entries.first[slot]
        entries.first[slot] = row
    outcomes.counts[row], outcomes.rewards[row] = 1.0, experience.reward
    outcomes.terminal[row] = experience.terminal
    return int(row)


@njit(**COMPILE)
def _look_ahead(row: int, scale: Keys, after: Keys, there: Ints, there_distances: Keys, handle: Handle) -> int:
    """Find and list what is nearest to where an outcome led; return how many places are new."""
    tables = handle.tables
    places, next_keys, terminal = tables.places, tables.places.keys, tables.outcomes.terminal
    for i in range(len(scale)):
        tables.outcomes.observations[row, i], next_keys[row, i] = after[i], after[i] * scale[i]
    wanted = np.ones((1, there.shape[1]), np.bool_)
    find_nearest(next_keys[row : row + 1], wanted, there_distances, there, handle.last_found, tables.filing)
    at, lane = np.array([row]), places.lists.places[row, PLACE]
    new_places = file_keys(at, places)
    if new_places == 0:  # another may have taken its lane
        other = np.array([places.lists.members[lane // LANES, lane % LANES]], np.int64)
        bound(other, terminal, tables.links.distances, places, tables.reach)
    lead_to(at, there, there_distances, terminal, tables.links, places, tables.reach)
    return int(new_places)
