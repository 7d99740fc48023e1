"""Which embedding an environment gets, and the identity."""

import numpy as np
import pytest

from memec.embed import EmbedSettings, GaussianProjection, Identity, make_embedding
from memec.errors import MemecError


@pytest.mark.parametrize(
    ("shape", "dtype", "kind", "key_size"),
    [
        ((4, 84, 84), np.uint8, GaussianProjection, 128),
        ((7, 7, 3), np.uint8, GaussianProjection, 128),
        ((128,), np.uint8, Identity, 128),
        ((4,), np.float32, Identity, 4),
        ((256,), np.float64, Identity, 256),
        ((257,), np.float32, GaussianProjection, 128),
        ((2, 3), np.float32, Identity, 6),
        ((), np.float32, Identity, 1),
    ],
)
def test_the_automatic_choice(shape: tuple[int, ...], dtype: type, kind: type, key_size: int) -> None:
    embedding = make_embedding(EmbedSettings(), shape, dtype, seed=0)
    assert type(embedding) is kind
    key = embedding(np.ones(shape, dtype=dtype))
    assert embedding.key_size == key_size
    assert key.shape == (key_size,)
    assert key.dtype == np.float32
    assert embedding.batch(np.ones((3, *shape), dtype=dtype)).shape == (3, key_size)


def test_the_choice_can_be_made_by_hand() -> None:
    assert make_embedding(EmbedSettings(kind="identity"), (9, 9), np.uint8).key_size == 81
    assert make_embedding(EmbedSettings(kind="projection", key_size=5), (9,), np.float32, seed=0).key_size == 5


def test_arrays_take_the_place_of_the_seed() -> None:
    for shape in ((4,), (9, 9)):
        first = make_embedding(EmbedSettings(), shape, np.uint8, seed=1)
        restored = make_embedding(EmbedSettings(), shape, np.uint8, seed=2, arrays=first.arrays())
        observation = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
        assert (first(observation) == restored(observation)).all()


def test_identity_takes_the_observation_for_the_key() -> None:
    observation = np.array([[1.5, -2.0, 3.0]], dtype=np.float64)
    identity = Identity(3)
    key = identity(observation)
    assert key.tolist() == [1.5, -2.0, 3.0] and key.dtype == np.float32
    assert identity.batch(observation).tolist() == [[1.5, -2.0, 3.0]]
    assert identity.arrays() == {}


def test_identity_refuses_another_size() -> None:
    with pytest.raises(MemecError, match="must have 3 numbers, but this one has 2"):
        Identity(3)(np.zeros(2))
    with pytest.raises(MemecError, match="observations of 3 numbers"):
        Identity(3).batch(np.zeros((4, 2)))
