"""Compiled kernels of the pixel projection: integer sums of matrix rows, weighted by pixels or by their changes.

Integer sums do not depend on their order, so a sum that was updated pixel by pixel has the same bits as one made anew.
Two's complement makes this hold even if a sum overflows on the way, as long as the final value fits.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Pixels = npt.NDArray[np.uint8]
Matrix = npt.NDArray[np.int16]
Sums = npt.NDArray[np.int32]
Keys = npt.NDArray[np.float32]

# Most of a frame stays the same, and a block that does is recognised in two vector instructions.
BLOCK = 64


@njit(cache=True, nogil=True, boundscheck=False)
def same(left: Pixels, right: Pixels) -> bool:
    """Whether two frames are equal: without an early exit the comparison runs over 32 pixels at a time."""
    difference = np.uint8(0)
    for i in range(left.shape[0]):
        difference |= left[i] ^ right[i]
    return bool(difference == 0)


@njit(cache=True, nogil=True, boundscheck=False)
def count_changes(left: Pixels, right: Pixels) -> int:
    """How many pixels differ between two frames."""
    changes = 0
    for i in range(left.shape[0]):
        changes += left[i] != right[i]
    return changes


@njit(cache=True, nogil=True, boundscheck=False)
def update(frame: Pixels, known: Pixels, matrix: Matrix, sums: Sums) -> None:
    """Turn the sums of the frame `known` into those of `frame`, and `known` into `frame`.

    Costs one matrix row per changed pixel. Two rows are added at a time, which halves the traffic of the sums.
    """
    width = matrix.shape[1]
    pixels = frame.shape[0]
    waiting = -1
    waiting_change = np.int32(0)
    for start in range(0, pixels, BLOCK):
        stop = min(start + BLOCK, pixels)
        if same(frame[start:stop], known[start:stop]):
            continue
        for i in range(start, stop):
            if frame[i] == known[i]:
                continue
            change = np.int32(np.int32(frame[i]) - np.int32(known[i]))
            known[i] = frame[i]
            if waiting < 0:
                waiting = i
                waiting_change = change
            else:
                for j in range(width):
                    sums[j] += waiting_change * np.int32(matrix[waiting, j]) + change * np.int32(matrix[i, j])
                waiting = -1
    if waiting >= 0:
        for j in range(width):
            sums[j] += waiting_change * np.int32(matrix[waiting, j])


@njit(cache=True, nogil=True, boundscheck=False)
def project(stacks: npt.NDArray[np.uint8], matrix: Matrix, scale: np.float32, keys: Keys) -> None:
    """Write the keys of whole stacks [count, frames, pixels], each from nothing, into `keys` [count, key_size].

    Costs one row of `key_size` entries per pixel that is not black.
    """
    count, frames, pixels = stacks.shape
    size = keys.shape[1]
    sums = np.empty(size, dtype=np.int32)
    for k in range(count):
        sums[:] = 0
        for s in range(frames):
            frame = stacks[k, s]
            for i in range(pixels):
                if frame[i] != 0:
                    value = np.int32(frame[i])
                    row = matrix[i, s * size : (s + 1) * size]
                    for j in range(size):
                        sums[j] += value * np.int32(row[j])
        for j in range(size):
            keys[k, j] = np.float32(sums[j]) * scale


@njit(cache=True, nogil=True, boundscheck=False)
def follow(stack: Pixels, frames: Pixels, sums: Sums, newest: int, matrix: Matrix, scale: np.float32, key: Keys) -> int:
    """Write the key of a stack [frames, pixels], from what is remembered of an earlier one; return the newest slot.

    `frames` and `sums` are a ring of the last frames and their projections for every position in the stack at once:
    a frame moves through all positions, so that each new stack costs the changes of its newest frame alone.
    """
    depth = stack.shape[0]
    oldest = (newest + 1) % depth
    if _agrees(stack, frames, oldest + 1):
        if depth > 1:
            _copy(frames[newest], frames[oldest])
            _copy(sums[newest], sums[oldest])
        newest = oldest
        update(stack[depth - 1], frames[newest], matrix, sums[newest])
    elif _agrees(stack, frames, oldest):
        # The same moment once more, or another newest frame after the same past.
        update(stack[depth - 1], frames[newest], matrix, sums[newest])
    else:
        _start_over(stack, frames, sums, matrix)
        newest = depth - 1
    size = key.shape[0]
    total = np.zeros(size, dtype=np.int32)
    for s in range(depth):
        part = sums[(newest + 1 + s) % depth, s * size : (s + 1) * size]
        for j in range(size):
            total[j] += part[j]
    for j in range(size):
        key[j] = np.float32(total[j]) * scale
    return newest


@njit(cache=True, nogil=True, boundscheck=False)
def _agrees(stack: Pixels, frames: Pixels, first: int) -> bool:
    """Whether all but the newest frame of a stack stand in the ring, in order from the slot `first` on."""
    depth = stack.shape[0]
    agreeing = 0
    while agreeing < depth - 1 and same(stack[agreeing], frames[(first + agreeing) % depth]):
        agreeing += 1
    return bool(agreeing == depth - 1)


@njit(cache=True, nogil=True, boundscheck=False)
def _start_over(stack: Pixels, frames: Pixels, sums: Sums, matrix: Matrix) -> None:
    """Fill the ring with a stack that does not continue the remembered one.

    Each frame starts from the black frame, a remembered one or one just made, whichever differs least: after a reset
    and where two streams alternate, most pixels are still the same.
    """
    depth, pixels = stack.shape
    known = np.zeros((2 * depth + 1, pixels), dtype=np.uint8)
    known_sums = np.zeros((2 * depth + 1, sums.shape[1]), dtype=np.int32)
    for s in range(depth):
        _copy(frames[s], known[s])
        _copy(sums[s], known_sums[s])
    for s in range(depth):
        target = depth + 1 + s
        nearest = 0
        fewest = count_changes(stack[s], known[0])
        for candidate in range(1, target):
            changes = count_changes(stack[s], known[candidate])
            if changes < fewest:
                fewest = changes
                nearest = candidate
        _copy(known[nearest], known[target])
        _copy(known_sums[nearest], known_sums[target])
        update(stack[s], known[target], matrix, known_sums[target])
    for s in range(depth):
        _copy(known[depth + 1 + s], frames[s])
        _copy(known_sums[depth + 1 + s], sums[s])


@njit(cache=True, nogil=True, boundscheck=False)
def _copy(source: npt.NDArray[Any], target: npt.NDArray[Any]) -> None:
    """Copy a row; numba takes seconds to compile what a plain assignment of arrays might mean."""
    for i in range(source.shape[0]):
        target[i] = source[i]
