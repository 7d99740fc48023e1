"""What is none of memec's and plugged into it: what is recorded of it, and how it is named where it goes wrong."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from memec.errors import OutsideError, one_line
from memec.plugins import name_of
from memec.settings import FOREIGN, Settings

SAVED = ("bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float32", "float64")
"""The types of numbers that files hold."""
REPR = "repr"
"""Where an object's own text about itself is recorded that has no fields."""


class ForeignSettings(Settings):
    """What is recorded of an object that is none of memec's: its class, and what it is set to."""

    model_config = ConfigDict(extra="allow")
    tag: ClassVar[str] = FOREIGN
    name: str = Field(pattern=r"^[^:]+:[^:]+$")

    @property
    def options(self) -> dict[str, Any]:
        """What it is made with."""
        return {name: value for name, value in (self.model_extra or {}).items() if name != REPR}


def description(own: Any, options: dict[str, Any] | None = None, name: str | None = None) -> dict[str, Any]:
    """Return the record of an object: its fields where it has some, else what it was made with and its repr."""
    if isinstance(own, BaseModel):
        found = own.model_dump(mode="json")
    elif is_dataclass(own):
        found = {field.name: getattr(own, field.name) for field in fields(own) if field.init}
    else:
        found = dict(options or {})
        if f" at 0x{id(own):x}>" not in repr(own):  # which would say nothing about it
            found[REPR] = repr(own)
    plain = {key: _plain(value) for key, value in found.items() if key != "name"}
    return plain | {"name": name or name_of(type(own))}


def learned_arrays(arrays: Any) -> dict[str, NDArray[Any]]:
    """Return copies of what an object says it has learned, as files can hold it."""
    found = {str(name): np.array(array) for name, array in arrays.items()}
    for name, array in found.items():
        if array.dtype.name not in SAVED:
            raise TypeError(f"{name!r} is an array of {array.dtype}, and files hold plain numbers")
    return found


@contextmanager
def naming(what: str, method: str, given: str) -> Generator[None]:
    """Say of what fails in an object that it failed there; what the agent has learned until then is sound."""
    try:
        yield
    except (Exception, SystemExit) as error:  # whatever a user's code raises
        said = f"raised {type(error).__name__} in {method}: {one_line(error)}"
        if isinstance(error, ValueError) and "read-only" in str(error):
            said = f"changed the {given} that {method} was given, which may only be read"
        raise OutsideError(f"The {what} {said}.") from error


def _plain(value: Any) -> Any:
    """Return what JSON keeps as it is, or else the text that stands for it."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        return repr(value)
