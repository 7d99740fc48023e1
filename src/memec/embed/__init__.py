"""Embeddings: from an observation to the key it is remembered by."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt
from numpy.random import Generator, SeedSequence
from pydantic import PositiveInt

from memec.embed.embedding import Array, Embedding
from memec.embed.identity import Identity, ScaledIdentity
from memec.embed.projection import GaussianProjection
from memec.settings import Settings

__all__ = [
    "EmbedSettings",
    "Embedding",
    "GaussianProjection",
    "Identity",
    "ScaledIdentity",
    "key_size_of",
    "make_embedding",
]

LARGEST_IDENTITY = 256


class EmbedSettings(Settings):
    """How observations become keys."""

    kind: Literal["auto", "identity", "projection"] = "auto"
    """`auto` projects images (uint8, two or more axes) and anything of more than 256 numbers, and keeps the rest."""
    key_size: PositiveInt = 128
    """The size of projected keys."""
    scaled: bool = False
    """Divide each number of a key that is not projected by its running standard deviation; stored keys follow."""


def make_embedding(
    settings: EmbedSettings,
    shape: tuple[int, ...],
    dtype: npt.DTypeLike,
    seed: int | SeedSequence | Generator | None = None,
    arrays: Mapping[str, Array] | None = None,
) -> Embedding:
    """The embedding these settings mean for observations of this shape and type; `arrays` restore an earlier one."""
    if _keeps(settings, shape, dtype):
        size = int(np.prod(shape))
        return ScaledIdentity(size, arrays) if settings.scaled else Identity(size)
    if arrays is not None:
        return GaussianProjection.from_arrays(shape, dtype, arrays)
    return GaussianProjection(shape, dtype, settings.key_size, seed)


def key_size_of(settings: EmbedSettings, shape: tuple[int, ...], dtype: npt.DTypeLike) -> int:
    """The size of the keys that `make_embedding` would give, without making anything."""
    return int(np.prod(shape)) if _keeps(settings, shape, dtype) else settings.key_size


def _keeps(settings: EmbedSettings, shape: tuple[int, ...], dtype: npt.DTypeLike) -> bool:
    """Whether the observation itself is the key."""
    if settings.kind != "auto":
        return settings.kind == "identity"
    image = np.dtype(dtype) == np.uint8 and len(shape) >= 2
    return not image and int(np.prod(shape)) <= LARGEST_IDENTITY
