"""The Ray engine: every run is a task of a Ray cluster, whose nodes may die."""

import logging
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from memec.errors import MemecError, from_extra
from memec.experiments.engine import Ended, Job, too_large, work
from memec.train.run_folder import saying_where

CONNECT_SECONDS = 25.0
TICK_SECONDS = 0.5
STOP_SECONDS = 120.0
MOST_RETRIES = 10
"""How often Ray may start a run again whose node or process died."""


class _Answer(NamedTuple):
    """How a task ended, and the files of its run where it could not reach the study's folder."""

    ended: Ended
    files: dict[str, bytes]


class RayEngine:
    """Does jobs as tasks of a Ray cluster: one that is there, or one on this machine that lives as long as this does.

    A node that reaches the study's folder works in it, so that a run whose node dies is resumed by another; from a node
    that does not, the finished run is sent back.
    """

    def __init__(self, address: str | None, out: Path, *, workers: int | None = None, shared: bool = True) -> None:
        if workers is not None and workers < 1:
            raise MemecError(f"A study needs at least one worker; --workers {workers} is none.")
        self._ray = _connected(address, workers)
        self._out = out.absolute()
        self._shared = shared

    def cores(self) -> int:
        """Return how many runs the cluster can do at a time."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def run(self, jobs: list[Job]) -> Generator[Ended | None]:
        """Do the jobs and yield each as it ends; see `Engine`."""
        ray = self._ray
        with saying_where(self._out):
            self._out.mkdir(parents=True, exist_ok=True)
        marker = self._out / f".shared-{secrets.token_hex(8)}"
        if self._shared:
            marker.touch()
        largest = max(node["Resources"].get("memory", 0.0) for node in ray.nodes() if node["Alive"])
        task = ray.remote(_do)
        under_way: dict[Any, Job] = {}
        try:
            for job in jobs:
                if job.memory > largest:
                    yield too_large(job, largest)
                    continue
                options = {"num_cpus": 1, "memory": int(job.memory), "max_retries": MOST_RETRIES, "name": job.name}
                absolute = job._replace(folder=job.folder.absolute())
                under_way[task.options(**options).remote(absolute.to_json(), str(marker))] = absolute
            while under_way:
                ready, _ = ray.wait(list(under_way), timeout=TICK_SECONDS)
                for reference in ready:
                    yield self._end(reference, under_way.pop(reference))
                yield None
        finally:
            for reference in under_way:
                ray.cancel(reference)  # reaches a run as Ctrl-C does
            if under_way:
                ray.wait(list(under_way), num_returns=len(under_way), timeout=STOP_SECONDS)
            marker.unlink(missing_ok=True)
            ray.shutdown()

    def _end(self, reference: Any, job: Job) -> Ended:
        try:
            answer: _Answer = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            return Ended(job.name, "failed", " ".join(str(error).split())[:300])
        with saying_where(job.folder):
            # The record comes last: a folder without it counts as no run at all.
            for name in sorted(answer.files, key=lambda name: name == "run.json"):
                file = job.folder / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(answer.files[name])
        return answer.ended


def _do(content: dict[str, Any], marker: str) -> _Answer:
    """Do a job on a node: in the study's folder if it is there, else in a folder of the node's own."""
    job = Job.from_json(content)
    if Path(marker).exists():
        return _Answer(work(job), {})
    with TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        ended = work(job._replace(folder=folder))
        files = [file for file in folder.rglob("*") if file.is_file() and file.name != ".lock"]
        return _Answer(ended, {str(file.relative_to(folder)): file.read_bytes() for file in files})


def _connected(address: str | None, workers: int | None) -> ModuleType:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else Ray warns about what it will do one day
    with from_extra("ray", "--engine ray"):
        import ray
    if address is not None:
        _refuse_if_silent(address)
    options = {"num_cpus": workers, "include_dashboard": False} if address is None else {"address": address}
    try:
        ray.init(**options, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = "on this machine" if address is None else f"at {address}"
        raise MemecError(f"No Ray cluster {where}: {' '.join(str(error).split())[:200]}") from None
    return ray


def _refuse_if_silent(address: str) -> None:
    """Say within a while that nothing answers there; Ray itself would wait for minutes, or for ever."""
    silent = MemecError(
        f"No Ray cluster answers at {address}: start one with `ray start --head`, or leave out --address."
    )
    if address == "auto":
        return
    place = urlsplit(address if "://" in address else f"//{address}")
    try:
        port = place.port
    except ValueError:
        port = None
    if not place.hostname or port is None:
        raise MemecError(f"--address takes host:port, ray://host:port or auto; {address!r} is none of them.")
    try:
        socket.create_connection((place.hostname, port), timeout=CONNECT_SECONDS / 3).close()
    except OSError:
        raise silent from None
    if "://" in address:  # Ray's own client gives up after some seconds
        return
    check = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    with suppress(subprocess.TimeoutExpired):
        if subprocess.run(check, capture_output=True, timeout=CONNECT_SECONDS * 2 / 3).returncode == 0:
            return
    raise silent
