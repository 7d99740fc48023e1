"""Files that are written whole or not at all, and hold data only: JSON and safetensors."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from memec.errors import MemecError

Arrays = dict[str, NDArray[Any]]


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give the name of a temporary file that becomes `path` if, and only if, all of it was written."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
        _sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object, or say in one sentence why that cannot be."""
    try:
        content = json.loads(path.read_text())
    except FileNotFoundError:
        raise MemecError(f"There is no file {path}.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise MemecError(f"{path} cannot be read: {_one_line(error)}.") from None
    if not isinstance(content, dict):
        raise MemecError(f"{path} cannot be read: it holds no JSON object.")
    return content


def write_arrays(path: Path, arrays: Arrays, about: dict[str, Any]) -> None:
    """Write named arrays and a JSON object about them, whole or not at all."""
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with whole_file(path) as temporary:
        save_file(contiguous, temporary, metadata={"about": json.dumps(about)})


def read_arrays(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """Read what `write_arrays` wrote, or say in one sentence why that cannot be."""
    if not path.is_file():
        raise MemecError(f"There is no file {path}.")
    try:
        with safe_open(path, framework="numpy") as file:
            about = json.loads((file.metadata() or {}).get("about", "null"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise MemecError(f"{path} cannot be read: {_one_line(error)}.") from None
    if not isinstance(about, dict):
        raise MemecError(f"{path} was not written by memec.")
    return arrays, about


def part_of(arrays: Arrays, prefix: str) -> Arrays:
    """Return the arrays whose names begin with the prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")


def _sync_folder(folder: Path) -> None:
    """Make the new name itself last; some systems cannot open folders, and there is nothing to do there."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
