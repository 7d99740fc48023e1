"""The report page: whole, honest and at home in any browser."""

import csv
import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memec.errors import MemecError
from memec.experiments.presets import settings_for
from memec.report.page import page_data, write_page
from memec.report.runs import find_runs
from memec.train import Evaluation, RunFolder

SCRIPT = '</script><img src=x onerror="alert(1)"><script>alert(2)</script>&amp;'


def make_run(
    folder: Path, env: str = "CartPole-v1", *, seed: int = 0, explore: str = "mellowmax", **about: Any
) -> Path:
    """Write the folder of a run as training leaves it behind, with a learning curve drawn by lot."""
    count = about.pop("evaluations", 12)
    status = about.pop("status", "finished")
    settings = settings_for(env, "vector", explore=explore, preset="paper").changed({"seed": seed})
    run = RunFolder.create(folder, settings.model_dump(mode="json"), preset="paper", command="memec train", **about)
    scores = np.random.default_rng([seed, len(explore)]).uniform(0, 500, count)
    for number, score in enumerate(scores.tolist(), start=1):
        run.add(Evaluation(500 * number, 10, score, 1.0, score, score, 100.0, 0.1))
    entries = [{"step": 500 * number, "seconds": 2.0 * number + seed} for number in range(1, count + 1)]
    (folder / "diary.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    run.end(status)
    return folder


def scores_in(run: Path) -> list[float]:
    with (run / "evaluations.csv").open() as file:
        return [float(row["mean_score"]) for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two strategies of three seeds in CartPole and a single run in Acrobot; one was stopped and one never began."""
    folder = tmp_path_factory.mktemp("study")
    for explore in ("mellowmax", "epsilon-greedy"):
        for seed in range(3):
            make_run(folder / "cartpole" / f"mfec-{explore}" / f"seed-{seed}", seed=seed, explore=explore)
    make_run(folder / "acrobot" / "seed-0", "Acrobot-v1")
    make_run(folder / "stopped" / "seed-0", seed=7, evaluations=4, status="interrupted")
    make_run(folder / "begun" / "seed-0", seed=8, evaluations=0, status="failed")
    return folder


@pytest.fixture(scope="module")
def address(study: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("page") / "report.html"
    return write_page(study, file, lambda settings, any_omega=False: "paper").as_uri()


def open_page(page: Any, address: str) -> None:
    """Open a report and wait until it is drawn."""
    page.goto(address)
    page.wait_for_function(
        "() => [...document.querySelectorAll('.chart')].every(one => one.querySelector('.main-svg'))"
    )


def data_of(folder: Path) -> dict[str, Any]:
    found = find_runs(folder, unfinished=True)
    return page_data(found.runs, found.passed_over, folder, lambda settings, any_omega=False: "paper")


def test_the_table_says_what_the_csv_files_hold(page: Any, study: Path, address: str) -> None:
    open_page(page, address)
    rows = page.eval_on_selector_all(
        "#table-scores tbody tr", "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )
    assert len(rows) == 3
    shown = {(row[0], row[2]): row for row in rows}
    for explore in ("mellowmax", "epsilon-greedy"):
        runs = [study / "cartpole" / f"mfec-{explore}" / f"seed-{seed}" for seed in range(3)]
        final = [np.mean(scores_in(run)[-5:]) for run in runs]
        row = shown["CartPole", explore]
        assert row[3] == "3" and row[5] == f"{np.mean(final):.4g} ± {np.std(final, ddof=1):.2g}"
        middle, low, high = map(float, re.findall(r"-?[\d.]+", row[6]))
        assert low <= middle <= high and low <= np.mean(final) <= high


def test_curves_are_drawn_with_their_spread_and_hover(page: Any, study: Path, address: str) -> None:
    open_page(page, address)
    charts = page.evaluate("[...document.querySelectorAll('.chart')].map(chart => chart.data)")
    assert len(charts) == 2 and page.locator(".chart .main-svg").count() >= 2
    runs = [study / "cartpole" / "mfec-mellowmax" / f"seed-{seed}" for seed in range(3)]
    (curve,) = [trace for trace in charts[1] if trace.get("name") == "MFEC mellowmax"]
    assert curve["y"] == pytest.approx(np.mean([scores_in(run) for run in runs], axis=0).tolist())
    assert curve["customdata"] == pytest.approx(np.std([scores_in(run) for run in runs], axis=0, ddof=1).tolist())
    assert any("(unfinished)" in trace.get("name", "") for trace in charts[1])
    page.locator(".chart").nth(1).hover(force=True)  # whatever lies over the middle of a chart belongs to it
    page.wait_for_selector(".hoverlayer .legend text, .hoverlayer .hovertext")
    assert "seeds" in page.locator(".hoverlayer").nth(1).text_content()


def test_switches_change_axis_seeds_agents_and_strategies(page: Any, address: str) -> None:
    open_page(page, address)
    chart = "document.querySelectorAll('.chart')[1]"
    lines = f"{chart}.data.filter(trace => trace.showlegend !== false && trace.line.width > 0).length"
    assert page.evaluate(lines) == 3
    page.click("#seeds button[data-value=each]")
    assert page.evaluate(f"{chart}.data.length") == 7
    page.click("#axis button[data-value=time]")
    assert page.evaluate(f"{chart}.layout.xaxis.title.text") == "seconds of training"
    assert page.evaluate(f"{chart}.data[0].x")[:2] == [2.0, 4.0]
    page.click("#strategies button:has-text('mellowmax')")
    assert page.get_attribute("#strategies button:has-text('mellowmax')", "aria-pressed") == "false"
    assert page.evaluate(f"{chart}.data.length") == 3


def test_switches_work_by_keyboard(page: Any, address: str) -> None:
    open_page(page, address)
    page.focus("#axis button[data-value=time]")
    page.keyboard.press("Enter")
    assert page.get_attribute("#axis button[data-value=time]", "aria-pressed") == "true"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.value") == "mean"


def test_failed_and_unfinished_runs_are_named(page: Any, address: str) -> None:
    open_page(page, address)
    missing = page.text_content("#missing")
    assert "stopped/seed-0: interrupted at step 2,000" in missing and "begun/seed-0 has no evaluations" in missing


def test_every_run_shows_its_settings(page: Any, address: str) -> None:
    open_page(page, address)
    details = page.locator("#runs details", has_text="cartpole/mfec-mellowmax/seed-2")
    details.locator("summary").click()
    text = details.locator("table").text_content()
    assert "agent.memory.capacity10000" in text and "seed2" in text


def test_the_verdict_stands_where_the_runs_are_the_papers(page: Any, address: str) -> None:
    open_page(page, address)
    assert "not run at the paper's budget" in page.text_content("#table-verdict")


def test_nothing_is_cut_off_on_a_phone_or_a_laptop(page: Any, address: str, screenshots: Path | None) -> None:
    open_page(page, address)
    for width, scheme in product((1280, 390), ("light", "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function("() => document.querySelector('.chart .main-svg').clientWidth <= innerWidth")  # redrawn
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
        if screenshots is not None:
            page.screenshot(path=screenshots / f"report-{width}-{scheme}.png", full_page=True)


def test_whatever_a_run_says_is_shown_as_text(page: Any, tmp_path: Path) -> None:
    name = "<b onclick=alert(3)>x<script>alert(4)<"
    run = make_run(tmp_path / name / "seed-0")
    record = json.loads((run / "run.json").read_text())
    record.pop("digest", None)
    record["settings"]["environment"]["id"] = SCRIPT
    record["settings"]["agent"]["name"] = SCRIPT
    record["settings"]["agent"]["explore"] = {"name": SCRIPT, SCRIPT: SCRIPT}
    record |= {"command": SCRIPT, "versions": {SCRIPT: SCRIPT}}
    (run / "run.json").write_text(json.dumps(record))
    (tmp_path / name / "broken").mkdir()
    (tmp_path / name / "broken" / "run.json").write_text("{")
    open_page(page, write_page(tmp_path, tmp_path / "report.html").as_uri())
    assert page.locator("h2", has_text=SCRIPT).count() == 1
    page.click("#runs summary")
    page.wait_for_selector("#runs td")
    assert page.locator("#runs td", has_text=SCRIPT).count() >= 4
    assert page.locator("main img, main script, main b").count() == 0
    assert "broken" in page.text_content("#missing")
    page.locator(".chart").hover(force=True)  # whatever lies over the middle of a chart belongs to it
    page.wait_for_selector(".hoverlayer text")


def test_a_hundred_runs_make_a_page_below_15_megabytes(page: Any, tmp_path: Path) -> None:
    for seed in range(50):
        for explore in ("mellowmax", "boltzmann"):
            make_run(tmp_path / explore / f"seed-{seed}", seed=seed, explore=explore, evaluations=200)
    file = write_page(tmp_path, tmp_path / "report.html")
    assert file.stat().st_size < 15_000_000
    open_page(page, file.as_uri())
    assert "100 runs" in page.text_content("#summary")


def test_a_line_cut_in_half_is_passed_over(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", status="interrupted")
    whole = data_of(tmp_path)
    with (run / "evaluations.csv").open("a") as file:
        file.write("6500,10,3")
    assert data_of(tmp_path) == whole


def test_two_runs_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    for place, explore in (("a", "mellowmax"), ("b", "boltzmann")):
        make_run(tmp_path / place / "run", explore=explore)
    assert [run["name"] for run in data_of(tmp_path)["runs"]] == ["a/run", "b/run"]


def test_a_single_run_has_a_page_of_its_own(tmp_path: Path) -> None:
    data = data_of(make_run(tmp_path / "run"))
    assert data["runs"][0]["name"] == "run" and len(data["environments"][0]["curves"]) == 1


def test_runs_without_times_are_left_out_of_the_axis_of_time(tmp_path: Path) -> None:
    (make_run(tmp_path / "run") / "diary.jsonl").unlink()
    assert data_of(tmp_path)["environments"][0]["curves"][0]["seconds"] is None


def test_no_runs_or_none_with_evaluations_are_said_so(tmp_path: Path) -> None:
    with pytest.raises(MemecError, match="no run with evaluations"):
        write_page(tmp_path, tmp_path / "report.html")
    make_run(tmp_path / "run", evaluations=0)
    with pytest.raises(MemecError, match=r"no run with evaluations.* has no evaluations"):
        write_page(tmp_path, tmp_path / "report.html")
    with pytest.raises(MemecError, match="neither"):
        write_page(tmp_path / "nowhere", tmp_path / "report.html")
