"""The page of the league, made from what is recorded."""

from collections import Counter
from collections.abc import Collection, Iterator
from math import isinf
from pathlib import Path

from benchmarks.worlds.judging import League, Played, difference, mean, read_league, verdict
from benchmarks.worlds.league import DEFAULT, PLAYERS
from benchmarks.worlds.reasons import REASONS
from benchmarks.worlds.worlds import CHOSEN_ON, HELD_OUT_SEEDS, NEVER_LOOKED_AT, WORLDS
from memec.errors import MemecError
from memec.report.tables import NOTHING, Table
from memec.train.run_folder import saying_where

TITLES = {
    "vpec": "VPEC", "mfec": "MFEC", "nec": "NEC", "d3qn": "D3QN", "sb3-dqn": "DQN (SB3)", "sb3-ppo": "PPO (SB3)",
    "tabular-q": "tabular Q", "random": "random",
}  # fmt: skip
PEERS = tuple(player for player in PLAYERS if player != DEFAULT)
NOT_BELOW = 20
"""In at least so many worlds the default agent should lose to nobody."""
ALL_SEEDS, SLOW_SEEDS = 10, 5

INTRODUCTION = """\
Made from the recorded runs by `python -m benchmarks.worlds --report`; only the reasons of losses are written by hand.

The default agent with one set of settings beside its peers, at the same steps, in {worlds} worlds. A score is the mean
of the last 5 greedy evaluations, on average over seeds {seeds}, with its 95% interval (Student's) and, in round
brackets, the worst seed. **A win or a loss is a 95% interval of the difference in scores (Welch's) that lies
above or below 0**; anything else is a tie.

The default agent's settings were chosen with seeds 0 to 4 on the worlds marked c. Those marked n nobody had looked at
when that list was written."""

HOW = f"""\
- Everybody sees what memec's agents see: one-hots for numbered states, pictures of few pixels as one flat vector.
- Scores are the environments' own rewards, also where rewards were shifted (+10) and scaled (100).
- MFEC, NEC and D3QN have their tuned presets. DQN and PPO are Stable-Baselines3's, with the settings of
  rl-baselines3-zoo where it has any for the environment (a CartPole made harder has CartPole's; PPO in MiniGrid those
  for all of MiniGrid), else the library's defaults. Their policy is a perceptron (`MlpPolicy`), and schedules run over
  the league's budget.
- Tabular Q-learning (step size 1 / visits^.3, discount .99, epsilon from 1 to .1 in the first tenth) plays where states
  are numbered, and in the rooms. It was tuned on FrozenLake and Taxi, with seeds 0 to 2.
- MinAtar has its minimal actions, a tenth of them sticky, and growing difficulty, as its `v1` environments have, and a
  limit of 5,000 steps. MiniGrid shows its 7x7x3 picture alone. CliffWalking is cut off after 200 steps.
- CartPole noisy: Gaussian noise of .05, .1, .01, .1 on the four numbers; slippery: 15% random actions; irrelevant: 8
  more numbers, drawn anew in every step.
- {ALL_SEEDS} seeds, {SLOW_SEEDS} for DQN and PPO; where there are fewer yet, their number is said."""

COMMANDS = ("python -m benchmarks.worlds --seeds 300-309", "python -m benchmarks.worlds --report")


def write_report(folder: Path, page: Path, seeds: Collection[int] = HELD_OUT_SEEDS) -> None:
    """Write the page on the runs of some seeds."""
    league = read_league(folder, seeds)
    if not league:
        raise MemecError(f"{folder} holds no finished run of the league with these seeds: leave out --report first.")
    with saying_where(page):
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(report(league, seeds))


def report(league: League, seeds: Collection[int] = HELD_OUT_SEEDS) -> str:
    """Return the page as Markdown."""
    parts = [
        "# The league",
        INTRODUCTION.format(worlds=len(WORLDS), seeds=f"{min(seeds)} to {max(seeds)}"),
        "## Wins, ties and losses",
        _summary(league),
        _counts(league).markdown(),
        "## Scores",
        _scores(league).markdown(),
        f"## Differences to {TITLES[DEFAULT]}",
        f"How far {TITLES[DEFAULT]} ends above each peer.",
        _differences(league).markdown(),
        "## Steps to the score that a peer ends with",
        f"The step at which {TITLES[DEFAULT]}'s last five evaluations first had that score on average; the median.",
        _steps(league).markdown(),
        "## Where it loses, and why",
        "\n".join(_losses(league)) or "Nowhere so far.",
        "## What a run costs",
        "Minutes of processor time, evaluations included; the median over seeds. Machines differ.",
        _costs(league).markdown(),
        "## How they play",
        HOW,
        "## Commands",
        "\n".join(f"    {command}" for command in COMMANDS),
    ]
    return "\n\n".join(parts) + "\n"


def _duels(league: League, peers: tuple[str, ...] = PEERS) -> Iterator[tuple[str, str, Played, Played]]:
    """Yield world, peer, what the default agent did there and what the peer did, where both have played."""
    for world in WORLDS:
        ours = league.get((world, DEFAULT))
        for peer in peers:
            theirs = league.get((world, peer))
            if ours is not None and theirs is not None:
                yield world, peer, ours, theirs


def _summary(league: League) -> str:
    judged = {world for world, *_ in _duels(league)}
    if not judged:
        return f"{TITLES[DEFAULT]} has not played yet."
    lost = {world for world, _, ours, theirs in _duels(league) if verdict(ours, theirs) == "loss"}
    said = f"No loss against anybody in **{len(judged - lost)} of {len(judged)} worlds**"
    return f"{said} (the aim: at least {NOT_BELOW} of {len(WORLDS)}, with everybody there)."


def _counts(league: League) -> Table:
    rows = []
    for peer in PEERS:
        counts = Counter(verdict(ours, theirs) for _, _, ours, theirs in _duels(league, (peer,)))
        rows.append((TITLES[peer], *(str(counts[name]) for name in ("win", "tie", "loss")), str(counts.total())))
    return Table(
        "counts", "Wins, ties and losses", (f"{TITLES[DEFAULT]} against", "wins", "ties", "losses", "worlds"), rows
    )


def _scores(league: League) -> Table:
    rows = []
    for world, about in WORLDS.items():
        cells = [_score(league.get((world, player)), player) for player in PLAYERS]
        rows.append((_marked(world), f"{about.steps:,}", *cells))
    return Table("scores", "Scores", ("", "steps", *(TITLES[player] for player in PLAYERS)), rows)


def _score(played: Played | None, player: str) -> str:
    if played is None:
        return NOTHING
    seeds = len(played.scores)
    wanted = SLOW_SEEDS if player.startswith("sb3-") else ALL_SEEDS
    fewer = "" if seeds >= wanted else f", {seeds} seed{'s' if seeds > 1 else ''}"
    return f"{mean(played.final)} ({played.final.min():.4g}{fewer})"


def _differences(league: League) -> Table:
    found = {
        (world, peer): f"{difference(ours.final, theirs.final)} {verdict(ours, theirs)}".replace("loss", "**loss**")
        for world, peer, ours, theirs in _duels(league)
    }
    return _by_peer("differences", found)


def _steps(league: League) -> Table:
    found = {}
    for world, peer, ours, theirs in _duels(league):
        steps = ours.steps_to(float(theirs.final.mean()))
        found[world, peer] = f"> {WORLDS[world].steps:,}" if isinf(steps) else f"{steps:,.0f}"
    return _by_peer("steps", found)


def _by_peer(name: str, cells: dict[tuple[str, str], str]) -> Table:
    played = [world for world in WORLDS if any(place[0] == world for place in cells)]
    rows = [(_marked(world), *(cells.get((world, peer), NOTHING) for peer in PEERS)) for world in played]
    return Table(name, name.capitalize(), ("", *(TITLES[peer] for peer in PEERS)), rows)


def _losses(league: League) -> Iterator[str]:
    for world, peer, ours, theirs in _duels(league):
        if verdict(ours, theirs) == "loss":
            reason = REASONS.get((world, peer), "Not understood yet.")
            scores = f"{ours.final.mean():.4g} against {theirs.final.mean():.4g}"
            yield f"- **{world}**, against {TITLES[peer]} ({scores}): {reason}"


def _costs(league: League) -> Table:
    rows = [(world, *(_cost(league.get((world, player))) for player in PLAYERS)) for world in WORLDS]
    return Table("costs", "What a run costs", ("", *(TITLES[player] for player in PLAYERS)), rows)


def _cost(played: Played | None) -> str:
    if played is None or played.processor_seconds is None:
        return NOTHING
    return f"{played.processor_seconds / 60:.2g}"


def _marked(world: str) -> str:
    return f"{world} (c)" if world in CHOSEN_ON else f"{world} (n)" if world in NEVER_LOOKED_AT else world
