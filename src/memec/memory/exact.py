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

from memec.memory.blocks import CHAIN, FILLED, FIRST, Blocks, append, remove
from memec.memory.cells import Cells, cell_of
from memec.memory.handles import ROW, cube, five_dimensional, handles, matrix, vector
from memec.memory.intrinsics import LANES, lanes_at_most, lowest_bit
from memec.memory.kernels import COMPILE, LARGEST, squared_distance
from memec.memory.recall import RoomArrays
from memec.memory.tables import Floats, Ints, Keys, Places, StateIds, find_known, weigh

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

# Found entries as numbers: a distance's bits before a slot's; nobody is infinitely far.
SLOT = np.int64(2**32 - 1)
LARGEST_BITS = np.int32(LARGEST.view(np.int32))
NOBODY = np.int64(np.float32(np.inf).view(np.int32)) << 32

Books = tuple[Floats, Floats, StateIds, Ints, Ints, Places]
"""A memory's kernel (whether by distance, delta, initial value), returns, state ids, stamps of use, sizes, places."""
Numbers = NDArray[np.int32]
Filing = tuple[Keys, Numbers, Keys, Keys, Keys, Numbers, Numbers, Numbers, Numbers, Numbers]
"""Keys, the cuts between cells (dimensions, values), boxes of the cells, keys in blocks, and the books of `Blocks`."""


class Exact:
    """The k nearest entries of every action, exact to float rounding, ties in order of their slots."""

    recall_estimate: float = 1.0

    def __init__(self, keys: NDArray[np.float32], actions: int, neighbours: int, *, seed: int = 0) -> None:
        self._keys = keys
        self._actions = actions
        self.last_found = np.full((STREAMS, actions, neighbours), -1, np.int64)
        self._entries = self._entries_at_cut = 0
        self._handles = np.empty((11, ROW), np.int64)
        self._arrange(Cells.whole())

    def put(self, slots: NDArray[np.int64]) -> None:
        """Take in the keys just written at `slots`: new entries, replaced ones, or moved keys."""
        self.note_put(file_keys(slots, self.filing), len(slots))

    def note_put(self, new: int, puts: int) -> bool:
        """Take in that compiled code filed keys in `filing`, some of them new; tell whether all were filed again."""
        self._entries += new
        self._puts += puts
        # Cells are cut for as many entries as there are, and boxes only ever grow: replaced keys wear them out.
        outgrown = self._entries >= max(CUT_ENTRIES, 2 * self._entries_at_cut)
        worn = outgrown or self._puts >= 2 * max(CUT_ENTRIES, self._entries)
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
        learn: bool = False,
    ) -> None:
        """Fill in, per query and wanted action, the nearest entries; missing ones are inf and -1.

        What was found bounds the next search whether or not it is to `remember`: that changes no answer.
        """
        find_nearest(queries, wanted, squared_distances, slots, self.last_found, self.filing)

    def handles_for(self, books: Books, room: RoomArrays) -> NDArray[np.int64]:
        """Return what `look_up` needs to know: a memory's books, where to write what is found, how keys are filed."""
        return handles(*books, *room, self._handles)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out where the arrays are: those of a copy are elsewhere."""
        return {name: value for name, value in self.__dict__.items() if name != "_handles"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over a copy's arrays."""
        self.__dict__ |= state
        self._handles = handles(self.last_found, *self.filing)

    def rebuild(self) -> None:
        """Take in that all keys changed in place: cut the cells anew and file every entry again."""
        present = np.flatnonzero(self._blocks.present())
        self._arrange(self._fitting_cells(present))
        self._entries = self._entries_at_cut = file_keys(present, self.filing)

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
        self.filing: Filing = (self._keys, cells.dimensions, cells.values, boxes, block_keys, *self._blocks.books())
        self._handles[:] = handles(self.last_found, *self.filing)  # in place: what `handles_for` returned leads here


@njit(**COMPILE)
def file_keys(slots: NDArray[np.int64], filing: Filing) -> int:
    """File each slot in its cell, whose box grows to hold it; return how many were new."""
    keys, cut_dimensions, cut_values, boxes, block_keys, chains, members, nexts, places, free = filing
    cells = len(cut_values) + 1
    capacity = len(keys) // len(boxes)
    new = 0
    for slot in slots:
        if places[slot, CHAIN] >= 0:
            source, hole = remove(slot, chains, members, nexts, places, free)
            for dimension in range(keys.shape[1]):
                moved = block_keys[source // LANES, dimension, source % LANES]
                block_keys[hole // LANES, dimension, hole % LANES] = moved
        else:
            new += 1
        action = slot // capacity
        cell = cell_of(keys[slot], cut_dimensions, cut_values)
        place = append(slot, action * cells + cell, chains, members, nexts, places, free)
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


@njit(inline="always", **COMPILE)
def _scan(
    chain: NDArray[np.int32],
    query: NDArray[np.float32],
    bound: np.float32,
    best: NDArray[np.int64],
    block_keys: NDArray[np.float32],
    members: NDArray[np.int32],
    nexts: NDArray[np.int32],
    distances: NDArray[np.float32],
) -> np.float32:
    """Merge a chain into the best, found so far; return the distance up to which an entry still matters."""
    bits = distances.view(np.int32)
    block, filled = chain[FIRST], chain[FILLED]
    while block >= 0:
        block_distances(block_keys, block, query, distances)
        near = lanes_at_most(distances, bound)
        if filled < LANES:
            near &= (np.int64(1) << filled) - 1
        while near != 0:
            lane = lowest_bit(near)
            near &= near - 1
            entry = np.int64(min(bits[lane], LARGEST_BITS)) << 32 | members[block, lane]
            if entry < best[-1]:
                for place in range(len(best)):  # without a branch: what is larger moves on
                    before = best[place]
                    best[place] = min(before, entry)
                    entry = max(before, entry)
        if best[-1] < np.int64(LARGEST_BITS) << 32:
            bits[0] = best[-1] >> 32
            bound = min(bound, distances[0])
        block = nexts[block]
        filled = np.int32(LANES)
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
        within = lanes_at_most(distances, bound)
        while within != 0:
            lane = lowest_bit(within)
            within &= within - 1
            cell = group * LANES + lane
            if cell < cells and cell != home and chains[action * cells + cell, FIRST] >= 0:
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
    """Search each wanted action: the query's own cell, then the nearest until k are found, then all that may matter.

    What was found is kept in order as whole numbers: the bits of a distance, which are in the order of the distances,
    before its slot.
    """
    keys, cut_dimensions, cut_values, boxes, block_keys, chains, members, nexts, _, _ = filing
    actions = len(boxes)
    cells = len(chains) // actions
    away = np.empty(cells, np.float32)
    near = np.empty(cells, np.int64)
    distances = np.empty(LANES, np.float32)
    query = np.zeros(block_keys.shape[1], np.float32)
    best = np.empty(slots.shape[2], np.int64)
    for row in range(len(queries)):
        query[: keys.shape[1]] = queries[row]
        home = cell_of(queries[row], cut_dimensions, cut_values)
        for action in range(actions):
            if not wanted[row, action]:
                continue
            best[:] = NOBODY
            bound = np.float32(np.inf)
            last = last_found[row % len(last_found), action]
            if last[-1] >= 0:
                bound = np.float32(0)
                for slot in last:
                    bound = max(bound, squared_distance(keys, slot, queries[row]))
                bound *= SLACK
            chain = chains[action * cells + home]
            bound = _scan(chain, query, bound, best, block_keys, members, nexts, distances)
            left = _cells_within(bound * SLACK, action, home, query, boxes, chains, distances, away, near)
            while left > 0:
                at = left - 1
                if best[-1] == NOBODY:
                    for other in range(left):
                        if away[other] < away[at]:
                            at = other
                if away[at] <= bound * SLACK:
                    chain = chains[action * cells + near[at]]
                    bound = _scan(chain, query, bound, best, block_keys, members, nexts, distances)
                left -= 1
                away[at], near[at] = away[left], near[left]
            found_bits = squared_distances[row, action].view(np.int32)
            for place, entry in enumerate(best):
                found_bits[place] = entry >> 32
                slots[row, action, place] = entry & SLOT if entry != NOBODY else -1
            last[:] = slots[row, action]


@njit(**COMPILE)
def look_up(queries: Keys, state_ids: StateIds, handles: Ints, stamp: int) -> bool:
    """Do all of a recall in one call, as for short keys calling costs more than searching; false if one is not finite.

    Known states are found, the others searched for, and what was found is weighed.
    """
    kernel, returns = vector(handles, 0, np.float64), vector(handles, 1, np.float64)
    known_ids, last_used = matrix(handles, 2, np.uint64), vector(handles, 3, np.int64)
    sizes, places = vector(handles, 4, np.int64), vector(handles, 5, np.int32)
    wanted, values = matrix(handles, 6, np.bool_), matrix(handles, 7, np.float64)
    squared_distances, slots = cube(handles, 8, np.float32), cube(handles, 9, np.int64)
    exact, filing = matrix(handles, 10, np.bool_), matrix(handles, 11, np.int64)
    searches = find_known(queries, state_ids, known_ids, sizes, places, wanted, exact, squared_distances, slots)
    if searches < 0:
        return False
    if searches > 0:
        last_found = cube(filing, 0, np.int64)
        taken = (
            matrix(filing, 1, np.float32), vector(filing, 2, np.int32), vector(filing, 3, np.float32),
            five_dimensional(filing, 4, np.float32), cube(filing, 5, np.float32),
            matrix(filing, 6, np.int32), matrix(filing, 7, np.int32), vector(filing, 8, np.int32),
            matrix(filing, 9, np.int32), vector(filing, 10, np.int32),
        )  # fmt: skip
        find_nearest(queries, wanted, squared_distances, slots, last_found, taken)
    by_distance = kernel[0] != 0.0
    weigh(exact, squared_distances, slots, returns, by_distance, kernel[1], kernel[2], last_used, stamp, values)
    return True


@njit(**COMPILE)
def look_up_one(query: Keys, state_id: StateIds, handles: Ints, stamp: int) -> bool:
    """Look up a single key, of a state with an id: what every step of training does."""
    finite: bool = look_up(query.reshape(1, -1), state_id.reshape(1, -1), handles, stamp)
    return finite
