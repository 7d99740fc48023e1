"""The page on what goes beyond the paper says what the recorded runs say."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.own_targets.page import TARGETS, beyond_page, write_beyond

from memec.errors import MemecError
from memec.report.runs import Run

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs" / "better-than-the-paper.md"


def run(environment: str, seed: int, scores: list[float], every: int, budget: int, **agent: Any) -> Run:
    content = {"name": "vpec", "explore": {"name": "optimism"}, **agent}
    return Run(
        settings={
            "environment": {"id": environment}, "agent": content, "training": {"steps": budget}, "seed": seed,
        },
        preset="tuned",
        steps=np.arange(1, len(scores) + 1) * every,
        scores=np.array(scores),
        variant="optimism",
        command="",
        versions={},
    )  # fmt: skip


def line(page: str, start: str) -> str:
    return next(line for line in page.splitlines() if line.startswith(f"| {start} |"))


def test_a_target_is_reached_by_all_that_it_names() -> None:
    good = [run("Acrobot-v1", seed, [-90.0] * 100, 500, 50_000) for seed in (100, 101)]
    assert line(beyond_page(good), "Acrobot").endswith("| reached |")
    bad = [*good, run("Acrobot-v1", 102, [-90.0] * 95 + [-151.0] * 5, 500, 50_000)]
    assert line(beyond_page(bad), "Acrobot").endswith("| **not reached** |")


def test_a_mean_beyond_its_target_is_not_enough_if_its_interval_is_not() -> None:
    scores = (-60.0, -80.0, -130.0, -110.0)
    wide = [run("Acrobot-v1", 100 + place, [score] * 100, 500, 50_000) for place, score in enumerate(scores)]
    assert "| -95 ± 31 (4 seeds) | -144.5 to -45.53 | -130 |" in line(beyond_page(wide), "Acrobot")
    assert line(beyond_page(wide), "Acrobot").endswith("| undecided |")


def test_a_room_is_solved_at_the_first_of_five_in_a_row_and_a_seed_that_never_does_counts() -> None:
    scores = [0.0, 1.0, 0.0] + [1.0] * 97
    rooms = [run("memec/FourRoom-v0", seed, scores, 50, 5_000) for seed in (100, 101, 102)]
    assert "median 200 steps (3 seeds)" in line(beyond_page(rooms), "FourRoom")
    never = [*rooms, run("memec/FourRoom-v0", 103, [0.0] * 100, 50, 5_000)]
    assert line(beyond_page(never), "FourRoom").endswith("| **not reached** |")


def test_in_rooms_the_paper_is_looked_at_as_often_as_vpec_where_such_runs_are_there() -> None:
    def paper(every: int, budget: int) -> Run:
        scores = [0.0] * 3 + [1.0] * (budget // every - 3)
        theirs = run("memec/OpenRoom-v0", 0, scores, every, budget, name="mfec", explore={"name": "boltzmann"})
        theirs.settings["training"]["evaluate_every_steps"] = every
        return replace(theirs, preset="paper", variant="boltzmann")

    ours = run("memec/OpenRoom-v0", 100, [1.0] * 100, 50, 5_000)
    seldom, often = paper(500, 100_000), paper(50, 5_000)
    assert "median 2,000, worst 2,000 (boltzmann, every 500)" in line(beyond_page([ours, seldom]), "OpenRoom")
    assert "median 200, worst 200 (boltzmann, every 50)" in line(beyond_page([ours, seldom, often]), "OpenRoom")


def test_what_was_not_run_to_its_end_is_not_judged() -> None:
    short = [run("CartPole-v1", 100, [500.0] * 20, 500, 10_000)]
    assert line(beyond_page(short), "CartPole").endswith("| not yet run |")


def test_the_ablation_tells_the_parts_apart() -> None:
    runs = [
        run("CartPole-v1", 100, [500.0] * 100, 500, 50_000, memory={"doubt": 1.0}),
        run("CartPole-v1", 100, [70.0] * 100, 500, 50_000, memory={"doubt": 0.0}),
    ]
    page = beyond_page(runs)
    assert "| 500 |" in line(page, "the agent itself") and "| 70 |" in line(page, "without doubt")
    assert "500 (1 seed" in line(page, "CartPole")


def test_runs_of_another_study_have_no_part_in_it() -> None:
    ours = run("CartPole-v1", 100, [500.0] * 100, 500, 50_000)
    league = replace(run("CartPole-v1", 300, [90.0] * 25, 2_000, 50_000), preset="league")
    assert beyond_page([ours, league]) == beyond_page([league, ours]) == beyond_page([ours])


def test_without_a_run_of_vpec_there_is_nothing_to_say(tmp_path: Path) -> None:
    with pytest.raises(MemecError, match="memec reproduce better"):
        write_beyond(tmp_path, tmp_path / "page.md")


def test_the_page_in_the_docs_is_made_from_the_committed_results(tmp_path: Path) -> None:
    write_beyond(REPOSITORY / "results", tmp_path / "page.md")
    assert PAGE.read_text() == (tmp_path / "page.md").read_text(), "make it again as it says"
    assert len(TARGETS) == 6
