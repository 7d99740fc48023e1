"""A run that cannot be used is named with its reason, and the rest is reported."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memec.report.page import page_data
from memec.report.runs import find_runs
from tests.command import Memec

from .test_page import make_run

HEADER = "step,episodes,mean_score,std_score,min_score,max_score,mean_length,seconds\n"


def csv_with(content: bytes | str) -> Callable[[Path], object]:
    data = content.encode() if isinstance(content, str) else content
    return lambda run: (run / "evaluations.csv").write_bytes(data)


def setting(*names: str, value: Any) -> Callable[[Path], object]:
    """Write a record as a stranger does, who knows no checksum."""

    def change(run: Path) -> None:
        record = json.loads((run / "run.json").read_text())
        del record["digest"]
        part = record
        for name in names[:-1]:
            part = part[name]
        part[names[-1]] = value
        (run / "run.json").write_text(json.dumps(record).replace('"TOO LARGE"', "1e400"))

    return change


def instead(name: str, make: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda run: ((run / name).unlink(), make(run / name))


def row(step: object, score: object = 1.0) -> str:
    return f"{step},10,{score},1.0,0.0,2.0,100.0,0.1\n"


DAMAGES: dict[str, Callable[[Path], object]] = {
    "no column": csv_with("steps,score\n1,2\n"),
    "a field that is too long": csv_with(HEADER + row(500) + "1," + "9" * 200_000 + "\n"),
    "no letters": csv_with(HEADER.encode() + bytes(range(256)) * 20 + b"\n"),
    "the same step twice": csv_with(HEADER + row(500) + row(500)),
    "steps that go back": csv_with(HEADER + row(500) + row(1000) + row(700)),
    "half a step": csv_with(HEADER + row(500.5)),
    "a step below zero": csv_with(HEADER + row(-500)),
    "a step that is no step": csv_with(HEADER + row(1e300)),
    "a score too large": csv_with(HEADER + row(500, 1.7e308)),
    "nothing at all": csv_with(""),
    "a folder": instead("evaluations.csv", Path.mkdir),
    "a pipe": instead("evaluations.csv", os.mkfifo),
    "a link without an end": instead("evaluations.csv", lambda path: path.symlink_to("/dev/zero")),
    "a diary without an end": instead("diary.jsonl", lambda path: path.symlink_to("/dev/zero")),
    "a diary that is a pipe": instead("diary.jsonl", os.mkfifo),
    "a diary that is a folder": instead("diary.jsonl", Path.mkdir),
    "a seed too large": setting("settings", "seed", value="TOO LARGE"),
    "a seed that is none": setting("settings", "seed", value=[1]),
    "an environment that is none": setting("settings", "environment", "id", value=["CartPole-v1"]),
    "an environment of many letters": setting("settings", "environment", "id", value="x" * 3_000),
    "an environment of half a letter": setting("settings", "environment", "id", value="\ud800"),
    "an agent that is none": setting("settings", "agent", value="mfec"),
    "a budget that is none": setting("settings", "training", "steps", value="many"),
    "a budget too large": setting("settings", "training", "steps", value=10**30),
    "settings that are none": setting("settings", value=[]),
    "a name that cannot be printed": setting("settings", "agent", "discount", value="\x1b[2J"),
    "a future format": setting("format", value=99),
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three good runs that differ by their seed."""
    folder = tmp_path_factory.mktemp("study")
    for seed in range(3):
        make_run(folder / f"seed-{seed}", seed=seed)
    return folder


@pytest.mark.parametrize("what", DAMAGES)
def test_a_bad_run_is_named_and_the_rest_is_reported(what: str, study: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(study, tmp_path / "study"))
    bad = make_run(folder / "bad", seed=3)
    DAMAGES[what](bad)
    found = find_runs(folder, unfinished=True)
    data = page_data(found.runs, found.passed_over, folder)
    (curve,) = data["environments"][0]["curves"]
    assert curve["seeds"] == (0, 1, 2) and len(curve["steps"]) == 12
    assert json.dumps(data, allow_nan=False)
    (reason,) = found.passed_over
    assert str(bad) in reason and "\n" not in reason and len(reason) < 400


@pytest.mark.parametrize("what", ["no column", "a score too large", "a pipe", "a seed too large"])
def test_the_command_reports_the_rest(what: str, study: Path, memec: Memec) -> None:
    shutil.copytree(study, "study")
    DAMAGES[what](make_run(Path("study/bad"), seed=3))
    result = memec("report", "study")
    assert result.status == 0, result
    assert "Passed over: study/bad" in result.out and Path("study/report/report.html").is_file()


@pytest.mark.parametrize("what", DAMAGES)
def test_the_report_of_a_bad_run_alone_is_one_sentence(what: str, memec: Memec) -> None:
    bad = make_run(Path("bad"))
    DAMAGES[what](bad)
    result = memec("report", "bad")
    assert result.status == 2 and result.error.count("\n") == 1 and result.error.startswith("memec: "), result


def test_bad_results_are_named_and_the_rest_is_reported(study: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(study, tmp_path / "study"))
    contents: dict[str, Any] = {
        "empty": {},
        "no-curves": {"format": 1, "curves": {"paper/x/y": []}},
        "no-name": {"format": 1, "curves": {"paper": {"settings": {}, "runs": {}}}},
        "no-table": {"format": 1, "curves": {}},
    }
    for name, content in contents.items():
        (folder / name).mkdir()
        (folder / name / "runs.json").write_text(json.dumps(content))
        if name != "no-table":
            (folder / name / "evaluations.csv").write_text("env,agent,strategy,preset,seed,step,mean_score\n")
    (folder / "empty" / "evaluations.csv").write_text("x\n1\n")
    found = find_runs(folder)
    assert len(found.runs) == 3 and len(found.passed_over) == 4
    assert all("\n" not in reason for reason in found.passed_over)


def test_a_run_that_shares_no_evaluation_with_the_others_spoils_nothing(study: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(study, tmp_path / "study"))
    csv_with(HEADER + row(7))(make_run(folder / "strange", seed=3))
    found = find_runs(folder, unfinished=True)
    (curve,) = page_data(found.runs, found.passed_over, folder)["environments"][0]["curves"]
    assert curve["seeds"] == (0, 1, 2)
