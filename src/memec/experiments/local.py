"""The local engine: worker processes on this machine, one run at a time each."""

import json
import os
import selectors
import signal
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from memec.errors import MemecError
from memec.experiments.engine import Ended, Job, too_large
from memec.train.run_folder import saying_where

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
"""So that N workers take N cores; torch follows OMP_NUM_THREADS."""
TICK_SECONDS = 0.5
MOST_DEATHS = 3
"""How often the worker of one run may die before the run counts as failed."""
USABLE_MEMORY = 0.9


class LocalEngine:
    """Does jobs in worker processes; one that dies is replaced, and its run resumed."""

    def __init__(self, workers: int, log: Path, memory: float | None = None) -> None:
        if workers < 1:
            raise MemecError(f"A study needs at least one worker; --workers {workers} is none.")
        self._workers = workers
        self._log = log
        self._memory = USABLE_MEMORY * available_memory() if memory is None else memory

    def run(self, jobs: list[Job]) -> Generator[Ended | None]:
        """Do the jobs and yield each as it ends; see `Engine`."""
        if not jobs:
            return
        waiting, deaths = deque(jobs), Counter[str]()
        team: list[_Worker] = []
        try:
            with saying_where(self._log.parent):
                self._log.parent.mkdir(parents=True, exist_ok=True)
                self._log.touch()
            with self._log.open("ab") as log, selectors.DefaultSelector() as answers:
                while waiting or any(worker.job for worker in team):
                    yield from self._hand_out(waiting, team, answers, log)
                    for key, _ in answers.select(TICK_SECONDS):
                        worker: _Worker = key.data
                        job, worker.job = worker.job, None
                        ended = worker.answer()
                        if ended is None:
                            team.remove(worker)
                            answers.unregister(worker.pipe)
                            ended = Ended("" if job is None else job.name, "interrupted", f"died by {worker.bury()}")
                        if job is None:
                            continue
                        if ended.status == "interrupted":  # not by this engine: somebody ended the worker or its run
                            deaths[job.name] += 1
                            if deaths[job.name] < MOST_DEATHS:
                                waiting.appendleft(job)
                                continue
                            ended = Ended(job.name, "failed", f"its worker {MOST_DEATHS} times {ended.reason}")
                        yield ended
                    yield None
        finally:
            for worker in team:
                worker.dismiss()
            for worker in team:
                worker.bury()

    def _hand_out(
        self, waiting: deque[Job], team: list["_Worker"], answers: selectors.BaseSelector, log: IO[bytes]
    ) -> Iterator[Ended]:
        """Give jobs to workers without one, in order, but let a job pass that still has to wait for its memory."""
        for job in list(waiting):
            free = next((worker for worker in team if worker.job is None), None)
            if free is None and len(team) >= self._workers:
                return
            taken = sum(worker.job.memory for worker in team if worker.job)
            if job.memory > self._memory:
                waiting.remove(job)
                yield too_large(job, self._memory)
            elif taken + job.memory <= self._memory:
                waiting.remove(job)
                if free is None:
                    free = _Worker(log)
                    team.append(free)
                    answers.register(free.pipe, selectors.EVENT_READ, free)
                free.give(job)


class _Worker:
    """A worker process, seen from the engine."""

    def __init__(self, log: IO[bytes]) -> None:
        self.job: Job | None = None
        # In a session of its own, Ctrl-C in the terminal reaches the engine alone, which then stops its workers.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "memec.experiments.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=os.environ | ONE_THREAD,
            start_new_session=True,
            text=True,
        )

    @property
    def pipe(self) -> IO[str]:
        """Where the worker's answers come from."""
        assert self._process.stdout is not None
        return self._process.stdout

    def give(self, job: Job) -> None:
        """Have the worker do a job."""
        self.job = job
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it died just now, which its closed pipe will tell
            self._process.stdin.write(json.dumps(job.to_json()) + "\n")
            self._process.stdin.flush()

    def answer(self) -> Ended | None:
        """Return how the job ended; None where the worker died instead of answering."""
        line = self.pipe.readline()
        return Ended(*json.loads(line)) if line.endswith("\n") else None

    def dismiss(self) -> None:
        """Tell the worker to stop, after a checkpoint of what it is doing."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()

    def bury(self) -> str:
        """Wait until the worker is gone and say how it went."""
        self.dismiss()
        status = self._process.wait()
        self.pipe.close()
        return f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"


def available_memory() -> float:
    """Return how many bytes this process and its children can take now."""
    limits = []
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                limits.append(1024.0 * int(line.split()[1]))
    except OSError:  # not Linux
        limits.append(0.5 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(OSError, ValueError):  # a container may have less than its machine; "max" is no number
        limits.append(float(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(limits)
