"""What a study knows of an engine, and the work of one run that every engine does."""

import time
import traceback
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, Self

from memec.errors import MemecError
from memec.experiments.run_settings import MEMEC, RunSettings
from memec.train import RunFolder

GIGABYTE = 1e9
MEMORY_NEEDED = {
    ("mfec", "frames"): 1.5 * GIGABYTE,
    ("nec", "frames"): 3.0 * GIGABYTE,
    ("d3qn", "frames"): 8.0 * GIGABYTE,  # a million frames in the replay
}
MEMORY_NEEDED_SMALL = 0.4 * GIGABYTE

WAIT_FOR_FOLDER_SECONDS = 120.0
"""How long a run may still be held by a process that was told to stop, or whose machine just died."""

Status = Literal["finished", "interrupted", "failed"]


class Job(NamedTuple):
    """A run to be done, or to be gone on with where its folder holds a part of it."""

    name: str
    folder: Path
    settings: RunSettings
    preset: str
    command: str
    runner: str = MEMEC
    """The module that does it, by a `run`, a `resume` and a `SETTINGS` of its own."""

    @property
    def memory(self) -> float:
        """About how many bytes the run takes at most."""
        kind = "frames" if self.settings.environment.id.startswith("ALE/") else "vector"
        return MEMORY_NEEDED.get((self.settings.agent.name, kind), MEMORY_NEEDED_SMALL)

    def to_json(self) -> dict[str, Any]:
        """Return the job as plain data."""
        content = self._asdict() | {"folder": str(self.folder)}
        return content | {"settings": self.settings.model_dump(mode="json")}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """Make the job of plain data."""
        settings = import_module(content["runner"]).SETTINGS.read(content["settings"])
        read = {"folder": Path(content["folder"]), "settings": settings}
        return cls(**(content | read))


class Ended(NamedTuple):
    """How a job ended; the rest stands in its folder."""

    name: str
    status: Status
    reason: str | None = None


class Engine(Protocol):
    """Does jobs, several at a time."""

    def run(self, jobs: list[Job]) -> Generator[Ended | None]:
        """Do the jobs and yield each as it ends, and None now and then so that progress can be shown.

        Closing the generator stops the runs under way cleanly: each writes a checkpoint first.
        """


def too_large(job: Job, available: float) -> Ended:
    """Say that a job does not fit in the memory there is."""
    need, have = job.memory / GIGABYTE, available / GIGABYTE
    return Ended(job.name, "failed", f"it needs about {need:.1f} GB of memory, and {have:.1f} GB are available")


def work(job: Job) -> Ended:
    """Do a run, or what is missing of it, in this process; whatever goes wrong is the run's own failure."""
    try:
        _wait_until_free(job.folder)
        runner = import_module(job.runner)
        if (job.folder / "run.json").exists():
            outcome = runner.resume(job.folder, env=job.settings.environment.id, progress=False)
        else:
            outcome = runner.run(job.settings, job.folder, preset=job.preset, command=job.command, progress=False)
        record = RunFolder.open(job.folder).record()
    except MemecError as error:
        return Ended(job.name, "failed", str(error))
    except Exception as error:
        traceback.print_exc()  # for the log: this is no mistake of the user's
        return Ended(job.name, "failed", f"{type(error).__name__}: {' '.join(str(error).split())}")
    if outcome.status == "running":
        return Ended(job.name, "failed", "it ended without saying how")
    return Ended(job.name, outcome.status, record.get("reason"))


def _wait_until_free(path: Path) -> None:
    """Return once no other process works on the folder."""
    deadline = time.monotonic() + WAIT_FOR_FOLDER_SECONDS
    while path.is_dir():
        try:
            with RunFolder(path).only_writer():
                return
        except MemecError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
