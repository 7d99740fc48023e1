"""Files that are written whole or not at all, and hold data only: JSON and safetensors."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from memec.errors import MemecError

Arrays = dict[str, NDArray[Any]]

TYPES = {
    np.dtype(kind): name
    for kind, name in {
        np.bool_: "BOOL", np.int8: "I8", np.uint8: "U8", np.int16: "I16", np.int32: "I32", np.uint32: "U32",
        np.int64: "I64", np.uint64: "U64", np.float32: "F32", np.float64: "F64",
    }.items()
}  # fmt: skip
LARGEST_HEADER = 4_000_000
MOST_ARRAYS = 1_000


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


def write_arrays(path: Path, arrays: Arrays, about: dict[str, Any]) -> str:
    """Write named arrays and a JSON object about them as safetensors, whole or not at all; return their digest.

    Written here rather than by the library, which copies every array on the way: a memory may take half a machine's.
    """
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    order = sorted(contiguous, key=lambda name: (-contiguous[name].itemsize, name))  # keeps every array aligned
    text = json.dumps(about)
    digest = _digest({name: contiguous[name] for name in order}, text)
    header: dict[str, Any] = {"__metadata__": {"about": text, "digest": digest}}
    end = 0
    for name in order:
        array = contiguous[name]
        start, end = end, end + array.nbytes
        header[name] = {"dtype": TYPES[array.dtype], "shape": list(array.shape), "data_offsets": [start, end]}
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with whole_file(path) as temporary, temporary.open("wb") as file:
        file.write(len(head).to_bytes(8, "little"))
        file.write(head)
        for name in order:
            file.write(_bytes_of(contiguous[name]))
    return digest


def read_arrays(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """Read what `write_arrays` wrote, or say in one sentence why that cannot be: never more than the file holds."""
    if not path.is_file():
        raise MemecError(f"There is no file {path}.")
    try:
        with path.open("rb") as raw:
            head = int.from_bytes(raw.read(8), "little")
        if head > LARGEST_HEADER:
            raise MemecError(f"{path} cannot be read: its header claims {head:,} bytes.")
        with safe_open(path, framework="numpy") as file:
            about_itself = file.metadata() or {}
            names = list(file.keys())
            if len(names) > MOST_ARRAYS:
                raise MemecError(f"{path} cannot be read: it claims {len(names):,} arrays.")
            text = about_itself.get("about", "null")
            about = json.loads(text)
            arrays = {name: file.get_tensor(name) for name in names}
            order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
            whole = _digest({name: arrays[name] for name in order}, text) == about_itself.get("digest")
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise MemecError(f"{path} cannot be read: {_one_line(error)}.") from None
    if not isinstance(about, dict):
        raise MemecError(f"{path} was not written by memec.")
    if not whole:
        raise MemecError(f"{path} is damaged: its content does not fit its checksum.")
    return arrays, about


def part_of(arrays: Arrays, prefix: str) -> Arrays:
    """Return the arrays whose names begin with the prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _digest(arrays: Arrays, about: str) -> str:
    digest = blake2b(about.encode(), digest_size=16)
    for name, array in arrays.items():
        digest.update(f"\0{name}\0{array.dtype}\0{array.shape}\0".encode())
        digest.update(_bytes_of(np.ascontiguousarray(array)))
    return digest.hexdigest()


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
