"""Stopping when asked: the first Ctrl-C or SIGTERM lets the step finish, the second leaves at once."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def exit_status(signal: int | None) -> int:
    """Return what a shell expects of a process that a signal ended: 130 after Ctrl-C, 143 after SIGTERM."""
    return 0 if signal is None else 128 + signal


class StopRequest:
    """While entered, remembers that a signal came instead of letting it break a step in half."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._take) for number in SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = number
