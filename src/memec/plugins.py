"""What users plug in by name: registered, installed as an entry point, or `module:Name`.

A module is imported here, and only because somebody asks for it by name; a file never does.
"""

from collections.abc import Collection
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from memec.errors import MemecError, one_line, unknown_name


class Plugins:
    """All of one kind, such as strategies, beside memec's own."""

    def __init__(self, kind: str, group: str, own: Collection[str]) -> None:
        self._kind = kind
        self._group = group
        self._own = own
        self._registered: dict[str, Any] = {}

    def register(self, name: str, plugin: Any) -> None:
        """Let this be found by a name that nothing else has."""
        if ":" in name or not name:
            raise MemecError(f"{name!r} cannot be the name of a {self._kind}: it must be a word without colons.")
        if name in self._own or self._registered.get(name, plugin) is not plugin:
            holder = "memec's own" if name in self._own else name_of(self._registered[name])
            raise MemecError(f"The {self._kind} {name!r} is there already ({holder}): {name_of(plugin)} needs another.")
        self._registered[name] = plugin

    def names(self) -> list[str]:
        """Return what can be asked for beside memec's own, without importing anything."""
        return sorted({*self._registered, *(entry.name for entry in entry_points(group=self._group))})

    def find(self, name: str) -> Any:
        """Return what is plugged in under this name; if need be, it is imported."""
        if name in self._registered:
            return self._registered[name]
        module, colon, path = name.partition(":")
        if colon:
            return self._imported(module, path, f"the {self._kind} {name!r}")
        entries = _different(entry for entry in entry_points(group=self._group) if entry.name == name)
        if not entries:
            raise unknown_name(self._kind, name, {*self._own, *self.names()})
        if len(entries) > 1:
            both = " and ".join(entry.value for entry in entries)
            raise MemecError(f"The {self._kind} {name!r} is installed twice, as {both}: say which by module:Name.")
        module, _, path = entries[0].value.partition(":")
        return self._imported(module, path, f"the {self._kind} {name!r} ({entries[0].value})")

    def _imported(self, module: str, path: str, what: str) -> Any:
        try:
            found = import_module(module)
            for part in path.split("."):
                found = getattr(found, part)
        except ModuleNotFoundError as error:
            raise MemecError(f"There is no {what.removeprefix('the ')}: no module is named {error.name!r}.") from None
        except AttributeError as error:
            raise MemecError(f"There is no {what.removeprefix('the ')}: {one_line(error)}.") from None
        except MemecError:
            raise
        except (Exception, SystemExit) as error:  # whatever a user's module raises
            raise MemecError(f"To import {what} raised {type(error).__name__}: {one_line(error)}") from error
        return found


def made(kind: str, plugin: Any, sign: str, options: dict[str, Any]) -> Any:
    """Return an object made with these options, or the plugin itself where it is one: by its `sign`, an attribute."""
    if is_made(plugin, sign):
        if options:
            raise MemecError(f"The {kind} {name_of(plugin)} is an object already and takes no settings.")
        return plugin
    if not callable(plugin):
        raise MemecError(f"{name_of(plugin)} is no {kind}: it has no {sign}.")
    try:
        return plugin(**options)
    except MemecError:
        raise
    except (Exception, SystemExit) as error:  # whatever a user's class raises
        said = ", ".join(f"{name}={value!r}" for name, value in options.items()) or "no settings"
        raise MemecError(
            f"The {kind} {name_of(plugin)} cannot be made with {said}: {type(error).__name__}: {one_line(error)}"
        ) from error


def is_made(plugin: Any, sign: str) -> bool:
    """Return whether this is an object with that attribute, not a class whose objects have it."""
    return hasattr(plugin, sign) and not isinstance(plugin, type)


def name_of(plugin: Any) -> str:
    """Return `module:Name` of a class or a function, or of what an object is."""
    named = plugin if hasattr(plugin, "__qualname__") else type(plugin)
    return f"{named.__module__}:{named.__qualname__}"


def _different(entries: Any) -> list[EntryPoint]:
    return list({entry.value: entry for entry in entries}.values())
