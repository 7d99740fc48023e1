"""`memec reproduce` and `memec report` as a user meets them."""

import json
from pathlib import Path

import pytest
from tests.command import Memec

from memec.experiments.engine import Job, work
from memec.experiments.grid import plan
from memec.experiments.results import Results

MISTAKES = {
    "what": (["fourrom"], "fourroom"),
    "agent": (["small", "--agents", "mfec,neck"], "nec"),
    "strategy": (["small", "--strategies", "bolzmann"], "boltzmann"),
    "environment": (["small", "--envs", "acrobat"], "acrobot"),
    "engine": (["small", "--engine", "rai"], "ray"),
    "preset": (["small", "--preset", "papers"], "paper"),
    "setting": (["small", "--agents", "mfec", "--set", "memory.capcity=3"], "capacity"),
    "seeds": (["small", "--seeds", "0"], "at least one seed"),
    "workers": (["small", "--workers", "0"], "at least one worker"),
    "steps": (["small", "--steps", "-5"], "training.steps"),
    "address without ray": (["small", "--address", "localhost:1"], "--engine ray"),
    "no cluster": (["small", "--engine", "ray", "--address", "127.0.0.1:1"], "answers"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_one_sentence_and_status_2_and_writes_nothing(memec: Memec, mistake: str) -> None:
    if mistake == "no cluster":
        pytest.importorskip("ray")
    arguments, hint = MISTAKES[mistake]
    result = memec("reproduce", *arguments)
    assert result.status == 2
    assert hint in result.error and "Traceback" not in result.error and result.error.count("\n") == 1
    assert not list(Path().iterdir())


def test_a_dry_run_shows_the_runs_and_the_time_and_starts_nothing(memec: Memec) -> None:
    result = memec("reproduce", "all", "--seeds", 1, "--dry-run", "--workers", 2)
    assert result.status == 0 and not list(Path().iterdir())
    lines = result.out.splitlines()
    assert lines[0] == "cartpole/mfec-epsilon-greedy/seed-0  to do"
    assert "runs, 0 done" in lines[-1] and "with 2 workers" in lines[-1]


def small_study(folder: Path, seeds: int = 2) -> None:
    runs = plan("fourroom", seeds=seeds, agents=["mfec"], strategies=["mellowmax", "epsilon-greedy"], steps=1_500)
    runs += plan("omega", seeds=1, agents=["mfec"], environments=["fourroom"], steps=1_500)[:2]
    results = Results(folder / "results")
    for run in runs:
        job = Job(run.name, run.folder(folder / "study"), run.settings, run.preset, "memec reproduce fourroom")
        assert work(job).status == "finished"
        results.add(run, job.folder)


def test_a_report_is_made_of_run_folders_and_of_results_alike(memec: Memec) -> None:
    small_study(Path())
    unfinished = Path("study/fourroom/mfec-epsilon-greedy/seed-1")
    record = json.loads((unfinished / "run.json").read_text())
    (unfinished / "run.json").write_text(json.dumps(record | {"status": "interrupted"}))
    with Path("study/fourroom/mfec-epsilon-greedy/seed-0/evaluations.csv").open("a") as torn:
        torn.write("2000,10,0.")
    from_runs, from_results = memec("report", "study"), memec("report", "results", "--verdict", "docs/page.md")
    assert from_runs.status == from_results.status == 0
    assert "fourroom/mfec-epsilon-greedy/seed-1 is not finished: interrupted" in from_runs.out
    for suffix in ("png", "svg"):
        assert Path(f"study/report/fourroom.{suffix}").stat().st_size > 5_000
        assert Path(f"results/report/fourroom-omega.{suffix}").stat().st_size > 5_000
    table = Path("results/report/scores.md").read_text()
    assert "| FourRoom | MFEC | mellowmax omega=7.5 | 2 | 1,500 |" in table
    assert "| FourRoom | MFEC | epsilon-greedy | 2 |" in table
    assert "| FourRoom | MFEC | epsilon-greedy | 1 |" in Path("study/report/scores.md").read_text()
    page = Path("docs/page.md").read_text()
    assert "../results/report/fourroom.png" in page and "**0** supported" in page
    assert "FourRoom MFEC epsilon-greedy, 1,500 of 100,000 steps" in page and "`memec reproduce fourroom`" in page


def test_a_report_of_nothing_finished_is_a_sentence(memec: Memec) -> None:
    Path("empty").mkdir()
    result = memec("report", "empty")
    assert result.status == 2 and "no finished run" in result.error and result.error.count("\n") == 1
    assert not list(Path("empty").iterdir())


def test_results_are_whole_however_often_a_run_is_added(memec: Memec, tmp_path: Path) -> None:
    small_study(tmp_path, seeds=1)
    (run, *_) = plan("fourroom", seeds=1, agents=["mfec"], strategies=["mellowmax"], steps=1_500)
    files = [tmp_path / "results/small" / name for name in ("evaluations.csv.gz", "runs.json")]
    before = [file.read_bytes() for file in files]
    Results(tmp_path / "results").add(run, run.folder(tmp_path / "study"))
    assert [file.read_bytes() for file in files] == before
    record = json.loads(files[1].read_text())["curves"]["paper/fourroom/mfec-mellowmax"]["runs"]["0"]
    assert record["status"] == "finished" and record["command"] == "memec reproduce fourroom"
    assert record["seconds"] > 0 and "numpy" in record["versions"]
