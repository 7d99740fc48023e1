"""Embeddings: from an observation to the key it is remembered by."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from numpy.random import Generator, SeedSequence
from pydantic import Discriminator, PositiveInt, Tag

from memec.embed.embedding import Array, Embedding
from memec.embed.foreign import ForeignEmbedding, ForeignEmbedSettings, make_foreign
from memec.embed.identity import Identity, ScaledIdentity
from memec.embed.late import LateEmbedding, rows
from memec.embed.projection import GaussianProjection
from memec.errors import MemecError
from memec.frames import are_pixels
from memec.plugins import Plugins, name_of
from memec.settings import FOREIGN, Settings

__all__ = [
    "PLUGINS",
    "AnyEmbedSettings",
    "EmbedSettings",
    "Embedding",
    "ForeignEmbedSettings",
    "ForeignEmbedding",
    "GaussianProjection",
    "Identity",
    "LateEmbedding",
    "ScaledIdentity",
    "embedding_named",
    "full_name",
    "key_size_of",
    "late_embedding",
    "make_embedding",
    "register_embedding",
    "rows",
    "taken_up",
]

LARGEST_IDENTITY = 256


class EmbedSettings(Settings):
    """How observations become keys."""

    tag: ClassVar[str] = "own"
    kind: Literal["auto", "identity", "projection"] = "auto"
    """`auto` projects images (uint8, two or more axes) and anything of more than 256 numbers, and keeps the rest."""
    key_size: PositiveInt = 128
    """The size of projected keys."""
    scaled: bool = False
    """Divide each number of a key that is not projected by its running standard deviation; stored keys follow."""


AnyEmbedSettings = Annotated[
    Annotated[EmbedSettings, Tag("own")] | Annotated[ForeignEmbedSettings, Tag(FOREIGN)],
    Discriminator(lambda content: FOREIGN if _has_a_name(content) else "own"),
]
"""Any embedding, as a field of settings: those that are none of memec's have a name."""
PLUGINS = Plugins("embedding", "memec.embeddings", [])
register_embedding = PLUGINS.register
"""Let an embedding be found by a name: a class, or a function that makes one."""


def _has_a_name(content: Any) -> bool:
    return "name" in content if isinstance(content, dict) else hasattr(content, "name")


def full_name(name: str) -> str:
    """Return by what name an embedding of others is recorded that the user asks for; it is imported."""
    return name_of(PLUGINS.find(name))


def embedding_named(settings: ForeignEmbedSettings) -> ForeignEmbedding:
    """Make an embedding of others that the user asks for: it is imported."""
    return make_foreign(PLUGINS.find(settings.name), settings.options)


def taken_up(embed: Any) -> tuple[Any, ForeignEmbedding | None]:
    """Return how settings describe what a user passed, and the embedding where that is none of memec's."""
    if embed is None or isinstance(embed, dict | EmbedSettings | ForeignEmbedSettings):
        return embed, None
    own = make_foreign(PLUGINS.find(embed), {}) if isinstance(embed, str) else embed
    own = own if isinstance(own, ForeignEmbedding) else ForeignEmbedding(own)
    return own.settings, own


def make_embedding(
    settings: EmbedSettings | ForeignEmbedSettings,
    shape: tuple[int, ...],
    dtype: npt.DTypeLike,
    seed: int | SeedSequence | Generator | None = None,
    arrays: Mapping[str, Array] | None = None,
    own: ForeignEmbedding | None = None,
) -> Embedding:
    """The embedding these settings mean for observations of this shape and type; `arrays` restore an earlier one.

    One that is none of memec's must be there: it is the user's `own`.
    """
    if isinstance(settings, ForeignEmbedSettings):
        found = _needed(settings, own)
        if arrays is not None:
            found.restore(arrays)
        return found
    if _keeps(settings, shape, dtype):
        size = int(np.prod(shape))
        return ScaledIdentity(size, arrays) if settings.scaled else Identity(size)
    if arrays is not None:
        return GaussianProjection.from_arrays(shape, dtype, arrays)
    return GaussianProjection(shape, dtype, settings.key_size, seed)


def key_size_of(
    settings: EmbedSettings | ForeignEmbedSettings,
    shape: tuple[int, ...],
    dtype: npt.DTypeLike,
    own: ForeignEmbedding | None = None,
) -> int:
    """The size of the keys that `make_embedding` would give, without making anything."""
    if isinstance(settings, ForeignEmbedSettings):
        return _needed(settings, own).key_size
    return int(np.prod(shape)) if _keeps(settings, shape, dtype) else settings.key_size


def late_embedding(
    settings: EmbedSettings | ForeignEmbedSettings,
    shape: tuple[int, ...],
    dtype: npt.DTypeLike,
    seed: int,
    own: ForeignEmbedding | None = None,
) -> LateEmbedding:
    """The embedding these settings mean, made when it is first needed or restored."""
    size = key_size_of(settings, shape, dtype, own)
    return LateEmbedding(lambda arrays: make_embedding(settings, shape, dtype, seed, arrays, own), size)


def _needed(settings: ForeignEmbedSettings, own: ForeignEmbedding | None) -> ForeignEmbedding:
    if own is None:
        raise MemecError(f"Keys are made by {settings.name}, which is none of memec's: pass it as embed=...")
    return own


def _keeps(settings: EmbedSettings, shape: tuple[int, ...], dtype: npt.DTypeLike) -> bool:
    """Whether the observation itself is the key."""
    if settings.kind != "auto":
        return settings.kind == "identity"
    return not are_pixels(shape, dtype) and int(np.prod(shape)) <= LARGEST_IDENTITY
