"""Exact nearest neighbours, all actions in one compiled call.

Keys are kept a second time in blocks of 64, dimension by dimension, so that 64 distances are computed at once. In few
dimensions the blocks are sorted into cells of space, and most of them are ruled out: a cell whose bounding box is
further away than the k-th nearest entry found so far cannot hold a neighbour. The entries that the previous query found
bound that distance from the start. Nothing of this changes an answer, which is a function of the keys alone.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.blocks import CHAIN, FILLED, FIRST, NEXT, Blocks, append, remove
from memec.memory.cells import Cells, cell_of
from memec.memory.kernels import COMPILE, LARGEST, insert, squared_distance
from memec.memory.tables import Floats, Ints, Keys, Places, StateIds, find_known, weigh

LANES = 64

# In many dimensions no box can be ruled out; below a few thousand entries reading all is quicker than leaving out.
CUT_DIMENSIONS = 32
CUT_ENTRIES = 2_048
# Measured on CartPole and Acrobot: fewer entries a cell and half-empty blocks are read, more and boxes grow too wide.
ENTRIES_PER_CELL = 40

# Squared distances carry a relative rounding error of about (dimensions + 2) * 6e-8; ruling out allows for more.
SLACK = np.float32(1 + 1e-4)

# The rows of a batch are mostly the same few episodes every time: each goes on from where it was.
STREAMS = 16

NONE = np.empty(0, np.intp)

Books = tuple[Floats, StateIds, Ints, Ints, Places]
"""A memory's returns, state ids, stamps of last use, sizes and places."""
Room = tuple[NDArray[np.bool_], Floats, Keys, Ints, NDArray[np.bool_]]
"""Room for what a recall says: which actions to search, values, squared distances, slots, which are exact."""
Numbers = NDArray[np.int32]
Filing = tuple[Keys, Numbers, Keys, Keys, Keys, Numbers, Numbers, Numbers, Numbers]
"""Keys, the cuts between cells (dimensions, values), boxes of the cells, keys in blocks, and the books of `Blocks`."""


class Exact:
    """The k nearest entries of every action, exact to float rounding, ties in order of their slots."""

    recall_estimate: float = 1.0

    def __init__(self, keys: NDArray[np.float32], actions: int, neighbours: int, *, seed: int = 0) -> None:
        self._keys = keys
        self._actions = actions
        self.last_found = np.full((STREAMS, actions, neighbours), -1, np.int64)
        self._entries = 0
        self._arrange(Cells.whole())

    def put(self, slots: NDArray[np.int64]) -> None:
        """Take in the keys just written at `slots`: new entries, replaced ones, or moved keys."""
        self.note_put(file_keys(slots, self.filing), len(slots))

    def note_put(self, new: int, puts: int) -> bool:
        """Take in that compiled code filed keys in `filing`, some of them new; tell whether all were filed again."""
        self._entries += new
        self._puts += puts
        worn = self._puts >= max(CUT_ENTRIES, self._entries)  # boxes only ever grow: replaced keys wear them out
        if worn:
            self.rebuild()
        return worn

    def nearest(
        self,
        queries: NDArray[np.float32],
        wanted: NDArray[np.bool_],
        squared_distances: NDArray[np.float32],
        slots: NDArray[np.int64],
        remember: bool,
    ) -> None:
        """Fill in, per query and wanted action, the nearest entries; missing ones are inf and -1.

        What was found bounds the next search whether or not it is to `remember`: that changes no answer.
        """
        find_nearest(queries, wanted, squared_distances, slots, self.last_found, self.filing)

    def look_up(
        self,
        queries: NDArray[np.float32],
        state_ids: NDArray[np.uint64],
        books: Books,
        room: Room,
        inverse_distance: bool,
        delta: float,
        initial_value: float,
        stamp: int,
    ) -> bool:
        """Do all of a recall in one compiled call: for short keys, calling costs as much as searching."""
        finite: bool = _look_up(
            queries, state_ids, *books, *room, inverse_distance, delta, initial_value, stamp,
            self.last_found, *self.filing,
        )  # fmt: skip
        return finite

    def rebuild(self) -> None:
        """Take in that all keys changed in place: cut the cells anew and file every entry again."""
        present = np.flatnonzero(self._blocks.present())
        self._arrange(self._fitting_cells(present))
        self._entries = file_keys(present, self.filing)

    def arrays(self, lagging: NDArray[np.intp] = NONE) -> dict[str, NDArray[Any]]:
        """Return what `restore` needs to answer identically."""
        return {"present": self._blocks.present()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from where `arrays` was taken; the keys are already in place."""
        self._blocks.places[:, CHAIN] = np.where(arrays["present"], 0, -1)
        self.last_found[:] = -1
        self.rebuild()

    def _fitting_cells(self, present: NDArray[np.intp]) -> Cells:
        """Cut the space by a sample of the entries, or not at all where that does not pay."""
        if len(present) < CUT_ENTRIES or self._keys.shape[1] > CUT_DIMENSIONS:
            return Cells.whole()
        levels = round(np.log2(len(present) / (self._actions * ENTRIES_PER_CELL)))
        levels = min(max(levels, 4), 10)
        every = max(1, len(present) // (32 * 2**levels))
        return Cells.cut(self._keys[present[::every]], levels)

    def _arrange(self, cells: Cells) -> None:
        """Start with empty blocks, and boxes around nothing, for these cells."""
        self._puts = 0
        dimensions = -(-self._keys.shape[1] // 4) * 4  # read four at a time; the rest stays 0
        self._blocks = Blocks.empty(len(self._keys), self._actions * len(cells), LANES)
        block_keys = np.zeros((len(self._blocks.members), dimensions, LANES), np.float32)
        groups = -(-len(cells) // LANES)
        boxes = np.empty((self._actions, groups, self._keys.shape[1], 2, LANES), np.float32)
        boxes[..., 0, :] = np.inf
        boxes[..., 1, :] = -np.inf
        blocks = (self._blocks.chains, self._blocks.members, self._blocks.places, self._blocks.free)
        self.filing: Filing = (self._keys, cells.dimensions, cells.values, boxes, block_keys, *blocks)


@njit(**COMPILE)
def file_keys(slots: NDArray[np.int64], filing: Filing) -> int:
    """File each slot in its cell, whose box grows to hold it; return how many were new."""
    keys, cut_dimensions, cut_values, boxes, block_keys, chains, members, places, free = filing
    cells = len(cut_values) + 1
    capacity = len(keys) // len(boxes)
    new = 0
    for slot in slots:
        if places[slot, CHAIN] >= 0:
            source, hole = remove(slot, chains, members, places, free)
            for dimension in range(keys.shape[1]):
                moved = block_keys[source // LANES, dimension, source % LANES]
                block_keys[hole // LANES, dimension, hole % LANES] = moved
        else:
            new += 1
        action = slot // capacity
        cell = cell_of(keys[slot], cut_dimensions, cut_values)
        place = append(slot, action * cells + cell, chains, members, places, free)
        box = boxes[action, cell // LANES]
        for dimension in range(keys.shape[1]):
            value = keys[slot, dimension]
            block_keys[place // LANES, dimension, place % LANES] = value
            box[dimension, 0, cell % LANES] = min(box[dimension, 0, cell % LANES], value)
            box[dimension, 1, cell % LANES] = max(box[dimension, 1, cell % LANES], value)
    return new


@njit(inline="always", **COMPILE)
def box_distances(boxes: NDArray[np.float32], query: NDArray[np.float32], distances: NDArray[np.float32]) -> None:
    """Squared distances of 64 boxes to the query: 0 inside, infinite for a box around nothing."""
    for lane in range(LANES):
        distances[lane] = np.float32(0)
    for dimension in range(boxes.shape[0]):
        value = query[dimension]
        for lane in range(LANES):
            gap = max(max(boxes[dimension, 0, lane] - value, value - boxes[dimension, 1, lane]), np.float32(0))
            distances[lane] += gap * gap


@njit(inline="always", **COMPILE)
def block_distances(
    block_keys: NDArray[np.float32], block: int, query: NDArray[np.float32], distances: NDArray[np.float32]
) -> None:
    """Squared distances of 64 keys to the query, four dimensions at a time to spare loads of the sums."""
    for start in range(0, len(query), 4):
        for lane in range(LANES):
            first = block_keys[block, start, lane] - query[start]
            second = block_keys[block, start + 1, lane] - query[start + 1]
            third = block_keys[block, start + 2, lane] - query[start + 2]
            fourth = block_keys[block, start + 3, lane] - query[start + 3]
            total = first * first + second * second + third * third + fourth * fourth
            distances[lane] = total if start == 0 else distances[lane] + total


@njit(**COMPILE)
def _scan(
    block: int,
    filled: int,
    query: NDArray[np.float32],
    bound: np.float32,
    found_distances: NDArray[np.float32],
    found_slots: NDArray[np.int64],
    block_keys: NDArray[np.float32],
    members: NDArray[np.int32],
    distances: NDArray[np.float32],
) -> np.float32:
    """Merge a chain into what was found; return the distance up to which an entry still matters."""
    last = len(found_distances) - 1
    while block >= 0:
        block_distances(block_keys, block, query, distances)
        near = 0
        for lane in range(LANES):
            near += distances[lane] <= bound
        if near > 0:
            for lane in range(filled):
                if distances[lane] <= bound:
                    distance = min(distances[lane], LARGEST)
                    slot = members[block, lane]
                    if distance < found_distances[last] or slot < found_slots[last]:
                        insert(found_distances, found_slots, distance, slot)
                        if found_distances[last] < LARGEST:
                            bound = min(bound, found_distances[last])
        block = members[block, NEXT]
        filled = LANES
    return bound


@njit(inline="always", **COMPILE)
def _cells_within(
    bound: np.float32,
    action: int,
    home: int,
    query: NDArray[np.float32],
    boxes: NDArray[np.float32],
    chains: NDArray[np.int32],
    distances: NDArray[np.float32],
    away: NDArray[np.float32],
    near: NDArray[np.int64],
) -> int:
    """List the filled cells of an action, but for `home`, that may hold an entry within the bound; how far `away`."""
    groups = boxes.shape[1]
    cells = len(chains) // len(boxes)
    count = 0
    for group in range(groups):
        box_distances(boxes[action, group], query, distances)
        within = 0
        for lane in range(LANES):
            within += distances[lane] <= bound
        if within > 0:
            for lane in range(min(LANES, cells - group * LANES)):
                cell = group * LANES + lane
                if distances[lane] <= bound and cell != home and chains[action * cells + cell, FIRST] >= 0:
                    away[count] = distances[lane]
                    near[count] = cell
                    count += 1
    return count


@njit(**COMPILE)
def find_nearest(
    queries: NDArray[np.float32],
    wanted: NDArray[np.bool_],
    squared_distances: NDArray[np.float32],
    slots: NDArray[np.int64],
    last_found: NDArray[np.int64],
    filing: Filing,
) -> None:
    """Search each wanted action: the query's own cell, then the nearest until k are found, then all that may matter."""
    keys, cut_dimensions, cut_values, boxes, block_keys, chains, members, _, _ = filing
    actions = len(boxes)
    cells = len(chains) // actions
    away = np.empty(cells, np.float32)
    near = np.empty(cells, np.int64)
    distances = np.empty(LANES, np.float32)
    query = np.zeros(block_keys.shape[1], np.float32)
    for row in range(len(queries)):
        query[: keys.shape[1]] = queries[row]
        home = cell_of(queries[row], cut_dimensions, cut_values)
        for action in range(actions):
            if not wanted[row, action]:
                continue
            found_distances, found_slots = squared_distances[row, action], slots[row, action]
            found_distances[:] = np.inf
            found_slots[:] = -1
            bound = np.float32(np.inf)
            last = last_found[row % len(last_found), action]
            if last[-1] >= 0:
                bound = np.float32(0)
                for slot in last:
                    bound = max(bound, squared_distance(keys, slot, queries[row]))
                bound *= SLACK
            chain = chains[action * cells + home]
            bound = _scan(
                chain[FIRST], chain[FILLED], query, bound,
                found_distances, found_slots, block_keys, members, distances,
            )  # fmt: skip
            left = _cells_within(bound * SLACK, action, home, query, boxes, chains, distances, away, near)
            while left > 0:
                at = left - 1
                if found_slots[-1] < 0:
                    for other in range(left):
                        if away[other] < away[at]:
                            at = other
                if away[at] <= bound * SLACK:
                    chain = chains[action * cells + near[at]]
                    bound = _scan(
                        chain[FIRST], chain[FILLED], query, bound,
                        found_distances, found_slots, block_keys, members, distances,
                    )  # fmt: skip
                left -= 1
                away[at], near[at] = away[left], near[left]
            last[:] = found_slots


@njit(**COMPILE)
def _look_up(
    queries: Keys,
    state_ids: StateIds,
    returns: Floats,
    table_state_ids: StateIds,
    last_used: Ints,
    sizes: Ints,
    places: Places,
    wanted: NDArray[np.bool_],
    values: Floats,
    squared_distances: Keys,
    slots: Ints,
    exact: NDArray[np.bool_],
    inverse_distance: bool,
    delta: float,
    initial_value: float,
    stamp: int,
    last_found: Ints,
    keys: Keys,
    cut_dimensions: Numbers,
    cut_values: Keys,
    boxes: Keys,
    block_keys: Keys,
    chains: Numbers,
    members: Numbers,
    block_places: Numbers,
    free: Numbers,
) -> bool:
    """Find known states, search for the others, weigh what was found; false if a query is not finite.

    The filing comes array by array: handing over a tuple of as many costs another microsecond.
    """
    searches = find_known(
        queries, state_ids, table_state_ids, sizes, places, wanted, exact, squared_distances, slots
    )  # fmt: skip
    if searches < 0:
        return False
    if searches > 0:
        filing = keys, cut_dimensions, cut_values, boxes, block_keys, chains, members, block_places, free
        find_nearest(queries, wanted, squared_distances, slots, last_found, filing)
    weigh(
        exact, squared_distances, slots, returns, inverse_distance, delta, initial_value, last_used, stamp, values
    )  # fmt: skip
    return True
