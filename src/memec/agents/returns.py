"""Discounted returns."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

Truncation = Literal["average", "bootstrap", "discard", "discard-or-average", "terminal", "careful"]
"""What the return of an episode cut off by a time limit is taken for.

`average` takes it that the episode would have gone on as it was: the state at the cut is worth what the episode's
average reward brings for ever. A constant added to all rewards adds the same to all its returns, so that it changes no
choice between them. `bootstrap` adds what the state at the cut is worth by the agent's values. `discard` leaves out the
moments whose returns the cut made uncertain; `discard-or-average` does so where that leaves any, and else takes the
average. `terminal` believes the return, as the paper does.

`careful`, which older runs have, is one of these by the sign of the sum of the rewards: `discard` where steps cost
something, `bootstrap` where they paid, `terminal` where nothing came at all. A constant added to the rewards changes
it, and where steps cost something and episodes end by their limit only, it remembers next to nothing.
"""
TIME_CONSTANTS = 2
"""A return is uncertain if the cut came within so many time constants 1 / (1 - discount): 200 steps at .99.

Measured on Acrobot; what lies beyond them is worth an eighth of what it would be now.
"""


def after_a_cut(truncation: Truncation, rewards: Sequence[float], discount: float, uncertain: int) -> Truncation:
    """Return which of the four plain rules holds for an episode of these rewards that was cut off.

    `uncertain` is how many of its last moments the cut made uncertain.
    """
    if truncation == "discard-or-average":
        truncation = "discard" if uncertain < len(rewards) else "average"
    if truncation == "average" and discount == 1.0:
        return "discard"  # what goes on for ever is worth nothing finite
    if truncation != "careful":
        return truncation
    if not any(rewards):
        return "terminal"
    return "discard" if sum(rewards) < 0.0 else "bootstrap"


def certain_moments(
    truncation: Truncation,
    rewards: Sequence[float],
    discount: float,
    uncertain: int,
    value: Callable[[], float],
) -> tuple[int, float]:
    """Return of how many moments an episode's end tells the return, and what the state after the last one is worth.

    `value` is asked for what that is by the agent's values.
    """
    rule = after_a_cut(truncation, rewards, discount, uncertain)
    if rule == "discard":
        return max(len(rewards) - uncertain, 0), 0.0
    if rule == "bootstrap":
        return len(rewards), value()
    return len(rewards), going_on(rewards, discount) if rule == "average" else 0.0


def going_on(rewards: Sequence[float], discount: float) -> float:
    """Return what the average of these rewards is worth if it comes at every step for ever."""
    return sum(rewards) / len(rewards) / (1.0 - discount)


def uncertain_steps(discount: float, length: int) -> int:
    """Return how many of the last moments of an episode of this length are uncertain when it was cut off."""
    return round(min(TIME_CONSTANTS / (1.0 - discount), length)) if discount < 1.0 else length


def discounted_returns(rewards: ArrayLike, discount: float, value_at_end: float = 0.0) -> NDArray[np.float64]:
    """Return R_t = r_t + discount * R_{t+1} for every step of an episode, whose last state has this value."""
    returns = np.array(rewards, np.float64)
    returns[-1] += discount * value_at_end
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
    values = np.asarray(values, np.float64)
    returns = discounted_returns(rewards, discount, value_at_end)
    bootstrapped = returns.copy()
    bootstrapped[:-n] += discount**n * (values[n:] - returns[n:])
    return bootstrapped
