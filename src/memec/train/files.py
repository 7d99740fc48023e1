"""Files that are written whole or not at all, and hold data only: JSON and safetensors."""

import errno
import json
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from memec.errors import MemecError, one_line

Arrays = dict[str, NDArray[Any]]

TYPES = {
    np.dtype(kind): name
    for kind, name in {
        np.bool_: "BOOL", np.int8: "I8", np.uint8: "U8", np.int16: "I16", np.int32: "I32", np.uint32: "U32",
        np.int64: "I64", np.uint64: "U64", np.float32: "F32", np.float64: "F64",
    }.items()
}  # fmt: skip
SIZES = {name: kind.itemsize for kind, name in TYPES.items()}
DAMAGED = "is damaged: its content does not fit its checksum."
UNREADABLE = (
    SafetensorError, OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError, ArithmeticError,
)  # fmt: skip
"""What reading a file that anybody may have written can raise; where memory ends, that is not the file's fault."""
LARGEST_TEXT = 500_000_000
NOT_FOLLOWING = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Neither links, nor waiting for somebody to write into a pipe."""
LARGEST_HEADER = 4_000_000
MOST_ARRAYS = 1_000
SYNCED_AT_ONCE = 32_000_000
"""Bytes after which the disk is waited for: while it takes in more at once, others that write may have to wait."""


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Give a temporary file that becomes `path` if, and only if, all of it was written and is safely on the disk."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # of the handle that wrote: one opened later need not hear what went wrong
        temporary.replace(path)
        sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Make a folder, and those above it that there are not; each lasts once its name is safely in the one above."""
    if not path.parent.is_dir():
        make_folder(path.parent)
    path.mkdir(exist_ok=True)
    sync_folder(path.parent)  # also where it is there: who made it may have been stopped before this


def remove_torn(folder: Path) -> None:
    """Remove what a process left that was killed while it wrote; only for who has the folder to himself."""
    for torn in folder.glob(f".*.{'[0-9a-f]' * 8}"):
        torn.unlink(missing_ok=True)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file whole or not at all."""
    with whole_file(path) as file:
        file.write((json.dumps(content, indent=2) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object, or say in one sentence why that cannot be."""
    try:
        content = json.loads(read_plain(path))
    except FileNotFoundError:
        raise MemecError(f"There is no file {path}.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise MemecError(f"{path} cannot be read: {one_line(error)}.") from None
    if not isinstance(content, dict):
        raise MemecError(f"{path} cannot be read: it holds no JSON object.")
    return content


def read_plain(path: Path) -> bytes:
    """Read a file that anybody may have put there: no link to elsewhere, nothing without an end."""
    try:
        handle = os.open(path, os.O_RDONLY | NOT_FOLLOWING)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise MemecError(f"{path} is a link to another place: put what it points to in its place.") from None
        raise
    with os.fdopen(handle, "rb") as file:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise MemecError(f"{path} is no plain file.")
        if about.st_size > LARGEST_TEXT:
            raise MemecError(f"{path} is larger than any that memec writes: {about.st_size:,} bytes.")
        return file.read(about.st_size)  # with a larger number, room for so much would be made first


def write_arrays(path: Path, arrays: Arrays, about: dict[str, Any]) -> str:
    """Write named arrays and a JSON object about them as safetensors, whole or not at all; return their digest.

    Written here rather than by the library, which copies every array on the way: a memory may take half a machine's.
    """
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    order = sorted(contiguous, key=lambda name: (-contiguous[name].itemsize, name))  # keeps every array aligned
    text = json.dumps(about)
    digest = _digest(((name, contiguous[name]) for name in order), text)
    header: dict[str, Any] = {"__metadata__": {"about": text, "digest": digest}}
    end = 0
    for name in order:
        array = contiguous[name]
        start, end = end, end + array.nbytes
        header[name] = {"dtype": TYPES[array.dtype], "shape": list(array.shape), "data_offsets": [start, end]}
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with whole_file(path) as file:
        file.write(len(head).to_bytes(8, "little"))
        file.write(head)
        for name in order:
            content = _bytes_of(contiguous[name])
            for start in range(0, len(content), SYNCED_AT_ONCE):
                file.write(content[start : start + SYNCED_AT_ONCE])
                if len(content) > SYNCED_AT_ONCE:
                    file.flush()
                    os.fsync(file.fileno())
    return digest


def read_arrays(path: Path, digest: str | None = None) -> tuple[Arrays, dict[str, Any]]:
    """Read what `write_arrays` wrote, or say in one sentence why that cannot be: never more than the file holds.

    With a digest, it must be the very file that had it.
    """
    with _opened(path) as file:
        text, about, said = _metadata(file, path)
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (no mapping)
        order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
        found = _digest(((name, arrays[name]) for name in order), text)
    if found != said:
        raise MemecError(f"{path} {DAMAGED}")
    if digest not in (None, found):
        raise MemecError(f"{path} is another file than it was.")
    return arrays, about


def read_outline(path: Path, *, verified: bool = False) -> tuple[dict[str, Any], dict[str, tuple[int, ...]]]:
    """Read the JSON object about the arrays in a file and their shapes, without keeping the arrays.

    Unless it is to be verified, nobody has looked whether the file is the one that was written.
    """
    with _opened(path) as file:
        text, about, said = _metadata(file, path)
        parts = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        if verified:
            sizes = {name: SIZES[part.get_dtype()] for name, part in parts.items()}
            order = sorted(parts, key=lambda name: (-sizes[name], name))
            if _digest(((name, file.get_tensor(name)) for name in order), text) != said:
                raise MemecError(f"{path} {DAMAGED}")
        return about, {name: tuple(part.get_shape()) for name, part in parts.items()}


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a safetensors file that anybody may have written; what cannot be read is an error in one sentence."""
    if not path.is_file():
        raise MemecError(f"There is no file {path}.")
    try:
        with path.open("rb") as raw:  # looked at before the library, which would take in any header
            head = int.from_bytes(raw.read(8), "little")
        if head > LARGEST_HEADER:
            raise MemecError(f"{path} cannot be read: its header claims {head:,} bytes.")
        with safe_open(path, framework="numpy") as file:
            yield file
    except UNREADABLE as error:
        raise MemecError(f"{path} cannot be read: {one_line(error)}.") from None


def _metadata(file: Any, path: Path) -> tuple[str, dict[str, Any], str | None]:
    """Return the text about the arrays, what it says, and the digest that all should have."""
    if len(file.keys()) > MOST_ARRAYS:
        raise MemecError(f"{path} cannot be read: it claims {len(file.keys()):,} arrays.")
    metadata = file.metadata() or {}
    text = metadata.get("about", "null")
    about = json.loads(text)
    if not isinstance(about, dict):
        raise MemecError(f"{path} was not written by memec.")
    return text, about, metadata.get("digest")


def part_of(arrays: Arrays, prefix: str) -> Arrays:
    """Return the arrays whose names begin with the prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _digest(arrays: Iterable[tuple[str, NDArray[Any]]], about: str) -> str:
    digest = sha256(about.encode())
    for name, array in arrays:
        digest.update(f"\0{name}\0{array.dtype}\0{array.shape}\0".encode())
        digest.update(_bytes_of(np.ascontiguousarray(array)))
    return digest.hexdigest()


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last; some systems do not let open or sync one, and there is nothing to do there."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(handle)
