"""A folder of runs on the watch page."""

import json
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from memec.errors import MemecError
from memec.watch.server import watch
from memec.watch.several import Board, key_of, runs_below

Serve = Callable[[Path], AbstractContextManager[str]]
BAD = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module")
def folder(room_run: Path, cart_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs in two environments, one with a name that means harm, and one that cannot be read."""
    folder = tmp_path_factory.mktemp("study")
    shutil.copytree(room_run, folder / "a" / "seed-0")
    shutil.copytree(cart_run, folder / BAD.replace("/", ""))
    (folder / "broken").mkdir()
    (folder / "broken" / "run.json").write_text("{")
    return folder


@pytest.fixture(scope="module")
def address(folder: Path, serve: Serve) -> Iterator[str]:
    with serve(folder) as address:
        yield address


def test_what_has_not_changed_is_not_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = Board(folder)
    first = board.look()
    assert [run["name"] for run in first["runs"]] == sorted(run["name"] for run in first["runs"])
    assert len(first["runs"]) == 3 and sum("trouble" in run for run in first["runs"]) == 1

    def unread(path: Path) -> Any:
        raise AssertionError(path)

    monkeypatch.setattr("memec.watch.several.live", unread)
    assert board.look() == first


def test_the_list_opens_each_run_and_shows_the_bad_one(page: Any, address: str, folder: Path) -> None:
    page.goto(address)
    page.wait_for_selector("#runs tbody tr")
    assert page.locator("#runs tbody tr").count() == 3
    assert "broken" in page.locator("#runs").inner_text() and page.locator("#runs img").count() == 0
    assert page.locator("#environment option").count() == 2
    page.select_option("#environment", "memec/FourRoom-v0")
    page.wait_for_selector("#curve .plot-container")
    page.click("text=a/seed-0")
    page.wait_for_function("() => document.title.startsWith('seed-0')")
    page.click("#play")
    page.wait_for_selector("#actions .action")
    page.go_back()
    page.wait_for_selector("#runs tbody tr")
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0


def test_only_runs_of_the_folder_can_be_opened(address: str, folder: Path) -> None:
    known = next(iter(runs_below(folder)))
    with urllib.request.urlopen(f"{address}run/{known}/api/live") as answer:
        assert answer.status == 200 and "nosniff" in answer.headers["x-content-type-options"]
        assert json.loads(answer.read())
    for other in (key_of("elsewhere"), "..%2f..%2fetc", "x/../../etc"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{address}run/{other}/api/live")
        assert refused.value.code == 404
        refused.value.close()


def test_a_folder_without_runs_is_none(tmp_path: Path) -> None:
    with pytest.raises(MemecError, match="run folder"):
        watch(tmp_path)
