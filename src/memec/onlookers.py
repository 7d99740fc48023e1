"""Where those who look on are told how it goes: when they have left, that stops nothing."""

import os
import sys
from typing import Any, TextIO


class Onlookers:
    """Standard error, as a file to write to; once it cannot be written, it is silent instead of an error."""

    def __init__(self) -> None:
        self._stream: TextIO | None = sys.stderr  # none where the process was started with it closed

    def write(self, text: str) -> int:
        """Write, if anybody is there."""
        self._try("write", text)
        return len(text)

    def flush(self) -> None:
        """Bring out what was written."""
        self._try("flush")

    def isatty(self) -> bool:
        """Return whether somebody looks on at a terminal."""
        return bool(self._try("isatty"))

    @property
    def encoding(self) -> str:
        """What the terminal writes letters in."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def _try(self, what: str, *arguments: str) -> Any:
        if self._stream is None:
            return None
        try:
            return getattr(self._stream, what)(*arguments)
        except (OSError, ValueError):  # a pipe nobody reads, a full disk, a terminal that is gone; a closed file
            self._stream = None
            return None


def let_go_of_output() -> None:
    """Drop what standard output and error hold and cannot write, so that leaving does not fail of it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def open_missing_output() -> None:
    """Give standard streams that were closed to nobody, or else the next file to be opened would get what they say."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
