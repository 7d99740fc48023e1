"""An average of a network's weights, which wavers less than the weights of any one update."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from memec.saved_arrays import count_in

if TYPE_CHECKING:
    from memec.embed.networks import Network


class WeightAverage:
    """Polynomial-decay averaging (Shamir and Zhang, 2013): the weights after update t count about t to a power.

    So the average forgets what was bad long ago at any time of a run, and no length of it needs to be known.
    """

    def __init__(self, network: "Network", power: float) -> None:
        self.network = network
        """What the average is written to: a network that no one else changes."""
        self._power = power
        self._updates = 0

    def take_in(self, newest: "Network") -> None:
        """Move towards the weights after an update; the first are taken over as they are."""
        self._updates += 1
        self.network.parameters.lerp_(newest.parameters, (self._power + 1.0) / (self._updates + self._power))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the average and of how many updates it is, for a checkpoint."""
        return self.network.arrays() | {"updates": np.array([self._updates])}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from what `arrays` returned."""
        self._updates = count_in(arrays, "updates")
        self.network.restore(arrays)


class NoAverage:
    """The newest weights are as good as any."""

    def __init__(self, network: "Network") -> None:
        self.network = network

    def take_in(self, newest: "Network") -> None:
        """Pass over them: `network` is the one that learns."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return nothing."""
        return {}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """There is nothing to go on from."""
