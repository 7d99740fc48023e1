"""Comparisons in any environment: what is planned, what is done, and what is said of it."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.command import Memec

from memec.envs.recorded import EnvironmentSettings
from memec.errors import MemecError
from memec.experiments.compare import plan_comparison
from memec.report.comparison import compare
from memec.report.runs import Run

CARTPOLE = EnvironmentSettings(id="CartPole-v1")


def test_competitors_are_all_combinations_that_can_be() -> None:
    runs = plan_comparison(
        CARTPOLE,
        agents=["mfec", "vpec"],
        strategies=["epsilon-greedy", "ucb"],
        grid=["memory.neighbours=5,11"],
        seeds=2,
        steps=1_000,
        assignments=["seed=100"],
    )
    assert len({run.name for run in runs}) == len(runs) == 2 * 3 * 2  # vpec has no memories for ucb
    assert {run.seed for run in runs} == {100, 101} and {run.settings.training.steps for run in runs} == {1_000}
    assert {run.settings.agent.memory.neighbours for run in runs} == {5, 11}
    assert "cartpole-v1/mfec-ucb-neighbours5" in {run.curve for run in runs}


def test_an_environments_options_are_part_of_its_runs() -> None:
    lake = EnvironmentSettings(id="FrozenLake-v1", kwargs={"is_slippery": False})
    (run,) = plan_comparison(lake, seeds=1)
    assert run.settings.environment == lake and run.agent == "vpec"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"agents": ["mfek"]}, "did you mean 'mfec'"),
        ({"agents": ["vpec"], "strategies": ["ucb"]}, "does not have"),
        ({"strategies": ["ucb", "tompson"], "agents": ["mfec"]}, "did you mean 'thompson'"),
        ({"evaluate_every": 0}, "makes none"),
        ({"steps": 100, "evaluate_every": 200}, "makes none"),
        ({"seeds": 0}, "at least one seed"),
        ({"grid": ["memory.neighbours"]}, "--grid takes name=value,value"),
        ({"grid": ["memory.neighbours="]}, "--grid takes name=value,value"),
        ({"grid": ["memory.neigbours=5,6"]}, "did you mean 'neighbours'"),
    ],
)
def test_what_cannot_be_compared_is_said(wrong: dict[str, list[str]], said: str) -> None:
    with pytest.raises(MemecError) as error:
        plan_comparison(CARTPOLE, **wrong)
    assert said in str(error.value)


def runs_with(scores: dict[str, list[float]]) -> list[Run]:
    steps = np.arange(1_000, 6_000, 1_000)
    return [
        Run(
            settings={
                "environment": {"id": "CartPole-v1"},
                "agent": {"name": "mfec", "explore": {"name": strategy}},
                "training": {"steps": 5_000},
                "seed": seed,
            },
            preset="compare", steps=steps, scores=np.full(5, score), variant=strategy, command="", versions={},
        )
        for strategy, each in scores.items()
        for seed, score in enumerate(each)
    ]  # fmt: skip


def test_what_is_far_apart_is_sure_and_what_is_not_is_undecided() -> None:
    high, low = list(range(100, 110)), list(range(10))
    (found,) = compare(runs_with({"ucb": [float(x) for x in low], "greedy": [float(x) for x in high]}))
    assert found.best.strategy == "greedy" and found.rivals[0].sure and "is better than" in found.sentences()[0]
    assert found.rivals[0].behind.value == pytest.approx(100.0)
    (found,) = compare(runs_with({"ucb": [0.0, 1.0, 5.0, 9.0], "greedy": [1.0, 2.0, 4.0, 9.0]}))
    assert not found.rivals[0].sure and "undecided" in found.sentences()[0]
    (found,) = compare(runs_with({"ucb": [1.0, 2.0, 3.0], "greedy": [11.0, 12.0, 13.0]}))
    assert not found.rivals[0].sure and "so few seeds can decide nothing" in found.sentences()[0]
    (found,) = compare(runs_with({"ucb": [1.0, 1.0], "greedy": [1.0, 1.0]}))
    assert "end alike" in found.sentences()[0]
    (found,) = compare(runs_with({"ucb": [1.0]}))
    assert found.rivals == [] and found.sentences() == []


def test_luck_is_rarely_called_sure() -> None:
    rng = np.random.default_rng(0)
    worlds = 400
    names = ["ucb", "greedy", "boltzmann"]
    scores = rng.normal(size=(worlds, len(names), 6))
    sure = 0
    for world in scores:
        (found,) = compare(runs_with(dict(zip(names, world.tolist(), strict=True))))
        sure += any(rival.sure for rival in found.rivals)
    # the highest is chosen by looking: beside the level, what that adds is said on the page
    assert sure / worlds < 0.12


def test_a_comparison_is_done_told_and_gone_on_with(memec: Memec) -> None:
    command = ("compare", "memec/OpenRoom-v0", "--agents", "vpec,mfec", "--steps", "1e3", "--workers", 2, "--out", "c")
    first = memec(*command, "--seeds", 1)
    assert first.status == 0, first.error
    again = memec(*command, "--seeds", 2)
    assert again.status == 0 and "2 of 4 runs done" in again.error + again.out
    page = Path("c/comparison.md").read_text()
    assert "vpec optimism" in page and "MFEC" in page and Path("c/report/report.html").exists()
    shown = memec(*command, "--seeds", 2, "--dry-run")
    assert "4 runs, 4 done" in shown.out
    record = json.loads(Path("c/openroom-v0/vpec-optimism/seed-1/run.json").read_text())
    assert record["settings"]["training"] == record["settings"]["training"] | {
        "steps": 1000,
        "evaluate_every_steps": 40,
    }


def test_a_task_of_a_job_array_does_one_run(memec: Memec) -> None:
    command = ("compare", "memec/OpenRoom-v0", "--seeds", 2, "--steps", 300, "--workers", 1, "--out", "c", "--index")
    assert memec(*command, 1).status == 0
    assert [path.parent.name for path in Path("c").rglob("run.json")] == ["seed-1"]
    beyond = memec(*command, 2)
    assert beyond.status == 2 and "--index 2 is none of them" in beyond.error


def test_a_run_is_verified_and_a_changed_record_found(memec: Memec) -> None:
    lake = ("train", "FrozenLake-v1", "--env-set", "is_slippery=false", "--steps", "600", "--evaluate-every", 200)
    assert memec(*lake, "--out", "run").status == 0
    for more in ((), ("--steps", 300)):
        same = memec("verify", "run", *more)
        assert same.status == 0 and "The same" in same.out, same
    episodes = Path("run/episodes.csv")
    lines = episodes.read_text().splitlines()
    step, _, length = lines[2].split(",")
    lines[2] = f"{step},0.5,{length}"
    episodes.write_text("\n".join(lines) + "\n")
    other = memec("verify", "run")
    assert other.status == 1 and f"episodes.csv at step {step}: score is 0.5 there" in other.out
    assert memec("verify", "run", "--steps", 0).status == 2


def test_settings_of_a_file_are_taken_and_strangers_modules_are_not(memec: Memec) -> None:
    lake = ("train", "FrozenLake-v1", "--env-set", "is_slippery=false", "--set", "memory.neighbours=5")
    assert memec(*lake, "--steps", 200, "--evaluate-every", 0, "--out", "one").status == 0
    again = memec("train", "--settings", "one/run.json", "--steps", 100, "--out", "two")
    assert again.status == 0, again.error
    settings = json.loads(Path("two/run.json").read_text())["settings"]
    assert (
        settings["environment"]["kwargs"] == {"is_slippery": False} and settings["agent"]["memory"]["neighbours"] == 5
    )
    Path("agent.json").write_text(json.dumps(settings["agent"]))
    elsewhere = memec("train", "CartPole-v1", "--settings", "agent.json", "--steps", 100, "--out", "three")
    assert (
        elsewhere.status == 0
        and json.loads(Path("three/run.json").read_text())["settings"]["agent"] == settings["agent"]
    )
    for name, content, said in (
        ("module", {"agent": {"name": "mfec", "explore": {"name": "evil:Mine"}}}, "evil:Mine"),
        ("world", {"environment": {"id": "evil:Id-v0"}}, "evil:Id-v0"),
        ("other", {"agnet": {}}, "did you mean 'agent'"),
        ("list", {"agent": []}, "holds no settings of a run"),
        ("bad", {"agent": {"name": "vpec", "memory": {"capacity": -1}}}, "capacity"),
    ):
        Path(f"{name}.json").write_text(json.dumps(content))
        refused = memec(
            "train", *(() if name == "world" else ("CartPole-v1",)), "--settings", f"{name}.json", "--out", name
        )
        assert refused.status == 2 and said in refused.error and not Path(name).exists(), refused
    assert memec("train", "CartPole-v1", "--settings", "none.json").status == 2


def test_what_other_programs_read_is_json(memec: Memec) -> None:
    assert memec("train", "memec/OpenRoom-v0", "--steps", "2_00", "--evaluate-every", 0, "--out", "run").status == 0
    told = json.loads(memec("evaluate", "run", "--episodes", 2, "--json").out)
    assert told["episodes"] == 2 and {"mean_score", "std_score"} <= set(told)
    everything = json.loads(memec("list", "--json").out)
    assert everything["agents"]["vpec"]["memory.neighbours"] == 11 and "ucb" in everything["strategies"]
    assert memec("train", "CartPole-v1", "--steps", "1.5").status == 2
    assert memec("train", "CartPole-v1", "--steps", "many").status == 2
