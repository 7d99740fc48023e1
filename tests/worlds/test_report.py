"""The league's page says what its runs say."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.worlds import report as page
from benchmarks.worlds.judging import Played, difference, mean, read_league, verdict
from benchmarks.worlds.league import plan
from benchmarks.worlds.report import report, write_report
from scipy import stats

from memec.errors import MemecError
from memec.experiments.engine import Job, work
from memec.experiments.results import Results

REPOSITORY = Path(__file__).parents[2]


def played(*finals: float, steps: int = 5) -> Played:
    """Return seeds that had their final score in every evaluation."""
    return Played(np.arange(1, steps + 1) * 100, np.repeat(np.array(finals)[:, None], steps, axis=1), 60.0)


def test_the_interval_of_a_difference_is_welchs() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(1.0, 2.0, 10), rng.normal(0.0, 0.5, 5)
    found = difference(ours, theirs)
    expected = stats.ttest_ind(ours, theirs, equal_var=False)
    assert found.value == pytest.approx(ours.mean() - theirs.mean())
    assert (found.low, found.high) == pytest.approx(expected.confidence_interval(0.95))
    alone = stats.ttest_1samp(ours, 0.0).confidence_interval(0.95)
    assert mean(ours)[1:] == pytest.approx(tuple(alone))


def test_seeds_that_all_agree_and_single_seeds_have_a_verdict_too() -> None:
    assert difference(np.full(10, -13.0), np.full(5, -13.0)) == (0.0, 0.0, 0.0)
    assert difference(np.full(10, -13.0), np.full(5, -20.0)) == (7.0, 7.0, 7.0)
    assert difference(np.array([1.0]), np.array([0.0])) == (1.0, None, None) and mean(np.array([1.0])).low is None


def test_a_loss_is_an_interval_below_zero() -> None:
    assert verdict(played(1.0, 1.1, 0.9), played(5.0, 5.1, 4.9)) == "loss"
    assert verdict(played(5.0, 5.1, 4.9), played(1.0, 1.1, 0.9)) == "win"
    assert verdict(played(1.0, 9.0), played(5.0, 5.1)) == verdict(played(9.0), played(1.0)) == "tie"


def test_steps_to_a_score_are_the_median_over_seeds_of_the_mean_of_five() -> None:
    steps = np.arange(1, 9) * 100
    late, soon = [0.0] * 3 + [1.0] * 5, [1.0] * 8
    assert Played(steps, np.array([late, soon, soon]), None).steps_to(1.0) == 500
    assert Played(steps, np.array([late, late, soon]), None).steps_to(1.0) == 800
    assert Played(steps, np.array([late, late, late]), None).steps_to(0.4) == 500
    assert np.isinf(Played(steps, np.array([late, late, soon]), None).steps_to(1.1))


def test_the_page_counts_names_and_explains_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "REASONS", {("taxi", "mfec"): "It never looks for the passenger."})
    league = {
        ("taxi", "vpec"): played(-5.0, -5.1), ("taxi", "mfec"): played(7.9, 8.0), ("taxi", "nec"): played(7.9, 8.0),
        ("cliff", "vpec"): played(-13.0, -13.0), ("cliff", "random"): played(-2_000.0, -1_900.0),
    }  # fmt: skip
    said = report(league)
    assert "in **1 of 2 worlds**" in said
    assert "| MFEC | 0 | 0 | 1 | 1 |" in said and "| random | 1 | 0 | 0 | 1 |" in said
    assert "- **taxi**, against MFEC (-5.05 against 7.95): It never looks for the passenger." in said
    assert "- **taxi**, against NEC (-5.05 against 7.95): Not understood yet." in said
    assert "| cliff (c) | 5,000 | -13 [-13, -13] (-13, 2 seeds) |" in said
    assert "| taxi (c) | > 50,000 |" in said


def test_scores_are_read_from_results_in_the_original_rewards(tmp_path: Path) -> None:
    (run,) = plan(["cartpole-rewards"], ["random"], [300], steps=25)
    job = Job(run.name, tmp_path / "run", run.settings, run.preset, "", run.runner)
    assert work(job).status == "finished"
    Results(tmp_path).add(run, job.folder)
    found = read_league(tmp_path / "worlds")["cartpole-rewards", "random"]
    assert found.steps.tolist() == [5, 10, 15, 20, 25] and found.processor_seconds is not None
    assert 12 < found.scores.mean() < 35
    write_report(tmp_path / "worlds", tmp_path / "docs" / "page.md")
    assert "cartpole-rewards (n) | 100,000 |" in (tmp_path / "docs" / "page.md").read_text()
    with pytest.raises(MemecError, match="with these seeds"):
        write_report(tmp_path / "worlds", tmp_path / "page.md", range(5))


def test_the_page_in_the_docs_is_made_from_the_committed_results(tmp_path: Path) -> None:
    write_report(REPOSITORY / "results" / "worlds", tmp_path / "page.md")
    written = (REPOSITORY / "docs" / "worlds.md").read_text()
    assert written == (tmp_path / "page.md").read_text(), "make it again with python -m benchmarks.worlds --report"
