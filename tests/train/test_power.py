"""A power cut loses what was not synced: a run goes on from its newest checkpoint all the same."""

from pathlib import Path

import pytest

from memec.agents import OWN

from . import power


@pytest.mark.parametrize("agent", OWN)
def test_a_run_whose_power_is_cut_goes_on_from_its_newest_checkpoint(agent: str, tmp_path: Path) -> None:
    tally = power.cut_the_power(power.Kind(agent), tmp_path, most=120, resumes=4)
    assert tally.states == 120 and tally.there_are > 1_000 and tally.resumed == 4


def test_with_only_what_was_synced_no_checkpoint_is_missing(tmp_path: Path) -> None:
    recorder = power.record(power.Kind("mfec"), tmp_path)
    strict = [state for state in power.states(recorder) if "nothing more" in state.lost]
    assert sum(state.promised > 0 for state in strict) > 5
    for state in strict:
        files = set(state.files)
        if state.promised >= 0:
            assert "runs/run/run.json" in files, state.lost
        if state.promised > 0:
            assert {"runs/run/episodes.csv", "runs/run/evaluations.csv"} <= files, state.lost
            assert f"runs/run/checkpoint/step-{state.promised:012d}.safetensors" in files, state.lost
