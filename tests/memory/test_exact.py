import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from memec.memory.compiled.intrinsics import LANES, lanes_at_most
from memec.memory.exact import Exact
from memec.memory.exact.cells import Cells, cell_of
from memec.memory.search import FEWEST_CUT

from .oracle import ask, nearest

ACTIONS, NEIGHBOURS = 3, 5


def agree(keys, present, queries, answer, actions=ACTIONS, neighbours=NEIGHBOURS) -> None:
    """Distances agree to rounding, belong to the slots named, and ascend by (distance, slot)."""
    found, slots = answer
    best, _ = nearest(keys, present, queries, actions, neighbours)
    np.testing.assert_allclose(found, best, rtol=1e-5, atol=1e-30)
    there = slots >= 0
    assert (there == np.isfinite(best)).all()
    assert present[slots[there]].all()
    named = ((keys[slots].astype(np.float64) - queries[:, None, None]) ** 2).sum(-1)
    np.testing.assert_allclose(found[there], named[there], rtol=1e-5, atol=1e-30)
    with np.errstate(invalid="ignore"):
        later = np.diff(found, axis=-1)
    ordered = (later > 0) | ((later == 0) & (np.diff(slots, axis=-1) > 0)) | ~there[..., 1:]
    assert ordered.all()


def table(rng, capacity, dimensions, kind):
    keys = rng.standard_normal((ACTIONS * capacity, dimensions))
    if kind == "grid":  # many exact ties
        keys = np.rint(2 * keys)
    elif kind == "identical":
        keys[:] = keys[0]
    elif kind == "flat":  # zero variance in all dimensions but one
        keys[:, 1:] = 0.3
    elif kind == "outliers":
        keys[rng.random(len(keys)) < 0.02] *= 1e6
    elif kind == "offset":
        keys += 1e4
    elif kind == "huge":  # squares overflow in single precision
        keys *= 1e19
    return keys.astype(np.float32)


KINDS = ("normal", "grid", "identical", "flat", "outliers", "offset")


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    capacity=st.sampled_from([1, 2, 7, 60, 300]),
    dimensions=st.sampled_from([1, 2, 4, 5, 11, 40]),
    kind=st.sampled_from(KINDS),
    fill=st.floats(0, 1),
    batch=st.integers(1, 4),
)
def test_agrees_with_brute_force_on_any_table(seed, capacity, dimensions, kind, fill, batch):
    rng = np.random.default_rng(seed)
    target = table(rng, capacity, dimensions, kind)
    keys = np.zeros_like(target)
    present = np.zeros(len(keys), np.bool_)
    exact = Exact(keys, ACTIONS, NEIGHBOURS)
    for _ in range(3):  # the second and third time entries are replaced, and some slots repeat
        slots = rng.integers(0, len(keys), int(fill * len(keys)))
        keys[slots] = target[rng.integers(0, len(keys), len(slots))]
        present[slots] = True
        exact.put(slots)
        queries = target[rng.integers(0, len(keys), batch)] + np.float32(rng.choice([0, 0.5]))
        agree(keys, present, queries, ask(exact, queries, ACTIONS, NEIGHBOURS))


@pytest.mark.parametrize("kind", [*KINDS, "walk"])
@pytest.mark.parametrize("dimensions", [2, 6])
def test_agrees_with_brute_force_when_cut_into_cells(kind, dimensions):
    rng = np.random.default_rng(0)
    capacity = FEWEST_CUT
    target = table(rng, capacity, dimensions, kind)
    if kind == "walk":
        target = (0.1 * target.cumsum(0)).astype(np.float32)
    keys = target.copy()
    present = np.ones(len(keys), np.bool_)
    exact = Exact(keys, ACTIONS, NEIGHBOURS)
    for part in np.array_split(rng.permutation(len(keys)), 10):
        exact.put(part)
    for _ in range(3):
        queries = target[rng.integers(0, len(keys), 20)] + np.float32(0.01)
        agree(keys, present, queries, ask(exact, queries, ACTIONS, NEIGHBOURS))
        moved = rng.integers(0, len(keys), 1000)
        keys[moved] += np.float32(0.5)
        exact.put(moved)


def test_ties_come_in_order_of_their_slots():
    keys = np.zeros((4 * FEWEST_CUT, 2), np.float32)
    exact = Exact(keys, 2, 3)
    exact.put(np.random.default_rng(0).permutation(len(keys)))
    _, slots = ask(exact, np.ones((1, 2)), 2, 3)
    assert slots.tolist() == [[[0, 1, 2], [len(keys) // 2 + i for i in range(3)]]]


def test_distances_too_large_for_float32_still_count_as_entries():
    keys = table(np.random.default_rng(0), 10, 4, "huge")
    exact = Exact(keys, ACTIONS, NEIGHBOURS)
    exact.put(np.arange(len(keys)))
    found, slots = ask(exact, -1e19 * np.ones((1, 4)), ACTIONS, NEIGHBOURS)
    assert (slots >= 0).all()
    assert np.isfinite(found).all()


def test_an_action_with_few_entries_beside_full_ones_is_found():
    rng = np.random.default_rng(0)
    capacity = 2 * FEWEST_CUT
    keys = table(rng, capacity, 4, "normal")
    present = np.ones(len(keys), np.bool_)
    present[capacity + 3 : 2 * capacity] = False
    exact = Exact(keys, ACTIONS, NEIGHBOURS)
    exact.put(np.flatnonzero(present))
    queries = rng.standard_normal((10, 4)).astype(np.float32)
    agree(keys, present, queries, ask(exact, queries, ACTIONS, NEIGHBOURS))


def test_unwanted_actions_are_left_untouched():
    rng = np.random.default_rng(0)
    keys = table(rng, 50, 3, "normal")
    exact = Exact(keys, ACTIONS, NEIGHBOURS)
    exact.put(np.arange(len(keys)))
    queries = rng.standard_normal((8, 3)).astype(np.float32)
    wanted = rng.random((8, ACTIONS)) < 0.5
    found, slots = ask(exact, queries, ACTIONS, NEIGHBOURS, wanted=wanted)
    all_found, all_slots = ask(exact, queries, ACTIONS, NEIGHBOURS)
    assert (found[~wanted] == -7).all()
    assert (slots[~wanted] == -7).all()
    np.testing.assert_array_equal(found[wanted], all_found[wanted])
    np.testing.assert_array_equal(slots[wanted], all_slots[wanted])


def test_answers_do_not_depend_on_how_the_table_was_filled_or_asked_before():
    rng = np.random.default_rng(0)
    keys = table(rng, FEWEST_CUT, 4, "grid")
    queries = table(rng, 10, 4, "grid")
    at_once, bit_by_bit = (Exact(keys, ACTIONS, NEIGHBOURS) for _ in range(2))
    at_once.put(np.arange(len(keys)))
    for part in np.array_split(rng.permutation(len(keys)), 40):
        bit_by_bit.put(part)
        ask(bit_by_bit, queries[:1], ACTIONS, NEIGHBOURS)
    restored = Exact(keys, ACTIONS, NEIGHBOURS)
    restored.restore(bit_by_bit.arrays(), np.full(ACTIONS, FEWEST_CUT))
    expected = ask(at_once, queries, ACTIONS, NEIGHBOURS)
    for backend in (bit_by_bit, restored):
        for remember in (False, True):
            answer = ask(backend, queries, ACTIONS, NEIGHBOURS, remember=remember)
            np.testing.assert_array_equal(answer[0], expected[0])
            np.testing.assert_array_equal(answer[1], expected[1])


def test_rebuild_follows_keys_that_all_changed_in_place():
    rng = np.random.default_rng(0)
    keys = table(rng, FEWEST_CUT, 4, "normal")
    present = rng.random(len(keys)) < 0.7
    exact = Exact(keys, ACTIONS, NEIGHBOURS)
    exact.put(np.flatnonzero(present))
    queries = rng.standard_normal((10, 4)).astype(np.float32)
    ask(exact, queries, ACTIONS, NEIGHBOURS)
    keys *= np.array([10, 0.1, 1, 3], np.float32)
    exact.rebuild()
    agree(keys, present, queries, ask(exact, queries, ACTIONS, NEIGHBOURS))


def test_nothing_put_means_nothing_found():
    found, slots = ask(Exact(np.zeros((30, 4), np.float32), ACTIONS, NEIGHBOURS), np.zeros((2, 4)), ACTIONS, NEIGHBOURS)
    assert np.isinf(found).all()
    assert (slots == -1).all()


@njit
def bits_at_most(values, bound):
    return lanes_at_most(values, bound)


@pytest.mark.parametrize("bound", [0.0, 0.5, np.inf])
def test_one_instruction_tells_which_lanes_are_within_a_bound(bound):
    rng = np.random.default_rng(0)
    for _ in range(50):
        values = rng.choice([0.0, 0.25, 0.5, 0.75, np.inf], LANES).astype(np.float32)
        bits = int(bits_at_most(values, np.float32(bound))) % 2**64
        assert [bits >> lane & 1 for lane in range(LANES)] == (values <= bound).tolist()


@pytest.mark.parametrize("dimensions", [1, 4])
def test_cells_hold_equally_many_keys_and_are_cut_where_they_spread_most(dimensions):
    rng = np.random.default_rng(0)
    keys = rng.standard_normal((1_600, dimensions)).astype(np.float32)
    keys[:, 0] *= 100
    cells = Cells.cut(keys, 4)
    owners = [cell_of(key, cells.dimensions, cells.values) for key in keys]
    assert np.bincount(owners, minlength=16).tolist() == [100] * 16
    assert (cells.dimensions == 0).all()
    assert cells.values[0] == np.sort(keys[:, 0])[799]


def test_a_table_is_cut_into_more_cells_as_it_fills():
    rng = np.random.default_rng(0)
    keys = rng.standard_normal((ACTIONS * 4 * FEWEST_CUT, 4)).astype(np.float32)
    backend = Exact(keys, ACTIONS, NEIGHBOURS)
    entries_per_cell = []
    for slots in np.array_split(rng.permutation(len(keys)), 100):
        backend.put(slots)
        entries = np.count_nonzero(backend.filing.lists.places[:, 0] >= 0)
        if entries >= FEWEST_CUT:
            entries_per_cell.append(entries / len(backend.filing.lists.heads))
    assert max(entries_per_cell) < 150
