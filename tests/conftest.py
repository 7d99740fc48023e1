"""What tests share: the command line, a browser, and a page that must stay without complaint."""

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from memec import cli
from tests.command import Memec, Result

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]


def _no_browser(reason: str) -> None:
    """Skip in one clear line; where all tests must run, that is a failure."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"Pages must be tested in a browser where CI=true: {reason}")
    pytest.skip(f"Pages are not tested: {reason}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser of the system, driven by Playwright."""
    program = os.environ.get("MEMEC_BROWSER") or next(filter(None, map(which, BROWSERS)), None)
    if program is None:
        _no_browser("there is no chromium (Debian: apt-get install chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _no_browser("playwright is not installed (pip install playwright)")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=OPTIONS)
        yield started
        started.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page on a laptop. At the end, nothing may have been said in its console, and nothing fetched from elsewhere."""
    complaints: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    opened.set_default_timeout(60_000)
    opened.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
    opened.on("request", lambda request: _is_local(request.url) or complaints.append(f"fetched {request.url}"))
    yield opened
    context.close()
    assert complaints == []


def _is_local(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "file://", "data:", "blob:"))


@pytest.fixture
def screenshots() -> Path | None:
    """Where to leave pictures of the pages, if MEMEC_SCREENSHOTS says so."""
    folder = os.environ.get("MEMEC_SCREENSHOTS")
    return Path(folder) if folder else None


@pytest.fixture
def memec(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Memec:
    """Call the command line in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["memec", *map(str, arguments)])
        with warnings.catch_warnings():
            warnings.simplefilter("default")  # as a user has it
            try:
                cli.main()
                status = 0
            except SystemExit as leaving:
                status = leaving.code if isinstance(leaving.code, int) else 0
        return Result(status, *capsys.readouterr())

    return call
