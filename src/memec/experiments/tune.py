"""Finding settings for one environment: a search over several seeds a trial, and a judgement on seeds it never saw."""

import csv
import json
import multiprocessing
import os
import signal
import socket
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from memec.errors import MemecError, from_extra, one_line
from memec.experiments.compare import short_name
from memec.experiments.engine import Job, work
from memec.experiments.grid import GridRun, digest
from memec.experiments.pace import in_words
from memec.experiments.run_settings import RunSettings, changes_from
from memec.train import RunFolder
from memec.train.files import read_plain, whole_file
from memec.train.run_folder import saying_where
from memec.train.stopping import StopRequest, exit_status
from memec.train.training import LATEST

SPACES = {
    "mfec": [
        "memory.neighbours=3:51",
        "discount=0.95,0.98,0.99,0.995,0.998",
        "explore=mellowmax-auto,epsilon-greedy,ucb-calibrated,thompson-calibrated",
    ],
    "nec": [
        "optimiser.learning_rate=1e-5:1e-2",
        "memory.neighbours=5:50",
        "discount=0.95,0.98,0.99,0.995",
        "n_step=1,10,100",
    ],
    "d3qn": [
        "optimiser.learning_rate=1e-5:1e-2",
        "discount=0.95,0.98,0.99,0.995",
        "target_update_steps=100:10000",
    ],
    "vpec": [
        "discount=0.95,0.98,0.99,0.995",
        "memory.doubt=0.25:4.0",
        "memory.far=0.125:2.0",
        "memory.width=0.025:0.4",
        "memory.pseudo=0.75:12.0",
    ],
}
"""What is searched unless the user says what."""
LOGARITHMIC = 8.0
"""A range whose ends are so many times apart is searched by its logarithm."""
HELD_OUT_SEED = 1_000
"""The first seed that the winner and the default are compared with."""
UNJUDGED = 4
"""Trials before any is stopped early."""


class Axis(NamedTuple):
    """One setting, and which values it may take."""

    name: str
    choices: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 0.0
    whole: bool = False

    def suggest(self, trial: Any) -> str:
        """Return a value as it is written behind --set."""
        if self.choices:
            return str(trial.suggest_categorical(self.name, self.choices))
        log = self.low > 0 and self.high / self.low >= LOGARITHMIC
        if self.whole:
            return str(trial.suggest_int(self.name, int(self.low), int(self.high), log=log))
        return repr(float(trial.suggest_float(self.name, self.low, self.high, log=log)))

    def holds(self, value: Any) -> bool:
        """Tell whether a value is one of them."""
        if self.choices:
            return str(value) in self.choices
        return isinstance(value, int | float) and self.low <= value <= self.high


def axis(text: str) -> Axis:
    """Read NAME=LOW:HIGH or NAME=A,B,C."""
    name, equals, values = text.partition("=")
    choices = tuple(value.strip() for value in values.split(",") if value.strip())
    if not equals or not name.strip() or not choices:
        raise MemecError(f"--search takes NAME=LOW:HIGH or NAME=A,B,C; {text!r} is not that.")
    low, colon, high = values.partition(":")
    if not colon:
        return Axis(name.strip(), choices)
    try:
        numbers = float(low), float(high)
    except ValueError:
        raise MemecError(f"--search takes numbers on both sides of the colon; {text!r} has others.") from None
    if not numbers[0] < numbers[1] or numbers[1] == float("inf"):
        raise MemecError(f"--search takes a range from low to high; {text!r} is none.")
    return Axis(name.strip(), (), *numbers, whole=all(part.strip().lstrip("-").isdecimal() for part in (low, high)))


@dataclass(frozen=True)
class Tuning:
    """What is searched, from where, and with what effort."""

    base: RunSettings
    axes: Sequence[Axis]
    out: Path
    trials: int = 40
    seeds: int = 3
    hours: float | None = None
    held_out: int = 10

    def settings(self, values: dict[str, str]) -> RunSettings:
        """Return the settings of a trial."""
        assignments = [f"{name}={value}" for name, value in values.items()]
        return self.base.changed(changes_from(assignments, self.base.agent.name))

    def job(self, settings: RunSettings, seed: int) -> Job:
        """Return one run of a trial: the same settings share it, whichever trial asks."""
        seeded = settings.model_copy(update={"seed": seed})
        folder = self.out / "trials" / digest(settings.model_copy(update={"seed": 0})) / f"seed-{seed}"
        return Job(f"{folder.parent.name}/seed-{seed}", folder, seeded, "tune", "")

    def rivals(self, best: RunSettings) -> list[GridRun]:
        """Return the runs that judge the winner beside the default, on seeds that the search never saw."""
        name = short_name(self.base.environment.id)
        both = [GridRun(name, settings, "tune", label) for settings, label in ((best, "found"), (self.base, "default"))]
        return [run.with_seed(HELD_OUT_SEED + seed) for seed in range(self.held_out) for run in both]


class Found(NamedTuple):
    """What a search came to."""

    settings: RunSettings
    values: dict[str, Any]
    score: float
    trials: int
    exit_status: int


class _ToldToStop(Exception):  # noqa: N818 (it is no error)
    """A signal ended the run under way, which wrote a checkpoint first."""


def search(tuning: Tuning, workers: int, say: Callable[[str], None]) -> Found | int:
    """Search, or go on with a search; return the best settings, or the exit status after Ctrl-C."""
    optuna = _optuna()
    for one in tuning.axes:
        tuning.settings({one.name: one.choices[0] if one.choices else repr(int(one.low) if one.whole else one.low)})
    with saying_where(tuning.out):
        tuning.out.mkdir(parents=True, exist_ok=True)
    study = _study(tuning)
    _take_up(study, say)
    if not study.trials and (usual := _usual(tuning)):
        study.enqueue_trial(usual)
    deadline = None if tuning.hours is None else time.time() + tuning.hours * 3600
    told: int | None = None
    with StopRequest() as stop:
        processes = [
            multiprocessing.get_context("spawn").Process(target=_worker, args=(tuning, deadline, number))
            for number in range(1, workers)
        ]
        for process in processes:
            process.start()
        try:
            _work_on(tuning, deadline, 0, say)
        except _ToldToStop as stopped:
            told = int(stopped.args[0])
        finally:
            for process in processes:
                if told is not None or stop.signal is not None:
                    process.terminate()  # it writes a checkpoint first
                process.join()
    told = told or stop.signal
    if told is not None:
        say("Stopped: the same command goes on.")
        return exit_status(told)
    done = study.get_trials(states=[optuna.trial.TrialState.COMPLETE])
    if not done:
        failed = [trial.user_attrs.get("reason") for trial in study.trials if trial.user_attrs.get("reason")]
        raise MemecError(f"No trial came to an end. {failed[0] if failed else ''}".strip())
    best = max(done, key=lambda trial: trial.value)
    settings = tuning.settings({name: str(value) for name, value in best.params.items()})
    return Found(settings, best.params, float(best.value), len(done), 0)


def write_settings(found: RunSettings, file: Path) -> None:
    """Write settings for `memec train --settings FILE`."""
    content = found.model_dump_json(indent=2, include={"environment", "agent", "training"})
    with saying_where(file.parent), whole_file(file) as whole:
        whole.write((content + "\n").encode())


def _optuna() -> Any:
    with from_extra("tune", "Tuning"):
        import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    return optuna


def _study(tuning: Tuning, number: int = 0) -> Any:
    """Open the search that all processes and machines share; a sampler of its own keeps each from asking the same."""
    optuna = _optuna()
    backend = optuna.storages.journal.JournalFileBackend(str(tuning.out / "search.journal"))
    axes = [list(one) for one in tuning.axes]
    study = optuna.create_study(
        storage=optuna.storages.JournalStorage(backend),
        study_name="memec",
        direction="maximize",
        load_if_exists=True,
        sampler=optuna.samplers.TPESampler(seed=_sampler_seed(tuning, number), multivariate=True),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=UNJUDGED, n_warmup_steps=0),
    )
    told = {"axes": axes, "base": tuning.base.model_dump(mode="json"), "seeds": tuning.seeds}
    known = {name: study.user_attrs[name] for name in told if name in study.user_attrs}
    if not known:
        for name, value in told.items():
            study.set_user_attr(name, value)
    elif _plain(known) != _plain(told):
        raise MemecError(
            f"{tuning.out} holds another search: take another --out, or the same settings, seeds and --search."
        )
    return study


def _sampler_seed(tuning: Tuning, number: int) -> int:
    """Return another seed for each process: with the same one all would try the same."""
    return (tuning.base.seed + number * 7_919 + len(list((tuning.out / "trials").glob("*"))) * 104_729) % 2**32


def _plain(content: Any) -> Any:
    """Return content as JSON gives it back."""
    return json.loads(json.dumps(content))


def _usual(tuning: Tuning) -> dict[str, Any]:
    """Return the values that the default has, where they are among those searched: the first trial."""
    content = tuning.base.agent.model_dump(mode="json")
    usual: dict[str, Any] = {}
    for one in tuning.axes:
        value: Any = content
        for part in one.name.removeprefix("agent.").split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if isinstance(value, dict):
            value = value.get("name")
        if one.holds(value):
            usual[one.name] = str(value) if one.choices else value
    return usual


def _take_up(study: Any, say: Callable[[str], None]) -> None:
    """Ask again for what a process that is gone was about to try: its runs go on where they stopped."""
    optuna = _optuna()
    again = 0
    for trial in study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.RUNNING]):
        host, _, process = str(trial.user_attrs.get("by", "")).rpartition(":")
        if host == socket.gethostname() and process.isdecimal() and not _lives(int(process)):
            study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
            study.enqueue_trial(trial.params)
            again += 1
    if again:
        say(f"Going on with {again} trial{'s' * (again > 1)} that had been cut off.")


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _worker(tuning: Tuning, deadline: float | None, number: int) -> None:
    with StopRequest(), suppress(_ToldToStop):
        _work_on(tuning, deadline, number, lambda said: None)


def _work_on(tuning: Tuning, deadline: float | None, number: int, say: Callable[[str], None]) -> None:
    """Do one trial after another until there are enough of all processes together, the time is over, or one stops."""
    optuna = _optuna()
    states = optuna.trial.TrialState
    study = _study(tuning, number)
    began, at_first = time.monotonic(), _judged(study, states)
    while _judged(study, states) < tuning.trials and (deadline is None or time.time() < deadline):
        trial = study.ask()
        trial.set_user_attr("by", f"{socket.gethostname()}:{os.getpid()}")
        state, score = _try(tuning, trial, states)
        study.tell(trial.number, score, state=state)
        failed = len(study.get_trials(deepcopy=False, states=[states.FAIL]))
        if failed >= UNJUDGED + _judged(study, states):
            return  # what fails whatever the values are is no matter of settings
        judged = _judged(study, states)
        left = (time.monotonic() - began) / max(judged - at_first, 1) * (tuning.trials - judged)
        if deadline is not None:
            left = min(left, deadline - time.time())
        best = study.best_value if study.get_trials(deepcopy=False, states=[states.COMPLETE]) else float("nan")
        came = f"{score:.5g}" if score is not None else "stopped early" if state == states.PRUNED else "failed"
        values = " ".join(f"{name}={_short(value)}" for name, value in trial.params.items())
        say(f"[{judged}/{tuning.trials}] {came} (best {best:.5g})  {values}  about {in_words(max(left, 0.0))} left")


def _judged(study: Any, states: Any) -> int:
    return len(study.get_trials(deepcopy=False, states=[states.COMPLETE, states.PRUNED]))


def _try(tuning: Tuning, trial: Any, states: Any) -> tuple[Any, float | None]:
    """Do the runs of a trial, seed by seed."""
    try:
        settings = tuning.settings({one.name: one.suggest(trial) for one in tuning.axes})
    except MemecError as error:  # values that do not go together
        trial.set_user_attr("reason", str(error))
        return states.FAIL, None
    scores: list[float] = []
    for seed in range(tuning.seeds):
        job = tuning.job(settings, seed)
        if not _is_finished(job):
            ended = work(job)
            if ended.status == "interrupted":
                raise _ToldToStop(RunFolder.open(job.folder).record().get("signal") or signal.SIGINT)
            if ended.status == "failed":
                trial.set_user_attr("reason", one_line(Exception(ended.reason or "")))
                return states.FAIL, None
        scores.append(_final_score(job.folder))
        trial.report(sum(scores) / len(scores), seed)
        if seed + 1 < tuning.seeds and trial.should_prune():
            return states.PRUNED, None
    return states.COMPLETE, sum(scores) / len(scores)


def _final_score(folder: Path) -> float:
    rows = list(csv.DictReader(read_plain(folder / "evaluations.csv").decode().splitlines()))[-LATEST:]
    return sum(float(row["mean_score"]) for row in rows) / len(rows)


def _is_finished(job: Job) -> bool:
    return (job.folder / "run.json").exists() and RunFolder.open(job.folder).record().get("status") == "finished"


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
