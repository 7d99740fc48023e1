import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from memec.memory.compiled.lists import (
    LIST,
    PLACE,
    append,
    append_in_order,
    blocks_in_a_run,
    empty_lists,
    in_order,
    remove,
)

SLOTS, LISTS, LANES = 60, 4, 4
MOVES = st.tuples(st.integers(0, SLOTS - 1), st.integers(0, LISTS - 1))


def filed(run, moves):
    """Put, or take out where it is, one slot after another; return the lists and the one of each slot."""
    lists = empty_lists(SLOTS, LISTS, LANES, run)
    owners = {}
    for slot, to in moves:
        if slot in owners:
            remove(slot, lists)
            del owners[slot]
        else:
            append(slot, to, lists)
            owners[slot] = to
    return lists, owners


@settings(max_examples=100, deadline=None)
@given(run=st.integers(1, 5), moves=st.lists(MOVES, max_size=400))
def test_lists_hold_what_was_put_and_not_taken_out_whatever_comes_and_goes(run, moves):
    lists, owners = filed(run, moves)
    assert {slot: lists.places[slot, LIST] for slot in owners} == owners
    np.testing.assert_array_equal(lists.places[:, LIST] >= 0, np.isin(np.arange(SLOTS), list(owners)))
    for slot in owners:
        assert lists.members[lists.places[slot, PLACE] // LANES, lists.places[slot, PLACE] % LANES] == slot
    slots, lengths = in_order(lists)
    assert sorted(slots) == sorted(owners)
    assert [owners[slot] for slot in slots] == np.repeat(np.arange(LISTS), lengths).tolist()


@settings(max_examples=100, deadline=None)
@given(run=st.integers(1, 5), moves=st.lists(MOVES, max_size=400), later=st.lists(MOVES, max_size=60))
def test_lists_made_again_from_their_order_go_on_as_they_would_have(run, moves, later):
    lists, owners = filed(run, moves)
    again = empty_lists(SLOTS, LISTS, LANES, run)
    append_in_order(*in_order(lists), again)
    for slot, to in later:
        for each in (lists, again):
            if slot in owners:
                remove(slot, each)
            append(slot, to, each)
        owners[slot] = to
    for order, order_again in zip(in_order(lists), in_order(again), strict=True):
        np.testing.assert_array_equal(order, order_again)


def test_blocks_of_a_list_lie_side_by_side_though_lists_grow_at_the_same_time():
    lists, _ = filed(4, [(slot, slot % 2) for slot in range(32)])  # 16 entries each: four blocks
    for of in range(2):
        blocks = np.unique(lists.places[np.arange(of, 32, 2), PLACE] // LANES)
        np.testing.assert_array_equal(blocks, blocks[0] + np.arange(4))


def test_every_slot_finds_room_even_in_one_list_after_all_others_began_a_run():
    for run in (1, 3, 4):
        first = [(slot, slot) for slot in range(LISTS)]
        lists, _ = filed(run, [*first, *((slot, 0) for slot in range(LISTS, SLOTS))])
        assert (lists.places[:, LIST] >= 0).all()
        assert lists.free[0] >= 0


def test_lists_of_one_block_waste_no_memory_on_runs():
    assert blocks_in_a_run(900_000, 34_000, 64) == 1  # each action on its own, as with NEC
    assert blocks_in_a_run(900_000, 4_743, 64) == 4
    assert blocks_in_a_run(6_000_000, 6_144, 64) == 4
