"""What examples/ plugs in is trained, killed, gone on with, watched and reported as memec's own parts are."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.train.torture import compare

PACKAGE = "examples.own_parts"
STRATEGY = ("--explore", f"{PACKAGE}.strategy:EpsilonByScore")
ENCODER = ("--embed", f"{PACKAGE}.encoder:RandomFeatures")
AGENT = ("--agent", f"{PACKAGE}.agent:MonteCarlo")
RUNS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "strategy": ((*STRATEGY, "--agent", "mfec", "--set", "explore.window=5"), STRATEGY),
    "strategy and encoder": ((*STRATEGY, *ENCODER, "--agent", "mfec", "--set", "embed.size=4"), (*STRATEGY, *ENCODER)),
    "agent": (AGENT, AGENT),
    "agent and strategy": ((*AGENT, *STRATEGY), (*AGENT, *STRATEGY)),
}
"""What is told to begin a run, and what to go on with it."""


class Terminal:
    """Calls memec in a folder, where the examples can be imported and nothing else of this repository."""

    def __init__(self, home: Path) -> None:
        self.home = home
        paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        self._environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}

    def start(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "memec", *words]
        return subprocess.Popen(command, cwd=self.home, env=self._environment, text=True, **options)

    def call(self, *words: str) -> tuple[int, str]:
        process = self.start(*words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said, _ = process.communicate(timeout=240)
        return process.returncode, said

    @contextmanager
    def watching(self, *words: str) -> Iterator[str]:
        process = self.start("watch", *words, stdout=subprocess.PIPE)
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+/", process.stdout.readline())
            assert found is not None
            yield found.group()
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path)


def train(what: str, steps: int, out: str, seed: int = 3) -> tuple[str, ...]:
    told, _ = RUNS[what]
    often = ("--set", "checkpoint.every_steps=150", "--set", "training.evaluation_episodes=2")
    rest = ("--evaluate-every", "500", "--seed", str(seed), "--out", out, *often)
    return "train", "CartPole-v1", *told, "--steps", str(steps), *rest


@pytest.mark.parametrize("what", RUNS)
def test_a_run_of_ones_own_parts_that_was_killed_ends_as_the_undisturbed_one(terminal: Terminal, what: str) -> None:
    assert terminal.call(*train(what, 2_000, "whole"))[0] == 0
    process = terminal.start(*train(what, 2_000, "killed"), stderr=subprocess.DEVNULL)
    checkpoints = terminal.home / "killed" / "checkpoint"
    while process.poll() is None and not list(checkpoints.glob("step-*")):
        time.sleep(0.001)
    process.kill()
    process.wait()
    _, named = RUNS[what]
    record = json.loads((terminal.home / "killed" / "run.json").read_text())
    if record["status"] == "running":
        refused, said = terminal.call("train", "--resume", "killed")
        assert refused == 2 and said.count("\n") == 1 and re.search("--(agent|explore|embed) ", said)
    assert terminal.call("train", "--resume", "killed", *named)[0] == 0
    compare(terminal.home / "whole", terminal.home / "killed")


def asked(address: str) -> Any:
    with urllib.request.urlopen(address) as answer:
        return json.loads(answer.read())


@pytest.mark.parametrize("what", RUNS)
def test_it_is_shown_as_any_other(terminal: Terminal, what: str) -> None:
    assert terminal.call(*train(what, 1_000, "run"))[0] == 0
    with terminal.watching("run", *RUNS[what][1]) as address:
        live = asked(f"{address}api/live")
        episode = asked(f"{address}api/episode?seed=1&exploring=1")
        moment = asked(f"{address}api/moment?seed=1&exploring=1&moment=3&checkpoint={episode['checkpoint']}")
    assert live["status"] == "finished" and live["step"] == 1_000
    assert len(episode["chosen"]) > 5 and sum(moment["policy"]) == pytest.approx(1.0)
    if "strategy" in what:
        assert live["strategy"] == f"{PACKAGE}.strategy:EpsilonByScore" and 0.0 < live["diagnostics"]["epsilon"] <= 1.0
    assert (len(moment["memories"]) > 0) == ("agent" not in what)


def test_it_is_compared_with_others_in_a_report(terminal: Terminal) -> None:
    for seed in (0, 1):
        assert terminal.call(*train("agent and strategy", 1_000, f"study/own-{seed}", seed))[0] == 0
        words = ("train", "CartPole-v1", "--agent", "mfec", "--steps", "1000", "--evaluate-every", "500")
        assert terminal.call(*words, "--seed", str(seed), "--out", f"study/mfec-{seed}")[0] == 0
    status, said = terminal.call("report", "study")
    assert status == 0, said
    table = (terminal.home / "study/report/scores.md").read_text()
    assert "EpsilonByScore" in table and "mellowmax-auto" in table
