"""The memory against a plain oracle that stores entries in lists and searches them with numpy."""

import copy
import pickle
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memec.errors import MemecError, NotFiniteError
from memec.memory import KeepLarger, Memory, MemorySettings, MoveTowards

KEYS = np.random.default_rng(0).integers(0, 4, (40, 2)).astype(np.float32)  # few distinct values: duplicates and ties


def ids(*states: int) -> NDArray[np.uint64]:
    """Ids whose first words collide often, so that the map of known states is put to the test."""
    return np.array([[state % 3, state] for state in states], np.uint64)


@dataclass
class Entry:
    state: int
    key: NDArray[np.float32]
    value: float
    used: int


@dataclass
class Oracle:
    """The contract in its plainest form."""

    settings: MemorySettings
    actions: int
    learning_rate: float | None = None
    clock: int = 0
    tables: list[list[Entry]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tables = [[] for _ in range(self.actions)]

    def write(self, action: int, state: int, key: NDArray[np.float32], value: float) -> None:
        self.clock += 1
        table = self.tables[action]
        known = [entry for entry in table if entry.state == state]
        if known:
            entry = known[0]
            if self.learning_rate is None:
                entry.value = max(entry.value, value)
            else:
                entry.value += self.learning_rate * (value - entry.value)
            entry.used = self.clock
        elif len(table) < self.settings.capacity:
            table.append(Entry(state, key, value, self.clock))
        else:
            oldest = min(range(len(table)), key=lambda row: (table[row].used, row))
            table[oldest] = Entry(state, key, value, self.clock)

    def recall(self, key: NDArray[np.float32], state: int, mark: bool) -> list[float]:
        self.clock += mark
        values = []
        for table in self.tables:
            known = [row for row, entry in enumerate(table) if entry.state == state]
            distances = [float(((entry.key - key) ** 2).sum()) for entry in table]
            order = sorted(range(len(table)), key=lambda row: (distances[row], row))[: self.settings.neighbours]
            rows = known or order
            for row in rows:
                if mark:
                    table[row].used = self.clock
            if not rows:
                values.append(self.settings.initial_value)
                continue
            inverse = self.settings.kernel == "inverse-distance" and not known
            weights = [1 / (distances[row] + self.settings.delta) if inverse else 1.0 for row in rows]
            values.append(float(np.average([table[row].value for row in rows], weights=weights)))
        return values


operation = st.tuples(
    st.sampled_from(["write", "recall", "peek"]),
    st.integers(0, 1),
    st.integers(0, len(KEYS) - 1),
    st.floats(-10, 10, width=32),
)


@settings(max_examples=150, deadline=None)
@given(
    operations=st.lists(operation, max_size=80),
    capacity=st.integers(1, 12),
    neighbours=st.integers(1, 12),
    kernel=st.sampled_from(["inverse-distance", "mean"]),
    learning_rate=st.sampled_from([None, 0.1]),
    restore_at=st.integers(0, 80),
)
def test_memory_agrees_with_the_oracle_through_any_history(
    operations: list[tuple[str, int, int, float]],
    capacity: int,
    neighbours: int,
    kernel: Any,
    learning_rate: float | None,
    restore_at: int,
) -> None:
    options = MemorySettings(capacity=capacity, neighbours=min(neighbours, capacity), kernel=kernel, initial_value=0.5)
    rule = KeepLarger() if learning_rate is None else MoveTowards(learning_rate)
    memory, oracle = Memory(options, 2, 2, rule=rule), Oracle(options, 2, learning_rate)
    for number, (what, action, state, value) in enumerate(operations):
        if number == restore_at:
            saved = memory.arrays()
            memory = Memory(options, 2, 2, rule=rule)
            memory.restore(saved)
        if what == "write":
            memory.write(action, KEYS[[state]], [value], ids(state))
            oracle.write(action, state, KEYS[state], value)
        else:
            look_up = memory.recall if what == "recall" else memory.peek
            expected = oracle.recall(KEYS[state], state, mark=what == "recall")
            np.testing.assert_allclose(look_up(KEYS[state], ids(state)).values, expected, rtol=1e-5, atol=1e-6)
    stored = [{entry.state for entry in table} for table in oracle.tables]
    assert [
        set(memory.state_ids[a * capacity : a * capacity + memory.sizes[a], 1].tolist()) for a in range(2)
    ] == stored


@pytest.mark.parametrize("capacity", [3, 7, 64])
def test_a_batch_longer_than_the_capacity_is_as_if_written_one_by_one(capacity: int) -> None:
    random = np.random.default_rng(capacity)
    states, actions = random.integers(0, 40, 200), random.integers(0, 3, 200)
    returns = random.normal(size=200)
    options = MemorySettings(capacity=capacity, neighbours=3)
    whole, single = Memory(options, 3, 2), Memory(options, 3, 2)
    whole.write(actions, KEYS[states], returns, ids(*states), np.arange(200))
    for i in range(200):
        single.write(actions[i], KEYS[[states[i]]], returns[[i]], ids(states[i]), i)
    for name, array in whole.arrays().items():
        if not name.startswith("search."):
            np.testing.assert_array_equal(array, single.arrays()[name], err_msg=name)


def test_batched_recall_equals_single_recall() -> None:
    random = np.random.default_rng(1)
    memory = Memory(MemorySettings(capacity=50, neighbours=5), 3, 4)
    keys = random.normal(size=(120, 4)).astype(np.float32)
    memory.write(random.integers(0, 3, 120), keys, random.normal(size=120), ids(*range(120)))
    queries, states = keys[::7] + np.float32(0.01), ids(*range(1000, 1018))
    batch = memory.peek(queries, states)
    for i, query in enumerate(queries):
        for together, alone in zip(batch, memory.peek(query, states[i]), strict=True):
            np.testing.assert_array_equal(together[i], alone)


def test_empty_slots_never_speak() -> None:
    """The authors' code fills tables with keys at 1e6 and value 0, which the mean kernel drags into every value."""
    memory = Memory(MemorySettings(capacity=100, neighbours=11, kernel="mean"), 2, 2)
    memory.write(0, KEYS[:3], [5.0, 5.0, 5.0], ids(1, 2, 3))
    recall = memory.peek(np.zeros(2, np.float32), ids(99)[0])
    assert recall.values.tolist() == [5.0, 0.0]
    assert (recall.slots[0] >= 0).sum() == 3
    assert np.isinf(recall.squared_distances[0, 3:]).all()


def test_a_known_state_answers_with_its_own_return_even_among_equal_keys() -> None:
    memory = Memory(MemorySettings(capacity=10, neighbours=3), 1, 2)
    same = np.zeros((3, 2), np.float32)
    memory.write(0, same, [1.0, 2.0, 3.0], ids(1, 2, 3))
    known, stranger = memory.peek(same[0], ids(2)[0]), memory.peek(same[0], ids(9)[0])
    assert known.values[0] == 2.0 and known.exact[0]
    assert stranger.values[0] == pytest.approx(2.0) and not stranger.exact[0]


def test_peek_leaves_no_trace() -> None:
    random = np.random.default_rng(2)
    memory = Memory(MemorySettings(capacity=20, neighbours=5), 2, 2)
    memory.write(random.integers(0, 2, 60), KEYS[random.integers(0, 40, 60)], random.normal(size=60), ids(*range(60)))
    before = {name: array.copy() for name, array in memory.arrays().items()}
    memory.peek(KEYS, ids(*range(30, 70)))
    after = memory.arrays()
    assert before.keys() == after.keys()
    for name, array in before.items():
        np.testing.assert_array_equal(array, after[name], err_msg=name)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_and_the_memory_untouched(bad: float) -> None:
    memory = Memory(MemorySettings(capacity=5, neighbours=2), 2, 2)
    memory.write(0, KEYS[:2], [1.0, 2.0], ids(1, 2))
    before = memory.arrays()
    key = np.array([[0.0, bad]], np.float32)
    with pytest.raises(NotFiniteError):
        memory.write(0, np.concatenate([KEYS[3:4], key]), [1.0, 1.0], ids(3, 4))
    with pytest.raises(NotFiniteError):
        memory.write(0, KEYS[:1], [bad], ids(3))
    with pytest.raises(NotFiniteError):
        memory.recall(key[0], ids(1)[0])
    for name, array in before.items():
        np.testing.assert_array_equal(array, memory.arrays()[name], err_msg=name)


def test_wrong_shapes_and_actions_are_refused() -> None:
    memory = Memory(MemorySettings(capacity=5, neighbours=2), 2, 3)
    with pytest.raises(MemecError, match="3 numbers"):
        memory.write(0, KEYS[:1], [1.0], ids(1))
    with pytest.raises(MemecError, match="3 numbers"):
        memory.recall(KEYS[0])
    with pytest.raises(MemecError, match="0 to 1"):
        memory.write(2, np.zeros((1, 3), np.float32), [1.0], ids(1))


def test_more_neighbours_than_capacity_is_refused() -> None:
    with pytest.raises(ValueError, match="larger than memory"):
        MemorySettings(capacity=5, neighbours=6)


def test_a_memory_that_cannot_fit_is_refused_with_its_size() -> None:
    with pytest.raises(MemecError) as refused:
        Memory(MemorySettings(capacity=10**9), 6, 128)
    size = re.search(r"needs ([\d,.]+) GB", str(refused.value))
    assert size is not None
    measured = 4_770  # a thousandth of it held 4.77 GB: `python -m benchmarks.search.large 1000000`
    assert float(size[1].replace(",", "")) == pytest.approx(measured, rel=0.1)


def test_weights_explain_the_value() -> None:
    random = np.random.default_rng(3)
    memory = Memory(MemorySettings(capacity=50, neighbours=7), 2, 2)
    memory.write(random.integers(0, 2, 40), KEYS, random.normal(size=40), ids(*range(40)))
    recall = memory.peek(np.array([1.3, 2.1], np.float32), ids(77)[0])
    weights = memory.weights(recall)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    np.testing.assert_allclose((weights * memory.returns[recall.slots]).sum(axis=1), recall.values)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda memory: pickle.loads(pickle.dumps(memory))])
def test_a_copy_of_a_memory_is_a_memory_of_its_own(duplicate: Any) -> None:
    memory = Memory(MemorySettings(capacity=20, neighbours=2), 2, 2)
    memory.write([0, 0, 1], KEYS[:3], [1.0, 2.0, 3.0], ids(0, 1, 2))
    asked = KEYS[3], ids(7)[0]
    before = memory.recall(*asked, fleeting=True).values.copy()
    other = duplicate(memory)
    assert (other.recall(*asked, fleeting=True).values == before).all()
    other.write(np.repeat([0, 1], 10), KEYS[10:30], np.full(20, 50.0), ids(*range(10, 30)))
    assert other.recall(KEYS[10], ids(10)[0], fleeting=True).values[0] == 50.0
    assert (memory.recall(*asked, fleeting=True).values == before).all()
    assert not memory.peek(KEYS[10], ids(10)[0]).exact.any()


def test_an_empty_batch_is_looked_up_as_one() -> None:
    memory = Memory(MemorySettings(capacity=20, neighbours=2), 2, 2)
    memory.write(0, KEYS[:3], 1.0, ids(0, 1, 2))
    single = memory.recall(KEYS[0], ids(0)[0], fleeting=True).values.shape
    assert memory.recall(KEYS[:0], ids()[:0].reshape(0, 2), fleeting=True).values.shape == (0, *single)
    assert memory.recall(KEYS[0], ids(0)[0], fleeting=True).values.shape == single
