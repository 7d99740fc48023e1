"""A state id is the same exactly when the state's bytes are."""

from hashlib import blake2b

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from memec.envs.state_id import state_id, state_ids

shapes = st.tuples(st.integers(0, 5), st.integers(1, 5))
some_arrays = arrays(st.sampled_from([np.uint8, np.float32]), shapes)


@settings(deadline=None)  # the first call compiles
@given(st.sampled_from([np.uint8, np.float32]).flatmap(lambda kind: st.tuples(*2 * [arrays(kind, shapes)])))
def test_ids_agree_exactly_when_the_bytes_do(pair: tuple[np.ndarray, np.ndarray]) -> None:
    one, other = pair
    assert np.array_equal(state_id(one), state_id(other)) == (one.tobytes() == other.tobytes())


def test_vectors_that_hardly_differ_get_ids_that_share_nothing() -> None:
    """Neighbouring floats, and rooms' small whole numbers: every bit of every id is a coin toss, none comes twice."""
    random = np.random.default_rng(0)
    near = np.repeat(np.arange(20_000, dtype=np.float32)[:, None] * np.float32(2**-24) + np.float32(0.5), 4, axis=1)
    grid = np.stack(np.meshgrid(np.arange(100), np.arange(100)), -1).reshape(-1, 2).astype(np.float32)
    for vectors in (near, grid, random.normal(size=(20_000, 6)).astype(np.float32)):
        ids = np.stack([state_id(vector) for vector in vectors])
        bits = np.unpackbits(ids.view(np.uint8), axis=1)
        assert len(np.unique(ids[:, 0])) == len(np.unique(ids[:, 1])) == len(ids)
        assert np.abs(bits.mean(axis=0) - 0.5).max() < 6 * 0.5 / np.sqrt(len(ids))
        assert np.abs(np.corrcoef(bits.T) - np.eye(128)).max() < 6 / np.sqrt(len(ids))


@settings(deadline=None)
@given(some_arrays)
def test_where_an_array_lies_in_memory_does_not_matter(array: np.ndarray) -> None:
    scattered = np.empty((array.shape[0] * 2, array.shape[1] * 3), dtype=array.dtype)[::2, ::3]
    scattered[:] = array
    assert np.array_equal(state_id(scattered), state_id(array))
    assert np.array_equal(state_id(np.asfortranarray(array)), state_id(array))


@given(st.binary(max_size=200))
def test_the_id_is_the_128_bit_blake2b_digest(content: bytes) -> None:
    identity = state_id(content)
    assert identity.shape == (2,) and identity.dtype == np.uint64 and identity.flags.writeable
    assert identity.tobytes() == blake2b(content, digest_size=16).digest()


@settings(deadline=None)
@given(st.sampled_from([np.uint8, np.float32]).flatmap(lambda kind: arrays(kind, st.tuples(*3 * [st.integers(1, 4)]))))
def test_several_states_at_once_have_the_ids_they_have_one_by_one(batch: np.ndarray) -> None:
    alone = np.stack([state_id(state) for state in batch])
    assert np.array_equal(state_ids(batch), alone)
    assert np.array_equal(state_ids(list(batch)), alone)
