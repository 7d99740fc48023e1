"""Every claim of the paper with the criterion it is judged by, written down before the study was run."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import NamedTuple

from memec.report import evidence as by
from memec.report.evidence import Evidence, Finding, NotYetRunError, Subject, Verdict
from memec.report.paper import AGENT_TITLES, ATARI_BUDGETS, ATARI_TABLE, SMALL, title_of
from memec.report.stats import interquartile_mean

CARTPOLE, ACROBOT, OPENROOM, FOURROOM = SMALL
ROOMS = (OPENROOM, FOURROOM)
STRATEGIES = ("epsilon-greedy", "boltzmann", "mellowmax", "ucb", "thompson")
SOFTMAX = ("boltzmann", "mellowmax")
FASTER_GAMES = ("ALE/SpaceInvaders-v5", "ALE/Qbert-v5", "ALE/MsPacman-v5")
RANDOM_BOWLING = 23.1
"""Mnih et al., 2015."""


class Claim(NamedTuple):
    """What the paper says, when we call it confirmed, and how to find out."""

    said: str
    criterion: str
    judge: Callable[[Evidence], Finding]


class Judged(NamedTuple):
    """A claim with our figures."""

    said: str
    criterion: str
    verdict: Verdict
    figures: str


def judged(evidence: Evidence) -> list[Judged]:
    """Judge every claim of the paper."""
    results = []
    for claim in CLAIMS:
        try:
            finding = claim.judge(evidence)
        except NotYetRunError as missing:
            finding = Finding("not yet run", str(missing))
        results.append(Judged(claim.said, claim.criterion, finding.verdict, finding.figures))
    return results


def _others(environment: str, agent: str, *but: str) -> list[Subject]:
    return [(environment, agent, strategy) for strategy in STRATEGIES if strategy not in but]


def _classic_control() -> Iterator[Claim]:
    for agent in ("mfec", "nec"):
        yield Claim(
            f"All five strategies solve CartPole ({AGENT_TITLES[agent]}).",
            "Each of the five solves it.",
            partial(by.solved_by, subjects=_others(CARTPOLE, agent), passes=by.solves),
        )
    for agent in ("mfec", "nec"):
        title = AGENT_TITLES[agent]
        mellowmax = (ACROBOT, agent, "mellowmax")
        boltzmann = (ACROBOT, agent, "boltzmann")
        pairs = [(mellowmax, other) for other in _others(ACROBOT, agent, "mellowmax")]
        yield Claim(
            f"Mellowmax ends highest on Acrobot ({title}).",
            "It beats each of the other four.",
            partial(by.beats, pairs=pairs),
        )
        yield Claim(
            f"Mellowmax learns fastest on Acrobot ({title}).",
            "It is faster than each of the other four.",
            partial(by.beats, pairs=pairs, measure="area under the curve"),
        )
        yield Claim(
            f"Boltzmann is next best on Acrobot ({title}).",
            "Its IQM is the highest of the strategies other than mellowmax.",
            partial(by.highest, first=boltzmann, others=_others(ACROBOT, agent, "mellowmax", "boltzmann")),
        )
        yield Claim(
            f"Boltzmann has high variance over seeds on Acrobot ({title}).",
            "High variance.",
            partial(by.deviates, subjects=[boltzmann], passes=by.high_variance),
        )
        poor = [((ACROBOT, agent, strategy), (ACROBOT, agent, "ucb")) for strategy in SOFTMAX]
        yield Claim(
            f"UCB performs poorly on Acrobot ({title}).",
            "Mellowmax and Boltzmann both beat it.",
            partial(by.beats, pairs=poor),
        )
        worst = [((env, agent, "thompson"), _others(env, agent, "thompson")) for env in (ACROBOT, *ROOMS)]
        yield Claim(
            f"Thompson sampling performs worst ({title}).",
            "The lowest IQM of the five on Acrobot and in both rooms.",
            partial(by.lowest, groups=worst),
        )
    baseline = [((ACROBOT, "mfec", "mellowmax"), (ACROBOT, "d3qn", "epsilon-greedy"))]
    yield Claim(
        "D3QN learns more slowly on Acrobot.",
        "MFEC with mellowmax is faster.",
        partial(by.beats, pairs=baseline, measure="area under the curve"),
    )
    yield Claim("D3QN ends lower on Acrobot.", "MFEC with mellowmax beats it.", partial(by.beats, pairs=baseline))


def _rooms() -> Iterator[Claim]:
    softmax = [
        ((room, "mfec", better), (room, "mfec", worse))
        for room, better, worse in product(ROOMS, SOFTMAX, [name for name in STRATEGIES if name not in SOFTMAX])
    ]
    yield Claim(
        "MFEC performs best in rooms with softmax strategies.",
        "In both rooms Boltzmann and mellowmax are each faster than the other three (final scores tie at the goal).",
        partial(by.beats, pairs=softmax, measure="area under the curve"),
    )
    yield Claim(
        "MFEC with epsilon-greedy solves OpenRoom.",
        "It solves it.",
        partial(by.solved_by, subjects=[(OPENROOM, "mfec", "epsilon-greedy")], passes=by.solves),
    )
    yield Claim(
        "MFEC with epsilon-greedy has high variance in FourRoom.",
        "High variance.",
        partial(by.deviates, subjects=[(FOURROOM, "mfec", "epsilon-greedy")], passes=by.high_variance),
    )
    yield Claim("NEC performs poorly in rooms.", "At most one of the five strategies solves each room.", _nec_in_rooms)
    nec = [
        ((room, "nec", "epsilon-greedy"), other) for room in ROOMS for other in _others(room, "nec", "epsilon-greedy")
    ]
    yield Claim(
        "NEC performs best in rooms with epsilon-greedy.",
        "In both rooms it beats each of the other four.",
        partial(by.beats, pairs=nec),
    )
    yield Claim(
        "NEC with epsilon-greedy still performs poorly in FourRoom.",
        "It does not solve it.",
        partial(by.solved_by, subjects=[(FOURROOM, "nec", "epsilon-greedy")], passes=by.solves_not),
    )
    yield Claim(
        "D3QN does not consistently solve OpenRoom.",
        "It does not solve it.",
        partial(by.solved_by, subjects=[(OPENROOM, "d3qn", "epsilon-greedy")], passes=by.solves_not),
    )
    yield Claim(
        "D3QN fails in FourRoom.",
        "It fails.",
        partial(by.solved_by, subjects=[(FOURROOM, "d3qn", "epsilon-greedy")], passes=by.fails),
    )
    for agent in ("mfec", "nec"):
        subjects = [(environment, agent, "mellowmax") for environment in SMALL]
        yield Claim(
            f"Mellowmax is stable across seeds ({AGENT_TITLES[agent]}).",
            "Stable in each of the four small environments.",
            partial(by.deviates, subjects=subjects, passes=by.stable),
        )


def _nec_in_rooms(evidence: Evidence) -> Finding:
    solving = {
        room: [subject[2] for subject in _others(room, "nec") if by.solves(evidence.share_solved(subject))]
        for room in ROOMS
    }
    figures = "; ".join(f"{title_of(room)} solved by {', '.join(names) or 'none'}" for room, names in solving.items())
    return Finding("confirmed" if all(len(names) <= 1 for names in solving.values()) else "not confirmed", figures)


def _atari() -> Iterator[Claim]:
    yield Claim(
        "NEC fails Bowling and Pong, with epsilon-greedy and with mellowmax.",
        f"The IQM is below random play's {RANDOM_BOWLING} in Bowling and below 0 in Pong.",
        _nec_on_atari,
    )
    for agent in ("mfec", "nec"):
        pairs = [((game, agent, "mellowmax"), (game, agent, "epsilon-greedy")) for game in FASTER_GAMES]
        yield Claim(
            f"Mellowmax learns faster on Space Invaders, Q*bert and Ms. Pac-Man ({AGENT_TITLES[agent]}).",
            "It is faster than epsilon-greedy in each.",
            partial(by.beats, pairs=pairs, measure="area under the curve"),
        )
    for (game, agent), row in ATARI_TABLE.items():
        columns = {
            (game, agent, "epsilon-greedy"): row.epsilon_greedy,
            (game, agent, "mellowmax"): row.mellowmax,
            (game, "d3qn", "epsilon-greedy"): row.d3qn,
        }
        best = max(columns, key=lambda subject: columns[subject][0])
        for other in columns:
            if other == best:
                continue
            (high, high_std), (low, low_std) = columns[best], columns[other]
            names = [AGENT_TITLES["d3qn"] if who[1] == "d3qn" else who[2] for who in (best, other)]
            yield Claim(
                f"Atari table, {title_of(game)}, {AGENT_TITLES[agent]}'s half: "
                f"{names[0]} ({high:g} ± {high_std:g}) above {names[1]} ({low:g} ± {low_std:g}).",
                f"It beats it, both at {ATARI_BUDGETS[agent]:,} steps.",
                partial(by.beats, pairs=[(best, other)], budget=ATARI_BUDGETS[agent]),
            )


def _nec_on_atari(evidence: Evidence) -> Finding:
    bounds = {"ALE/Bowling-v5": RANDOM_BOWLING, "ALE/Pong-v5": 0.0}
    holds, figures = True, []
    for (game, bound), strategy in product(bounds.items(), ("epsilon-greedy", "mellowmax")):
        middle = interquartile_mean(evidence.values((game, "nec", strategy)))
        holds &= middle.value < bound
        figures.append(f"{title_of(game)} {strategy} {middle}")
    return Finding("confirmed" if holds else "not confirmed", "; ".join(figures))


CLAIMS = (*_classic_control(), *_rooms(), *_atari())
