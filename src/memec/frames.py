"""What a picture is, and how its axes are read: everyone who looks at observations goes by this."""

from typing import Any

import numpy as np
import numpy.typing as npt

Shape = tuple[int, ...]
SMALLEST = 1_024
"""A picture has at least so many numbers; fewer (a small board, say) are better compared as a plain vector."""
DEEPEST_STACK = 8
COLOURS = (1, 3, 4)
"""How many channels a picture has whose last axis they are."""


def are_pixels(shape: Shape, dtype: npt.DTypeLike) -> bool:
    """Whether observations are pictures: bytes along two axes or more."""
    return np.dtype(dtype) == np.uint8 and len(shape) >= 2


def kept_as_frames(shape: Shape, dtype: npt.DTypeLike) -> bool:
    """Whether an environment's observations stay pictures for the agents."""
    return are_pixels(shape, dtype) and len(shape) <= 4 and int(np.prod(shape)) >= SMALLEST


def stack_depth(shape: Shape) -> int:
    """How many frames an observation stacks, oldest first.

    A three-dimensional observation whose first axis is at most 8 and shorter than both others is a stack, as in Atari's
    (4, 84, 84). Anything else is one frame.
    """
    if len(shape) == 3 and shape[0] <= DEEPEST_STACK and shape[0] < min(shape[1:]):
        return shape[0]
    return 1


def channels_height_width(shape: Shape) -> tuple[int, int, int]:
    """Read [h, w], [c, h, w], [h, w, c] or [n, h, w, c]; few channels tell them."""
    if len(shape) == 2:
        return 1, *shape
    if len(shape) == 3 and shape[0] < shape[2]:
        return shape[0], shape[1], shape[2]
    return int(np.prod(shape[:-3])) * shape[-1], shape[-3], shape[-2]


def newest_in_grey(observation: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the newest frame [h, w] of an observation."""
    frame = observation[-1] if observation.ndim == 4 else observation
    if frame.ndim == 3:
        frame = frame.mean(axis=-1) if frame.shape[-1] in COLOURS else frame[-1]
    return frame
