"""Neural networks, seen through numpy: an agent hands in observations and gradients and never meets a tensor.

The one definition of each network is a torch module. All its parameters lie in one flat tensor, and so do their
gradients, so that an optimiser's step, a copy or a check is a handful of operations however many layers there are.
This module imports torch: import it only where a network is made.
"""

from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memec.embed.perceptron import Perceptron
from memec.errors import MemecError, from_extra
from memec.frames import channels_height_width
from memec.saved_arrays import check_arrays

with from_extra("neural", "A network (nec, d3qn)"):
    import torch
    from torch import Tensor, nn

Array = NDArray[Any]
Floats = NDArray[np.float32]

SMALLEST_CONVOLVED = 36
"""What the three convolutions of DQN can still reduce; smaller frames are taken as vectors."""
LARGEST_BY_HAND = 64
"""Layers up to this width are computed without torch, whose overhead is then several times the arithmetic."""
STREAM_SIZE = 512
"""The hidden layer of each of the two streams over frames (Wang et al., 2016)."""
STREAMS_GRADIENT = 2**-0.5
"""What the gradients of both streams together are scaled by on their way into the convolutions (Wang et al., 2016)."""


class Dueling(nn.Module):
    """Q(s, a) = V(s) + A(s, a) - mean of A(s, .)  (the paper's Eq. 3), from an output that holds V and then A."""

    def forward(self, heads: Tensor) -> Tensor:
        """Join the value and the advantages."""
        value, advantages = heads[:, :1], heads[:, 1:]
        return value + advantages - advantages.mean(dim=1, keepdim=True)


class Streams(nn.Module):
    """The two streams over shared features: the value of the state, then the advantage of each action."""

    def __init__(self, features: int, actions: int) -> None:
        super().__init__()
        self.value = _layers(features, STREAM_SIZE, 1)
        self.advantage = _layers(features, STREAM_SIZE, actions)

    def forward(self, features: Tensor) -> Tensor:
        """Put both streams side by side."""
        if features.requires_grad:
            features.register_hook(lambda gradient: gradient * STREAMS_GRADIENT)  # type: ignore[no-untyped-call]
        return torch.cat([self.value(features), self.advantage(features)], dim=1)


class Frames(nn.Module):
    """Bytes of any layout as channels of numbers from 0 to 1."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.channels, self.height, self.width = channels_height_width(shape)
        self._channels_last = len(shape) > 2 and (self.height, self.width) == shape[-3:-1]
        self._frames = shape[0] if len(shape) == 4 else 1

    def forward(self, frames: Tensor) -> Tensor:
        """Turn [n, *shape] into [n, channels, height, width]."""
        if self._channels_last:
            frames = frames.reshape(len(frames), self._frames, self.height, self.width, -1).movedim(-1, 2)
        return frames.reshape(len(frames), self.channels, self.height, self.width).float() / 255.0


class Vector(nn.Module):
    """Any observation as one row of numbers, bytes scaled to 0 to 1."""

    def forward(self, observations: Tensor) -> Tensor:
        """Turn [n, *shape] into [n, numbers]."""
        rows = observations.flatten(1)
        return rows / 255.0 if rows.dtype == torch.uint8 else rows


def key_network(
    shape: tuple[int, ...], key_size: int, *, hidden_size: int, seed: int, device: str = "cpu", threads: int = 1
) -> "Network":
    """NEC's embedding: the convolutions of DQN and one linear layer for frames, two layers for vectors."""

    def build() -> nn.Module:
        if _is_picture(shape):
            frames, features = _convolutions(shape)
            return nn.Sequential(*frames, nn.Linear(features, key_size))
        return nn.Sequential(Vector(), *_layers(int(np.prod(shape)), hidden_size, key_size))

    return _network(build, shape, key_size, seed, device, threads)


def dueling_network(
    shape: tuple[int, ...], actions: int, *, hidden_size: int, seed: int, device: str = "cpu", threads: int = 1
) -> "Network":
    """D3QN's values: shared layers, then the value of the state and the advantage of each action."""

    def build() -> nn.Module:
        if _is_picture(shape):
            frames, features = _convolutions(shape)
            return nn.Sequential(*frames, Streams(features, actions), Dueling())
        layers = _layers(int(np.prod(shape)), hidden_size, hidden_size, 1 + actions)
        return nn.Sequential(Vector(), *layers, Dueling())

    return _network(build, shape, actions, seed, device, threads)


class Network:
    """A torch module from observations [n, *shape] to rows of numbers."""

    def __init__(self, module: nn.Module, shape: tuple[int, ...], outputs: int, device: torch.device) -> None:
        self.shape = shape
        self.outputs = outputs
        self.module = module.to(device)
        self._device = device
        self._output: Tensor | None = None
        self.parameters, self.gradients = _flattened(self.module)

    def __call__(self, observations: Array) -> Floats:
        """Compute the outputs [n, outputs]; leaves no trace."""
        with torch.inference_mode():
            outputs: Floats = self.module(self._tensor(observations)).cpu().numpy()
        return outputs

    def forward(self, observations: Array) -> Floats:
        """Compute the outputs and remember what `backward` needs."""
        self._output = self.module(self._tensor(observations))
        outputs: Floats = self._output.detach().cpu().numpy()
        return outputs

    def backward(self, output_gradients: Floats) -> None:
        """Fill `gradients` with those of the loss, given the loss's gradients at the outputs of the last `forward`."""
        if self._output is None:
            raise RuntimeError("backward follows a forward")
        self.gradients.zero_()
        self._output.backward(torch.from_numpy(output_gradients).to(self._device))  # type: ignore[no-untyped-call]
        self._output = None

    def gradient_norm(self) -> float:
        """Return the length of all gradients together; not finite if one of them is not."""
        return float(self.gradients.norm())

    def copy_from(self, other: "Network") -> None:
        """Take over the parameters of a network of the same form."""
        self.parameters.copy_(other.parameters)

    def arrays(self) -> dict[str, Array]:
        """Return the parameters, for a checkpoint."""
        return {"parameters": self.parameters.cpu().numpy().copy()}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Take over what `arrays` returned."""
        check_arrays(arrays, {"parameters": (np.float32, tuple(self.parameters.shape))})
        self.parameters.copy_(torch.from_numpy(np.array(arrays["parameters"])))

    def _tensor(self, observations: Array) -> Tensor:
        return torch.from_numpy(observations).to(self._device)


class NetworkByHand(Network):
    """The same network where it is a small perceptron on the CPU: numpy on the very same parameters."""

    def __init__(self, module: nn.Module, shape: tuple[int, ...], outputs: int, device: torch.device) -> None:
        super().__init__(module, shape, outputs, device)
        layers = [layer for layer in module.modules() if isinstance(layer, nn.Linear)]
        dueling = any(isinstance(part, Dueling) for part in module.modules())
        sizes = [layers[0].in_features, *(layer.out_features for layer in layers)]
        self._perceptron = Perceptron(sizes, self.parameters.numpy(), self.gradients.numpy(), dueling=dueling)

    def __call__(self, observations: Array) -> Floats:
        """Compute the outputs [n, outputs]; leaves no trace."""
        return self._perceptron(observations.reshape(len(observations), -1))

    def forward(self, observations: Array) -> Floats:
        """Compute the outputs and remember what `backward` needs."""
        return self._perceptron.forward(observations.reshape(len(observations), -1))

    def backward(self, output_gradients: Floats) -> None:
        """Fill `gradients` with those of the loss, given the loss's gradients at the outputs of the last `forward`."""
        self._perceptron.backward(output_gradients)

    def gradient_norm(self) -> float:
        """Return the length of all gradients together; not finite if one of them is not."""
        gradients: Floats = self.gradients.numpy()
        return float(np.sqrt(gradients @ gradients))


def usable_device(name: str) -> torch.device:
    """Return the device of this name, or say that it is not there."""
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        there = "there is no GPU that torch can use" if name.startswith("cuda") else "torch does not know it"
        raise MemecError(f"The device {name!r} cannot be used: {there}; leave --device out to use the CPU.") from None
    return device


def _network(build: Any, shape: tuple[int, ...], outputs: int, seed: int, device_name: str, threads: int) -> Network:
    device = usable_device(device_name)
    torch.set_num_threads(threads)
    with torch.random.fork_rng(devices=[]):  # torch's own generator is left as it was
        torch.manual_seed(seed)
        with device if device.type == "meta" else nullcontext():  # which tells a network's size without making it
            module: nn.Module = build()
    widths = [max(layer.in_features, layer.out_features) for layer in module.modules() if isinstance(layer, nn.Linear)]
    by_hand = device.type == "cpu" and not _is_picture(shape) and max(widths) <= LARGEST_BY_HAND and len(shape) == 1
    return (NetworkByHand if by_hand else Network)(module, shape, outputs, device)


def _layers(*sizes: int) -> nn.Sequential:
    """Linear layers of these sizes with rectifiers in between."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def _convolutions(shape: tuple[int, ...]) -> tuple[list[nn.Module], int]:
    """The convolutions of DQN (Mnih et al., 2015), and how many features they leave."""
    frames = Frames(shape)
    layers: list[nn.Module] = [frames]
    size = np.array([frames.height, frames.width])
    channels = frames.channels
    for filters, kernel, stride in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
        layers += [nn.Conv2d(channels, filters, kernel, stride), nn.ReLU()]
        channels, size = filters, (size - kernel) // stride + 1
    return [*layers, nn.Flatten()], int(channels * size.prod())


def _is_picture(shape: tuple[int, ...]) -> bool:
    return len(shape) > 1 and min(channels_height_width(shape)[1:]) >= SMALLEST_CONVOLVED


def _flattened(module: nn.Module) -> tuple[Tensor, Tensor]:
    """Move all parameters of a module, and their gradients, into one tensor each, which they then are views of."""
    parameters = torch.cat([parameter.detach().reshape(-1) for parameter in module.parameters()])
    gradients = torch.zeros_like(parameters)
    start = 0
    for parameter in module.parameters():
        end = start + parameter.numel()
        parameter.data = parameters[start:end].view_as(parameter)
        parameter.grad = gradients[start:end].view_as(parameter)
        start = end
    return parameters, gradients
