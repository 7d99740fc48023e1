"""Runs of Stable-Baselines3 are evaluated as ours are, recorded as they finish, and done once."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import stable_baselines
from benchmarks.own_targets.baselines import PRESET, TITLES
from benchmarks.stable_baselines import ZOO, Baseline, Record, Watch, compare, seconds_left, train

from memec.envs.world import World, make
from memec.errors import MemecError
from memec.report.runs import find_runs
from memec.report.study import report

CARTPOLE = ZOO[0]


class Model:
    """Balances the pole, unless it is told to let it fall."""

    num_timesteps = 0
    falls = False

    def get_vec_normalize_env(self) -> None:
        return None

    def predict(self, observations: np.ndarray[Any, Any], deterministic: bool) -> tuple[np.ndarray[Any, Any], None]:
        assert deterministic
        leaning = observations @ np.array([0.1, 0.4, 1.0, 1.0])
        return (np.zeros(len(observations), np.int64) if self.falls else (leaning > 0).astype(np.int64)), None


@pytest.fixture
def worlds() -> Iterator[list[World]]:
    made = [make("CartPole-v1") for _ in range(10)]
    yield made
    for world in made:
        world.close()


def watched(baseline: Baseline, worlds: list[World], falls_at: int = 0) -> tuple[Watch, int]:
    """Let eight environments step at once until the model is told to stop; return when that was."""
    watch, model = Watch(baseline, 100, worlds), Model()
    while True:
        model.num_timesteps += 8
        model.falls = model.num_timesteps // 500 * 500 == falls_at
        if not watch({"self": model}, {}):
            return watch, model.num_timesteps


def test_a_run_ends_at_the_fifth_evaluation_in_a_row_that_reaches_the_score(worlds: list[World]) -> None:
    watch, stopped = watched(CARTPOLE, worlds, falls_at=1_000)
    assert [step for step, _ in watch.evaluations] == [500, 1_000, 1_500, 2_000, 2_500, 3_000, 3_500]
    assert watch.evaluations[1][1] < 20 and watch.reached == 1_500
    assert stopped == 3_504, "the first step of eight at or after 3,500"


def test_a_run_that_never_reaches_it_ends_with_its_budget(worlds: list[World]) -> None:
    watch, stopped = watched(CARTPOLE._replace(steps=1_500), worlds, falls_at=1_000)
    assert len(watch.evaluations) == 3 and watch.reached is None and stopped == 1_512


def test_what_is_recorded_is_not_done_again_and_what_was_interrupted_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[tuple[str, int]] = []

    def trained(baseline: Baseline, seed: int) -> Watch:
        if len(done) == 5:
            raise KeyboardInterrupt
        done.append((baseline.curve, seed))
        watch = Watch(baseline, seed, [])
        watch.evaluations = [(500 * place, 500.0) for place in range(1, 6)]
        return watch

    monkeypatch.setattr(stable_baselines, "train", trained)
    monkeypatch.setattr(stable_baselines, "version", lambda name: "1.0")
    with pytest.raises(KeyboardInterrupt):
        compare(ZOO, (100, 101), Record(tmp_path), "command")
    assert "3 runs left, about 0 s" in capsys.readouterr().err
    first, done = done, []
    compare(ZOO, (100, 101), Record(tmp_path), "command")
    assert [seed for _, seed in first + done] == [100] * 4 + [101] * 4 and len(set(first + done)) == 8
    runs = find_runs(tmp_path).runs
    assert len(runs) == 8 and {run.preset for run in runs} == {PRESET} and {run.status for run in runs} == {"reached"}
    assert {run.subject[1] for run in runs} == set(TITLES)
    assert all(run.steps.tolist() == [500, 1_000, 1_500, 2_000, 2_500] for run in runs)


def test_results_of_other_settings_are_refused(tmp_path: Path) -> None:
    Record(tmp_path).add(CARTPOLE, 100, [(500, 500.0)], {})
    with pytest.raises(MemecError, match="other settings"):
        Record(tmp_path).has(CARTPOLE._replace(steps=10), 101)


def test_runs_that_end_at_a_score_have_no_part_in_the_report_of_a_study(tmp_path: Path) -> None:
    Record(tmp_path).add(CARTPOLE, 100, [(500, 500.0)], {})
    assert find_runs(tmp_path).runs
    with pytest.raises(MemecError, match="holds no finished run"):
        report(tmp_path)


def test_the_time_left_follows_runs_of_the_same_kind() -> None:
    assert seconds_left(["quick", "slow", "new"], {"quick": [1.0, 3.0], "slow": [11.0]}) == 2 + 11 + 5


def test_without_stable_baselines_there_is_one_sentence_on_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(MemecError, match=r"needs stable_baselines3: pip install --editable '.\[baselines\]'"):
        train(CARTPOLE, 100)
