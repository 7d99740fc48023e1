"""What speaks for or against a claim, and the words in which claims are judged."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from memec.report.paper import AGENT_TITLES, ATARI_BUDGETS, DOMAINS, GAMES, title_of
from memec.report.runs import Curve, Values, by_subject
from memec.report.stats import (
    Estimate,
    area_under_curve,
    final_scores,
    interquartile_mean,
    p_value,
    probability_of_improvement,
    spread,
)

LEAST_SEEDS = 5
LEAST_SEEDS_ATARI = 3
SMALL_BUDGET = 100_000
MOST_OF_THE_SEEDS = 0.9
FEW_OF_THE_SEEDS = 0.1
HIGH_DEVIATION = 0.1
"""Of the range of scores that the environment has."""
SIGNIFICANCE = 0.05

TERMS = f"""\
- The **final score** of a seed is the mean of its last 5 evaluations, as in the paper. The seed is the unit everywhere.
- A seed **solves** an environment when its final score is at least 475 in CartPole, -100 in Acrobot (Gymnasium's own
  thresholds) or 0.95 in a room.
  A strategy solves it when at least {MOST_OF_THE_SEEDS:.0%} of its seeds do, and **fails** when at most
  {FEW_OF_THE_SEEDS:.0%} do.
- A **beats** B when the probability that a seed of A scores above a seed of B has a 95% bootstrap interval above one
  half, and the one-sided Mann-Whitney test gives p <= {SIGNIFICANCE}.
  **Faster** is the same with the area under the learning curve.
- **High variance**: the standard deviation of the final scores over seeds is at least {HIGH_DEVIATION:.0%} of the range
  of scores (CartPole 0 to 500, Acrobot -500 to 0, rooms 0 to 1). **Stable**: less than that.
- **IQM** is the interquartile mean over seeds, with a 95% bootstrap interval.
- A claim is judged only with at least {LEAST_SEEDS} seeds ({LEAST_SEEDS_ATARI} on Atari, the paper's number) and the
  paper's whole budget of steps; until then it is **not yet run**, whatever smaller runs show.
"""

Verdict = Literal["confirmed", "not confirmed", "not yet run"]
Measure = Literal["final score", "area under the curve"]
Subject = tuple[str, str, str]
"""Environment, agent and strategy."""


class Finding(NamedTuple):
    """A verdict and the figures it rests on."""

    verdict: Verdict
    figures: str


class NotYetRunError(Exception):
    """What is missing to judge a claim."""


class Evidence:
    """Our curves with the paper's settings."""

    def __init__(self, curves: Iterable[Curve]) -> None:
        self._curves = by_subject(curves)

    def curve(self, subject: Subject, budget: int | None = None) -> Curve:
        """Return a curve with enough seeds and steps to judge by, cut at the budget."""
        environment, agent, _ = subject
        atari = environment in GAMES
        if budget is None:
            budget = ATARI_BUDGETS.get(agent, ATARI_BUDGETS["mfec"]) if atari else SMALL_BUDGET
        least = LEAST_SEEDS_ATARI if atari else LEAST_SEEDS
        curve = self._curves.get(subject)
        if curve is None:
            raise NotYetRunError(f"no runs of {named(subject)}")
        if len(curve.seeds) < least or curve.budget < budget:
            raise NotYetRunError(
                f"{named(subject)} has {len(curve.seeds)} of {least} seeds and {curve.budget:,} of {budget:,} steps; "
                f"so far {spread(final_scores(curve.scores))}"
            )
        return curve.until(budget)

    def values(self, subject: Subject, measure: Measure = "final score", budget: int | None = None) -> Values:
        """Return a number per seed."""
        curve = self.curve(subject, budget)
        if measure == "final score":
            return final_scores(curve.scores)
        domain = DOMAINS[subject[0]]
        return area_under_curve(curve.steps, curve.scores, domain.lowest, domain.highest)

    def middle(self, subject: Subject) -> Estimate:
        """Return the interquartile mean of the final scores."""
        return interquartile_mean(self.values(subject))

    def share_solved(self, subject: Subject) -> float:
        """Return the share of seeds that solve the environment."""
        threshold = DOMAINS[subject[0]].solved
        assert threshold is not None
        return float((self.values(subject) >= threshold).mean())

    def deviation(self, subject: Subject) -> float:
        """Return the standard deviation over seeds as a share of the range of scores."""
        domain = DOMAINS[subject[0]]
        return (spread(self.values(subject)).std or 0.0) / (domain.highest - domain.lowest)


def named(subject: Subject) -> str:
    """Return a curve's name for people."""
    environment, agent, strategy = subject
    who = AGENT_TITLES[agent] if agent == "d3qn" else f"{AGENT_TITLES[agent]} {strategy}"
    return f"{title_of(environment)} {who}"


def solved_by(evidence: Evidence, subjects: Sequence[Subject], passes: Callable[[float], bool]) -> Finding:
    """Judge by the share of seeds that solve, which must pass for every subject."""
    shares = {subject: evidence.share_solved(subject) for subject in subjects}
    figures = "; ".join(
        f"{_short(subject, subjects)} {spread(evidence.values(subject))}, solved by {share:.0%} of "
        f"{len(evidence.values(subject))} seeds"
        for subject, share in shares.items()
    )
    return Finding(_verdict(all(passes(share) for share in shares.values())), figures)


def beats(
    evidence: Evidence,
    pairs: Sequence[tuple[Subject, Subject]],
    measure: Measure = "final score",
    budget: int | None = None,
) -> Finding:
    """Judge whether the first beats the second in every pair."""
    holds, figures = True, []
    values: dict[Subject, Values] = {
        subject: evidence.values(subject, measure, budget) for pair in pairs for subject in pair
    }
    for better, worse in pairs:
        probability = probability_of_improvement(values[better], values[worse])
        p = p_value(values[better], values[worse])
        holds &= probability.low is not None and probability.low > 0.5 and p <= SIGNIFICANCE + 1e-9
        figures.append(f"P({_short(better, values)} > {_short(worse, values)}) = {probability}")
    middles = [f"{_short(subject, values)} {interquartile_mean(value)}" for subject, value in values.items()]
    return Finding(_verdict(bool(holds)), f"{measure} (IQM): {', '.join(middles)}; {', '.join(figures)}")


def lowest(evidence: Evidence, groups: Sequence[tuple[Subject, Sequence[Subject]]]) -> Finding:
    """Judge whether the first has the lowest interquartile mean of each group, with none as low."""
    holds, figures = True, []
    for first, others in groups:
        middle = evidence.middle(first)
        holds &= all(middle.value < evidence.middle(other).value for other in others)
        rest = ", ".join(f"{other[2]} {evidence.middle(other).value:.4g}" for other in others)
        figures.append(f"{title_of(first[0])}: {first[2]} {middle}, {rest}")
    return Finding(_verdict(holds), "; ".join(figures))


def highest(evidence: Evidence, first: Subject, others: Sequence[Subject]) -> Finding:
    """Judge whether the first has the highest interquartile mean, with none as high."""
    middle = evidence.middle(first)
    rest = ", ".join(f"{other[2]} {evidence.middle(other)}" for other in others)
    holds = all(middle.value > evidence.middle(other).value for other in others)
    return Finding(_verdict(holds), f"{first[2]} {middle}, {rest}")


def deviates(evidence: Evidence, subjects: Sequence[Subject], passes: Callable[[float], bool]) -> Finding:
    """Judge by the standard deviation over seeds, which must pass for every subject."""
    shares = {subject: evidence.deviation(subject) for subject in subjects}
    figures = "; ".join(
        f"{_short(subject, subjects)} {spread(evidence.values(subject))} ({share:.0%} of the range)"
        for subject, share in shares.items()
    )
    return Finding(_verdict(all(passes(share) for share in shares.values())), figures)


def high_variance(share: float) -> bool:
    """Tell whether a deviation counts as high."""
    return share >= HIGH_DEVIATION


def stable(share: float) -> bool:
    """Tell whether a deviation counts as low."""
    return share < HIGH_DEVIATION


def solves(share: float) -> bool:
    """Tell whether enough seeds solve."""
    return share >= MOST_OF_THE_SEEDS


def solves_not(share: float) -> bool:
    """Tell whether too few seeds solve to speak of solving."""
    return share < MOST_OF_THE_SEEDS


def fails(share: float) -> bool:
    """Tell whether hardly any seed solves."""
    return share <= FEW_OF_THE_SEEDS


def _verdict(holds: bool) -> Verdict:
    return "confirmed" if holds else "not confirmed"


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
