"""The command line, as tests call it."""

from collections.abc import Callable
from typing import NamedTuple


class Result(NamedTuple):
    status: int
    out: str
    error: str


Memec = Callable[..., Result]
