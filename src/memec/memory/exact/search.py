"""Exact nearest neighbours, all actions in one compiled call.

Keys are kept a second time in blocks of 64, dimension by dimension, so that 64 distances are computed at once. In few
dimensions the blocks are sorted into cells of space, and most of them are ruled out: a cell whose bounding box is
further away than the k-th nearest entry found so far cannot hold a neighbour. The entries that the previous query found
bound that distance from the start. Nothing of this changes an answer, which is a function of the keys alone.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memec.memory.compiled.handle import Handle
from memec.memory.compiled.intrinsics import LANES
from memec.memory.compiled.kernels import slots_in_use
from memec.memory.compiled.lists import LIST, empty_lists
from memec.memory.exact.cells import Cells
from memec.memory.exact.query import Filing, file_keys, filed, find_nearest
from memec.memory.search import FEWEST_CUT, LONGEST_KEY_CUT

# Fewer entries a cell, and half-empty blocks are read; more, and boxes grow too wide.
ENTRIES_PER_CELL = 40

# The rows of a batch are mostly the same few episodes every time: each goes on from where it was.
STREAMS = 16

NONE = np.empty(0, np.intp)


class Exact:
    """The k nearest entries of every action, exact to float rounding, ties in order of their slots."""

    recall_estimate: float = 1.0
    filing: Filing
    handle: Handle
    """How keys are filed and what was found last, for compiled code; made anew with them."""

    def __init__(self, keys: NDArray[np.float32], actions: int, neighbours: int, *, seed: int = 0) -> None:
        self._keys = keys
        self._actions = actions
        self.last_found = np.full((STREAMS, actions, neighbours), -1, np.int64)
        self._entries = self._entries_at_cut = 0
        self._arrange(Cells.whole())

    def put(self, slots: NDArray[np.int64]) -> None:
        """Take in the keys just written at `slots`: new entries, replaced ones, or moved keys."""
        self.note_put(file_keys(slots, self.filing), len(slots))

    def note_put(self, new: int, puts: int) -> bool:
        """Take in that compiled code filed keys in `filing`, some of them new; tell whether all were filed again."""
        self._entries += new
        self._puts += puts
        # Cells are cut for as many entries as there are, and boxes only ever grow: replaced keys wear them out.
        outgrown = self._entries >= max(FEWEST_CUT, 2 * self._entries_at_cut)
        worn = outgrown or self._puts >= 2 * max(FEWEST_CUT, self._entries)
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

    def rebuild(self) -> None:
        """Take in that all keys changed in place: cut the cells anew and file every entry again."""
        self._file_again(np.flatnonzero(self.filing.lists.places[:, LIST] >= 0))

    def arrays(self, lagging: NDArray[np.intp] = NONE) -> dict[str, NDArray[Any]]:
        """Return nothing: answers are a function of the keys alone."""
        return {}

    def restore(self, arrays: Mapping[str, NDArray[Any]], sizes: NDArray[np.int64]) -> None:
        """File the entries of the keys that are already in place."""
        self.last_found[:] = -1
        self._file_again(slots_in_use(sizes, len(self._keys)))

    def _file_again(self, present: NDArray[np.int64]) -> None:
        self._arrange(self._fitting_cells(present))
        self._entries = self._entries_at_cut = file_keys(present, self.filing)

    def _fitting_cells(self, present: NDArray[np.int64]) -> Cells:
        """Cut the space by a sample of the entries, or not at all where that does not pay."""
        if len(present) < FEWEST_CUT or self._keys.shape[1] > LONGEST_KEY_CUT:
            return Cells.whole()
        levels = round(np.log2(len(present) / (self._actions * ENTRIES_PER_CELL)))
        levels = min(max(levels, 4), 10)
        every = max(1, len(present) // (32 * 2**levels))
        return Cells.cut(self._keys[present[::every]], levels)

    def _arrange(self, cells: Cells) -> None:
        """Start with empty lists, and boxes around nothing, for these cells."""
        self._puts = 0
        dimensions = -(-self._keys.shape[1] // 4) * 4  # read four at a time; the rest stays 0
        lists = empty_lists(len(self._keys), self._actions * len(cells), LANES)
        block_keys = np.zeros((len(lists.members), dimensions, LANES), np.float32)
        groups = -(-len(cells) // LANES)
        boxes = np.empty((self._actions, groups, self._keys.shape[1], 2, LANES), np.float32)
        boxes[..., 0, :] = np.inf
        boxes[..., 1, :] = -np.inf
        self.filing = Filing(self._keys, cells.dimensions, cells.values, boxes, block_keys, lists)
        self.handle = filed(self.filing, self.last_found)
