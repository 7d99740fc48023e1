"""How an agent with a memory is doing, measured without a trace in it."""

from collections.abc import Callable
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from memec.explore import AnyStrategy, Belief, EpsilonGreedy, Mellowmax
from memec.explore.mellowmax import mellowmax_policy
from memec.memory import Memory, Recall

MOMENTS = 32
"""How many of the newest decisions to look at: they are looked up again here, so that acting need not keep count."""


def memory_diagnostics(
    memory: Memory,
    explore: AnyStrategy,
    believe: Callable[[NDArray[np.float32], Recall], Belief],
    keys: list[NDArray[np.float32]],
    state_ids: list[NDArray[np.uint64]] | None,
    step: int,
) -> dict[str, float]:
    """Return how full the memory is, and how the decisions with these keys were made."""
    found = {"memory_fill": memory.fill, "recall_estimate": memory.recall_estimate}
    if not keys:
        return found
    queries = np.stack(keys)
    recalls = memory.peek(queries, None if state_ids is None else np.stack(state_ids))
    if state_ids is not None:
        found["exact_hit_rate"] = float(recalls.exact.mean())
    found["value"] = float(recalls.values.max(axis=1).mean())
    beliefs = [believe(key, Recall(*each)) for key, *each in zip(queries, *recalls, strict=True)]
    return found | strategy_diagnostics(explore, beliefs, step)


def strategy_diagnostics(explore: AnyStrategy, beliefs: list[Belief], step: int) -> dict[str, float]:
    """Return how random the strategy is: the entropy of its policy in nats, and its own measure of it."""
    found: dict[str, float] = {}
    if isinstance(explore, EpsilonGreedy):
        found["epsilon"] = explore.epsilon(step)
    if beliefs:
        policies = np.array([explore.probabilities(belief, step) for belief in beliefs])
        logarithms = np.log(policies, out=np.zeros_like(policies), where=policies > 0.0)
        found["policy_entropy"] = float(-(policies * logarithms).sum(axis=1).mean())
    if beliefs and isinstance(explore, Mellowmax):
        beta = float(np.mean([mellowmax_policy(belief.mean, explore.omega)[1] for belief in beliefs]))
        if isfinite(beta):  # it has no end where one action is surely the best
            found["beta"] = beta
    return found
