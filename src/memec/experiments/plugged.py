"""Parts of an agent that are none of memec's: each is imported only because the user names it, by `module:Name`."""

import shlex
from collections.abc import Callable
from typing import Any, NamedTuple

from memec import embed, explore
from memec.errors import MemecError
from memec.experiments.run_settings import RunSettings
from memec.foreign import ForeignSettings
from memec.train import RunFolder


class Kind(NamedTuple):
    """How one kind of part is found and made."""

    full_name: Callable[[str], str]
    make: Callable[[Any], Any]


KINDS = {
    "explore": Kind(explore.full_name, explore.make_strategy),
    "embed": Kind(embed.full_name, embed.embedding_named),
}
"""By the setting that says what it is."""


def foreign_parts(settings: RunSettings) -> dict[str, ForeignSettings]:
    """Return the records of the parts that are none of memec's."""
    parts = {name: getattr(settings.agent, name, None) for name in KINDS}
    return {name: part for name, part in parts.items() if isinstance(part, ForeignSettings)}


def made_parts(settings: RunSettings) -> tuple[dict[str, Any], RunSettings]:
    """Make the parts that the user just named, and return all settings with what theirs turned out to be."""
    made = {name: KINDS[name].make(record) for name, record in foreign_parts(settings).items()}
    return made, settings.changed({"agent": {name: part.settings for name, part in made.items()}})


def parts_again(
    folder: RunFolder, settings: RunSettings, names: dict[str, str | None], needed: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Make the parts of a recorded run again: those that the user names; without the needed ones it cannot go on."""
    records = foreign_parts(settings)
    for name, given in names.items():
        recorded = getattr(settings.agent, name, None)
        said = getattr(recorded, "name", None)
        if given is not None and KINDS[name].full_name(given) != said:
            raise MemecError(f"The {name} of {folder.path} is {said or recorded}, not {given}.")
    for name, record in records.items():
        if name in needed and names.get(name) is None:
            said = f"--{name} {shlex.quote(record.name)}"
            raise MemecError(f"The {name} of {folder.path} is none of memec's: if you trust it, say so with {said}")
    return {name: KINDS[name].make(record) for name, record in records.items() if names.get(name) is not None}
