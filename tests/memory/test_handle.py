"""Handles tell compiled code where arrays are: they must never tell of memory that is no longer theirs."""

import copy
import gc
import pickle

import numpy as np
import pytest
from numba import njit

from memec.memory import Memory, MemorySettings
from memec.memory.compiled.handle import Handle, matrix
from memec.memory.exact import Exact
from memec.memory.exact.query import read_filed
from memec.memory.ivf.contents import read_contents
from memec.memory.ivf.index import Index
from memec.memory.looking_up import Kernel, read_answers, read_stored


@njit
def first_of(rows):
    return matrix(rows, 0, np.float64)[0, 0]


def test_a_handle_keeps_its_arrays_alive():
    handle = Handle(np.full((300, 300), 7.0))
    gc.collect()
    others = [np.zeros((300, 300)) for _ in range(50)]  # would take the place of the array if that were free
    assert first_of(handle.rows) == 7.0
    assert others


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda handle: pickle.loads(pickle.dumps(handle))])
def test_a_copy_tells_of_its_own_arrays(copied):
    array = np.full((3, 3), 7.0)
    handle = Handle(array)
    other = copied(handle)
    assert first_of(other.rows) == 7.0
    del handle
    array[:] = 8.0
    gc.collect()
    assert first_of(other.rows) == (8.0 if copied is copy.copy else 7.0)


def addresses(arrays):
    return [(array.ctypes.data, array.shape, array.dtype) for array in arrays]


@njit
def filed_in(rows):
    return read_filed(rows)


@njit
def index_in(rows):
    return read_contents(rows)


@njit
def stored_in(rows):
    return read_stored(rows)


@njit
def answers_in(rows):
    return read_answers(rows)


def test_compiled_code_reads_what_was_handed_over():
    """Each array in its place, with its own type and shape: nothing else checks that."""
    keys = np.random.default_rng(0).standard_normal((600, 40)).astype(np.float32)
    exact = Exact(keys, 2, 3)
    (*arrays, lists), last_found = filed_in(exact.handle.rows)
    own = [*exact.filing[:-1], *exact.filing.lists, exact.last_found]
    assert addresses([*arrays, *lists, last_found]) == addresses(own)

    sizes = np.array([300, 300])
    index = Index.fitted(keys, sizes, np.arange(600), np.random.default_rng(0), last=True, moving=False)
    read, own = index_in(index._handle.rows), index._contents
    assert addresses([*read[:2], *read[2], *read[3], *read[4]]) == addresses([*own[:2], *own[2], *own[3], *own[4]])

    memory = Memory(MemorySettings(capacity=30, delta=0.5, initial_value=2.0), 2, 3)
    table, kernel = stored_in(memory._stored.rows)
    assert addresses(table) == addresses(memory._table)
    assert kernel == Kernel(True, 0.5, 2.0)
    answers = memory._room_for(2).answers
    handle = Handle(*answers)
    assert addresses(answers_in(handle.rows)) == addresses(answers)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda memory: pickle.loads(pickle.dumps(memory))])
def test_a_copied_memory_answers_by_its_own_entries(copied):
    rng = np.random.default_rng(0)
    keys = rng.standard_normal((20, 2)).astype(np.float32)
    ids = rng.integers(0, 2**63, (20, 2)).astype(np.uint64)
    memory = Memory(MemorySettings(capacity=30, neighbours=3), 1, 2)
    memory.write(0, keys, keys[:, 0], ids)
    before = memory.recall(keys[0], fleeting=True).values.copy()
    other = copied(memory)
    memory.write(0, keys, 100.0 + keys[:, 0], ids)
    assert memory.recall(keys[0], fleeting=True).values[0] > 50
    np.testing.assert_array_equal(other.recall(keys[0], fleeting=True).values, before)


def test_keys_filed_anew_are_found_by_look_ups_that_were_made_before():
    rng = np.random.default_rng(0)
    keys = rng.standard_normal((3_000, 2)).astype(np.float32)
    ids = rng.integers(0, 2**63, (3_000, 2)).astype(np.uint64)
    memory = Memory(MemorySettings(capacity=3_000, neighbours=1), 1, 2)
    for part in np.array_split(np.arange(3_000), 10):  # cells are cut in between: all arrays of the search are replaced
        memory.write(0, keys[part], keys[part, 0], ids[part])
        for slot in part[::50]:
            assert memory.recall(keys[slot], fleeting=True).slots.item() == slot
