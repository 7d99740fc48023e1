"""The paper's study as a list of runs."""

from pathlib import Path

import pytest

from memec.errors import MemecError
from memec.experiments.better import TRIALS, WITHOUT, plan_better
from memec.experiments.grid import ENVIRONMENTS, differences, digest, plan


def test_small_is_five_strategies_with_two_agents_and_the_baseline_in_four_environments() -> None:
    runs = plan("small", seeds=3)
    assert len(runs) == 3 * 4 * (5 + 5 + 1)
    assert {run.settings.training.steps for run in runs} == {100_000}
    assert {run.settings.training.evaluate_every_steps for run in runs} == {500}
    assert {run.variant for run in runs if run.agent == "d3qn"} == {"epsilon-greedy"}


def test_the_released_reading_is_five_strategies_with_the_two_agents_that_were_released() -> None:
    runs = plan("small", seeds=1, preset="released")
    assert {run.agent for run in runs} == {"mfec", "nec"} and len(runs) == 2 * 5 * 4
    for run in runs:
        explore = run.settings.agent.explore
        assert explore.ties == "first"
        assert explore.judges_as_released == (explore.name in ("ucb", "thompson"))
    with pytest.raises(MemecError, match="released"):
        plan("atari", preset="released")


def test_atari_has_the_two_strategies_and_the_budgets_of_the_paper() -> None:
    runs = plan("atari", seeds=1)
    assert len(runs) == 5 * (2 + 2 + 1)
    assert {run.settings.training.steps for run in runs if run.agent == "nec"} == {3_500_000}
    omegas = {run.environment: run.settings.agent.explore.omega for run in runs if run.variant == "mellowmax"}
    assert omegas == {"pong": 25.0, "spaceinvaders": 40.0, "qbert": 40.0, "bowling": 50.0, "mspacman": 60.0}


def test_the_search_for_omega_has_the_papers_grid() -> None:
    runs = plan("omega", seeds=1, agents=["mfec"])
    omegas = {
        name: [run.settings.agent.explore.omega for run in runs if run.environment == name] for name in ENVIRONMENTS
    }
    assert omegas["acrobot"] == [5.0, 7.0, 9.0, 12.0]
    assert omegas["pong"] == [10.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0]
    assert all(run.variant == f"mellowmax-omega{run.settings.agent.explore.omega:g}" for run in runs)
    assert {run.part for run in runs} == {"omega"}


def test_every_run_of_everything_has_a_folder_of_its_own() -> None:
    runs = plan("all", seeds=2)
    folders = {run.folder(Path("study")) for run in runs}
    assert len(folders) == len(runs) and Path("study/fourroom/mfec-mellowmax/seed-1") in folders
    assert {run.environment for run in runs} == set(ENVIRONMENTS)


def test_all_of_one_seed_come_before_the_next() -> None:
    seeds = [run.seed for run in plan("small", seeds=3)]
    assert seeds == sorted(seeds)


def test_a_study_can_be_narrowed_and_changed() -> None:
    runs = plan(
        "small",
        seeds=1,
        agents=["mfec"],
        strategies=["ucb"],
        environments=["openroom"],
        steps=700,
        assignments=["memory.capacity=50"],
    )
    (run,) = runs
    assert run.name == "openroom/mfec-ucb/seed-0" and run.settings.training.steps == 700
    assert run.settings.agent.memory.capacity == 50


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"what": "cartpool"}, "cartpole"),
        ({"what": "small", "agents": ["mfek"]}, "mfec"),
        ({"what": "small", "strategies": ["melowmax"]}, "mellowmax"),
        ({"what": "small", "environments": ["forroom"]}, "fourroom"),
        ({"what": "small", "preset": "papr"}, "paper"),
        ({"what": "small", "seeds": 0}, "at least one seed"),
        ({"what": "atari", "strategies": ["ucb"]}, "on Atari"),
        ({"what": "small", "agents": ["d3qn"], "strategies": ["mellowmax"]}, "epsilon-greedy only"),
        ({"what": "omega", "strategies": ["ucb"]}, "mellowmax"),
    ],
)
def test_what_the_study_does_not_have_is_said_in_one_sentence(options: dict[str, object], hint: str) -> None:
    with pytest.raises(MemecError, match=hint):
        plan(**options)  # type: ignore[arg-type]


def test_only_what_decides_a_run_tells_its_settings_apart() -> None:
    (one,) = plan("openroom", seeds=1, agents=["mfec"], strategies=["ucb"])
    saved_oftener = one.settings.changed({"checkpoint": {"every_steps": 10}})
    longer = one.settings.changed({"training": {"steps": 200_000}})
    assert digest(saved_oftener) == digest(one.settings) != digest(longer)
    assert differences(saved_oftener, one.settings) == []
    assert differences(one.settings, longer) == ["training.steps is 100000 there and 200000 here"]


def test_the_study_beyond_the_paper_has_one_set_of_settings_and_held_out_seeds() -> None:
    runs = plan_better(seeds=2)
    assert {run.seed for run in runs} == {100, 101} and {run.part for run in runs} == {"better"}
    assert len({run.settings.agent.model_dump_json() for run in runs}) == 1
    assert {run.environment for run in runs} == set(TRIALS)


def test_the_ablation_takes_one_part_away_at_a_time() -> None:
    whole = plan_better(seeds=1)[0].settings.agent
    for run in plan_better(seeds=1, environments=["cartpole"], part="ablation"):
        there, here = ({"agent": agent.model_dump(mode="json")} for agent in (whole, run.settings.agent))
        assert run.variant.removeprefix("optimism-").removeprefix("greedy-") in WITHOUT
        assert there != here


def test_an_unknown_trial_gets_the_nearest_name() -> None:
    with pytest.raises(MemecError, match="mountaincar"):
        plan_better(environments=["mountain-car"])
