"""Where compiled code is kept between two starts, and what happens where there is no such place."""

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from memec.onlookers import Onlookers

NO_PLACE = (
    "memec: There is no folder to keep compiled code in, so every start compiles for a while: "
    "set NUMBA_CACHE_DIR to a folder that can be written."
)


def find_a_place() -> None:
    """See that compiled code can be kept, or go on without.

    numba refuses to define a function that is to be kept where neither NUMBA_CACHE_DIR, nor the installation, nor the
    user's home can be written, as in a container. Only where that may be so is it imported here, which takes a while.
    """
    if any(_can_be_written(place) for place in _usual_places()):
        return
    from numba import njit
    from numba.core.dispatcher import Dispatcher

    enable = Dispatcher.enable_caching

    def enable_where_possible(self: Any) -> None:
        with suppress(RuntimeError):
            enable(self)

    try:
        njit(cache=True)(_can_be_written)  # only defined, never compiled
    except RuntimeError:
        Dispatcher.enable_caching = enable_where_possible  # type: ignore[method-assign]
        print(NO_PLACE, file=Onlookers(), flush=True)


def _usual_places() -> Iterable[Path]:
    if "NUMBA_CACHE_DIR" in os.environ:
        yield Path(os.environ["NUMBA_CACHE_DIR"])
    yield Path(__file__).parent / "__pycache__"
    with suppress(RuntimeError):  # a user without a home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "numba"


def _can_be_written(folder: Path) -> bool:
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True
