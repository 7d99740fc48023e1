"""Work beside the training, so that no step waits for a disk."""

import threading
from collections.abc import Callable


class Background:
    """Does one job at a time in a thread; what goes wrong there is raised by the next call."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    def start(self, job: Callable[[], None]) -> None:
        """Begin a job, after the one before has ended."""
        self.finish()
        # A process that is told to leave at once does not wait for it: what it was writing is then as if never begun.
        self._thread = threading.Thread(target=self._run, args=(job,), daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Wait for the job."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.check()

    def check(self) -> None:
        """Raise what went wrong in the job."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _run(self, job: Callable[[], None]) -> None:
        try:
            job()
        except Exception as error:
            self._error = error
