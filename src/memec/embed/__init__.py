"""Embeddings: from an observation to the key it is remembered by."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt
from numpy.random import Generator, SeedSequence
from pydantic import PositiveInt

from memec.embed.embedding import Array, Embedding
from memec.embed.identity import Identity
from memec.embed.projection import GaussianProjection
from memec.settings import Settings

__all__ = ["EmbedSettings", "Embedding", "GaussianProjection", "Identity", "make_embedding"]

LARGEST_IDENTITY = 256


class EmbedSettings(Settings):
    """How observations become keys."""

    kind: Literal["auto", "identity", "projection"] = "auto"
    """`auto` projects images (uint8, two or more axes) and anything of more than 256 numbers, and keeps the rest."""
    key_size: PositiveInt = 128
    """The size of projected keys."""


def make_embedding(
    settings: EmbedSettings,
    shape: tuple[int, ...],
    dtype: npt.DTypeLike,
    seed: int | SeedSequence | Generator | None = None,
    arrays: Mapping[str, Array] | None = None,
) -> Embedding:
    """The embedding these settings mean for observations of this shape and type; `arrays` restore an earlier one."""
    kind = settings.kind
    size = int(np.prod(shape))
    if kind == "auto":
        image = np.dtype(dtype) == np.uint8 and len(shape) >= 2
        kind = "projection" if image or size > LARGEST_IDENTITY else "identity"
    if kind == "identity":
        return Identity(size)
    if arrays is not None:
        return GaussianProjection.from_arrays(shape, dtype, arrays)
    return GaussianProjection(shape, dtype, settings.key_size, seed)
