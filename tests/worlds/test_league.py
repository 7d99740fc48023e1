"""The league runs, goes on after a kill and refuses mistakes in one sentence; foreign players as well as ours."""

import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.worlds import __main__ as command
from benchmarks.worlds import foreign
from benchmarks.worlds.league import PRESET, plan
from benchmarks.worlds.tabular import Table
from benchmarks.worlds.worlds import WORLDS
from benchmarks.worlds.zoo import zoo_settings

from memec.experiments.engine import Ended, Job, work
from memec.report.runs import find_runs
from memec.train import RunFolder
from memec.train.files import read_json

League = Callable[..., int]
SMALL = ("--worlds", "cliff,openroom", "--players", "tabular-q,mfec", "--seeds", "0-1", "--steps", "100")


class InThisProcess:
    """An engine that hands jobs over as text, as the others do."""

    def run(self, jobs: list[Job]) -> Generator[Ended | None]:
        for job in jobs:
            yield work(Job.from_json(job.to_json()))


@pytest.fixture
def league(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> League:
    """The command, in a folder of its own; it returns its exit status."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "make_engine", lambda *_, **__: (InThisProcess(), 1))

    def run(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["worlds", *arguments])
        with pytest.raises(SystemExit) as ended:
            command.main()
        assert isinstance(ended.value.code, int)
        return ended.value.code

    return run


def test_two_worlds_two_players_and_two_seeds_run_once_and_are_recorded(league: League) -> None:
    assert league(*SMALL) == 0
    runs = find_runs(Path("results")).runs
    assert len(runs) == 8 and {run.preset for run in runs} == {PRESET}
    assert {run.subject[:2] for run in runs} == {
        (WORLDS[world].id, player) for world in ("cliff", "openroom") for player in ("tabular-q", "mfec")
    }
    assert all(run.steps.tolist() == [20, 40, 60, 80, 100] for run in runs)
    record = read_json(Path("results/worlds/cliff/runs.json"))["curves"]["league/cliff/tabular-q-epsilon-greedy"]
    assert record["runs"]["1"]["processor_seconds"] > 0 and "gymnasium" in record["runs"]["1"]["versions"]
    files = [file for file in Path("results").rglob("*") if file.is_file()]
    before = [file.read_bytes() for file in files]
    assert league(*SMALL) == 0
    assert [file.read_bytes() for file in files] == before


def test_a_killed_run_of_a_foreign_player_begins_anew_and_ends_as_if_nothing_had_happened(
    league: League, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_tabular = ("--worlds", "cliff", "--players", "tabular-q", "--seeds", "0", "--steps", "100")
    file = "worlds/cliff/evaluations.csv.gz"
    assert league(*only_tabular, "--out", "whole", "--results", "expected") == 0
    seen: list[int] = []

    def killed(watch: Any, step: int, policy: Any) -> Any:
        seen.append(step)
        if len(seen) == 3:
            raise KeyboardInterrupt  # nothing is written down, as after kill -9
        return evaluation(watch, step, policy)

    evaluation = foreign.Watch._evaluation
    with monkeypatch.context() as patched:
        patched.setattr(foreign.Watch, "_evaluation", killed)
        with pytest.raises(KeyboardInterrupt):
            monkeypatch.setattr(sys, "argv", ["worlds", *only_tabular])
            command.main()
    folder = Path("runs/worlds/cliff/tabular-q-epsilon-greedy/seed-0")
    assert read_json(folder / "run.json")["status"] == "running" and not Path("results").exists()
    assert league(*only_tabular) == 0
    assert Path("results", file).read_bytes() == Path("expected", file).read_bytes()


def test_a_run_of_ours_in_a_world_of_the_league_is_resumed_by_who_named_its_module(tmp_path: Path) -> None:
    (run,) = plan(["cliff"], ["mfec"], [0], steps=50)
    job = Job(run.name, tmp_path / "run", run.settings, run.preset, "", run.runner)
    assert work(job).status == "finished"
    RunFolder.open(job.folder).update(status="interrupted")
    assert work(job) == (job.name, "finished", None)


MISTAKES = {
    "world": (("--worlds", "taxy"), "did you mean 'taxi'"),
    "player": (("--players", "tabular"), "did you mean 'tabular-q'"),
    "seeds": (("--seeds", "300-"), "--seeds takes"),
    "no seeds": (("--seeds", "5-4"), "at least one seed"),
    "nobody plays": (("--worlds", "cartpole", "--players", "tabular-q"), "only where states are few"),
    "steps": (("--worlds", "cartpole", "--players", "random", "--steps", "-1"), "training.steps"),
    "nothing to report": (("--report",), "holds no"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_one_sentence_and_status_2(
    league: League, capsys: pytest.CaptureFixture[str], mistake: str
) -> None:
    arguments, hint = MISTAKES[mistake]
    assert league(*arguments) == 2
    error = capsys.readouterr().err
    assert hint in error and error.count("\n") == 1
    assert not list(Path().iterdir())


def test_results_of_another_budget_are_refused(league: League, capsys: pytest.CaptureFixture[str]) -> None:
    short = ("--worlds", "cliff", "--players", "random", "--seeds", "0")
    assert league(*short, "--steps", "50") == 0
    assert league(*short, "--steps", "100", "--out", "elsewhere") == 2
    assert "other settings: training.steps is 50 there and 100 here" in capsys.readouterr().err


@pytest.mark.parametrize(("world", "player"), [("cliff", "sb3-dqn"), ("minigrid-fourrooms", "sb3-ppo")])
def test_players_of_stable_baselines_are_looked_at_as_ours_are(tmp_path: Path, world: str, player: str) -> None:
    pytest.importorskip("stable_baselines3")
    if world.startswith("minigrid"):
        pytest.importorskip("minigrid")
    (run,) = plan([world], [player], [0], steps=25)
    settings = run.settings.changed({"training": {"evaluation_episodes": 2}})
    job = Job(run.name, tmp_path / "run", settings, run.preset, "", run.runner)
    assert work(job).status == "finished"
    evaluations = np.loadtxt(job.folder / "evaluations.csv", delimiter=",", skiprows=1)
    assert evaluations[:, 0].tolist() == [5, 10, 15, 20, 25] and set(evaluations[:, 1]) == {2}


def test_random_play_scores_what_random_play_scores(tmp_path: Path) -> None:
    (run,) = plan(["cartpole"], ["random"], [0], steps=50)
    foreign.run(run.settings, tmp_path / "run", preset=PRESET)
    scores = np.loadtxt(tmp_path / "run/evaluations.csv", delimiter=",", skiprows=1)[:, 2]
    assert 15 < scores.mean() < 30


def test_a_table_learns_the_mean_and_looks_one_step_ahead() -> None:
    table = Table(2, {"discount": 0.5, "step_size_power": 1.0}, np.random.default_rng(0))
    here, there = np.array([0.0]), np.array([1.0])
    for reward in (1.0, 2.0, 6.0):
        table.learn(there, 1, reward, there, terminated=True)
    assert table.values(there).tolist() == [0.0, 3.0]
    table.learn(here, 0, -1.0, there, terminated=False)
    assert table.values(here).tolist() == [0.5, 0.0] and table.best(here) == 0 and table.best(there) == 1
    assert {table.choose(there, epsilon=0.0) for _ in range(5)} == {1}
    assert {table.choose(there, epsilon=1.0) for _ in range(20)} == {0, 1}


def test_the_zoo_is_asked_by_family_and_player() -> None:
    assert zoo_settings("sb3-ppo", "cartpole-noisy") == zoo_settings("sb3-ppo", "cartpole")
    assert zoo_settings("sb3-ppo", "minigrid-fourrooms")["options"]["n_steps"] == 512
    assert zoo_settings("sb3-ppo", "minigrid-unlock")["options"]["n_steps"] == 128
    assert zoo_settings("sb3-dqn", "lunarlander")["options"]["gradient_steps"] == -1
    assert zoo_settings("sb3-ppo", "taxi") == {} == zoo_settings("sb3-dqn", "taxi")
