"""What goes wrong for a user, said in one sentence."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path


class MemecError(Exception):
    """A mistake the user can mend; its text says what was wrong and what would be right.

    The command line prints it as one line and leaves with status 2.
    """


class NotFiniteError(MemecError):
    """A key, return, reward or observation that is NaN or infinite."""


class OutsideError(MemecError):
    """What is none of memec's broke, such as a user's strategy; what the agent has learned until then is sound."""


class EnvironmentFailedError(OutsideError):
    """The environment broke."""


class MissingPackageError(MemecError, ImportError):
    """A package that memec does without unless asked for what needs it."""


@contextmanager
def from_extra(extra: str, what: str) -> Iterator[None]:
    """Import what comes with an extra, or say in one sentence how to get it."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "a package").partition(".")[0]
        raise MissingPackageError(f"{what} needs {package}: pip install 'memec[{extra}]'.") from None


def unknown_name(what: str, name: str, known: Iterable[str]) -> MemecError:
    """Say that `name` is no known `what`, and which known name is nearest."""
    names = sorted(known)
    nearest = get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean {nearest[0]!r}?" if nearest else f"choose from {', '.join(names)}."
    return MemecError(f"Unknown {what} {name!r}: {hint}")


def environment_failed(what: str) -> EnvironmentFailedError:
    """Say what the user's environment did, in one line."""
    return EnvironmentFailedError("The environment " + " ".join(what.split()))


def one_line(error: BaseException) -> str:
    """Return what an error says, or else what it is, in one line, to go on with a full stop."""
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


@contextmanager
def saying_what_is_wrong(path: Path) -> Iterator[None]:
    """Turn what breaks on foreign content into one sentence about the file."""
    try:
        yield
    except MemecError:
        raise
    except Exception as error:  # whatever it is, it came from the file
        raise MemecError(f"{path} cannot be read: {type(error).__name__} {one_line(error)}.") from error
