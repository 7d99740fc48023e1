"""The differentiable neural dictionary (Pritzel et al., 2017): the memory's values, and their gradients."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.agents.optimiser import EntryOptimiser, OptimiserSettings
from memec.memory import Memory, Written
from memec.train.files import Arrays

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

# Where moved keys are looked for may lag behind by this share of the usual distance to a neighbour. Filing a key anew
# costs as much as many lookups, and at the paper's learning rate an entry moves by less than this in its whole life.
LAG = 0.02


class Gradients(NamedTuple):
    """The loss of a batch, and what to change to lessen it."""

    loss: float
    """The mean squared error."""
    keys: Floats
    """[n, key size] The gradient at the keys that were looked up."""
    slots: Ints
    """[m] The entries that took part, each once."""
    entries: Floats
    """[m, key size + 1] The gradient at the key and then at the value of each of these entries."""
    distance: float
    """The mean distance to a neighbour."""
    effective_neighbours: float
    """How many neighbours with equal weights would be as concentrated, on average: 1 / (sum of squared weights)."""


class Dictionary:
    """A memory whose entries learn: gradients reach the keys and values behind a value."""

    def __init__(self, memory: Memory, optimiser: OptimiserSettings) -> None:
        self.memory = memory
        slots = len(memory.returns)
        self._optimiser = EntryOptimiser(optimiser, slots, memory.key_size + 1)
        self._place = np.full(slots, -1, np.int32)

    def write(
        self, actions: Ints, keys: Floats, returns: NDArray[np.float64], state_ids: NDArray[np.uint64], steps: Ints
    ) -> Written:
        """Remember returns; a slot that goes to another state starts its optimiser afresh."""
        written = self.memory.write(actions, keys, returns, state_ids, steps)
        self._optimiser.claim(written.slots, state_ids)
        return written

    def gradients(self, keys: Floats, actions: Ints, targets: NDArray[np.float64]) -> Gradients:
        """Compute the squared error of the values of these keys and actions, and its gradients. Changes no entry."""
        memory = self.memory
        found = memory.replay(keys, actions)
        rows = np.arange(len(keys))
        neighbours = found.slots[rows, actions]
        key_gradients = np.zeros_like(keys)
        slots = np.empty(neighbours.size, np.int64)
        entries = np.zeros((neighbours.size, memory.key_size + 1), np.float32)
        loss, count, distance, effective = _gradients(
            keys, neighbours, targets, memory.keys, memory.returns, memory.settings.kernel == "inverse-distance",
            memory.settings.delta, memory.settings.initial_value, self._place, key_gradients, slots, entries,
        )  # fmt: skip
        return Gradients(loss, key_gradients, slots[:count], entries[:count], distance, effective)

    def step(self, gradients: Gradients) -> None:
        """Move every entry that took part by one step of its own optimiser."""
        memory, slots = self.memory, gradients.slots
        moves = self._optimiser.steps(slots, gradients.entries)
        keys, returns = memory.keys[slots] + moves[:, :-1], memory.returns[slots] + moves[:, -1]
        memory.move(slots, keys, returns, LAG * gradients.distance)

    def arrays(self) -> Arrays:
        """Return the memory and the state of its entries' optimisers."""
        entries = self._optimiser.arrays(self.memory.used())
        return self.memory.arrays() | {f"optimiser.{name}": array for name, array in entries.items()}

    def restore(self, arrays: Arrays) -> None:
        """Go on from what `arrays` returned."""
        prefix = "optimiser."
        self.memory.restore({name: array for name, array in arrays.items() if not name.startswith(prefix)})
        own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        self._optimiser.restore(own, self.memory.used())


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz", "arcp"})
def _gradients(
    keys: Floats,
    neighbours: Ints,
    targets: NDArray[np.float64],
    table_keys: Floats,
    table_values: NDArray[np.float64],
    inverse_distance: bool,
    delta: float,
    initial_value: float,
    place: NDArray[np.int32],
    key_gradients: Floats,
    slots: Ints,
    entry_gradients: Floats,
) -> tuple[float, int, float, float]:
    """Differentiate mean (Q - target)^2, where Q = sum w_i v_i and w_i ~ 1 / (|h - h_i|^2 + delta) (the paper's Eq. 5).

    With weights w, kernels c and d = h - h_i: dQ/dv_i = w_i, dQ/dh_i = 2 w_i c_i (v_i - Q) d, dQ/dh = - sum of these.
    An entry that is a neighbour of several keys gets the sum of its gradients: `place` (all -1, and left so) tells
    where its row is. Returns the loss, how many entries took part, the mean distance and the mean effective neighbours.
    """
    rows, size = keys.shape
    kernels = np.empty(neighbours.shape[1])
    loss = 0.0
    count = 0
    distances, seen = 0.0, 0
    effective = 0.0
    for row in range(rows):
        total, value = 0.0, 0.0
        there = 0
        for i in range(neighbours.shape[1]):
            slot = neighbours[row, i]
            if slot < 0:
                break
            there += 1
            key, neighbour = keys[row], table_keys[slot]
            squared = np.float32(0.0)
            for dimension in range(size):
                difference = key[dimension] - neighbour[dimension]
                squared += difference * difference
            kernels[i] = 1.0 / (squared + delta) if inverse_distance else 1.0
            total += kernels[i]
            value += kernels[i] * table_values[slot]
            distances += np.sqrt(squared)
        value = value / total if there > 0 else initial_value
        error = value - targets[row]
        loss += error * error / rows
        slope = 2.0 * error / rows
        seen += there
        concentration = 0.0
        for i in range(there):
            slot = neighbours[row, i]
            weight = kernels[i] / total
            concentration += weight * weight
            if place[slot] < 0:
                place[slot] = count
                slots[count] = slot
                count += 1
            entry = entry_gradients[place[slot]]
            entry[size] += slope * weight
            if inverse_distance:
                pull = np.float32(slope * 2.0 * weight * kernels[i] * (table_values[slot] - value))
                key, neighbour, gradient = keys[row], table_keys[slot], key_gradients[row]
                for dimension in range(size):
                    force = pull * (key[dimension] - neighbour[dimension])
                    entry[dimension] += force
                    gradient[dimension] -= force
        effective += 1.0 / concentration if there > 0 else 0.0
    for i in range(count):
        place[slots[i]] = -1
    return loss, count, distances / max(seen, 1), effective / rows
