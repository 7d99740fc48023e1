"""What is refused before anything of that size is made."""

import os
from pathlib import Path
from typing import Protocol, TypeVar

from memec.errors import MemecError


class Sized(Protocol):
    """Settings of a memory, as far as its size goes."""

    @property
    def capacity(self) -> int: ...  # noqa: D102

    @property
    def neighbours(self) -> int: ...  # noqa: D102


S = TypeVar("S", bound=Sized)


def neighbours_fit(settings: S) -> S:
    """Return these settings, or say that no table could hold the neighbours they ask for."""
    if settings.neighbours > settings.capacity:
        raise ValueError(
            f"memory.neighbours={settings.neighbours} is larger than memory.capacity={settings.capacity}: "
            "no table could ever hold so many"
        )
    return settings


def refuse_if_too_large(needed: int, what: str, setting: str) -> None:
    """Raise before anything is allocated, where the machine could never hold it."""
    available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else needed
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.exists() and (text := limit.read_text().strip()).isdigit():
        available = min(available, int(text))
    if needed > available:
        raise MemecError(
            f"{what} needs {needed / 1e9:,.1f} GB and this machine has {available / 1e9:,.1f} GB: "
            f"set a smaller {setting}."
        )
