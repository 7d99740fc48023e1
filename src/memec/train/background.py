"""Work beside the training, so that no step waits for a disk."""

import threading
from _thread import start_new_thread
from collections.abc import Callable
from queue import SimpleQueue
from types import TracebackType
from typing import Self

Job = Callable[[], None]
PATIENCE_SECONDS = 30.0
"""With a thread that does not begin."""


class Background:
    """Does one job at a time in a thread; what goes wrong there is raised by the next call.

    The thread is there for as long as this is entered. Python's own way to start one waits for ever where memory ends.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._busy = threading.Lock()
        self._ready = threading.Event()
        self._error: Exception | None = None

    def __enter__(self) -> Self:
        # A process that is told to leave at once does not wait for it: what it was writing is then as if never begun.
        start_new_thread(self._run, ())
        if not self._ready.wait(PATIENCE_SECONDS):
            raise MemoryError("no thread can be started")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._jobs.put(None)

    def start(self, job: Job) -> None:
        """Begin a job, after the one before has ended."""
        self.finish()
        self._busy.acquire()
        self._jobs.put(job)

    def finish(self) -> None:
        """Wait for the job."""
        with self._busy:
            pass
        self.check()

    def check(self) -> None:
        """Raise what went wrong in the job."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _run(self) -> None:
        self._ready.set()
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except Exception as error:
                self._error = error
            finally:
                self._busy.release()
