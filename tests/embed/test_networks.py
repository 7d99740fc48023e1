"""Networks seen through numpy, held against what torch itself says."""

from typing import Any

import numpy as np
import pytest
import torch

from memec.embed.networks import Network, NetworkByHand, dueling_network, key_network
from memec.errors import MemecError

RANDOM = np.random.default_rng(0)
FRAME_SHAPES = [(4, 84, 84), (36, 40), (36, 40, 3), (2, 36, 36, 3), (3, 50, 60)]


def key(shape: tuple[int, ...], seed: int = 0, **options: Any) -> Network:
    return key_network(shape, 16, hidden_size=options.pop("hidden_size", 32), seed=seed, **options)


def dueling(shape: tuple[int, ...], seed: int = 0, **options: Any) -> Network:
    return dueling_network(shape, 3, hidden_size=options.pop("hidden_size", 32), seed=seed, **options)


def observations(shape: tuple[int, ...], count: int = 5) -> np.ndarray:
    if len(shape) == 1:
        return RANDOM.normal(size=(count, *shape)).astype(np.float32)
    return RANDOM.integers(0, 256, (count, *shape), np.uint8)


@pytest.mark.parametrize("make", [key, dueling])
def test_a_network_by_hand_agrees_with_its_torch_module(make: Any) -> None:
    network = make((6,))
    assert isinstance(network, NetworkByHand)
    rows = observations((6,), 32)
    slopes = RANDOM.normal(size=(32, network.outputs)).astype(np.float32)
    outputs = network.forward(rows)
    network.backward(slopes)
    by_hand = network.gradients.clone()
    network.gradients.zero_()
    expected = network.module(torch.from_numpy(rows))
    (expected * torch.from_numpy(slopes)).sum().backward()
    np.testing.assert_allclose(outputs, expected.detach().numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(network(rows), outputs, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(by_hand.numpy(), network.gradients.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("make", [key, dueling])
@pytest.mark.parametrize("shape", [(300,), (36, 36)])
def test_gradients_are_those_of_torch(make: Any, shape: tuple[int, ...]) -> None:
    network = make(shape)
    assert type(network) is Network
    rows = observations(shape)
    slopes = RANDOM.normal(size=(5, network.outputs)).astype(np.float32)
    for _ in range(2):  # they are filled in, not added up
        network.forward(rows)
        network.backward(slopes)
    outputs = network.module(torch.from_numpy(rows))
    expected = torch.autograd.grad((outputs * torch.from_numpy(slopes)).sum(), list(network.module.parameters()))
    flat = torch.cat([gradient.reshape(-1) for gradient in expected])
    np.testing.assert_allclose(network.gradients.numpy(), flat.numpy(), rtol=1e-4, atol=1e-5)


def test_the_gradients_of_both_streams_are_scaled_on_their_way_into_the_convolutions() -> None:
    network = dueling((4, 84, 84))
    convolutions = sum(part.numel() for part in network.module[:-2].parameters())
    slopes = RANDOM.normal(size=(5, 3)).astype(np.float32)
    network.forward(seen := observations((4, 84, 84)))
    network.backward(slopes)
    features = network.module[:-2](torch.from_numpy(seen))
    apart = features.detach().requires_grad_()
    streams, dueling_layer = network.module[-2], network.module[-1]
    heads = torch.cat([streams.value(apart), streams.advantage(apart)], dim=1)
    (dueling_layer(heads) * torch.from_numpy(slopes)).sum().backward()
    assert apart.grad is not None
    expected = torch.autograd.grad(features, list(network.module[:-2].parameters()), apart.grad / np.sqrt(2))
    flat = torch.cat([gradient.reshape(-1) for gradient in expected])
    np.testing.assert_allclose(network.gradients[:convolutions].numpy(), flat.numpy(), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("make", [key, dueling])
@pytest.mark.parametrize("shape", [*FRAME_SHAPES, (32, 32), (4,), (500,)])
def test_any_observation_has_an_output(make: Any, shape: tuple[int, ...]) -> None:
    network = make(shape)
    outputs = network(observations(shape))
    assert outputs.shape == (5, network.outputs) and outputs.dtype == np.float32 and np.isfinite(outputs).all()


def test_channels_last_is_the_same_picture_as_channels_first() -> None:
    first, last = key((3, 40, 50)), key((40, 50, 3))
    picture = observations((3, 40, 50), 2)
    np.testing.assert_allclose(first(picture), last(np.ascontiguousarray(np.moveaxis(picture, 1, 3))), atol=1e-6)


def test_frames_go_through_the_convolutions_of_dqn() -> None:
    weights = [tuple(parameter.shape) for parameter in key((4, 84, 84)).module.parameters()][::2]
    assert weights == [(32, 4, 8, 8), (64, 32, 4, 4), (64, 64, 3, 3), (16, 3136)]


@pytest.mark.parametrize("shape", [(4,), (300,), (36, 36)])
def test_dueling_values_are_a_value_plus_advantages_without_their_mean(shape: tuple[int, ...]) -> None:
    network = dueling(shape)
    rows = observations(shape)
    with torch.no_grad():
        heads = network.module[:-1](torch.from_numpy(rows)).numpy()
    expected = heads[:, :1] + heads[:, 1:] - heads[:, 1:].mean(axis=1, keepdims=True)
    np.testing.assert_allclose(network(rows), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(4,), (36, 36)])
def test_the_seed_decides_and_torchs_own_generator_is_left_alone(shape: tuple[int, ...]) -> None:
    before = torch.random.get_rng_state()
    first, again, other = (key(shape, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(before, torch.random.get_rng_state())
    assert torch.equal(first.parameters, again.parameters) and not torch.equal(first.parameters, other.parameters)


@pytest.mark.parametrize("shape", [(4,), (36, 36)])
def test_copied_and_restored_networks_say_the_same(shape: tuple[int, ...]) -> None:
    original, copy, restored = (key(shape, seed=seed) for seed in (1, 2, 3))
    copy.copy_from(original)
    restored.restore(original.arrays())
    rows = observations(shape)
    expected = original(rows)
    np.testing.assert_array_equal(copy(rows), expected)
    np.testing.assert_array_equal(restored(rows), expected)
    original.parameters.mul_(2.0)
    assert not np.array_equal(original(rows), expected)
    np.testing.assert_array_equal(copy(rows), expected)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(MemecError, match="parameters"):
        key((4,)).restore(key((5,)).arrays())


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_cuda_without_a_gpu_is_refused_in_one_sentence() -> None:
    with pytest.raises(MemecError, match="no GPU") as error:
        key((4,), device="cuda")
    assert "\n" not in str(error.value)
