"""An encoder of one's own: what a network that was trained elsewhere and is frozen looks like to memec."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass
class RandomFeatures:
    """The cosines of random waves through vector observations of so many numbers (Rahimi and Recht, 2007).

    Its weights follow from a seed; those of a trained encoder would be read from a file here.
    """

    size: int
    key_size: int = 32
    """How many numbers a key has: all that an encoder must say of itself."""
    width: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        self._waves = rng.normal(0.0, 1.0 / self.width, (self.size, self.key_size)).astype(np.float32)
        self._phases = rng.uniform(0.0, 2.0 * np.pi, self.key_size).astype(np.float32)

    def __call__(self, observation: NDArray[Any]) -> NDArray[np.float32]:
        """Return the key of one observation; the same observation always has the same."""
        angles = np.asarray(observation, np.float32).reshape(-1) @ self._waves + self._phases
        return np.cos(angles)
