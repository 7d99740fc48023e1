"""Every claim of the paper, in its own words where they are few, with what counts as support."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

from memec.report import evidence as by
from memec.report.evidence import Evidence, Finding, Judge, Measure, Subject, all_of, some_of
from memec.report.paper import AGENT_TITLES, ATARI_BUDGETS, ATARI_TABLE, DOMAINS, SMALL, title_of
from memec.report.significance import at_least

CARTPOLE, ACROBOT, OPENROOM, FOURROOM = SMALL
ROOMS = (OPENROOM, FOURROOM)
STRATEGIES = ("epsilon-greedy", "boltzmann", "mellowmax", "ucb", "thompson")
SOFTMAX = ("boltzmann", "mellowmax")
FASTER_GAMES = ("ALE/SpaceInvaders-v5", "ALE/Qbert-v5", "ALE/MsPacman-v5")
BOWLING, PONG = "ALE/Bowling-v5", "ALE/Pong-v5"
RANDOM_BOWLING = 23.1
"""Mnih et al., 2015."""
OMEGAS = (5.0, 7.0, 9.0, 12.0)
"""The paper's search in the small environments."""
CARTPOLE_OF_2019 = 195.0
"""What CartPole-v0 of 200 steps asked for, usual when the paper was written."""


class Claim(NamedTuple):
    """What the paper says, when we call it supported, and how to find out."""

    said: str
    criterion: str
    family: str
    """Claims of one family are corrected for being several; of an empty one they are not."""
    variants: dict[str, Judge]
    """By what the claim may be taken to mean; the first is what we take it to mean."""
    released: bool = True
    """Whether the authors' code makes a reading of its own."""


def claims() -> tuple[Claim, ...]:
    """Return all claims that are judged by the scores of runs."""
    return (*_cartpole(), *_acrobot(), *_rooms(), *_uncertain(), *_stability(), *_omega(), *_atari())


def _of(environment: str, agent: str, *but: str) -> list[Subject]:
    return [(environment, agent, strategy) for strategy in STRATEGIES if strategy not in but]


def _claim(said: str, criterion: str, family: str, judge: Judge) -> Claim:
    return Claim(said, criterion, family, {"": judge})


def _all_solve(evidence: Evidence, subjects: Sequence[Subject], bar: float | None = None) -> Finding:
    return all_of([by.solves(evidence, subject, bar) for subject in subjects])


def _all_fail(evidence: Evidence, subjects: Sequence[Subject]) -> Finding:
    parts = [by.solves(evidence, subject, _low_bar(subject[0]), where=True) for subject in subjects]
    return all_of([part.negated() for part in parts])


def _some_solve(evidence: Evidence, subjects: Sequence[Subject]) -> Finding:
    return some_of([by.solves(evidence, subject, where=True) for subject in subjects])


def _low_bar(environment: str) -> float | None:
    return CARTPOLE_OF_2019 if environment == CARTPOLE else DOMAINS[environment].solved


def _cartpole() -> Iterator[Claim]:
    d3qn: Subject = (CARTPOLE, "d3qn", "epsilon-greedy")
    for agent in ("mfec", "nec"):
        sets = {"five strategies": _of(CARTPOLE, agent), "D3QN for Thompson": [*_of(CARTPOLE, agent, "thompson"), d3qn]}
        variants: dict[str, Judge] = {
            f"{who} at {bar:g}": partial(_all_solve, subjects=subjects, bar=bar)
            for bar, (who, subjects) in product((475.0, CARTPOLE_OF_2019), sets.items())
        }
        yield Claim(
            f'"All five methods solved Cartpole" ({AGENT_TITLES[agent]}).',
            "Most seeds of each of the five reach the bar.",
            f"CartPole, {AGENT_TITLES[agent]}",
            variants,
        )


def _acrobot() -> Iterator[Claim]:
    for agent in ("mfec", "nec"):
        title = AGENT_TITLES[agent]
        family = f"Acrobot, {title}"
        mellowmax, boltzmann = (ACROBOT, agent, "mellowmax"), (ACROBOT, agent, "boltzmann")
        pairs = [(mellowmax, other) for other in _of(ACROBOT, agent, "mellowmax")]
        yield _claim(
            f'On Acrobot mellowmax gets "to higher final rewards" ({title}).', "It beats each of the other four.",
            family, partial(by.beats, pairs=pairs),
        )  # fmt: skip
        yield _claim(
            f'On Acrobot mellowmax starts "to learn faster" ({title}).', "It is faster than each of the other four.",
            family, partial(by.beats, pairs=pairs, measure="area under the curve"),
        )  # fmt: skip
        second = [(boltzmann, other) for other in _of(ACROBOT, agent, "mellowmax", "boltzmann")]
        yield _claim(
            f"On Acrobot Boltzmann is the next best ({title}).", "It beats each of the three other than mellowmax.",
            family, partial(by.beats, pairs=second),
        )  # fmt: skip
        yield _claim(
            f'On Acrobot Boltzmann has "high variance over random seeds" ({title}).', "It varies more than mellowmax.",
            family, partial(by.varies_more, subject=boltzmann, others=[mellowmax]),
        )  # fmt: skip
        poor = [((ACROBOT, agent, strategy), (ACROBOT, agent, "ucb")) for strategy in SOFTMAX]
        yield _claim(
            f'On Acrobot "UCB performed poorly" ({title}).', "Mellowmax and Boltzmann both beat it.",
            family, partial(by.beats, pairs=poor),
        )  # fmt: skip
    baseline = [((ACROBOT, "mfec", "mellowmax"), (ACROBOT, "d3qn", "epsilon-greedy"))]
    measures: tuple[tuple[str, str, Measure], ...] = (
        ('On Acrobot D3QN "learned more slowly".', "MFEC with mellowmax is faster.", "area under the curve"),
        ("On Acrobot D3QN converged to a suboptimal policy.", "MFEC with mellowmax beats it.", "final score"),
    )
    for said, criterion, measure in measures:
        yield _claim(said, criterion, "Acrobot, D3QN", partial(by.beats, pairs=baseline, measure=measure))


def _rooms() -> Iterator[Claim]:
    softmax = [
        ((room, "mfec", better), (room, "mfec", worse))
        for room, better, worse in product(ROOMS, SOFTMAX, [name for name in STRATEGIES if name not in SOFTMAX])
    ]
    epsilon: Subject = (FOURROOM, "mfec", "epsilon-greedy")
    yield _claim(
        'In the rooms "MFEC performed best with softmax-based exploration strategies".',
        "In both, Boltzmann and mellowmax are each faster than the other three (final scores tie at the goal).",
        "rooms, MFEC", partial(by.beats, pairs=softmax, measure="area under the curve"),
    )  # fmt: skip
    yield _claim(
        "MFEC with epsilon-greedy solves OpenRoom.", "Most seeds do.", "rooms, MFEC",
        partial(by.solves, subject=(OPENROOM, "mfec", "epsilon-greedy")),
    )  # fmt: skip
    narrow = [(FOURROOM, "mfec", strategy) for strategy in SOFTMAX]
    yield Claim(
        'MFEC with epsilon-greedy "had high variance for FourRoom".',
        "It varies more than Boltzmann and mellowmax do there.",
        "rooms, MFEC",
        {
            "final scores": partial(by.varies_more, subject=epsilon, others=narrow),
            "areas under the curve": partial(
                by.varies_more, subject=epsilon, others=narrow, measure="area under the curve"
            ),
        },
    )
    yield _claim(
        'In the rooms "nearly all methods tended to perform poorly with NEC".',
        "In each room at least four of the five strategies leave most seeds unsolved.", "rooms, NEC", _nec_in_rooms,
    )  # fmt: skip
    best = [((room, "nec", "epsilon-greedy"), other) for room in ROOMS for other in _of(room, "nec", "epsilon-greedy")]
    yield _claim(
        'In the rooms "NEC performed best with epsilon-greedy".', "In both it beats each of the other four.",
        "rooms, NEC", partial(by.beats, pairs=best),
    )  # fmt: skip
    yield _claim(
        'NEC with epsilon-greedy "still had poor performance on FourRoom".', "Most seeds do not solve it.",
        "rooms, NEC", partial(_all_fail, subjects=[(FOURROOM, "nec", "epsilon-greedy")]),
    )  # fmt: skip
    yield _claim(
        'D3QN "was not able to consistently solve OpenRoom".', "Fewer than nine seeds in ten solve it.", "rooms, D3QN",
        lambda evidence: by.solves_reliably(evidence, (OPENROOM, "d3qn", "epsilon-greedy")).negated(),
    )  # fmt: skip
    yield _claim(
        'D3QN "failed to solve FourRoom".', "Most seeds do not solve it.", "rooms, D3QN",
        partial(_all_fail, subjects=[(FOURROOM, "d3qn", "epsilon-greedy")]),
    )  # fmt: skip


def _nec_in_rooms(evidence: Evidence) -> Finding:
    rooms = []
    for room in ROOMS:
        parts = [by.solves(evidence, subject) for subject in _of(room, "nec")]
        figures = f"{title_of(room)}: " + ", ".join(part.figures for part in parts)
        poorly = at_least(len(parts) - 1, [part.contradicts for part in parts])
        well = at_least(2, [part.supports for part in parts])
        rooms.append(Finding(poorly, well, figures, min(part.power for part in parts)))
    return all_of(rooms)


def _uncertain() -> Iterator[Claim]:
    for agent in ("mfec", "nec"):
        title = AGENT_TITLES[agent]
        ucb, thompson = ([(domain, agent, strategy) for domain in SMALL] for strategy in ("ucb", "thompson"))
        yield _claim(
            f'"UCB sometimes performed well" ({title}).',
            "In at least one of the four small environments most seeds solve it.",
            f"uncertainty, {title}", partial(_some_solve, subjects=ucb),
        )  # fmt: skip
        yield _claim(
            f'"TS performed extremely badly" ({title}).',
            f"In each of the four small environments most seeds do not solve it (CartPole: {CARTPOLE_OF_2019:g}).",
            f"uncertainty, {title}", partial(_all_fail, subjects=thompson),
        )  # fmt: skip


def _stability() -> Iterator[Claim]:
    for agent in ("mfec", "nec"):
        yield _claim(
            f'Mellowmax has "stable performance across seeds" ({AGENT_TITLES[agent]}).',
            "In each of the four small environments nine seeds in ten end within a tenth of the range of scores of "
            "their median. To support this takes 29 seeds in each; fewer can only contradict it.",
            f"stability, {AGENT_TITLES[agent]}",
            partial(_stable, subjects=[(environment, agent, "mellowmax") for environment in SMALL]),
        )


def _stable(evidence: Evidence, subjects: Sequence[Subject]) -> Finding:
    return all_of([by.stable(evidence, subject) for subject in subjects])


def _omega() -> Iterator[Claim]:
    for agent in ("mfec", "nec"):
        measures: tuple[Measure, ...] = ("final score", "area under the curve")
        variants: dict[str, Judge] = {
            f"{measure}s" if measure == "final score" else "areas under the curve": partial(
                _sensitive, agent=agent, measure=measure
            )
            for measure in measures
        }
        yield Claim(
            f'Mellowmax has a "sensitivity to the value of omega" ({AGENT_TITLES[agent]}).',
            f"In at least one of the four small environments it matters which of {', '.join(f'{o:g}' for o in OMEGAS)} "
            "omega is.",
            f"omega, {AGENT_TITLES[agent]}",
            variants,
            released=False,
        )


def _sensitive(evidence: Evidence, agent: str, measure: Measure) -> Finding:
    grid = {name: [(name, agent, by.searched(omega)) for omega in OMEGAS] for name in SMALL}
    evidence.need([subject for subjects in grid.values() for subject in subjects])
    return some_of([by.differ(evidence, subjects, measure) for subjects in grid.values()])


def _atari() -> Iterator[Claim]:
    def game(said: str, criterion: str, judge: Judge) -> Claim:
        return Claim(said, criterion, "", {"": judge}, released=False)

    for agent in ("mfec", "nec"):
        pairs = [((name, agent, "mellowmax"), (name, agent, "epsilon-greedy")) for name in FASTER_GAMES]
        title = AGENT_TITLES[agent]
        yield game(
            'In Space Invaders, Q*bert and Ms. Pac-Man mellowmax shows "more rapid learning" than epsilon-greedy '
            f"({title}).",
            "It is faster in each.",
            partial(by.beats, pairs=pairs, measure="area under the curve"),
        )
        yield game(
            f'Mellowmax outperforms epsilon-greedy "in these games most of the time" ({title}).',
            "It beats it in at least three of the five.",
            partial(_most_games, agent=agent),
        )
    yield game(
        'In Bowling mellowmax "performed similarly to epsilon-greedy" (MFEC).',
        "They end within a tenth of the range from random play to a human's of each other.",
        partial(by.similar, one=(BOWLING, "mfec", "mellowmax"), other=(BOWLING, "mfec", "epsilon-greedy")),
    )
    yield game(
        'NEC "failed to solve Bowling and Pong", with epsilon-greedy and with mellowmax.',
        f"Most seeds end below random play's {RANDOM_BOWLING} in Bowling and below 0 in Pong.",
        _nec_on_atari,
    )
    for (name, agent), row in ATARI_TABLE.items():
        columns: dict[Subject, tuple[float, float]] = {
            (name, agent, "epsilon-greedy"): row.epsilon_greedy,
            (name, agent, "mellowmax"): row.mellowmax,
            (name, "d3qn", "epsilon-greedy"): row.d3qn,
        }
        best = max(columns, key=lambda subject: columns[subject][0])
        for other in columns:
            if other == best:
                continue
            (high, high_std), (low, low_std) = columns[best], columns[other]
            names = [AGENT_TITLES["d3qn"] if who[1] == "d3qn" else who[2] for who in (best, other)]
            yield game(
                f"Atari table, {title_of(name)}, {AGENT_TITLES[agent]}'s half: "
                f"{names[0]} ({high:g} ± {high_std:g}) above {names[1]} ({low:g} ± {low_std:g}).",
                f"It beats it, both at {ATARI_BUDGETS[agent]:,} steps.",
                partial(
                    by.beats_as_in_the_table, better=best, worse=other, paper=(columns[best], columns[other]),
                    budget=ATARI_BUDGETS[agent],
                ),
            )  # fmt: skip


def _most_games(evidence: Evidence, agent: str) -> Finding:
    games = [name for name, other in ATARI_TABLE if other == agent]
    parts = [by.beats(evidence, [((name, agent, "mellowmax"), (name, agent, "epsilon-greedy"))]) for name in games]
    for_it, against_it = sorted(part.supports for part in parts), sorted(part.contradicts for part in parts)
    figures = "; ".join(f"{title_of(name)}: {part.figures}" for name, part in zip(games, parts, strict=True))
    return Finding(for_it[2], against_it[2], figures, min(part.power for part in parts))


def _nec_on_atari(evidence: Evidence) -> Finding:
    bounds = {BOWLING: RANDOM_BOWLING, PONG: 0.0}
    return all_of(
        [
            by.below(evidence, (name, "nec", strategy), bound)
            for (name, bound), strategy in product(bounds.items(), ("epsilon-greedy", "mellowmax"))
        ]
    )
