"""The watch server: for this machine only, and only to read."""

import http.client
import json
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from memec import cli

Serve = Callable[[Path], AbstractContextManager[str]]


@pytest.fixture(scope="module")
def port(room_run: Path, serve: Serve) -> Iterator[int]:
    with serve(room_run) as address:
        yield urlsplit(address).port or 0


def ask(port: int, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
def test_it_answers_to_the_names_of_this_machine(port: int, name: str) -> None:
    assert ask(port, "/", Host=f"{name}:{port}")[0] == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil"])
def test_a_request_for_another_host_is_refused(port: int, host: str) -> None:
    for path in ("/", "/api/live", "/picture/memory"):
        status, _, content = ask(port, path, Host=host.format(port=port))
        assert status == 403 and b"this machine only" in content


def test_a_foreign_site_cannot_make_a_browser_ask(port: int) -> None:
    assert ask(port, "/api/episode?seed=1", Sec_Fetch_Site="cross-site")[0] == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_it_can_only_be_read(port: int, method: str) -> None:
    assert ask(port, "/api/live", method)[0] == 405


def test_pages_may_load_nothing_from_elsewhere(port: int) -> None:
    for path in ("/", "/watch.js", "/api/live", "/no/such/page"):
        headers = ask(port, path)[1]
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe-eval" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store"


def test_it_listens_on_loopback_only(port: int) -> None:
    """Every 127.x address is this machine's, but it must be bound to the one it names."""
    with socket.socket() as other:
        assert other.connect_ex(("127.0.0.2", port)) != 0


@pytest.mark.parametrize(
    "path",
    [
        "/api/episode?seed=-1",
        "/api/episode?seed=1e9",
        "/api/episode?seed=99999999999999999999",
        "/api/episode?seed=%D9%A1",
        "/api/episode",
        "/api/moment?seed=0&moment=0&checkpoint=17",
        "/api/map?checkpoint=x",
        "/picture/memory?checkpoint=6000&slot=-5",
    ],
)
def test_a_question_that_makes_no_sense_gets_one_sentence(port: int, path: str) -> None:
    status, _, content = ask(port, path)
    assert status == 200 and json.loads(content)["error"].endswith(".")


def test_nothing_outside_of_the_page_is_served(port: int) -> None:
    for path in ("/../run.json", "/run.json", "/static/../server.py", "/%2e%2e/run.json", "/checkpoint"):
        assert ask(port, path)[0] == 404


def test_a_memory_without_a_picture_is_not_found(port: int) -> None:
    assert ask(port, "/api/episode?seed=0")[0] == 200
    assert ask(port, "/picture/memory?checkpoint=6000&slot=0")[0] == 200
    assert ask(port, "/picture/memory?checkpoint=6000&slot=100000")[0] == 404


@pytest.mark.parametrize("mistake", ["taken port", "no run", "no port", "not allowed"])
def test_a_mistake_gets_one_sentence_and_status_2(
    mistake: str, room_run: Path, port: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, said = {
        "taken port": ([room_run, "--port", port], f"Port {port} is taken"),
        "no run": (["nowhere"], "run folder"),
        "no port": ([room_run, "--port", 70_000], "0 to 65535"),
        "not allowed": ([room_run, "--port", "http"], "--port"),
    }[mistake]
    monkeypatch.setattr(sys, "argv", ["memec", "watch", *map(str, arguments)])
    with pytest.raises(SystemExit) as leaving:
        cli.main()
    error = capsys.readouterr().err
    assert leaving.value.code == 2 and said in error and error.count("\n") == 1
