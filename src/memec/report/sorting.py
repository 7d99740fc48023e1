"""Which runs say something about the paper, and under which reading of it: by their settings, not by their names."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from memec.report.claims import claims
from memec.report.evidence import Evidence, searched
from memec.report.judging import RELEASED, TEXT, Judged, judged
from memec.report.paper import GAMES
from memec.report.runs import Curve, Run, curves_of

PresetOf = Callable[..., str | None]
"""Which reading of the paper a run's settings are; `any_omega=True` overlooks omega."""


class Sorted(NamedTuple):
    """Runs by what they say about the paper."""

    readings: dict[str, list[Run]]
    search: list[Run]
    """Of the search for omega."""
    other: list[Run]
    """On Atari with other settings: never judged by."""

    def shown(self) -> list[Run]:
        """Return the runs with the paper's settings, and of what was not run with them the others."""
        text = self.readings[TEXT]
        there = {run.subject for run in text}
        return [*text, *(run for run in self.other if run.subject not in there)]


def sort_runs(runs: Sequence[Run], preset_of: PresetOf) -> Sorted:
    """Sort runs by their settings, whatever they are called."""
    found = Sorted({TEXT: [], RELEASED: []}, [], [])
    for run in runs:
        reading = preset_of(run.settings)
        if reading is not None:
            found.readings[reading].append(run)
        elif preset_of(run.settings, any_omega=True) == TEXT:
            found.search.append(run)
        elif run.subject[0] in GAMES:
            found.other.append(run)
    return found


def _searched(runs: Sequence[Run]) -> list[Curve]:
    """Return the curves of the search, each omega a strategy of its own."""
    by_omega: dict[float, list[Run]] = {}
    for run in runs:
        by_omega.setdefault(float(run.settings["agent"]["explore"]["omega"]), []).append(run)
    return [replace(curve, strategy=searched(omega)) for omega, these in by_omega.items() for curve in curves_of(these)]


def readings_of(found: Sorted) -> dict[str, Evidence]:
    """Return what there is to judge by; the authors' code has no D3QN, whose runs count in either reading."""
    text = curves_of(found.readings[TEXT])
    baseline = [curve for curve in text if curve.agent == "d3qn"]
    other = curves_of(found.other)
    released = curves_of(found.readings[RELEASED])
    return {TEXT: Evidence([*text, *_searched(found.search)], other), RELEASED: Evidence([*released, *baseline])}


def judge(found: Sorted) -> list[Judged]:
    """Judge every claim of the paper by these runs."""
    return judged(claims(), readings_of(found))
