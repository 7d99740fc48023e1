"""Whoever looks on may leave, in whatever way: the run goes on to its end."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

TRAIN = [
    sys.executable, "-m", "memec.cli", "train", "CartPole-v1", "--agent", "mfec", "--steps", "300", "--set",
    "training.evaluation_episodes=1", "--out", "run",
]  # fmt: skip
SHELL = 'exec "$@"'


def finished(home: Path) -> bool:
    """Whether the run ended well, with everything in its files."""
    record = json.loads((home / "run" / "run.json").read_text())
    files = [*home.glob("run/e*.csv"), *home.glob("run/checkpoint/step-*300.*")]
    return record["status"] == "finished" and len(files) == 3


@pytest.mark.parametrize("redirection", ["2>/dev/full", ">/dev/full 2>&1", "2>&-", "<&- >&- 2>&-"])
def test_a_run_ends_well_where_nothing_can_be_said(redirection: str, tmp_path: Path) -> None:
    shell = ["sh", "-c", f"{SHELL} {redirection}", "sh", *TRAIN]
    result = subprocess.run(shell, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result
    assert "Traceback" not in result.stderr and finished(tmp_path)


def test_a_run_ends_well_when_the_reader_of_its_progress_leaves(tmp_path: Path) -> None:
    """As behind `2>&1 | head -1`."""
    with subprocess.Popen(TRAIN, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        assert b"0/300 steps" in process.stdout.readline()
        process.stdout.close()
        assert process.wait() == 0
    assert finished(tmp_path)


def test_a_run_ends_well_when_its_terminal_is_gone(tmp_path: Path) -> None:
    own, terminal = pty.openpty()
    with subprocess.Popen(TRAIN, cwd=tmp_path, stdout=terminal, stderr=terminal) as process:
        os.close(terminal)
        os.read(own, 1)
        os.close(own)
        assert process.wait() == 0
    assert finished(tmp_path)
