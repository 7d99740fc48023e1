"""Compiled bookkeeping of the tables: which state is where, and who is replaced next.

Slots are numbered through all actions: `slot = action * capacity + row`. The functions are plain loops over arrays
because they run once a step, where a Python dictionary per action and a sort per episode cost more than many an
environment.
"""

from typing import Any

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


def compiled(function: Any) -> Any:
    """Compile without fast-math, so that NaN and infinity are still seen.

    That is said, because numba takes an option that is left out from whatever calls the function first: code compiled
    anew would round otherwise than the cached.
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
def oldest(action: int, capacity: int, last_used: Ints, queue: Ints, queue_stamps: Ints, queue_head: Ints) -> int:
    """Return the least recently used slot of a full table (of equally old ones the lowest).

    A queue holds the oldest entries in order. One that was used since it was queued carries a newer stamp and is passed
    over; none outside the queue can be older. When it is empty, one partition of the stamps fills it again, so that a
    victim costs O(capacity / length of the queue), against O(capacity) for a search each time.
    """
    while True:
        while queue_head[action] < queue.shape[1]:
            at = queue_head[action]
            queue_head[action] += 1
            if last_used[queue[action, at]] == queue_stamps[action, at]:
                return int(queue[action, at])
        length = queue.shape[1]
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
            queue[action, at] = action * capacity + row
            queue_stamps[action, at] = stamps[row]
        queue_head[action] = 0


# --- writing and asking ----------------------------------------------------------------------------------------------


@compiled
def write_in_order(
    actions: Ints,
    keys: Keys,
    returns: Floats,
    state_ids: StateIds,
    steps: Ints,
    learning_rate: float,
    replace_known_keys: bool,
    table_keys: Keys,
    table_returns: Floats,
    table_state_ids: StateIds,
    table_steps: Ints,
    last_used: Ints,
    sizes: Ints,
    places: Places,
    queue: Ints,
    queue_stamps: Ints,
    queue_head: Ints,
    clock: int,
    slots: Ints,
    keyed: NDArray[np.bool_],
) -> int:
    """Write one entry after another, or none if one cannot be: then return why, else 0.

    `slots` gets the slot of each, and `keyed` whether that got its key.
    """
    for i in range(len(actions)):
        if not np.isfinite(returns[i]):
            return NOT_FINITE
        for dimension in range(keys.shape[1]):
            if not np.isfinite(keys[i, dimension]):
                return NOT_FINITE
    for action in actions:
        if not 0 <= action < len(sizes):
            return NO_SUCH_ACTION
    capacity = len(last_used) // len(sizes)
    for i in range(len(actions)):
        action = actions[i]
        slot = find(state_ids[i, 0], state_ids[i, 1], action, capacity, table_state_ids, places)
        known = slot >= 0
        if known:
            if learning_rate > 0.0:  # NEC moves towards the new return
                table_returns[slot] += learning_rate * (returns[i] - table_returns[slot])
                table_steps[slot] = steps[i]
            elif returns[i] > table_returns[slot]:  # MFEC keeps the best return ever seen
                table_returns[slot] = returns[i]
                table_steps[slot] = steps[i]
        else:
            if sizes[action] < capacity:
                slot = action * capacity + sizes[action]
                sizes[action] += 1
            else:
                slot = oldest(action, capacity, last_used, queue, queue_stamps, queue_head)
                leave(slot, capacity, table_state_ids, places)
            table_returns[slot] = returns[i]
            table_steps[slot] = steps[i]
            table_state_ids[slot] = state_ids[i]
            enter(slot, capacity, table_state_ids, places)
        slots[i], keyed[i] = slot, not known or replace_known_keys
        if keyed[i]:
            table_keys[slot] = keys[i]
        last_used[slot] = clock + i
    return 0


@compiled
def find_known(
    keys: Keys,
    state_ids: StateIds,
    table_state_ids: StateIds,
    sizes: Ints,
    places: Places,
    wanted: NDArray[np.bool_],
    exact: NDArray[np.bool_],
    squared_distances: Keys,
    slots: Ints,
) -> int:
    """Answer what needs no search: known states, empty tables. Return the searches left, -1 if a key is not finite."""
    actions = len(sizes)
    capacity = len(table_state_ids) // actions
    searches = 0
    for query in range(len(keys)):
        for dimension in range(keys.shape[1]):
            if not np.isfinite(keys[query, dimension]):
                return -1
        for action in range(actions):
            slots[query, action, :] = -1
            squared_distances[query, action, :] = np.inf
            known = -1
            if len(state_ids) > 0:
                known = find(state_ids[query, 0], state_ids[query, 1], action, capacity, table_state_ids, places)
            if known >= 0:
                slots[query, action, 0] = known
                squared_distances[query, action, 0] = 0.0
            exact[query, action] = known >= 0
            wanted[query, action] = known < 0 and sizes[action] > 0
            searches += wanted[query, action]
    return searches


@compiled
def weigh(
    exact: NDArray[np.bool_],
    squared_distances: Keys,
    slots: Ints,
    table_returns: Floats,
    inverse_distance: bool,
    delta: float,
    initial_value: float,
    last_used: Ints,
    stamp: int,
    values: Floats,
) -> None:
    """Turn neighbours into values (Eq. 4 and 5) and, with a stamp >= 0, mark the entries as used."""
    queries, actions, neighbours = slots.shape
    for query in range(queries):
        for action in range(actions):
            total = 0.0
            value = 0.0
            for i in range(neighbours):
                slot = slots[query, action, i]
                if slot < 0:
                    break
                weight = 1.0
                if inverse_distance:
                    weight = 1.0 / (squared_distances[query, action, i] + delta)
                total += weight
                value += weight * table_returns[slot]
                if stamp >= 0:
                    last_used[slot] = stamp
            if total == 0.0:
                value = initial_value
            elif exact[query, action]:
                value = table_returns[slots[query, action, 0]]
            else:
                value /= total
            values[query, action] = value
