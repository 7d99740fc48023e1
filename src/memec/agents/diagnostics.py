"""How an agent with a memory is doing, measured without a trace in it."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from memec.agents.exploring import Decisions
from memec.explore import Belief
from memec.memory import Memory, Recall

MOMENTS = 32
"""How many of the newest decisions to look at: they are looked up again here, so that acting need not keep count."""


def memory_diagnostics(
    memory: Memory,
    decisions: Decisions,
    believe: Callable[[NDArray[np.float32], Recall], Belief],
    keys: list[NDArray[np.float32]],
    state_ids: list[NDArray[np.uint64]] | None,
) -> dict[str, float]:
    """Return how full the memory is, and how the decisions with these keys were made."""
    found = {"memory_fill": memory.fill, "recall_estimate": memory.recall_estimate}
    if not keys:
        return found | decisions.diagnostics([])
    queries = np.stack(keys)
    recalls = memory.peek(queries, None if state_ids is None else np.stack(state_ids))
    if state_ids is not None:
        found["exact_hit_rate"] = float(recalls.exact.mean())
    found["value"] = float(recalls.values.max(axis=1).mean())
    beliefs = [believe(key, Recall(*each)) for key, *each in zip(queries, *recalls, strict=True)]
    return found | decisions.diagnostics(beliefs)
