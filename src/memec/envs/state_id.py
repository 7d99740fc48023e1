"""The identity of a state: 128 bits that are the same exactly when the state's bytes are."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

FLOAT32 = np.dtype(np.float32)


def state_id(data: bytes | NDArray[np.generic]) -> NDArray[np.uint64]:
    """Hash a state's bytes to two 64-bit words.

    An array counts by its elements in order, wherever they lie in memory; its shape does not count.
    The zeros +0.0 and -0.0 are different bytes and so different states.
    """
    if not isinstance(data, bytes):
        if data.dtype == FLOAT32:
            return vector_id(np.ravel(data))
        data = data.tobytes()
    # A bytearray makes the result writable: compiled code treats read-only arrays as another type.
    return np.frombuffer(bytearray(blake2b(data, digest_size=16).digest()), dtype=np.uint64)


def vector_id(vector: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Hash a vector whose numbers lie side by side, as `state_id` does, without looking what it is."""
    words = np.empty(2, np.uint64)
    _mix(vector, words)
    return words


def state_ids(states: Sequence[NDArray[Any]] | NDArray[Any]) -> NDArray[np.uint64]:
    """Hash several states of one shape, a row of two words for each: the same words as one by one, in one call."""
    if states[0].dtype == FLOAT32:
        vectors = np.concatenate(states).reshape(len(states), -1)
        words = np.empty((len(states), 2), np.uint64)
        _mix_each(vectors, words)
        return words
    return np.stack([state_id(state) for state in states])


@njit(cache=True, nogil=True)
def _mix_each(vectors: NDArray[np.float32], words: NDArray[np.uint64]) -> None:
    for row in range(len(vectors)):
        _mix(vectors[row], words[row])


@njit(cache=True, nogil=True)
def _mix(vector: NDArray[np.float32], words: NDArray[np.uint64]) -> None:
    """Hash a short vector in half of a cryptographic digest's time, which is otherwise seen in every step.

    Each word takes in every number by a multiplication that can be undone and a shift that brings the upper bits down,
    so that two vectors of a length that differ in one number always differ in both words.
    """
    first, second = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
    for bits in vector.view(np.uint32):
        first = (first ^ np.uint64(bits)) * np.uint64(0xFF51AFD7ED558CCD)
        first ^= first >> np.uint64(32)
        second = (second ^ np.uint64(bits)) * np.uint64(0xC4CEB9FE1A85EC53)
        second ^= second >> np.uint64(29)
    for i, word in enumerate((first ^ (second << np.uint64(1)), second)):
        mixed = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        words[i] = mixed ^ (mixed >> np.uint64(31))
