"""The identity of a state: 128 bits that are the same exactly when the state's bytes are."""

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray


def state_id(data: bytes | NDArray[np.generic]) -> NDArray[np.uint64]:
    """Hash a state's bytes to two 64-bit words.

    An array counts by its elements in order, wherever they lie in memory; its shape and type do not count.
    The zeros +0.0 and -0.0 are different bytes and so different states.
    """
    content = data if isinstance(data, bytes) else data.tobytes()
    # A bytearray makes the result writable: compiled code treats read-only arrays as another type.
    return np.frombuffer(bytearray(blake2b(content, digest_size=16).digest()), dtype=np.uint64)
