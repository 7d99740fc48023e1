"""Recalling a familiar state is recalling it, and costs less."""

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memec.memory import Known, Memory, MemorySettings, Recall, familiar

ACTIONS, CAPACITY = 2, 4


def new_memory() -> Memory:
    return Memory(MemorySettings(capacity=CAPACITY, neighbours=2), ACTIONS, 1)


def key_of(state: int) -> NDArray[np.float32]:
    return np.array([state], np.float32)


def ids(*states: int) -> NDArray[np.uint64]:
    return np.array([[state, state] for state in states], np.uint64)


def write(memory: Memory, *moments: tuple[int, int, float]) -> None:
    """Write what followed each (state, action, return)."""
    states, actions, returns = zip(*moments, strict=True)
    memory.write(actions, np.array(states, np.float32)[:, None], returns, ids(*states), memory._clock)


def recall(memory: Memory, state: int) -> Recall:
    """Recall a state as an agent does: by what is familiar, where it is."""
    name = key_of(state).tobytes()
    known = memory.recall_familiar(name)
    if known is not None:
        return known.recall
    found = memory.recall(key_of(state), ids(state)[0], fleeting=True)
    if found.all_exact:
        memory.make_familiar(name, Known(key_of(state), ids(state)[0], found, None))
    return found


def is_familiar(memory: Memory, state: int) -> bool:
    return copy.deepcopy(memory).recall_familiar(key_of(state).tobytes()) is not None


def same(left: Any, right: Any) -> None:
    for name, array in left.items():
        np.testing.assert_array_equal(array, right[name], err_msg=name)


@pytest.fixture
def memory() -> Memory:
    """A memory in which state 1 is familiar, of value 3 and 5, and state 2 is known for one action."""
    memory = new_memory()
    write(memory, (1, 0, 3.0), (1, 1, 5.0), (2, 0, 1.0))
    recall(memory, 1), recall(memory, 2)
    return memory


def test_a_state_is_familiar_when_every_action_is_known(memory: Memory) -> None:
    assert is_familiar(memory, 1) and not is_familiar(memory, 2)


def test_a_better_return_is_recalled_at_once(memory: Memory) -> None:
    write(memory, (1, 0, 4.0))
    assert not is_familiar(memory, 1)
    assert recall(memory, 1).values.tolist() == [4.0, 5.0]


def test_a_return_that_changes_nothing_leaves_the_state_familiar(memory: Memory) -> None:
    write(memory, (1, 0, 2.0), (2, 1, 1.0))
    assert is_familiar(memory, 1)


def test_a_state_is_forgotten_when_one_of_its_entries_makes_room(memory: Memory) -> None:
    write(memory, *[(state, 1, 0.0) for state in range(10, 10 + CAPACITY)])
    assert not is_familiar(memory, 1)
    assert recall(memory, 1).exact.tolist() == [True, False]


def test_moved_and_rescaled_and_restored_keys_are_looked_up_again(memory: Memory) -> None:
    moved, rescaled, restored = (copy.deepcopy(memory) for _ in range(3))
    moved.move(np.array([0]), np.array([[1.5]], np.float32), np.array([9.0]))
    rescaled.rescale(np.array([2.0], np.float32))
    restored.restore(memory.arrays())
    assert not any(is_familiar(changed, 1) for changed in (moved, rescaled, restored))
    assert recall(moved, 1).values.tolist() == [9.0, 5.0]


def test_what_is_familiar_is_not_overwritten_by_the_next_look_up(memory: Memory) -> None:
    memory.recall(key_of(2), ids(2)[0], fleeting=True)
    assert recall(memory, 1).values.tolist() == [3.0, 5.0]


def test_only_so_many_states_stay_familiar(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(familiar, "MOST_STATES", 1)
    write(memory, (2, 1, 1.0))
    recall(memory, 2)
    assert is_familiar(memory, 2) and not is_familiar(memory, 1)


states = st.integers(0, 6)
moments = st.tuples(states, st.integers(0, ACTIONS - 1), st.integers(0, 3).map(float))
happenings = st.lists(st.lists(moments, min_size=1, max_size=4) | states | st.just("saved"), max_size=60)


@settings(deadline=None)  # compiling takes longer
@given(happenings)
def test_nothing_tells_a_memory_of_familiar_states_from_one_that_always_looks_up(happened: list[Any]) -> None:
    """Not the values, nor what was used when, nor which entries make room for others."""
    memory, plain = new_memory(), new_memory()
    for event in happened:
        if event == "saved":
            same(memory.arrays(), plain.arrays())
        elif isinstance(event, int):
            same(recall(memory, event)._asdict(), plain.recall(key_of(event), ids(event)[0])._asdict())
        else:
            write(memory, *event)
            write(plain, *event)
    same(memory.arrays(), plain.arrays())
