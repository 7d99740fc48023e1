"""The dictionary's gradients, against finite differences and against a dense version left to torch."""

from typing import Any

import numpy as np
import pytest
import torch

from memec.agents.dictionary import Dictionary
from memec.agents.optimiser import OptimiserSettings
from memec.memory import Memory, MemorySettings, MoveTowards

RMSPROP = OptimiserSettings(learning_rate=0.1, decay=0.9, epsilon=0.01)
SIZE, ENTRIES, ROWS = 3, 12, 8


def ids(*states: int) -> np.ndarray:
    return np.array([[state, state + 1] for state in states], np.uint64)


class Case:
    """Two tables and a batch of keys with repeated neighbours; the first key is an entry's very key."""

    def __init__(self, kernel: Any = "inverse-distance", neighbours: int = 5, entries: int = ENTRIES) -> None:
        random = np.random.default_rng(1)
        settings = MemorySettings(capacity=ENTRIES, neighbours=neighbours, kernel=kernel, delta=0.05)
        self.memory = Memory(settings, 2, SIZE, rule=MoveTowards(0.1), replace_known_keys=True)
        self.dictionary = Dictionary(self.memory, RMSPROP)
        for action in (0, 1):
            self.dictionary.write(
                np.full(entries, action),
                random.normal(size=(entries, SIZE)).astype(np.float32),
                random.normal(size=entries),
                ids(*range(entries)),
                np.arange(entries),
            )
        self.keys = random.normal(size=(ROWS, SIZE)).astype(np.float32)
        self.keys[0] = self.memory.keys[ENTRIES + 2]
        self.keys[1] = self.keys[2]
        self.actions = np.array([1, 0, 0, 1, 0, 1, 1, 0])
        self.targets = random.normal(size=ROWS)

    def loss(self, keys: Any, table_keys: Any, table_values: Any, neighbours: Any) -> Any:
        """The mean squared error in dense torch, in double precision."""
        delta, inverse = self.memory.settings.delta, self.memory.settings.kernel == "inverse-distance"
        values = []
        for key, slots in zip(keys, neighbours, strict=True):
            slots = torch.tensor(slots[slots >= 0])
            squared = ((key - table_keys[slots]) ** 2).sum(dim=1)
            kernel = 1 / (squared + delta) if inverse else torch.ones(len(slots), dtype=torch.float64)
            values.append((kernel / kernel.sum() * table_values[slots]).sum())
        return ((torch.stack(values) - torch.tensor(self.targets)) ** 2).mean()

    def tensors(self) -> list[torch.Tensor]:
        arrays = (self.keys, self.memory.keys, self.memory.returns)
        return [torch.tensor(array, dtype=torch.float64, requires_grad=True) for array in arrays]

    def neighbours(self) -> np.ndarray:
        return self.memory.peek(self.keys).slots[np.arange(ROWS), self.actions]


@pytest.mark.parametrize("kernel", ["inverse-distance", "mean"])
@pytest.mark.parametrize(("neighbours", "entries"), [(5, ENTRIES), (11, ENTRIES), (5, 3), (1, ENTRIES)])
def test_gradients_are_those_of_dense_autograd(kernel: str, neighbours: int, entries: int) -> None:
    case = Case(kernel, neighbours, entries)
    found = case.neighbours()
    keys, table_keys, table_values = case.tensors()
    loss = case.loss(keys, table_keys, table_values, found)
    loss.backward()
    gradients = case.dictionary.gradients(case.keys, case.actions, case.targets)
    assert gradients.loss == pytest.approx(loss.item())
    assert sorted(gradients.slots) == sorted(set(found[found >= 0].tolist()))
    assert len(gradients.slots) < (found >= 0).sum() or neighbours == 1  # some neighbours are shared
    expected = np.concatenate(
        [_dense(table_keys)[gradients.slots], _dense(table_values)[gradients.slots][:, None]], axis=1
    )
    np.testing.assert_allclose(gradients.keys, _dense(keys), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(gradients.entries, expected, rtol=1e-4, atol=1e-6)


def _dense(tensor: torch.Tensor) -> np.ndarray:
    return np.zeros(tensor.shape) if tensor.grad is None else tensor.grad.numpy()


def test_gradients_are_finite_differences() -> None:
    """Through the memory itself: what is looked up, with everything in it moved a little."""
    case = Case()
    gradients = case.dictionary.gradients(case.keys, case.actions, case.targets)
    found = case.neighbours()

    def loss_with(array: Any, place: tuple[int, ...], by: float) -> float:
        tensors = case.tensors()
        with torch.no_grad():
            tensors[array][place] += by
        return float(case.loss(*tensors, found).detach())

    def slope(array: int, place: tuple[int, ...]) -> float:
        return (loss_with(array, place, 1e-6) - loss_with(array, place, -1e-6)) / 2e-6

    for row, column in np.ndindex(case.keys.shape):
        assert gradients.keys[row, column] == pytest.approx(slope(0, (row, column)), rel=1e-3, abs=1e-6)
    for slot, entry in zip(gradients.slots, gradients.entries, strict=True):
        for column in range(SIZE):
            assert entry[column] == pytest.approx(slope(1, (slot, column)), rel=1e-3, abs=1e-6)
        assert entry[SIZE] == pytest.approx(slope(2, (slot,)), rel=1e-3, abs=1e-6)


def test_an_exact_match_pulls_no_key_but_moves_its_value() -> None:
    case = Case(neighbours=1)
    gradients = case.dictionary.gradients(case.keys[:1], case.actions[:1], case.targets[:1])
    assert gradients.slots.tolist() == [ENTRIES + 2]
    np.testing.assert_array_equal(gradients.keys, 0.0)
    np.testing.assert_array_equal(gradients.entries[0, :SIZE], 0.0)
    value = case.memory.returns[ENTRIES + 2]
    assert gradients.entries[0, SIZE] == pytest.approx(2 * (value - case.targets[0]))


def test_computing_gradients_changes_nothing_and_can_be_repeated() -> None:
    case = Case()
    before = {name: array.copy() for name, array in case.dictionary.arrays().items()}
    first = case.dictionary.gradients(case.keys, case.actions, case.targets)
    again = case.dictionary.gradients(case.keys, case.actions, case.targets)
    for left, right in zip(first, again, strict=True):
        np.testing.assert_array_equal(left, right)
    for name, array in case.dictionary.arrays().items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_only_the_table_of_the_action_taken_is_searched() -> None:
    case = Case()
    gradients = case.dictionary.gradients(case.keys, np.zeros(ROWS, np.int64), case.targets)
    assert (gradients.slots < ENTRIES).all()


def test_keys_and_values_move_by_exactly_the_optimisers_step_and_are_found_where_they_went() -> None:
    case = Case()
    memory = case.memory
    for _ in range(3):
        keys, values = memory.keys.copy(), memory.returns.copy()
        squares = case.dictionary._optimiser._squares.astype(np.float64)
        gradients = case.dictionary.gradients(case.keys, case.actions, case.targets)
        case.dictionary.step(gradients)
        slots, slopes = gradients.slots, gradients.entries.astype(np.float64)
        root = np.sqrt(0.9 * squares[slots] + 0.1 * slopes**2 + 0.01)
        keys[slots] += (-0.1 * slopes / root)[:, :SIZE].astype(np.float32)
        values[slots] += (-0.1 * slopes / root)[:, SIZE].astype(np.float32)
        np.testing.assert_allclose(memory.keys, keys, rtol=1e-6)
        np.testing.assert_allclose(memory.returns, values, rtol=1e-6)
        memory.move(slots, memory.keys[slots], memory.returns[slots], tolerance=0.0)  # file what lags behind
        found = memory.peek(case.keys)
        squared = ((case.keys[:, None] - memory.keys[None]) ** 2).sum(axis=2).reshape(ROWS, 2, ENTRIES)
        np.testing.assert_allclose(found.squared_distances, np.sort(squared, axis=2)[..., :5], rtol=1e-4, atol=1e-6)


def test_a_slot_taken_over_starts_with_a_fresh_optimiser_and_an_updated_state_keeps_its_own() -> None:
    case = Case()
    case.dictionary.step(case.dictionary.gradients(case.keys, case.actions, case.targets))
    squares = case.dictionary._optimiser._squares
    touched = np.flatnonzero(squares[:ENTRIES].any(axis=1))
    known, other = touched[:2]
    kept = squares[known].copy()
    case.dictionary.write(
        np.array([0]), np.ones((1, SIZE), np.float32), np.array([1.0]), ids(int(known)), np.array([9])
    )
    np.testing.assert_array_equal(squares[known], kept)
    np.testing.assert_array_equal(case.memory.keys[known], 1.0)  # a known state's key is its new embedding
    strangers = range(100, 100 + ENTRIES)
    case.dictionary.write(
        np.zeros(ENTRIES, np.int64), np.ones((ENTRIES, SIZE), np.float32), np.ones(ENTRIES), ids(*strangers),
        np.zeros(ENTRIES, np.int64),
    )  # fmt: skip
    np.testing.assert_array_equal(squares[other], 0.0)


def test_steps_lessen_the_loss() -> None:
    case = Case()
    losses = []
    for _ in range(200):
        gradients = case.dictionary.gradients(case.keys, case.actions, case.targets)
        losses.append(gradients.loss)
        case.dictionary.step(gradients)
    assert losses[-1] < 0.05 * losses[0]
