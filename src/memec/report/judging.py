"""From p-values to one of five outcomes: families are corrected, and readings of the paper compared."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from memec.report.claims import Claim
from memec.report.evidence import Evidence, Finding, NotRunError
from memec.report.significance import LEVEL, holm

Outcome = Literal[
    "supported", "contradicted", "undecided", "depends on the reading", "not run at the paper's budget"
]  # fmt: skip
OUTCOMES: tuple[Outcome, ...] = (
    "supported", "contradicted", "undecided", "depends on the reading", "not run at the paper's budget"
)  # fmt: skip
DECIDED: tuple[Outcome, ...] = ("supported", "contradicted")
TEXT, RELEASED = "paper", "released"
"""Readings, by the presets that stand for them: the paper's text comes first."""


class Result(NamedTuple):
    """What one reading gave."""

    reading: str
    outcome: Outcome
    finding: Finding | None
    said: str
    """The p-value that decided it, or the power there was, or what is missing."""


class Judged(NamedTuple):
    """A claim with its outcome and what every reading of it gave, the first being ours."""

    claim: Claim
    outcome: Outcome
    results: list[Result]


def judged(claims: Sequence[Claim], readings: Mapping[str, Evidence]) -> list[Judged]:
    """Judge claims by each reading of the paper; those of one family are corrected together."""
    found: dict[tuple[int, str, str], Finding | str] = {}
    for number, claim in enumerate(claims):
        for reading, evidence in readings.items():
            if reading == TEXT or claim.released:
                for variant, judge in claim.variants.items():
                    try:
                        found[number, reading, variant] = judge(evidence)
                    except NotRunError as missing:
                        found[number, reading, variant] = str(missing)
    corrected = _corrected(claims, found)
    judgements = []
    for number, claim in enumerate(claims):
        results = [
            _result(_name(reading, variant), finding, corrected.get((number, reading, variant)), claim.family)
            for (other, reading, variant), finding in found.items()
            if other == number
        ]
        judgements.append(Judged(claim, _together(results), results))
    return judgements


def _corrected(
    claims: Sequence[Claim], found: Mapping[tuple[int, str, str], Finding | str]
) -> dict[tuple[int, str, str], tuple[float, float]]:
    """Return the p-values for and against, each corrected within its family by Holm's method.

    Of the other claims in the family it is their first variant that counts.
    """
    there = {key: finding for key, finding in found.items() if isinstance(finding, Finding)}
    corrected = {}
    for key, finding in there.items():
        number, reading, _ = key
        family = claims[number].family
        others = [
            other
            for (place, read, variant), other in there.items()
            if family and claims[place].family == family and place != number and read == reading
            and variant == next(iter(claims[place].variants))
        ]  # fmt: skip
        corrected[key] = (
            holm([finding.supports, *(other.supports for other in others)])[0],
            holm([finding.contradicts, *(other.contradicts for other in others)])[0],
        )
    return corrected


def _result(reading: str, finding: Finding | str, corrected: tuple[float, float] | None, family: str) -> Result:
    if isinstance(finding, str) or corrected is None:
        return Result(reading, "not run at the paper's budget", None, str(finding))
    for_it, against_it = corrected
    how = "" if family else ", uncorrected"
    if for_it <= LEVEL + 1e-9:
        return Result(reading, "supported", finding, f"{in_words(for_it)}{how}")
    if against_it <= LEVEL + 1e-9:
        return Result(reading, "contradicted", finding, f"{in_words(against_it)}{how}")
    said = f"{in_words(for_it)} for it, {in_words(against_it)} against it{how}; power at most {finding.power:.2f}"
    return Result(reading, "undecided", finding, said)


def _together(results: Sequence[Result]) -> Outcome:
    """Return our reading's outcome, unless another one decides otherwise."""
    ours = results[0].outcome
    if ours == "not run at the paper's budget":
        return ours
    others = {result.outcome for result in results[1:] if result.outcome in DECIDED}
    return "depends on the reading" if others - {ours} else ours


def _name(reading: str, variant: str) -> str:
    parts = ["as released" if reading == RELEASED else "the text", variant]
    return ", ".join(part for part in parts if part)


def in_words(p: float) -> str:
    """Return a p-value as it is usually written."""
    return "p < .001" if p < 0.001 else f"p = {p:.2g}".replace("0.", ".")
