"""Compiled bookkeeping of the tables: which state is where, and who is replaced next.

Slots are numbered through all actions: `slot = action * capacity + row`. The functions are plain loops over arrays
because they run once a step, where a Python dictionary per action and a sort per episode cost more than many an
environment.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Keys = NDArray[np.float32]
StateIds = NDArray[np.uint64]
Places = NDArray[np.int32]

MOST_STEPS = 16
"""For each state to enter, many times what digests need."""
NOT_FINITE, NO_SUCH_ACTION = -1, -2
"""Why nothing was written."""


class Table(NamedTuple):
    """What is stored, and which state is where."""

    keys: Keys
    returns: Floats
    state_ids: StateIds
    steps: Ints
    """When it was experienced."""
    last_used: Ints
    sizes: Ints
    """How many entries each action has: they fill its slots from the first one on."""
    places: Places
    """The map from state ids to slots."""


class Queue(NamedTuple):
    """Of each action, the slots to be replaced next, their stamps when they were queued, and where the queue begins."""

    slots: Ints
    stamps: Ints
    head: Ints


class Moments(NamedTuple):
    """What is to be written, in order of time."""

    actions: Ints
    keys: Keys
    returns: Floats
    state_ids: StateIds
    steps: Ints


def compiled(function: Any) -> Any:
    """Compile without fast-math, so that NaN and infinity are still seen.

    It has to be said: where nothing is said a function inherits it from the one that it is first compiled for.
    """
    return njit(cache=True, error_model="numpy", nogil=True, fastmath=False)(function)


# --- known states: open addressing with linear probing; a place holds slot + 1, 0 is empty ---------------------------


def places_for(slots: int) -> Places:
    """Return an empty map with room for `slots` entries at half load."""
    return np.zeros(1 << max(4, (2 * slots - 1).bit_length()), np.int32)


@compiled
def home(first: np.uint64, second: np.uint64, action: int, places: Places) -> np.int64:
    """Return where the search for a state id starts: ids are digests, but whose words are alike are told apart too."""
    mixed = np.uint64(first) ^ (np.uint64(second) * np.uint64(0xD1B54A32D192ED03))
    mixed ^= np.uint64(action + 1) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    return np.int64(mixed & np.uint64(len(places) - 1))


@compiled
def find(first: np.uint64, second: np.uint64, action: int, capacity: int, state_ids: StateIds, places: Places) -> int:
    """Return the slot that holds this state for this action, or -1."""
    mask = len(places) - 1
    place = home(first, second, action, places)
    while places[place] != 0:
        slot = int(places[place] - 1)
        if state_ids[slot, 0] == first and state_ids[slot, 1] == second and slot // capacity == action:
            return slot
        place = (place + 1) & mask
    return -1


@compiled
def enter(slot: int, capacity: int, state_ids: StateIds, places: Places) -> None:
    """Add the slot's state id to the map."""
    mask = len(places) - 1
    place = home(state_ids[slot, 0], state_ids[slot, 1], slot // capacity, places)
    while places[place] != 0:
        place = (place + 1) & mask
    places[place] = slot + 1


@compiled
def leave(slot: int, capacity: int, state_ids: StateIds, places: Places) -> None:
    """Take the slot's state id out of the map and close the gap, so that the map never fills with tombstones."""
    mask = len(places) - 1
    gap = home(state_ids[slot, 0], state_ids[slot, 1], slot // capacity, places)
    while places[gap] != slot + 1:
        gap = (gap + 1) & mask
    place = gap
    while True:
        place = (place + 1) & mask
        if places[place] == 0:
            break
        other = int(places[place] - 1)
        start = home(state_ids[other, 0], state_ids[other, 1], other // capacity, places)
        if ((place - start) & mask) >= ((place - gap) & mask):
            places[gap] = places[place]
            gap = place
    places[gap] = 0


@compiled
def enter_all(sizes: Ints, capacity: int, state_ids: StateIds, places: Places) -> bool:
    """Fill an empty map with every stored state, and return whether these can be the states of a memory.

    An action has no state twice. Ids made so that all have the same home would take longer and longer to enter: digests
    of the map's load need less than one step more each, so with many times that it is given up.
    """
    mask = len(places) - 1
    steps = MOST_STEPS * (len(state_ids) + 64)
    for action in range(len(sizes)):
        for slot in range(action * capacity, action * capacity + sizes[action]):
            first, second = state_ids[slot, 0], state_ids[slot, 1]
            place = home(first, second, action, places)
            while places[place] != 0:
                other = int(places[place] - 1)
                same = state_ids[other, 0] == first and state_ids[other, 1] == second and other // capacity == action
                steps -= 1
                if same or steps < 0:
                    return False
                place = (place + 1) & mask
            places[place] = slot + 1
    return True


# --- replacement: exactly the least recently used --------------------------------------------------------------------


@compiled
def oldest(action: int, capacity: int, last_used: Ints, queue: Queue) -> int:
    """Return the least recently used slot of a full table (of equally old ones the lowest).

    A queue holds the oldest entries in order. One that was used since it was queued carries a newer stamp and is passed
    over; none outside the queue can be older. When it is empty, one partition of the stamps fills it again, so that a
    victim costs O(capacity / length of the queue), against O(capacity) for a search each time.
    """
    while True:
        length = queue.slots.shape[1]
        while queue.head[action] < length:
            at = queue.head[action]
            queue.head[action] += 1
            if last_used[queue.slots[action, at]] == queue.stamps[action, at]:
                return int(queue.slots[action, at])
        stamps = last_used[action * capacity : (action + 1) * capacity]
        newest = np.partition(stamps, length - 1)[length - 1]
        older = 0
        for row in range(capacity):
            older += stamps[row] < newest
        ties = length - older
        rows = np.empty(length, np.int64)
        count = 0
        for row in range(capacity):
            if stamps[row] < newest:
                rows[count] = row
                count += 1
            elif stamps[row] == newest and ties > 0:
                rows[count] = row
                count += 1
                ties -= 1
        order = np.argsort(stamps[rows], kind="mergesort")
        for at in range(length):
            row = rows[order[at]]
            queue.slots[action, at] = action * capacity + row
            queue.stamps[action, at] = stamps[row]
        queue.head[action] = 0


# --- writing ---------------------------------------------------------------------------------------------------------


@compiled
def _why_not(moments: Moments, actions: int) -> int:
    """Return why these cannot be written, or 0."""
    for i in range(len(moments.actions)):
        if not np.isfinite(moments.returns[i]):
            return NOT_FINITE
        for dimension in range(moments.keys.shape[1]):
            if not np.isfinite(moments.keys[i, dimension]):
                return NOT_FINITE
    for action in moments.actions:
        if not 0 <= action < actions:
            return NO_SUCH_ACTION
    return 0


@compiled
def write_in_order(
    moments: Moments,
    learning_rate: float,
    replace_known_keys: bool,
    table: Table,
    queue: Queue,
    clock: int,
    slots: Ints,
    keyed: NDArray[np.bool_],
) -> int:
    """Write one entry after another, or none if one cannot be: then return why, else 0.

    `slots` gets the slot of each, and `keyed` whether that got its key.
    """
    actions, keys, new_returns, new_ids, new_steps = moments
    returns, state_ids, steps, sizes, places = table.returns, table.state_ids, table.steps, table.sizes, table.places
    why_not = _why_not(moments, len(sizes))
    if why_not != 0:
        return int(why_not)
    capacity = len(returns) // len(sizes)
    for i in range(len(actions)):
        action = actions[i]
        slot = find(new_ids[i, 0], new_ids[i, 1], action, capacity, state_ids, places)
        known = slot >= 0
        if known:
            if learning_rate > 0.0:  # NEC moves towards the new return (Eq. 6)
                returns[slot] += learning_rate * (new_returns[i] - returns[slot])
                steps[slot] = new_steps[i]
            elif new_returns[i] > returns[slot]:  # MFEC keeps the best return ever seen
                returns[slot] = new_returns[i]
                steps[slot] = new_steps[i]
        else:
            if sizes[action] < capacity:
                slot = action * capacity + sizes[action]
                sizes[action] += 1
            else:
                slot = oldest(action, capacity, table.last_used, queue)
                leave(slot, capacity, state_ids, places)
            returns[slot] = new_returns[i]
            steps[slot] = new_steps[i]
            state_ids[slot] = new_ids[i]
            enter(slot, capacity, state_ids, places)
        slots[i], keyed[i] = slot, not known or replace_known_keys
        if keyed[i]:
            table.keys[slot] = keys[i]
        table.last_used[slot] = clock + i
    return 0
