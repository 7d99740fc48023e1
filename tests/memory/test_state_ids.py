"""The map from state ids to entries: whatever the ids are, it is quick or refuses them."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memec.errors import MemecError
from memec.memory import Memory, MemorySettings, tables

MASK = 2**64 - 1


def arrays_of(state_ids: NDArray[np.uint64], actions: int = 1) -> tuple[dict[str, Any], MemorySettings]:
    """Return a small memory's arrays, with other state ids."""
    count = len(state_ids) // actions
    settings = MemorySettings(capacity=count, neighbours=1)
    memory = Memory(settings, actions, 1)
    honest = np.random.default_rng(0).integers(0, MASK, (count, 2), np.uint64)
    for action in range(actions):
        memory.write(action, np.zeros((count, 1), np.float32), np.zeros(count), honest)
    return memory.arrays() | {"state_ids": state_ids}, settings


def restored(arrays: dict[str, Any], settings: MemorySettings, actions: int = 1) -> Memory:
    memory = Memory(settings, actions, 1)
    memory.restore(arrays)
    return memory


def longest_search(memory: Memory) -> int:
    """Return the length of the longest row of places in use, which no search passes."""
    return int(np.diff(np.flatnonzero(memory._table.places == 0)).max())


@pytest.mark.parametrize("same", [0, 1])
def test_ids_that_share_a_word_are_told_apart(same: int) -> None:
    count = 20_000
    state_ids = np.random.default_rng(1).integers(0, MASK, (count, 2), np.uint64)
    state_ids[:, same] = 7
    memory = restored(*arrays_of(state_ids))
    assert all(
        tables.find(*state_ids[slot], 0, count, memory.state_ids, memory._table.places) == slot for slot in range(99)
    )
    assert longest_search(memory) < 200


def test_counted_ids_are_told_apart() -> None:
    """As somebody may number states by hand."""
    state_ids = np.stack([np.zeros(20_000, np.uint64), np.arange(20_000, dtype=np.uint64)], axis=1)
    assert longest_search(restored(*arrays_of(state_ids))) < 200


def test_ids_made_to_meet_are_refused() -> None:
    """Whoever knows how ids are mixed can make as many as he likes with the same home."""
    count = 50_000
    second = np.arange(count, dtype=np.uint64)
    with np.errstate(over="ignore"):
        first = second * np.uint64(0xD1B54A32D192ED03)
    arrays, settings = arrays_of(np.stack([first, second], axis=1))
    with pytest.raises(MemecError, match="no digests"):
        restored(arrays, settings)


def test_a_state_that_is_there_twice_is_refused_but_for_two_actions() -> None:
    state_ids = np.random.default_rng(2).integers(0, MASK, (40, 2), np.uint64)
    state_ids[20:] = state_ids[:20]
    arrays, settings = arrays_of(state_ids, actions=2)
    assert len(restored(arrays, settings, actions=2)) == 40
    arrays, settings = arrays_of(state_ids)
    with pytest.raises(MemecError, match="twice"):
        restored(arrays, settings)
