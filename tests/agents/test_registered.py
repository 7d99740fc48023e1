"""A new agent is one file and one registration."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from examples.own_parts.agent import MonteCarlo

import memec as package
from memec.agents import AGENTS, MFEC, VPEC, Agent, ExploringSettings, register_agent
from memec.errors import MemecError
from memec.experiments.run_settings import RunSettings
from tests.command import Memec

NAME = "examples.own_parts.agent:MonteCarlo"


def test_a_registered_agent_is_found_by_its_name_everywhere(memec: Memec) -> None:
    assert AGENTS["monte-carlo"] is MonteCarlo
    words = ("train", "FrozenLake-v1", "--agent", "monte-carlo", "--set", "discount=0.9", "--evaluate-every", 500)
    assert memec(*words, "--steps", 1_000, "--out", "run").status == 0
    settings = RunSettings.read(json.loads(Path("run/run.json").read_text())["settings"])
    assert settings.agent.model_dump()["discount"] == 0.9
    assert memec("evaluate", "run").status == memec("report", "run").status == 0
    assert "monte-carlo" in memec("list").out
    wrong = memec(*words, "--set", "discounted=1", "--out", "none")
    assert wrong.status == 2 and "did you mean" in wrong.error
    assert "The paper has no monte-carlo" in memec("train", "CartPole-v1", *words[2:4], "--preset", "paper").error


def test_it_is_named_where_nobody_has_imported_it(tmp_path: Path) -> None:
    def memec(*words: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "memec", *map(str, words)]
        path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        return subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env=os.environ | {"PYTHONPATH": path}
        )

    started = memec("train", "FrozenLake-v1", "--agent", NAME, "--steps", 300, "--evaluate-every", 0, "--out", "run")
    assert started.returncode == 0, started.stderr
    for command in (("evaluate", "run"), ("train", "--resume", "run", "--steps", 400)):
        refused = memec(*command)
        assert refused.returncode == 2 and "say which it is with --agent module:Name" in refused.stderr
        assert memec(*command, "--agent", NAME).returncode == 0


def test_the_class_is_found_by_the_file(tmp_path: Path) -> None:
    for made in (MFEC("CartPole-v1", seed=1), VPEC("CartPole-v1", seed=1), MonteCarlo("CartPole-v1", seed=1)):
        made.learn(200, run=tmp_path / made.name).save(tmp_path / "agent")
        for path in (tmp_path / "agent", tmp_path / made.name):
            loaded = package.load(path)
            assert type(loaded) is type(made)


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        (3, "builtins:int is no agent"),
        (ExploringSettings, "is no agent"),
        (type("Nameless", (Agent,), {}), "must have a name"),
        (type("Other", (MFEC,), {"name": "other"}), "with that name"),
        (type("Again", (MFEC,), {}), r"'mfec' is there already \(memec's own\)"),
    ],
)
def test_what_is_no_agent_is_not_registered(agent: Any, said: str) -> None:
    before = dict(AGENTS)
    with pytest.raises(MemecError, match=said):
        register_agent(agent)
    assert before == AGENTS


def test_a_file_of_an_agent_that_nobody_knows_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    MonteCarlo("CartPole-v1").learn(50).save(tmp_path / "agent")
    monkeypatch.delitem(AGENTS, "monte-carlo")
    with pytest.raises(MemecError, match="holds an agent 'monte-carlo', which is none of memec's"):
        package.load(tmp_path / "agent")
