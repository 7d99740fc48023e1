"""Files and folders that only one process works on at a time."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memec.errors import MemecError


@contextmanager
def alone_with(path: Path, *, refusal: str = "") -> Iterator[int | None]:
    """Let nobody else work on a folder, or what a file stands for, meanwhile; the file is made where there is none.

    Waits for who does already, or where there is a `refusal` raises that. The lock goes with the process, however that
    ends. Given is the handle of what is held, if the system has such locks.
    """
    try:
        import fcntl
    except ImportError:  # no such lock on this system
        yield None
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_WRONLY | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (fcntl.LOCK_NB if refusal else 0))
        except BlockingIOError:
            raise MemecError(refusal) from None
        yield handle
    finally:
        os.close(handle)
