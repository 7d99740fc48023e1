"""Looking up in the tables, compiled: known states, the search for the others, and what is made of the neighbours."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.compiled.handle import Handle, Rows, cube, matrix, vector
from memec.memory.compiled.kernels import COMPILE
from memec.memory.exact.query import find_nearest, read_filed
from memec.memory.kernel import inverse_distance
from memec.memory.tables import Floats, Ints, Keys, StateIds, Table, compiled, find


class Kernel(NamedTuple):
    """How neighbours are weighed, and the value where there are none."""

    inverse_distance: bool
    delta: float
    initial_value: float


class Answers(NamedTuple):
    """Where a look-up writes: per query and action, what is to be searched and what was found."""

    wanted: NDArray[np.bool_]
    values: Floats
    squared_distances: Keys
    slots: Ints
    exact: NDArray[np.bool_]


def stored(table: Table, kernel: Kernel) -> Handle:
    """Hand over the table and how its neighbours are weighed."""
    return Handle(np.array(kernel, np.float64), *table)


@njit(inline="always", **COMPILE)
def read_stored(rows: Rows) -> tuple[Table, Kernel]:
    """Return what `stored` was given."""
    numbers = vector(rows, 0, np.float64)
    table = Table(
        matrix(rows, 1, np.float32), vector(rows, 2, np.float64), matrix(rows, 3, np.uint64),
        vector(rows, 4, np.int64), vector(rows, 5, np.int64), vector(rows, 6, np.int64), vector(rows, 7, np.int32),
    )  # fmt: skip
    return table, Kernel(numbers[0] != 0.0, numbers[1], numbers[2])


@njit(inline="always", **COMPILE)
def read_answers(rows: Rows) -> Answers:
    """Return the answers that a handle was made of."""
    return Answers(
        matrix(rows, 0, np.bool_), matrix(rows, 1, np.float64), cube(rows, 2, np.float32),
        cube(rows, 3, np.int64), matrix(rows, 4, np.bool_),
    )  # fmt: skip


@compiled
def find_known(keys: Keys, state_ids: StateIds, table: Table, answers: Answers) -> int:
    """Answer what needs no search: known states, empty tables. Return the searches left, -1 if a key is not finite."""
    wanted, _, squared_distances, slots, exact = answers
    sizes, table_state_ids, places = table.sizes, table.state_ids, table.places
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
def weigh(table: Table, kernel: Kernel, stamp: int, answers: Answers) -> None:
    """Turn neighbours into values (Eq. 4 and 5) and, with a stamp >= 0, mark the entries as used."""
    _, values, squared_distances, slots, exact = answers
    returns, last_used = table.returns, table.last_used
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
                if kernel.inverse_distance:
                    weight = inverse_distance(squared_distances[query, action, i], kernel.delta)
                total += weight
                value += weight * returns[slot]
                if stamp >= 0:
                    last_used[slot] = stamp
            if total == 0.0:
                value = kernel.initial_value
            elif exact[query, action]:
                value = returns[slots[query, action, 0]]
            else:
                value /= total
            values[query, action] = value


# --- a recall in one call, or in two halves around a search ----------------------------------------------------------


@njit(**COMPILE)
def look_up(queries: Keys, state_ids: StateIds, handles: Rows, stamp: int) -> bool:
    """Do all of a recall in one call, as for short keys calling costs more than searching; false if one is not finite.

    Known states are found, the others searched for, and what was found is weighed. The handles tell of the rows of
    three: of what is stored, of the answers, and of how keys are filed.
    """
    table, kernel = read_stored(matrix(handles, 0, np.int64))
    answers = read_answers(matrix(handles, 1, np.int64))
    searches = find_known(queries, state_ids, table, answers)
    if searches < 0:
        return False
    if searches > 0:
        filing, last_found = read_filed(matrix(handles, 2, np.int64))
        find_nearest(queries, answers.wanted, answers.squared_distances, answers.slots, last_found, filing)
    weigh(table, kernel, stamp, answers)
    return True


@njit(**COMPILE)
def look_up_one(query: Keys, state_id: StateIds, handles: Rows, stamp: int) -> bool:
    """Look up a single key, of a state with an id: what every step of training does."""
    finite: bool = look_up(query.reshape(1, -1), state_id.reshape(1, -1), handles, stamp)
    return finite


@compiled
def begin_look_up(queries: Keys, state_ids: StateIds, stored: Rows, answers: Answers) -> int:
    """Answer what needs no search, before one that is no part of `look_up`."""
    searches: int = find_known(queries, state_ids, read_stored(stored)[0], answers)
    return searches


@compiled
def end_look_up(stored: Rows, stamp: int, answers: Answers) -> None:
    """Weigh what was found."""
    table, kernel = read_stored(stored)
    weigh(table, kernel, stamp, answers)
