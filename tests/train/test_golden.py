"""Runs that were written once and are kept: every later memec reads them, or refuses them in a sentence.

They are never written again. A new format gets runs of its own beside them: `python -m tests.train.test_golden NAME`
makes tests/train/golden/NAME.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memec.agents import AGENTS, OWN
from memec.errors import MemecError
from memec.train import RunFolder
from tests.command import Memec

GOLDEN = Path(__file__).with_name("golden")
REFUSED = {"0.1": "format 1"}
"""Formats that are not read any more, and what is said then."""
NETWORK = {"train_start_steps": 20, "replay_capacity": 40, "batch_size": 4, "hidden_size": 8}
SETTINGS: dict[str, dict[str, Any]] = {
    "mfec": {"memory": {"capacity": 30}},
    "nec": {"memory": {"capacity": 30, "neighbours": 11}, **NETWORK},
    "d3qn": NETWORK,
    "vpec": {"memory": {"capacity": 30}},
}
STEPS, STOPPED = 70, 45


def made(agent: str) -> Any:
    return AGENTS[agent]("CartPole-v1", seed=3, **SETTINGS[agent])  # type: ignore[call-arg, arg-type]


def write(place: Path) -> None:
    """Write a finished run, an interrupted one and a saved agent of each kind."""
    for agent in OWN:
        run = place / agent
        made(agent).learn(STEPS, run=run / "finished", evaluate_every=30, evaluation_episodes=1).save(run / "agent")
        stop = {"evaluate_every": 30, "evaluation_episodes": 1, "callback": lambda event: event.step < STOPPED}
        made(agent).learn(STEPS, run=run / "interrupted", **stop)
        for lock in run.rglob(".lock"):
            lock.unlink()


FORMATS = sorted(path.name for path in GOLDEN.iterdir())


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("agent", OWN)
def test_a_run_of_long_ago_goes_on(name: str, agent: str, memec: Memec) -> None:
    for which in ("finished", "interrupted"):
        run = Path(shutil.copytree(GOLDEN / name / agent / which, which))
        rows = (run / "episodes.csv").read_text()
        assert RunFolder.open(run).record()["status"] == which
        result = memec("train", "--resume", run, "--steps", STEPS + 20)
        if name in REFUSED:
            assert result.status == 2 and REFUSED[name] in result.error and result.error.count("\n") == 1
            continue
        # another version of the environment need not repeat the game under way, which is said
        assert result.status == 0, result.error
        assert json.loads((run / "run.json").read_text())["status"] == "finished"
        assert (run / "episodes.csv").read_text().startswith(rows)
        assert memec("evaluate", run, "--episodes", 1).status == 0


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("agent", OWN)
def test_an_agent_of_long_ago_acts(name: str, agent: str) -> None:
    file = GOLDEN / name / agent / "agent"
    if name in REFUSED:
        with pytest.raises(MemecError, match=REFUSED[name]):
            AGENTS[agent].load(file)
        return
    action, _ = AGENTS[agent].load(file).predict(np.zeros(4, np.float32))
    assert int(action) in (0, 1)


if __name__ == "__main__":
    write(GOLDEN / sys.argv[1])
