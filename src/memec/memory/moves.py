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
        squared = 0.0
        for dimension in range(keys.shape[1]):
            difference = np.float64(keys[i, dimension]) - table_keys[slot, dimension]
            squared += difference * difference
            table_keys[slot, dimension] = keys[i, dimension]
        table_returns[slot] = returns[i]
        drift[slot] += np.sqrt(squared)
        if drift[slot] > tolerance:
            drift[slot] = 0.0
            astray[count] = slot
            count += 1
    return count
