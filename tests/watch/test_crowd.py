"""The watch server under more than a page asks: the run is shown all the same, and Ctrl-C ends it."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from memec import MFEC

Serve = Callable[..., AbstractContextManager[str]]

EPISODES, EPISODE_SECONDS = 45, 1
SLOW = f"""
import time, gymnasium, numpy as np
class Slow(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    def __init__(self, render_mode=None):
        self.render_mode, self.seconds = render_mode, 0.0
    def reset(self, *, seed=None, options=None):
        self.until = time.process_time() + {EPISODE_SECONDS}
        return np.zeros(2, np.float32), {{}}
    def step(self, action):
        until = time.process_time() + {EPISODE_SECONDS} / 100
        while time.process_time() < until:  # a slow simulator
            pass
        return np.zeros(2, np.float32), 1.0, False, False, {{}}
gymnasium.register("Slow-v0", Slow, max_episode_steps=100)
"""


@pytest.fixture
def slow_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run in a module's environment, whose episodes take seconds."""
    (tmp_path / "slow_env.py").write_text(SLOW)
    monkeypatch.syspath_prepend(tmp_path)
    MFEC("slow_env:Slow-v0").learn(5, run=tmp_path / "run")
    return tmp_path / "run"


def opened(address: str, request: str) -> socket.socket:
    """Send a request, or a part of one, and wait for nothing."""
    place = urlsplit(address)
    connection = socket.create_connection((place.hostname, place.port), timeout=30)
    connection.sendall(request.replace("HOST", place.netloc).encode())
    return connection


@pytest.fixture
def crowd() -> Iterator[ExitStack]:
    with ExitStack() as connections:
        yield connections


def test_the_run_is_shown_and_left_while_many_episodes_are_asked_for(
    slow_run: Path, serve: Serve, crowd: ExitStack
) -> None:
    with serve(slow_run, "--env", "slow_env:Slow-v0", cwd=slow_run.parent) as address:
        for seed in range(EPISODES):
            request = f"GET /api/episode?seed={seed} HTTP/1.1\r\nHost: HOST\r\n\r\n"
            crowd.enter_context(opened(address, request))
        began = time.monotonic()
        for _ in range(5):
            with urlopen(f"{address}api/live", timeout=EPISODES * EPISODE_SECONDS / 2) as answer:
                assert json.load(answer)["status"] == "finished"
        leaving = time.monotonic()
    assert time.monotonic() - leaving < EPISODES * EPISODE_SECONDS / 4
    assert leaving - began < EPISODES * EPISODE_SECONDS / 4


def test_an_episode_is_played_for_nobody_who_has_left(slow_run: Path, serve: Serve) -> None:
    with serve(slow_run, "--env", "slow_env:Slow-v0", cwd=slow_run.parent) as address:
        for seed in range(EPISODES):
            opened(address, f"GET /api/episode?seed={seed} HTTP/1.1\r\nHost: HOST\r\n\r\n").close()
        with urlopen(f"{address}api/episode?seed=0", timeout=EPISODES * EPISODE_SECONDS / 2) as answer:
            assert json.load(answer)["scores"][-1] == 100.0


def test_more_questions_than_a_page_has_are_refused_in_a_sentence(
    slow_run: Path, serve: Serve, crowd: ExitStack
) -> None:
    with serve(slow_run, "--env", "slow_env:Slow-v0", cwd=slow_run.parent) as address:
        request = "GET /api/episode?seed=1 HTTP/1.1\r\nHost: HOST\r\n\r\n"
        connections = [crowd.enter_context(opened(address, request)) for _ in range(70)]
        answer = b""
        while b"asked too much at once" not in answer:  # which comes behind its headers
            more = connections[-1].recv(10_000)
            assert more, answer
            answer += more


HALVES = ("", "GET /api/live HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: HOST\r\nA: b")
WHOLE = "GET /api/live HTTP/1.1\r\nHost: HOST\r\n\r\n"


def test_half_a_request_is_not_waited_for(room_run: Path, serve: Serve, crowd: ExitStack) -> None:
    with serve(room_run) as address:
        halves = [crowd.enter_context(opened(address, half)) for half in HALVES * 100]
        after_whole_ones = crowd.enter_context(opened(address, f"{WHOLE}{WHOLE}GET /"))
        assert all(connection.recv(1) == b"" for connection in halves)  # closed
        answers = b"".join(iter(lambda: after_whole_ones.recv(100_000), b""))
        assert answers.count(b"200 OK") == 2
