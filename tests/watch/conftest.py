"""Runs to watch, and the watch page as a user starts it."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from memec.experiments.presets import settings_for
from memec.experiments.run import run as run_experiment

Train = Callable[..., Path]
Serve = Callable[..., AbstractContextManager[str]]


@pytest.fixture(scope="session")
def train(tmp_path_factory: pytest.TempPathFactory) -> Train:
    """Make a small run in a new folder."""

    def run(env: str, kind: str, steps: int, *, agent: str = "mfec", seed: int = 0, **changes: Any) -> Path:
        folder = tmp_path_factory.mktemp("runs") / "run"
        training = {"steps": steps, "evaluate_every_steps": steps // 4, "evaluation_episodes": 2}
        if kind == "frames":
            training["evaluation_episode_steps"] = 60  # a whole game takes seconds
        settings = settings_for(env, kind, agent=agent).changed({"training": training, "agent": changes, "seed": seed})
        run_experiment(settings, folder, preset="tuned", progress=False)
        return folder

    return run


@pytest.fixture(scope="session")
def room_run(train: Train) -> Path:
    """FourRoom, with a seed that found the goal early."""
    return train("memec/FourRoom-v0", "vector", 6_000, seed=4)


@pytest.fixture(scope="session")
def cart_run(train: Train) -> Path:
    """CartPole, explored by UCB, which knows how sure it is."""
    return train("CartPole-v1", "vector", 1_600, explore={"name": "ucb"})


@pytest.fixture(scope="session")
def pong_runs(train: Train) -> dict[bool, Path]:
    """Pong, with and without pictures of the memories."""
    return {
        kept: train("ALE/Pong-v5", "frames", 1_000, memory={"capacity": 1_000, "keep_frames": 600 if kept else 0})
        for kept in (True, False)
    }


@pytest.fixture(scope="session")
def serve() -> Serve:
    """Start `memec watch` and give its address; at the end it must stop by Ctrl-C, with status 0 and in silence."""

    @contextmanager
    def served(run: Path, *options: str, cwd: Path | None = None) -> Iterator[str]:
        command = [sys.executable, "-m", "memec.cli", "watch", str(run), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd)
        try:
            assert process.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
            assert found is not None, process.communicate()
            yield found.group()
            process.send_signal(signal.SIGINT)
            out, error = process.communicate(timeout=60)
            assert (process.returncode, out, error) == (0, "", "")
        finally:
            process.kill()
            process.communicate()

    return served
