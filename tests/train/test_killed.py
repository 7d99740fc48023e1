"""A run that is killed at any moment, again and again, ends as if nothing had happened. (Long form: make torture.)"""

import subprocess
import sys
from pathlib import Path

import pytest

from memec.agents import AGENTS

TORTURE = Path(__file__).with_name("torture.py")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_run_that_is_killed_and_resumed_is_the_undisturbed_one(agent: str, tmp_path: Path) -> None:
    options = ["--length", "0.5", "--kills", "2", "--every", "20", "--anew", "0", "--folder", str(tmp_path)]
    result = subprocess.run([sys.executable, TORTURE, "--agents", agent, *options], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("identical\n") == (3 if agent == "vpec" else 4)
