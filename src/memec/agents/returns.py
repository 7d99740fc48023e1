"""Discounted returns."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.signal import lfilter


def discounted_returns(rewards: ArrayLike, discount: float) -> NDArray[np.float64]:
    """Return R_t = r_t + discount * R_{t+1} for every step of an episode that ends after its last reward."""
    backwards = np.asarray(rewards, np.float64)[::-1]
    returns: NDArray[np.float64] = lfilter([1.0], [1.0, -discount], backwards)[::-1]
    return returns
