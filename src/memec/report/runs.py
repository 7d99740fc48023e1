"""Reading runs, from their folders or from results, and putting those together that differ by their seed alone."""

import json
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memec.errors import MemecError, saying_what_is_wrong
from memec.report.rows import LARGEST_STEP, read_evaluations
from memec.settings import flat
from memec.train.diary import LARGEST_NUMBER, read_diary
from memec.train.results import TABLE, Rows, read_record, read_rows
from memec.train.run_folder import RunFolder

Values = NDArray[np.float64]
UNTIL_A_SCORE = "zoo"
"""The preset of runs that end when they have reached a score: they have none at the end."""
LONGEST_NAME = 200
LARGEST_SEED = 2**64


@dataclass(frozen=True)
class Run:
    """A run: what made it, and its greedy scores."""

    settings: dict[str, Any]
    preset: str
    steps: NDArray[np.int64]
    scores: Values
    variant: str
    """The strategy's name, or in the search for omega that and omega, as in mellowmax-omega7."""
    command: str
    versions: dict[str, str]
    source: Path = Path()
    """The run folder, or the folder of results."""
    status: str = "finished"
    seconds: Values | None = None
    """When each evaluation was made, in seconds of training, where the run's diary says so."""
    took: float | None = None
    """How many seconds the whole run took, where that is recorded."""
    processor_seconds: float | None = None

    @property
    def seed(self) -> int:
        """The run's seed."""
        return int(self.settings["seed"])

    @property
    def subject(self) -> tuple[str, str, str]:
        """Environment, agent and strategy."""
        agent = self.settings["agent"]
        return self.settings["environment"]["id"], agent["name"], agent["explore"]["name"]

    @property
    def searched(self) -> bool:
        """Whether the run belongs to the search for omega."""
        return self.variant != self.subject[2]


class Found(NamedTuple):
    """What there is in a folder."""

    runs: list[Run]
    passed_over: list[str]
    """One line for each run that cannot be used, with its reason."""

    def finished(self) -> "Found":
        """Return the finished runs; the others are passed over, too."""
        there = [run for run in self.runs if run.status == "finished"]
        rest = [f"{run.source} is not finished: {run.status}." for run in self.runs if run.status != "finished"]
        return Found(there, self.passed_over + rest)


@dataclass(frozen=True)
class Curve:
    """Runs that differ by their seed alone."""

    environment: str
    agent: str
    strategy: str
    label: str
    """The strategy, and whatever tells it from other curves of the same strategy."""
    budget: int
    seeds: tuple[int, ...]
    steps: NDArray[np.int64]
    scores: Values
    """One row per seed, one column per evaluation."""

    @property
    def subject(self) -> tuple[str, str, str]:
        """Environment, agent and strategy."""
        return self.environment, self.agent, self.strategy

    def until(self, step: int) -> "Curve":
        """Return the curve up to a step."""
        columns = self.steps <= step
        budget = min(self.budget, step)
        return replace(self, budget=budget, steps=self.steps[columns], scores=self.scores[:, columns])

    def of(self, seeds: Collection[int]) -> "Curve":
        """Return the curve of some of its seeds."""
        rows = [row for row, seed in enumerate(self.seeds) if seed in seeds]
        return replace(self, seeds=tuple(self.seeds[row] for row in rows), scores=self.scores[rows])


def find_runs(folder: Path, *, unfinished: bool = False) -> Found:
    """Return every finished run below a folder, in run folders and in results; on request the unfinished ones too."""
    if not folder.is_dir():
        raise MemecError(f"{folder} is neither a run folder nor a folder of runs or results.")
    runs, passed_over = [], []
    for file in sorted(folder.rglob("run.json")):
        try:
            with saying_what_is_wrong(file.parent):
                runs.append(_read_run(file.parent, unfinished=unfinished))
        except MemecError as error:
            passed_over.append(str(error))
    for file in sorted(folder.rglob("runs.json")):
        try:
            with saying_what_is_wrong(file.parent):
                found = _read_results(file.parent)
        except MemecError as error:
            passed_over.append(str(error))
        else:
            runs += found.runs
            passed_over += found.passed_over
    return Found(runs, passed_over)


def curves_of(runs: Iterable[Run]) -> list[Curve]:
    """Put runs together that differ by their seed alone; other settings that differ are named in the labels."""
    subjects: dict[tuple[str, str, str], dict[str, list[Run]]] = {}
    for run in runs:
        shared = json.dumps(dict(_deciding(run.settings)), sort_keys=True)
        subjects.setdefault(run.subject, {}).setdefault(shared, []).append(run)
    curves = []
    for subject, variants in subjects.items():
        contents = [json.loads(shared) for shared in variants]
        names = sorted({name for content in contents for name in content})
        differing = [name for name in names if len({str(content.get(name)) for content in contents}) > 1]
        for content, members in zip(contents, variants.values(), strict=True):
            told_apart = [f"{name.rpartition('.')[2]}={content.get(name)}" for name in differing]
            label = " ".join([subject[2], *told_apart])
            curves.append(_curve(subject, label, members))
    return sorted(curves, key=lambda curve: (curve.environment, curve.agent, curve.strategy, curve.label))


def longest(curves: Iterable[Curve]) -> dict[tuple[str, str, str], Curve]:
    """Return one curve per environment, agent and strategy: the longest, and of those the one with most seeds.

    Where that leaves several, which differ by their settings then, the subject is left out: none may stand for it.
    """
    best: dict[tuple[str, str, str], list[Curve]] = {}
    for curve in curves:
        known = best.get(curve.subject, [])
        order = (curve.budget, len(curve.seeds))
        before = (known[0].budget, len(known[0].seeds)) if known else (0, 0)
        if order >= before:
            best[curve.subject] = [*known, curve] if order == before else [curve]
    return {subject: found[0] for subject, found in best.items() if len(found) == 1}


def _curve(subject: tuple[str, str, str], label: str, runs: list[Run]) -> Curve:
    by_seed = {run.seed: run for run in sorted(runs, key=lambda run: run.seed)}  # the same seed twice is one run
    counts = Counter(step for run in by_seed.values() for step in run.steps.tolist())
    shared = max(counts, key=lambda step: (counts[step], step))
    by_seed = {seed: run for seed, run in by_seed.items() if shared in run.steps}  # others have no curve with these
    steps = np.array(sorted(set.intersection(*(set(run.steps.tolist()) for run in by_seed.values()))), np.int64)
    scores = np.stack([run.scores[np.isin(run.steps, steps)] for run in by_seed.values()])
    budget = int(next(iter(by_seed.values())).settings["training"]["steps"])
    return Curve(*subject, label, budget, tuple(by_seed), steps, scores)


def _read_run(folder: Path, *, unfinished: bool) -> Run:
    run = RunFolder.open(folder)
    record = run.record()
    if record.get("status") != "finished" and not unfinished:
        raise MemecError(f"{folder} is not finished: {record.get('status')}.")
    rows = read_evaluations(folder)
    if not rows:
        raise MemecError(f"{folder} has no evaluations.")
    return _run(
        folder,
        record,
        settings=record["settings"],
        preset=str(record.get("preset")),
        evaluations=[(int(row["step"]), row["mean_score"]) for row in rows],
        variant=folder.absolute().parent.name,
        seconds=_seconds_at([int(row["step"]) for row in rows], folder),
    )


def _seconds_at(steps: list[int], folder: Path) -> Values | None:
    """Return when each evaluation was made, if the diary has them all."""
    diary = {int(entry["step"]): entry["seconds"] for entry in read_diary(folder)}
    return np.array([diary[step] for step in steps]) if set(steps) <= set(diary) else None


def _read_results(folder: Path) -> Found:
    """Read the results of a part of a study; rows of runs that are not recorded in runs.json do not count."""
    record = read_record(folder)
    with saying_what_is_wrong(folder / TABLE):
        rows = read_rows(folder)
    runs, passed_over = [], []
    for name, curve in record["curves"].items():
        try:
            with saying_what_is_wrong(folder / name):
                found = _read_curve(folder, name, curve, rows)
        except MemecError as error:
            passed_over.append(str(error))
        else:
            runs += found.runs
            passed_over += found.passed_over
    return Found(runs, passed_over)


def _read_curve(folder: Path, name: str, curve: dict[str, Any], rows: Rows) -> Found:
    """Read the runs of one curve of some results."""
    runs, passed_over = [], []
    preset, _, variant = name.split("/")
    settings = curve["settings"]
    agent = settings["agent"]["name"]
    strategy = variant.removeprefix(f"{agent}-")
    for seed, about in curve["runs"].items():
        evaluations = rows.get((settings["environment"]["id"], agent, strategy, preset, int(seed)))
        if not evaluations:
            passed_over.append(f"{folder / name}, seed {seed}, has no evaluations.")
            continue
        settings_of_run = settings | {"seed": int(seed)}
        runs.append(
            _run(folder, about, settings=settings_of_run, preset=preset, evaluations=evaluations, variant=variant)
        )
    return Found(runs, passed_over)


def _run(
    source: Path,
    about: dict[str, Any],
    *,
    settings: dict[str, Any],
    preset: str,
    evaluations: list[tuple[int, float]],
    variant: str,
    seconds: Values | None = None,
) -> Run:
    """Put a run together; `variant` is the name of its curve, such as mfec-mellowmax-omega7, if it has one."""
    try:
        agent, strategy = settings["agent"]["name"], settings["agent"]["explore"]["name"]
        searched = variant.startswith(f"{agent}-{strategy}-omega")
        run = Run(
            settings=settings,
            preset=preset,
            steps=np.array([step for step, _ in evaluations], np.int64),
            scores=np.array([score for _, score in evaluations], np.float64),
            variant=variant.removeprefix(f"{agent}-") if searched else strategy,
            command=str(about.get("command", "")),
            versions=dict(about.get("versions") or {}),
            source=source,
            status=str(about.get("status", "finished")),
            seconds=seconds,
            took=about.get("seconds"),
            processor_seconds=about.get("processor_seconds"),
        )
        budget = int(settings["training"]["steps"])
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise MemecError(f"{source} has settings without {error}.") from None
    _refuse_what_no_report_can_hold(run, budget)
    return run


def _refuse_what_no_report_can_hold(run: Run, budget: int) -> None:
    """Raise an error where one run would spoil the report of all."""
    names = [
        *run.subject,
        run.variant,
        *(text for name, value in _deciding(run.settings) for text in (name, str(value))),
    ]
    if not all(isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isprintable() for name in run.subject):
        raise MemecError(f"{run.source} cannot be used: its environment, agent or strategy has no name.")
    if not all(text.isprintable() for text in names):
        raise MemecError(f"{run.source} cannot be used: its settings cannot be printed.")
    steps = [budget, *run.steps.tolist()]
    in_order = all(0 <= step < LARGEST_STEP for step in steps) and (np.diff(run.steps) > 0).all()
    if not in_order or not 0 <= run.seed < LARGEST_SEED:
        raise MemecError(f"{run.source} cannot be used: its seed or its steps cannot be.")
    if not (np.abs(run.scores) < LARGEST_NUMBER).all():
        raise MemecError(f"{run.source} cannot be used: it has a score too large to compute with.")


def _deciding(settings: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    """Yield all settings but the seed and how often a run is saved, by their dotted names."""
    return flat({name: value for name, value in settings.items() if name not in ("seed", "checkpoint")})
