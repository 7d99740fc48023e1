"""Moving what is stored, as gradients do."""

import numpy as np

from memec.memory.tables import Floats, Ints, Keys, compiled


@compiled
def move(
    slots: Ints,
    keys: Keys,
    returns: Floats,
    tolerance: float,
    table_keys: Keys,
    table_returns: Floats,
    drift: Keys,
    astray: Ints,
) -> int:
    """Put keys and returns in place; list the slots that may have moved farther than `tolerance` since last filed."""
    count = 0
    for i in range(len(slots)):
        slot = slots[i]
        key, stored = keys[i], table_keys[slot]
        squared = np.float32(0.0)
        for dimension in range(len(key)):
            difference = key[dimension] - stored[dimension]
            squared += difference * difference
            stored[dimension] = key[dimension]
        table_returns[slot] = returns[i]
        drift[slot] += np.sqrt(squared)
        if drift[slot] > tolerance:
            drift[slot] = 0.0
            astray[count] = slot
            count += 1
    return count
