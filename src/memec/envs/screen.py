"""The emulator's screens made small, at the cost of what changed since the last ones.

Few rows of a screen change between two steps (5 to 20% in the five games of the paper), but grey, maximum and resize
from nothing cost a quarter of an emulator's step.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

if TYPE_CHECKING:
    import ale_py

Overlaps = tuple[NDArray[np.uint64], tuple[NDArray[np.float32], ...]]

UNKNOWN = np.int16(-1)
# No freedom to reorder sums: every pixel has the bits of OpenCV's area interpolation, which others use.
COMPILE: dict[str, Any] = {"error_model": "numpy", "boundscheck": False, "nogil": True, "cache": True}


class SmallScreen:
    """The pixelwise maximum of two screens of an emulator, in grey and reduced; it depends on nothing but the two."""

    def __init__(self, emulator: "ale_py.ALEInterface", size: int) -> None:
        rows, columns = emulator.getScreenDims()
        self._emulator = emulator
        self._colours = np.empty((rows, columns), np.uint8)
        self._seen = np.empty((2, rows, columns), np.uint8)  # the colours of the two screens, and their greys
        self._greys = np.empty((2, rows, columns), np.uint8)
        self._grey_of = np.full(256, UNKNOWN)
        self._changed = np.empty(rows, np.bool_)
        self._overlaps = _overlaps(columns, size), _overlaps(rows, size)
        self._narrow = np.empty((rows, size), np.float32)
        self._small = np.empty((size, size), np.uint8)
        for which in (0, 1):
            emulator.getScreen(self._colours)
            self._learn(which)

    def take(self, which: int) -> None:
        """Take what the emulator shows for the first (0) or the second (1) of the two screens."""
        self._emulator.getScreen(self._colours)
        if not _translate(self._colours, self._grey_of, self._seen[which], self._greys[which], self._changed):
            self._learn(which)

    def shrink(self, small: NDArray[np.uint8]) -> None:
        """Write the maximum of the two screens, reduced."""
        _shrink(self._greys, self._changed, *self._overlaps, self._narrow, self._small)
        small[:] = self._small

    def _learn(self, which: int) -> None:
        """Let the emulator say what its colours are in grey, as one was not seen before."""
        self._emulator.getScreenGrayscale(self._greys[which])
        self._grey_of[self._colours] = self._greys[which]
        self._seen[which] = self._colours
        self._changed[:] = True


def _overlaps(length: int, size: int) -> Overlaps:
    """Return, for each of `size` equal parts of a line of pixels, the first pixel under it and what share it and each
    of the next ones have in it."""
    width = length / size
    count = int(np.ceil(width)) + 1
    firsts = [min(int(part * width), length - count) for part in range(size)]
    shares = np.zeros((count, size), np.float32)
    for part, first in enumerate(firsts):
        begin, end = part * width, part * width + width
        for place, pixel in enumerate(range(first, first + count)):
            covered = min(end, pixel + 1) - max(begin, pixel)
            if covered > 1e-3:  # else a matter of rounding
                shares[place, part] = covered / width
    return np.array(firsts, np.uint64), tuple(shares)


@njit(**COMPILE)
def _translate(
    colours: NDArray[np.uint8],
    grey_of: NDArray[np.int16],
    seen: NDArray[np.uint8],
    greys: NDArray[np.uint8],
    changed: NDArray[np.bool_],
) -> bool:
    """Turn rows that are not as they were seen last into grey; tell whether all their colours are known."""
    known = True
    for row in range(len(colours)):
        differs = False
        for column in range(colours.shape[1]):
            differs |= colours[row, column] != seen[row, column]
        if differs:
            changed[row] = True
            for column in range(colours.shape[1]):
                grey = grey_of[colours[row, column]]
                known &= grey != UNKNOWN
                greys[row, column] = np.uint8(grey)
            seen[row] = colours[row]
    return known


@njit(**COMPILE)
def _shrink(
    greys: NDArray[np.uint8],
    changed: NDArray[np.bool_],
    across: Overlaps,
    down: Overlaps,
    narrow: NDArray[np.float32],
    small: NDArray[np.uint8],
) -> None:
    """Bring the small picture up to date: first every changed row is made narrow, then all that lies over one is."""
    columns, column_shares = across
    rows, row_shares = down
    size = len(small)
    brightest = np.empty(greys.shape[2], np.float32)
    for row in range(len(changed)):
        if changed[row]:
            for column in range(len(brightest)):
                brightest[column] = max(greys[0, row, column], greys[1, row, column])
            for part in range(size):
                total, pixel = np.float32(0), columns[part]
                for shares in column_shares:  # a tuple: the compiler knows how many
                    total += brightest[pixel] * shares[part]
                    pixel += np.uint64(1)
                narrow[row, part] = total
    totals = np.empty(size, np.float32)
    for part in range(size):
        begin = rows[part]
        if changed[begin : begin + np.uint64(len(row_shares))].any():
            totals[:] = 0
            for place, shares in enumerate(row_shares):
                row = begin + np.uint64(place)
                for column in range(size):
                    totals[column] += narrow[row, column] * shares[part]
            for column in range(size):
                small[part, column] = np.uint8(np.int32(np.rint(totals[column])))
    changed[:] = False
