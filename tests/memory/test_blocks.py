import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memec.errors import MemecError
from memec.memory.blocks import CHAIN, Blocks, append, blocks_in_a_run, remove
from memec.memory.saved import _check_books

SLOTS, CHAINS, LANES = 60, 4, 4


def filed(run, moves):
    """File, or take out where it is filed, one slot after another; return the books and the chain of each slot."""
    blocks = Blocks.empty(SLOTS, CHAINS, LANES, run)
    books = blocks.books()
    owners = {}
    for slot, chain in moves:
        if slot in owners:
            remove(slot, *books)
            del owners[slot]
        else:
            append(slot, chain, *books)
            owners[slot] = chain
    return blocks, owners


@settings(max_examples=100, deadline=None)
@given(
    run=st.integers(1, 5),
    moves=st.lists(st.tuples(st.integers(0, SLOTS - 1), st.integers(0, CHAINS - 1)), max_size=400),
)
def test_books_are_in_order_whatever_comes_and_goes(run, moves):
    blocks, owners = filed(run, moves)
    _check_books(*blocks.books())
    assert {slot: blocks.places[slot, CHAIN] for slot in owners} == owners
    np.testing.assert_array_equal(blocks.present(), np.isin(np.arange(SLOTS), list(owners)))


def test_blocks_of_a_chain_lie_side_by_side_though_chains_grow_at_the_same_time():
    blocks, _ = filed(4, [(slot, slot % 2) for slot in range(32)])  # 16 entries each: four blocks
    for chain in range(2):
        of_chain = np.unique(blocks.places[np.arange(chain, 32, 2), 1] // LANES)
        np.testing.assert_array_equal(of_chain, of_chain[0] + np.arange(4))


def test_every_slot_finds_room_even_in_one_chain_after_all_others_began_a_run():
    for run in (1, 3, 4):
        first = [(slot, slot) for slot in range(CHAINS)]
        blocks, _ = filed(run, [*first, *((slot, 0) for slot in range(CHAINS, SLOTS))])
        assert blocks.present().all()
        assert blocks.free[0] >= 0


def test_chains_of_one_block_waste_no_memory_on_runs():
    assert blocks_in_a_run(900_000, 34_000, 64) == 1  # each action on its own, as with NEC
    assert blocks_in_a_run(900_000, 4_743, 64) == 4
    assert blocks_in_a_run(6_000_000, 6_144, 64) == 4


def test_a_run_in_pieces_is_refused():
    blocks, _ = filed(2, [(slot, slot // 8) for slot in range(32)])  # two blocks each: one run
    chains, members, nexts, places, free = (array.copy() for array in blocks.books())
    _check_books(chains, members, nexts, places, free)
    first, second = chains[0, 0], chains[1, 0]
    nexts[first], nexts[second] = nexts[second], nexts[first]
    slots = np.concatenate([members[nexts[block]] for block in (first, second)])
    places[slots, CHAIN] = np.repeat([0, 1], LANES)  # all else is in order: each entry is where it says
    with pytest.raises(MemecError, match="runs in pieces"):
        _check_books(chains, members, nexts, places, free)
