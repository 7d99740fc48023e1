"""What an agent's file holds: arrays of its parts, and what it says about the agent beside them."""

import json
from pathlib import Path
from typing import Any, Protocol

from memec.envs.recorded import EnvironmentSettings
from memec.errors import MemecError, saying_what_is_wrong
from memec.foreign import ForeignSettings
from memec.settings import Settings
from memec.train.files import Arrays

FORMAT = 2


class Part(Protocol):
    """Something of an agent that learns, or that has a state."""

    def arrays(self) -> Arrays:
        """Return what `restore` needs to go on identically."""

    def restore(self, arrays: Arrays) -> None:
        """Go on from what `arrays` returned."""


def made_from(about: dict[str, Any]) -> EnvironmentSettings:
    """Return what a file says of its environment; one of an older version knows no more than the id."""
    return EnvironmentSettings.read(about.get("made_from", {}) | {"id": about.get("environment")})


def environment_of(about: dict[str, Any], path: Path) -> EnvironmentSettings:
    """Return what an agent's environment can be made again from, by its file."""
    with saying_what_is_wrong(path):
        made = made_from(about)
    if ":" in made.id or not made.id:
        raise MemecError(f"Loading {path} needs its environment ({made.id!r}): pass env=...")
    if made.lost is not None:
        raise MemecError(f"Loading {path} needs its environment ({made.id}; {made.lost}): pass env=...")
    return made


def refuse_other_formats(about: dict[str, Any], path: Path) -> None:
    """Raise an error where a file is of another version's form."""
    found = about.get("format")
    if found == FORMAT:
        return
    if isinstance(found, int) and found > FORMAT:
        raise MemecError(f"{path} was written by a newer memec (format {found}); this one reads {FORMAT}.")
    raise MemecError(f"{path} has the format {found!r}, which this version of memec cannot read: it reads {FORMAT}.")


def refuse_other_parts(own: Settings, recorded: Settings, source: Path) -> None:
    """Say which part that is none of memec's is missing, or is not the one that it was."""
    for name, there in recorded:
        here = getattr(own, name)
        if isinstance(there, ForeignSettings) and there != here:
            was, given = (json.dumps(each.model_dump(mode="json")) for each in (there, here))
            raise MemecError(
                f"{source} has the {name} {was}, which is none of memec's: pass it as {name}=..., not {given}."
            )
