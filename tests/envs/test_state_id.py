"""A state id is the same exactly when the state's bytes are."""

from hashlib import blake2b

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from memec.envs.state_id import state_id

some_arrays = arrays(st.sampled_from([np.uint8, np.float32]), st.tuples(st.integers(0, 5), st.integers(1, 5)))


@given(some_arrays, some_arrays)
def test_ids_agree_exactly_when_the_bytes_do(one: np.ndarray, other: np.ndarray) -> None:
    assert np.array_equal(state_id(one), state_id(other)) == (one.tobytes() == other.tobytes())


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
