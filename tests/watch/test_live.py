"""What the page is told of a run: whatever its folder holds, that is data that can be shown, or one sentence."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.command import Memec
from tests.report.test_bad_runs import DAMAGES
from tests.report.test_page import make_run

from memec.errors import MemecError
from memec.watch.live import live


def told(run: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(json.dumps(live(run), allow_nan=False))
    return content


@pytest.mark.parametrize("what", DAMAGES)
def test_a_bad_run_is_shown_as_far_as_it_goes_or_is_one_sentence(what: str, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    honest = told(run)
    DAMAGES[what](run)
    try:
        shown = told(run)
    except MemecError as error:
        assert str(run) in str(error) and "\n" not in str(error) and len(str(error)) < 400
    else:
        assert shown.keys() == honest.keys()


@pytest.mark.parametrize("name", ["step-zzz", "step-", "step--1", "step-1e9", "step-000000000007.5", "step-٣"])
def test_what_is_not_named_like_a_checkpoint_is_none(name: str, memec: Memec) -> None:
    options = ("--agent", "mfec", "--steps", 200, "--evaluate-every", 100, "--set", "training.evaluation_episodes=1")
    assert memec("train", "CartPole-v1", *options, "--out", "run").status == 0
    Path("run/checkpoint", f"{name}.safetensors").write_bytes(b"nothing")
    assert told(Path("run"))["checkpoint"] == 200
    for command in (("evaluate", "run", "--episodes", 1), ("report", "run"), ("train", "--resume", "run")):
        result = memec(*command)
        assert result.status == 0 and "cannot" not in result.error, result
