"""Doing a study: what is missing of it, on any engine, with the results exported as runs finish."""

import os
import shutil
from contextlib import closing
from pathlib import Path
from typing import Literal, NamedTuple

from memec.errors import MemecError, unknown_name
from memec.experiments.board import Board
from memec.experiments.engine import Engine, Job
from memec.experiments.grid import GridRun, differences
from memec.experiments.pace import Pace, all_together, in_words
from memec.experiments.results import Results
from memec.train import RunFolder
from memec.train.stopping import StopRequest, exit_status

ENGINES = ("local", "ray")
State = Literal["recorded", "finished", "to resume", "to retry", "to do"]
DONE: tuple[State, ...] = ("recorded", "finished")


class Study(NamedTuple):
    """Runs, where their folders are, and where their results go."""

    runs: list[GridRun]
    out: Path
    results: Results | None = None

    def states(self) -> dict[str, State]:
        """Return how far each run is, by its name; a run with other settings than these is an error."""
        return {run.name: self._state(run) for run in self.runs}

    def _state(self, run: GridRun) -> State:
        if self.results is not None and self.results.has(run):
            return "recorded"
        path = run.folder(self.out)
        if not (path / "run.json").exists():
            return "to do"
        record = RunFolder.open(path).record()
        differing = differences(run.settings.read(record["settings"]), run.settings)
        if differing:
            raise MemecError(
                f"{path} was made with other settings: {'; '.join(differing[:3])}. "
                "Use another --out folder or the same settings."
            )
        if record["status"] == "finished":
            return "finished"
        return "to retry" if record["status"] == "failed" else "to resume"


def make_engine(name: str, out: Path, *, workers: int | None, address: str | None) -> tuple[Engine, int]:
    """Return an engine by its name, and about how many runs it does at a time."""
    if name not in ENGINES:
        raise unknown_name("engine", name, ENGINES)
    if name == "local":
        if address is not None:
            raise MemecError("--address belongs to --engine ray.")
        from memec.experiments.local import LocalEngine

        workers = workers if workers is not None else cores()
        return LocalEngine(workers, out / "workers.log"), workers
    from memec.experiments.ray_engine import RayEngine

    engine = RayEngine(address, out, workers=workers)
    return engine, engine.cores()


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def describe(study: Study, workers: int) -> str:
    """Say which runs there are, how far each is, and about how long the rest takes."""
    states = study.states()
    pace = _pace(study, states)
    left = {run.name: 0.0 if states[run.name] in DONE else pace.seconds(run) for run in study.runs}
    lines = [f"{name}  {state}" for name, state in states.items()]
    missing = sum(seconds > 0 for seconds in left.values())
    together = in_words(all_together(list(left.values()), workers))
    lines.append(
        f"{len(study.runs)} runs, {len(study.runs) - missing} done; the other {missing} take about "
        f"{in_words(sum(left.values()))} of one core, {together} with {workers} workers."
    )
    return "\n".join(lines)


def reproduce(study: Study, engine: Engine, workers: int, *, command: str = "", keep_checkpoints: bool = True) -> int:
    """Do what is missing of a study, show it, and return the exit status: 1 where a run failed, 130 after Ctrl-C."""
    states = study.states()
    by_name = {run.name: run for run in study.runs}
    for run in study.runs:
        if states[run.name] == "finished":  # perhaps by a driver that was killed before it could export
            _keep(study, run, keep_checkpoints)
    to_do = [run for run in study.runs if states[run.name] not in DONE]
    jobs = [Job(run.name, run.folder(study.out), run.settings, run.preset, command, run.runner) for run in to_do]
    pace = _pace(study, states)
    board = Board(study.runs, to_do, study.out, pace, workers)
    board.say(board.summary())
    failures: list[str] = []
    with StopRequest() as stop, board.shown(), closing(engine.run(jobs)) as ticks:
        for ended in ticks:
            if ended is not None:
                run = by_name[ended.name]
                if ended.status == "finished":
                    _keep(study, run, keep_checkpoints)
                    _learn(pace, study, run)
                else:
                    failures.append(f"{ended.name} {ended.status}: {ended.reason}")
                board.end(run, ended.status, ended.reason)
            board.refresh()
            if stop.signal is not None:
                board.say("Stopping: runs under way write a checkpoint; the same command goes on with them.")
                break
    for failure in failures:
        board.say(failure)
    board.say(board.summary())
    if stop.signal is not None:
        return exit_status(stop.signal)
    return 1 if failures else 0


def _keep(study: Study, run: GridRun, keep_checkpoints: bool) -> None:
    folder = run.folder(study.out)
    if study.results is not None:
        study.results.add(run, folder)
    if not keep_checkpoints:
        shutil.rmtree(folder / "checkpoint", ignore_errors=True)


def _pace(study: Study, states: dict[str, State]) -> Pace:
    pace = Pace()
    for run in study.runs:
        if states[run.name] == "finished":
            _learn(pace, study, run)
    return pace


def _learn(pace: Pace, study: Study, run: GridRun) -> None:
    pace.learn(run, RunFolder.open(run.folder(study.out)).record().get("seconds"))
