"""What was measured, as tests of what the paper claims: each gives a p-value for it and one against it."""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from math import prod
from typing import Literal, NamedTuple

import numpy as np

from memec.report.paper import AGENT_TITLES, ATARI_BUDGETS, DOMAINS, GAMES, title_of
from memec.report.runs import Curve, Values, longest
from memec.report.significance import (
    Summary,
    difference,
    difference_of_summaries,
    groups_test,
    power_of_rank_tests,
    power_of_share,
    probability_of_improvement,
    rank_test,
    share_test,
    some,
    variance_test,
)
from memec.report.stats import area_under_curve, final_scores, spread

LEAST_SEEDS = 3
"""As many as the paper has. Fewer are not judged at all."""
SMALL_BUDGET = 100_000
NEARLY_ALL = 0.9
"""The share of seeds that must do what is said to happen reliably."""
CLOSE = 0.1
"""Of the range of scores: what counts as similar, and how near to their median a stable strategy's seeds end."""
SEEDS_OF_THE_PAPER = 3

Measure = Literal["final score", "area under the curve"]
Subject = tuple[str, str, str]
"""Environment, agent and strategy."""


class Finding(NamedTuple):
    """What speaks for and against a claim, and the figures this rests on."""

    supports: float
    """The p-value of the claim: small where the data can hardly be had if it is false."""
    contradicts: float
    """The p-value of its opposite."""
    figures: str
    power: float
    """How often so many seeds would support the claim, uncorrected, if it holds with the stated effect."""

    def negated(self) -> "Finding":
        """Return the finding on the opposite claim."""
        return self._replace(supports=self.contradicts, contradicts=self.supports)


class NotRunError(Exception):
    """What is missing to judge a claim, and what was run instead."""


class Evidence:
    """The curves of one reading of the paper, and others that are near it (a smaller budget, another setting)."""

    def __init__(self, curves: Iterable[Curve], instead: Iterable[Curve] = ()) -> None:
        self._curves = longest(curves)
        self._instead = longest(instead)

    def curve(self, subject: Subject, budget: int | None = None) -> Curve:
        """Return a curve with enough seeds and steps to judge by, cut at the budget."""
        environment, agent, _ = subject
        if budget is None:
            budget = ATARI_BUDGETS.get(agent, ATARI_BUDGETS["mfec"]) if environment in GAMES else SMALL_BUDGET
        curve = self._curves.get(subject)
        if curve is None or curve.budget < budget or len(curve.seeds) < LEAST_SEEDS:
            raise NotRunError(self._missing(subject, curve, budget))
        return curve.until(budget)

    def need(self, subjects: Iterable[Subject], budget: int | None = None) -> None:
        """Name everything that is missing to judge by these."""
        missing = []
        for subject in subjects:
            try:
                self.curve(subject, budget)
            except NotRunError as error:
                missing.append(str(error))
        if missing:
            raise NotRunError("; ".join(missing))

    def _missing(self, subject: Subject, curve: Curve | None, budget: int) -> str:
        if curve is None:
            text = f"no run of {named(subject)}"
        elif curve.budget < budget:
            text = f"{named(subject)}, {curve.budget:,} of {budget:,} steps: {spread(final_scores(curve.scores))}"
        else:
            text = f"{named(subject)}, {len(curve.seeds)} of {LEAST_SEEDS} seeds: {spread(final_scores(curve.scores))}"
        other = self._instead.get(subject)
        if other is not None:
            seeds = f"{len(other.seeds)} seed{'s' * (len(other.seeds) > 1)}"
            text += f" (instead, {seeds} of {other.budget:,} steps: {spread(final_scores(other.scores))})"
        return text

    def values(self, subject: Subject, measure: Measure = "final score", budget: int | None = None) -> Values:
        """Return a number per seed."""
        curve = self.curve(subject, budget)
        if measure == "final score":
            return final_scores(curve.scores)
        domain = DOMAINS[subject[0]]
        return area_under_curve(curve.steps, curve.scores, domain.lowest, domain.highest)


def named(subject: Subject) -> str:
    """Return a curve's name for people."""
    environment, agent, strategy = subject
    who = AGENT_TITLES[agent] if agent == "d3qn" else f"{AGENT_TITLES[agent]} {strategy}"
    return f"{title_of(environment)} {who}"


def all_of(parts: Sequence[Finding]) -> Finding:
    """Return the finding that every one of these holds, which are of different seeds: as sure as the least sure."""
    return Finding(
        max(part.supports for part in parts),
        some([part.contradicts for part in parts]),
        "; ".join(part.figures for part in parts),
        prod(part.power for part in parts),
    )


def some_of(parts: Sequence[Finding]) -> Finding:
    """Return the finding that at least one of these holds."""
    found = all_of([part.negated() for part in parts]).negated()
    return found._replace(power=max(part.power for part in parts))


def _all_pairs(parts: Sequence[Finding], power: float) -> Finding:
    """Return the finding that every pair is in order; pairs may share seeds."""
    against = min(1.0, len(parts) * min(part.contradicts for part in parts))
    return all_of(parts)._replace(contradicts=against, power=power)


def beats(
    evidence: Evidence,
    pairs: Sequence[tuple[Subject, Subject]],
    measure: Measure = "final score",
) -> Finding:
    """Judge whether the first of every pair tends to be above the second."""
    subjects = list(dict.fromkeys(subject for pair in pairs for subject in pair))
    evidence.need(subjects)
    values = {subject: evidence.values(subject, measure) for subject in subjects}
    parts = [
        Finding(
            rank_test(values[better], values[worse]),
            rank_test(values[worse], values[better]),
            f"P({_short(better, subjects)} > {_short(worse, subjects)}) = {probability(values[better], values[worse])}",
            0.0,
        )
        for better, worse in pairs
    ]
    against: dict[Subject, tuple[int, ...]] = {}
    for better, worse in pairs:
        against[better] = (*against.get(better, ()), len(values[worse]))
    power = prod(power_of_rank_tests(len(values[first]), others) for first, others in against.items())
    means = ", ".join(f"{_short(subject, subjects)} {spread(values[subject])}" for subject in subjects)
    found = _all_pairs(parts, power)
    figures = f"{'' if measure == 'final score' else 'area under the curve: '}{means}; {found.figures}"
    if measure == "final score" and len(against) == 1 and min(map(len, values.values())) > SEEDS_OF_THE_PAPER:
        (first,) = against
        others = [values[worse] for _, worse in pairs]
        share = highest_of_three(values[first], others)
        figures += f"; three seeds drawn from ours of each have its mean highest in {share:.0%}"
    return found._replace(figures=figures)


def probability(better: Values, worse: Values) -> str:
    """Return in words how likely a seed of one is above a seed of the other."""
    value, low, high = probability_of_improvement(better, worse)
    return f"{value:.2f}" if low is None or high is None else f"{value:.2f} [{low:.2f}, {high:.2f}]"


def highest_of_three(first: Values, others: Sequence[Values], draws: int = 10_000) -> float:
    """Return how often the mean of three seeds, as many as the paper has, is above those of three of each other."""
    rng = np.random.default_rng(0)

    def mean_of_three(values: Values) -> Values:
        chosen = rng.integers(0, len(values), (draws, SEEDS_OF_THE_PAPER))
        return np.asarray(values[chosen].mean(axis=1))

    ours = mean_of_three(first)
    return float(np.logical_and.reduce([ours > mean_of_three(other) for other in others]).mean())


def beats_as_in_the_table(
    evidence: Evidence,
    better: Subject,
    worse: Subject,
    paper: tuple[tuple[float, float], tuple[float, float]],
    budget: int,
) -> Finding:
    """Judge one pair of the paper's table, with the difference and its interval beside the paper's own."""
    evidence.need((better, worse), budget)
    x, y = (evidence.values(subject, budget=budget) for subject in (better, worse))
    summaries: list[Summary] = [(mean, std, SEEDS_OF_THE_PAPER) for mean, std in paper]
    figures = (
        f"{spread(x)} and {spread(y)} ({len(x)} and {len(y)} seeds): difference {difference(x, y)}, "
        f"the paper's {difference_of_summaries(*summaries)}; P = {probability(x, y)}"
    )
    return Finding(rank_test(x, y), rank_test(y, x), figures, power_of_rank_tests(len(x), (len(y),)))


def similar(evidence: Evidence, one: Subject, other: Subject) -> Finding:
    """Judge whether two end close to each other: equivalence is shown, not the lack of a difference."""
    evidence.need((one, other))
    x, y = evidence.values(one), evidence.values(other)
    margin = CLOSE * _range(one)
    apart = min(rank_test(x, y + margin), rank_test(y, x + margin))
    figures = f"{spread(x)} and {spread(y)}: difference {difference(x, y)}, similar within {margin:.4g}"
    within = max(rank_test(x + margin, y), rank_test(y + margin, x))
    return Finding(within, min(1.0, 2 * apart), figures, power_of_rank_tests(len(x), (len(y),)))


def searched(omega: float) -> str:
    """Return the strategy that a run of the search for omega counts as."""
    return f"mellowmax omega={omega:g}"


def differ(evidence: Evidence, subjects: Sequence[Subject], measure: Measure) -> Finding:
    """Judge whether it matters which of these a seed is of; that it does not is shown by all pairs being close."""
    values = [evidence.values(subject, measure) for subject in subjects]
    margin = CLOSE * (_range(subjects[0]) if measure == "final score" else 1.0)
    apart = [max(rank_test(x + margin, y), rank_test(y + margin, x)) for x, y in combinations(values, 2)]
    means = ", ".join(f"{subject[2]} {spread(each)}" for subject, each in zip(subjects, values, strict=True))
    fewest = min(map(len, values))
    return Finding(
        groups_test(values), max(apart), f"{title_of(subjects[0][0])}: {means}",
        power_of_rank_tests(fewest, (fewest,)),
    )  # fmt: skip


def solves(evidence: Evidence, subject: Subject, bar: float | None = None, *, where: bool = False) -> Finding:
    """Judge whether most seeds reach the bar at which the environment counts as solved; `where` names that, too."""
    bar = DOMAINS[subject[0]].solved if bar is None else bar
    assert bar is not None
    values = evidence.values(subject)
    count, seeds = int((values >= bar).sum()), len(values)
    name = AGENT_TITLES["d3qn"] if subject[1] == "d3qn" else subject[2]
    figures = f"{f'{title_of(subject[0])} ' if where else ''}{name} {spread(values)} ({count} of {seeds})"
    return Finding(share_test(count, seeds), share_test(seeds - count, seeds), figures, power_of_share(seeds))


def solves_reliably(evidence: Evidence, subject: Subject) -> Finding:
    """Judge whether nearly all seeds solve an environment."""
    bar = DOMAINS[subject[0]].solved
    assert bar is not None
    values = evidence.values(subject)
    return _nearly_all(int((values >= bar).sum()), len(values), f"{spread(values)}, {{}} of {{}} solve it")


def stable(evidence: Evidence, subject: Subject) -> Finding:
    """Judge whether nearly all seeds end close to their median."""
    values = evidence.values(subject)
    close = int((np.abs(values - np.median(values)) <= CLOSE * _range(subject)).sum())
    return _nearly_all(close, len(values), f"{title_of(subject[0])} {spread(values)}, {{}} of {{}} near the median")


def _nearly_all(count: int, seeds: int, figures: str) -> Finding:
    return Finding(
        share_test(count, seeds, NEARLY_ALL),
        share_test(seeds - count, seeds, 1 - NEARLY_ALL),
        figures.format(count, seeds),
        power_of_share(seeds, share=1.0, bar=NEARLY_ALL),
    )


def varies_more(
    evidence: Evidence, subject: Subject, others: Sequence[Subject], measure: Measure = "final score"
) -> Finding:
    """Judge whether a strategy's seeds vary more than those of each other."""
    wide = evidence.values(subject, measure)
    parts = []
    for other in others:
        narrow = evidence.values(other, measure)
        figures = f"{subject[2]} {spread(wide)}, {other[2]} {spread(narrow)}"
        parts.append(Finding(variance_test(wide, narrow), variance_test(narrow, wide), figures, 0.0))
    power = power_of_rank_tests(len(wide), tuple(len(evidence.values(other, measure)) for other in others))
    return _all_pairs(parts, power if len(wide) > SEEDS_OF_THE_PAPER else 0.0)


def below(evidence: Evidence, subject: Subject, bar: float) -> Finding:
    """Judge whether most seeds stay below a score."""
    return solves(evidence, subject, bar, where=True).negated()


def _range(subject: Subject) -> float:
    domain = DOMAINS[subject[0]]
    return domain.highest - domain.lowest


def _short(subject: Subject, among: Iterable[Subject]) -> str:
    """Name a subject by what tells it from the others it stands with."""
    subjects = list(among)
    words = []
    if len({other[0] for other in subjects}) > 1:
        words.append(title_of(subject[0]))
    if len({other[1] for other in subjects}) > 1:
        words.append(AGENT_TITLES[subject[1]])
    if subject[1] != "d3qn":
        words.append(subject[2])
    return " ".join(words) or AGENT_TITLES[subject[1]]


Judge = Callable[[Evidence], Finding]
