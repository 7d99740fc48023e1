"""What the seeds of the league say: scores with intervals, and whether one player ends above another.

The intervals are Student's and Welch's, at 95%: with five seeds a bootstrap would be too narrow.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.worlds.league import PRESET
from benchmarks.worlds.worlds import HELD_OUT_SEEDS, WORLDS
from memec.report.runs import Run, find_runs
from memec.report.stats import CONFIDENCE, LAST_EVALUATIONS, Estimate, final_scores
from memec.train.results import read_record

Values = NDArray[np.float64]


class Played(NamedTuple):
    """What a player did in a world, a row for each seed, in the world's own rewards."""

    steps: NDArray[np.int64]
    scores: Values
    processor_seconds: float | None
    """The median over seeds."""

    @property
    def final(self) -> Values:
        """The score of each seed: the mean of its last five evaluations."""
        return final_scores(self.scores)

    def steps_to(self, score: float) -> float:
        """Return the median over seeds of the step at which the last five evaluations had this score on average.

        It is infinite where half of the seeds never got there.
        """
        windows = np.lib.stride_tricks.sliding_window_view(self.scores, min(LAST_EVALUATIONS, len(self.steps)), axis=1)
        reached = windows.mean(axis=2) >= score - 1e-9
        ends = self.steps[-windows.shape[1] :]
        when = np.where(reached.any(axis=1), ends[reached.argmax(axis=1)], np.inf)
        return float(np.quantile(when, 0.5, method="higher"))


League = dict[tuple[str, str], Played]


def read_league(folder: Path, seeds: Collection[int] = HELD_OUT_SEEDS) -> League:
    """Return who played where with these seeds, from results/worlds."""
    runs: dict[tuple[str, str], list[Run]] = {}
    for run in find_runs(folder).runs if folder.is_dir() else []:
        if run.preset == PRESET and run.seed in seeds and run.source.name in WORLDS:
            runs.setdefault((run.source.name, run.subject[1]), []).append(run)
    return {place: _played(place[0], found) for place, found in runs.items()}


def mean(values: Values) -> Estimate:
    """Return the mean over seeds, with its interval."""
    return difference(values, np.zeros(1)) if len(values) > 1 else Estimate(float(values.mean()))


def difference(ours: Values, theirs: Values) -> Estimate:
    """Return how much further ours are on average; of a single seed there is no deviation, which is then taken as 0."""
    value = float(ours.mean() - theirs.mean())
    samples = [sample for sample in (ours, theirs) if len(sample) > 1]
    if not samples:
        return Estimate(value)
    parts = [float(sample.var(ddof=1)) / len(sample) for sample in samples]
    spread = sum(parts)
    if spread < 1e-12:
        return Estimate(value, value, value)
    # Welch and Satterthwaite's degrees of freedom
    freedom = spread**2 / sum(part**2 / (len(sample) - 1) for part, sample in zip(parts, samples, strict=True))
    half = float(stats.t.ppf(0.5 + CONFIDENCE / 2, freedom)) * spread**0.5
    return Estimate(value, value - half, value + half)


def verdict(ours: Played, theirs: Played) -> str:
    """Return win, tie or loss; a loss is an interval of the difference in final scores that lies below 0."""
    found = difference(ours.final, theirs.final)
    if found.low is None or found.high is None:
        return "tie"
    return "win" if found.low > 0 else "loss" if found.high < 0 else "tie"


def _played(world: str, runs: Sequence[Run]) -> Played:
    runs = sorted(runs, key=lambda run: run.seed)
    seconds = [second for run in runs if (second := _processor_seconds(run)) is not None]
    scores = np.stack([run.scores for run in runs]) / WORLDS[world].reward_unit
    return Played(runs[0].steps, scores, float(np.median(seconds)) if seconds else None)


def _processor_seconds(run: Run) -> float | None:
    _, agent, strategy = run.subject
    curves = read_record(run.source)["curves"]
    seconds = curves[f"{PRESET}/{run.source.name}/{agent}-{strategy}"]["runs"][str(run.seed)]["processor_seconds"]
    return None if seconds is None else float(seconds)
