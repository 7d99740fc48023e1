"""The diary of a run and TensorBoard's files: for people, without a trace in the training."""

import json
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from memec import cli
from memec.errors import MemecError
from memec.experiments.presets import settings_for
from memec.experiments.run import resume, run
from memec.train import Evaluation, Tick
from memec.train.diary import Diary, read_diary


def settings(explore: str = "mellowmax", agent: str = "mfec", **training: Any) -> Any:
    changes = {"steps": 600, "evaluate_every_steps": 200, "evaluation_episodes": 1} | training
    changed = settings_for("CartPole-v1", "vector", agent=agent, explore=explore).changed({"training": changes})
    return changed if agent == "mfec" else changed.changed({"agent": {"train_start_steps": 100}})


def scalars(folder: Path) -> dict[str, list[Any]]:
    events = EventAccumulator(str(folder / "tensorboard")).Reload()
    return {tag: events.Scalars(tag) for tag in events.Tags()["scalars"]}


def test_every_evaluation_has_an_entry_with_its_time_and_the_agents_state(tmp_path: Path) -> None:
    run(settings(), tmp_path / "run", preset="tuned", progress=False)
    diary = read_diary(tmp_path / "run")
    assert [entry["step"] for entry in diary if entry["step"] % 200 == 0] == [200, 400, 600]
    assert [entry["seconds"] for entry in diary] == sorted(entry["seconds"] for entry in diary)
    assert 0.0 < diary[-1]["memory_fill"] < 1.0 and diary[-1]["recall_estimate"] == 1.0


@pytest.mark.parametrize(("explore", "own"), [("mellowmax", "beta"), ("epsilon-greedy", "epsilon"), ("ucb", None)])
def test_tensorboard_gets_scores_evaluations_and_diagnostics(tmp_path: Path, explore: str, own: str | None) -> None:
    run(settings(explore), tmp_path / "run", preset="tuned", progress=False, log="tensorboard")
    found = scalars(tmp_path / "run")
    assert {"episode/score", "episode/length", "evaluation/mean_score"} <= set(found)
    names = ["memory_fill", "recall_estimate", "exact_hit_rate", "value", "policy_entropy", *([own] if own else [])]
    assert {f"agent/{name}" for name in names} <= set(found)
    evaluations = (tmp_path / "run" / "evaluations.csv").read_text().splitlines()[1:]
    assert [(point.step, point.value) for point in found["evaluation/mean_score"]] == [
        (int(row.split(",")[0]), pytest.approx(float(row.split(",")[2]))) for row in evaluations
    ]


@pytest.mark.parametrize("agent", ["nec", "d3qn"])
def test_tensorboard_gets_the_losses_of_networks(tmp_path: Path, agent: str) -> None:
    explore = "epsilon-greedy" if agent == "d3qn" else "mellowmax"
    run(settings(explore, agent), tmp_path / "run", preset="tuned", progress=False, log="tensorboard")
    assert {"agent/loss", "agent/policy_entropy"} <= set(scalars(tmp_path / "run"))


def test_neither_diary_nor_tensorboard_changes_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(settings(evaluate_every_steps=0), tmp_path / "plain", preset="tuned", progress=False)
    monkeypatch.setattr("memec.train.diary.SHORTEST_PAUSE", 0.0)  # an entry at every tick
    monkeypatch.setattr("memec.train.diary.LONGEST_PAUSE", 0.0)
    often = settings(evaluate_every_steps=0).changed({"checkpoint": {"every_steps": 10}})
    run(often, tmp_path / "watched", preset="tuned", progress=False, log="tensorboard")
    assert len(read_diary(tmp_path / "watched")) >= 59
    plain, watched = ((tmp_path / name / "episodes.csv").read_bytes() for name in ("plain", "watched"))
    assert plain == watched


def test_a_resumed_run_goes_on_with_its_diary_and_its_time(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run(settings(), folder, preset="tuned", progress=False)
    before = read_diary(folder)
    resume(folder, steps=800, progress=False, log="tensorboard")
    after = read_diary(folder)
    assert after[: len(before)] == before and after[-1]["step"] == 800
    assert after[-1]["seconds"] >= before[-1]["seconds"]
    assert {point.step for point in scalars(folder)["evaluation/mean_score"]} == {800}


def test_entries_beyond_the_step_a_run_was_set_back_to_are_left_out(tmp_path: Path) -> None:
    lines = [json.dumps({"step": step, "seconds": step / 10}) for step in (100, 200, 300)]
    (tmp_path / "diary.jsonl").write_text("\n".join(lines) + '\n{"step": 4')
    events = Diary(tmp_path, dict).follow([Tick(210), Evaluation(220, 1, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0)], 200)
    assert len(list(events)) == 2
    diary = read_diary(tmp_path)
    assert [entry["step"] for entry in diary] == [100, 200, 220] and diary[-1]["seconds"] >= 20.0


@pytest.mark.parametrize(
    "line", ["[]", "3", "{}", '{"step": "x", "seconds": 1}', '{"step": NaN, "seconds": 1}', "{" * 9_999]
)
def test_what_is_no_entry_is_passed_over(tmp_path: Path, line: str) -> None:
    (tmp_path / "diary.jsonl").write_text(f'{line}\n{{"step": 1, "seconds": 2}}\n')
    assert read_diary(tmp_path) == [{"step": 1.0, "seconds": 2.0}]


def test_a_link_in_a_strangers_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "diary.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(MemecError, match="link"):
        list(Diary(tmp_path / "run", dict).follow([], 0))
    assert (tmp_path / "elsewhere").read_text() == "mine"


def test_an_unknown_log_is_refused_before_a_folder_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["memec", "train", "CartPole-v1", "--log", "tensorbord", "--out", "run"])
    with pytest.raises(SystemExit) as leaving:
        cli.main()
    assert leaving.value.code == 2 and "tensorboard" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
