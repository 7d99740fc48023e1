"""Discounted returns."""

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray


def discounted_returns(rewards: ArrayLike, discount: float) -> NDArray[np.float64]:
    """Return R_t = r_t + discount * R_{t+1} for every step of an episode that ends after its last reward."""
    returns = np.array(rewards, np.float64)
    _accumulate(returns, discount)
    return returns


@njit(cache=True)
def _accumulate(returns: NDArray[np.float64], discount: float) -> None:
    """Turn rewards into returns, last to first. (scipy's lfilter does it too, and takes a second to import.)"""
    for step in range(len(returns) - 2, -1, -1):
        returns[step] += discount * returns[step + 1]


def n_step_returns(
    rewards: ArrayLike, values: ArrayLike, discount: float, n: int, value_at_end: float = 0.0
) -> NDArray[np.float64]:
    """Return R_t = r_t + ... + discount^(n-1) r_{t+n-1} + discount^n V_{t+n}, with V the values seen at each step.

    Less than n steps before the end, all rewards to come count, and then what the state at the end is worth.
    """
    rewards, values = np.array(rewards, np.float64), np.asarray(values, np.float64)
    rewards[-1] += discount * value_at_end
    returns = discounted_returns(rewards, discount)
    bootstrapped = returns.copy()
    bootstrapped[:-n] += discount**n * (values[n:] - returns[n:])
    return bootstrapped
