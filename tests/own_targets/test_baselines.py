"""The comparison with Stable-Baselines3 counts every seed, and judges what it can be sure of."""

from math import inf

import numpy as np
import pytest
from benchmarks.own_targets.baselines import PRESET, Reached, baselines_table

from memec.report.runs import Curve, Run, curves_of

BUDGETS = {"vpec": 50_000, "sb3-dqn": 50_000, "sb3-ppo": 100_000}


def run(agent: str, seed: int, reached_at: int | None) -> Run:
    """A run in CartPole that reaches 400 at a step; those of the zoo end four evaluations later."""
    steps = np.arange(500, BUDGETS[agent] + 1, 500)
    if agent != "vpec" and reached_at is not None:
        steps = steps[steps <= reached_at + 2_000]
    return Run(
        settings={
            "environment": {"id": "CartPole-v1"}, "agent": {"name": agent, "explore": {"name": "any"}},
            "training": {"steps": BUDGETS[agent]}, "seed": seed,
        },
        preset="tuned" if agent == "vpec" else PRESET,
        steps=steps,
        scores=np.where(steps >= (reached_at or inf), 400.0, 399.0),
        variant="any",
        command="",
        versions={},
    )  # fmt: skip


def runs(agent: str, *reached_at: int | None) -> list[Run]:
    return [run(agent, 100 + place, step) for place, step in enumerate(reached_at)]


def row(agent: str, mine: list[Run], theirs: list[Run]) -> tuple[str, ...]:
    ours: dict[str, Curve] = {curve.environment: curve for curve in curves_of(mine)}
    rows = baselines_table(ours, [*mine, *theirs]).rows
    return next(cells for cells in rows if cells[:2] == ("CartPole 400", agent))


def test_half_of_their_steps_is_the_target_and_an_interval_decides() -> None:
    mine = runs("vpec", *[4_000, 5_000, 6_000] * 3)
    clear = row("DQN", mine, runs("sb3-dqn", *[12_500, 20_000, 40_000] * 3))
    assert clear[2:7] == ("20,000", "12,500 to 40,000", "9 of 9", "50,000", "0.25")
    assert clear[7].startswith("1 [") and clear[8].startswith("1 [") and clear[-1] == "reached"
    just = row("DQN", mine, runs("sb3-dqn", *[10_000] * 9))
    assert just[6] == "0.50" and just[8].startswith("0.5 [") and just[-1] == "undecided"
    missed = row("PPO", mine, runs("sb3-ppo", *[7_500] * 9))
    assert missed[6] == "0.67" and missed[-1] == "**not reached**"


def test_a_seed_that_never_got_there_is_later_than_all_others() -> None:
    mine = runs("vpec", 4_000, 5_000, 6_000)
    some = row("DQN", mine, runs("sb3-dqn", 8_000, 12_000, None))
    assert some[2:5] == ("12,000", "10,000 to > 50,000", "2 of 3")
    most = row("DQN", mine, runs("sb3-dqn", 8_000, None, None))
    assert most[2] == "> 50,000" and most[6] == "< 0.10"
    close = row("DQN", runs("vpec", *[30_000] * 9), runs("sb3-dqn", *[None] * 9))
    assert close[6] == "< 0.60" and close[-1] == "**not reached**", "past the budget may be just past it"
    lost = row("DQN", runs("vpec", *[None] * 9), runs("sb3-dqn", *[None] * 9))
    assert lost[6] == "–" and lost[-1] == "**not reached**"


def test_four_evaluations_in_a_row_are_not_enough() -> None:
    late = run("sb3-dqn", 100, 49_000)
    assert (late.scores >= 400).sum() == 3
    assert row("DQN", runs("vpec", 4_000), [late])[4] == "0 of 1"


def test_what_was_not_run_is_not_judged() -> None:
    some = row("DQN", runs("vpec", 4_000, 5_000, 6_000), runs("sb3-dqn", 30_000, 30_000))
    assert some[2] == "30,000" and some[6] == "–" and some[-1] == "2 of 3 seeds run"
    assert row("PPO", runs("vpec", 4_000), [])[-1] == "not yet run"
    assert row("DQN", [], runs("sb3-dqn", 4_000))[-1] == "not yet run"


@pytest.mark.parametrize(("share", "expected"), [(0.25, 1_000.0), (0.5, 1_500.0), (0.75, inf)])
def test_quantiles_touch_infinity_only_where_a_lost_seed_has_part(share: float, expected: float) -> None:
    assert Reached(np.array([inf, 1_000.0, 2_000.0, 1_000.0]), 50_000).quantile(share) == expected
