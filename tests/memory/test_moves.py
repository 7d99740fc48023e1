"""Keys that move: both searches go on finding them, and distances are never out of date."""

import numpy as np
import pytest

from memec.errors import NotFiniteError
from memec.memory import Memory, MemorySettings, MoveTowards

ACTIONS, SIZE = 2, 48


def filled(search: str, entries: int = 3_000) -> Memory:
    """Keys on a surface of three dimensions, as a network gives those of small observations."""
    random = np.random.default_rng(0)
    surface = random.normal(size=(3, SIZE))
    settings = MemorySettings(capacity=entries, neighbours=7, search=search)
    memory = Memory(settings, ACTIONS, SIZE, rule=MoveTowards(0.1), replace_known_keys=True)
    for action in range(ACTIONS):
        keys = np.maximum(random.normal(size=(entries, 3)) @ surface, 0).astype(np.float32)
        ids = random.integers(1, 2**60, (entries, 2)).astype(np.uint64)
        memory.write(action, keys, random.normal(size=entries), ids)
    return memory


def true_distances(memory: Memory, queries: np.ndarray) -> np.ndarray:
    squared = ((queries[:, None] - memory.keys[None]) ** 2).sum(axis=2)
    return np.sort(squared.reshape(len(queries), ACTIONS, -1), axis=2)[..., :7]


def move_all(memory: Memory, distance: float, tolerance: float, seed: int = 1) -> None:
    random = np.random.default_rng(seed)
    steps = random.normal(size=memory.keys.shape)
    steps *= distance / np.sqrt((steps**2).sum(axis=1, keepdims=True))
    memory.move(memory.used(), (memory.keys + steps).astype(np.float32), memory.returns + 1.0, tolerance)


@pytest.mark.parametrize("search", ["exact", "approximate"])
def test_what_is_found_is_measured_by_where_it_is_now(search: str) -> None:
    memory = filled(search)
    queries = memory.keys[::600] + np.float32(0.01)
    move_all(memory, 0.02, tolerance=0.05)
    found = memory.peek(queries)
    chosen = memory.keys[found.slots]
    np.testing.assert_allclose(
        found.squared_distances, ((chosen - queries[:, None, None]) ** 2).sum(axis=3), rtol=1e-4, atol=1e-6
    )
    assert (np.diff(found.squared_distances, axis=2) >= 0).all()
    # Nothing that is nearer by more than twice the tolerance is missed.
    slack = np.sqrt(found.squared_distances) - np.sqrt(true_distances(memory, queries))
    assert slack.max() <= 0.1


@pytest.mark.parametrize("search", ["exact", "approximate"])
def test_keys_that_strayed_are_filed_again(search: str) -> None:
    memory = filled(search)
    for seed in range(5):
        move_all(memory, 0.5, tolerance=0.1, seed=seed)
    queries = memory.keys[::600] + np.float32(0.01)
    found = memory.peek(queries)
    np.testing.assert_allclose(found.squared_distances[..., 0], true_distances(memory, queries)[..., 0], rtol=1e-3)
    if search == "exact":
        np.testing.assert_allclose(found.squared_distances, true_distances(memory, queries), rtol=1e-3)


@pytest.mark.parametrize("search", ["exact", "approximate"])
def test_a_restored_memory_lags_as_the_original_did(search: str) -> None:
    original = filled(search)
    move_all(original, 0.02, tolerance=0.05)
    copy = filled(search)
    copy.restore(original.arrays())
    queries = original.keys[::250] + np.float32(0.01)
    for seed in range(4):
        for left, right in zip(original.peek(queries), copy.peek(queries), strict=True):
            np.testing.assert_array_equal(left, right)
        for memory in (original, copy):
            move_all(memory, 0.03, tolerance=0.05, seed=seed)


def test_only_the_tables_asked_for_are_searched() -> None:
    memory = filled("exact")
    queries = memory.keys[:4]
    everything, some = memory.peek(queries), memory.replay(queries, np.array([0, 1, 1, 0]))
    for row, action in enumerate([0, 1, 1, 0]):
        np.testing.assert_array_equal(some.slots[row, action], everything.slots[row, action])
        assert (some.slots[row, 1 - action] == -1).all() and some.values[row, 1 - action] == 0.0


def test_a_move_to_nowhere_is_refused_and_the_memory_untouched() -> None:
    memory = filled("exact", 100)
    before = memory.keys.copy()
    with pytest.raises(NotFiniteError):
        memory.move(np.array([3]), np.full((1, SIZE), np.nan, np.float32), np.zeros(1))
    np.testing.assert_array_equal(memory.keys, before)


def test_writing_says_which_slot_each_state_went_to() -> None:
    memory = Memory(MemorySettings(capacity=2, neighbours=1), 1, 1, rule=MoveTowards(0.1), replace_known_keys=True)
    ids = np.array([[1, 1], [2, 2], [1, 1], [3, 3], [1, 1]], np.uint64)
    slots = memory.write(0, np.arange(5, dtype=np.float32)[:, None], np.zeros(5), ids).slots
    assert slots.tolist() == [0, 1, 0, 1, 0]
