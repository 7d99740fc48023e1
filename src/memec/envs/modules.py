"""The module of an id such as `module:Id`: it is imported because the user names it, never because a file does."""

import sys
from importlib import import_module
from importlib.util import find_spec

from memec.errors import MemecError


def look_here_too(id: str) -> None:
    """Let the module of an id be found in the current folder, as `python -m` would and a console script does not.

    Only a module that is nowhere else, and after all other places: what lies here must not stand in for a package.
    """
    package = id.rpartition(":")[0].partition(".")[0]
    if package and package not in sys.modules and find_spec(package) is None:
        sys.path.append("")


def import_module_of(id: str) -> str:
    """Import the module of `module:Id`, which registers its environments, and return the id alone."""
    module, _, name = id.rpartition(":")
    if not module:
        return name
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        raise MemecError(f"{id} cannot be made: there is no module named {error.name!r}.") from error
    except Exception as error:  # whatever a user's module raises
        raise MemecError(f"{id} cannot be made: to import {module} raised {type(error).__name__}: {error}") from error
    return name
