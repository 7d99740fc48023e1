"""The watch page in a browser."""

import csv
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memec import MFEC
from memec.watch.trained import load_trained

Serve = Callable[[Path], AbstractContextManager[str]]
SCRIPT = '<img src=x onerror="alert(1)"><script>alert(2)</script>'


def play(page: Any, address: str) -> None:
    page.goto(address)
    page.click("#play")
    page.wait_for_selector("#actions .action")
    page.wait_for_selector("#map > *")


def go_to(page: Any, moment: int) -> None:
    page.evaluate("moment => moveTo(moment)", moment)
    page.wait_for_function("moment => where.textContent.startsWith(`moment ${moment} `)", arg=moment)


def overflow(page: Any) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@pytest.fixture(scope="module")
def room_address(room_run: Path, serve: Serve) -> Iterator[str]:
    with serve(room_run) as address:
        yield address


@pytest.fixture(scope="module")
def cart_address(cart_run: Path, serve: Serve) -> Iterator[str]:
    with serve(cart_run) as address:
        yield address


def test_the_explorer_shows_what_recall_says(page: Any, cart_run: Path, cart_address: str) -> None:
    play(page, cart_address)
    go_to(page, 7)
    agent = load_trained(cart_run).agent
    assert isinstance(agent, MFEC)
    shown = page.evaluate("ask('api/moment', {...episode.query, moment: 7}).then(found => found.observation)")
    for action, memories in enumerate(agent.recall(np.array(shown, np.float32))):
        page.click(f"#actions .action:nth-child({action + 1})")
        value = page.get_attribute(f"#actions .action:nth-child({action + 1}) .value", "data-value")
        assert float(value) == memories.value
        for name, numbers in (
            ("return", memories.returns),
            ("weight", memories.weights),
            ("distance", memories.distances),
            ("step", memories.steps),
        ):
            page_numbers = page.eval_on_selector_all(
                f"#memories dd[data-{name}]", f"all => all.map(one => Number(one.dataset.{name}))"
            )
            assert page_numbers == numbers.tolist()
    page.wait_for_function(
        "() => [...document.querySelectorAll('#memories img')].slice(0, 3).every(i => i.naturalWidth > 0)"
    )
    assert page.evaluate("picture.complete && picture.naturalWidth > 0")


def test_the_map_of_a_room_shows_every_action_and_the_policy(page: Any, room_address: str) -> None:
    play(page, room_address)
    assert page.locator("#map figcaption").all_text_contents() == [
        "best value and policy",
        "north",
        "east",
        "south",
        "west",
    ]
    assert page.locator("#map figure:first-child path").count() > 10


def test_the_map_of_other_worlds_has_the_memories_of_each_action(page: Any, cart_address: str) -> None:
    play(page, cart_address)
    everything = page.evaluate("document.getElementById('plane').data[0].x.length")
    page.click("#map-actions button:nth-child(2)")
    first = page.evaluate("document.getElementById('plane').data[0].x.length")
    page.click("#map-actions button:nth-child(3)")
    assert first + page.evaluate("document.getElementById('plane').data[0].x.length") == everything


def test_keys_step_through_the_episode(page: Any, room_address: str) -> None:
    play(page, room_address)
    for key, moment in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("Home", 0)):
        page.keyboard.press(key)
        page.wait_for_function("moment => where.textContent.startsWith(`moment ${moment} `)", arg=moment)
    page.keyboard.press("3")
    assert page.get_attribute("#actions .action:nth-child(3)", "aria-checked") == "true"
    assert "south" in page.text_content("#behind-title")
    page.keyboard.press("End")
    page.wait_for_function("() => numbers.textContent.includes('The episode ended')")


def test_the_run_is_shown_as_its_files_have_it(page: Any, room_run: Path, room_address: str) -> None:
    page.goto(room_address)
    page.wait_for_selector("#curve .main-svg")
    with (room_run / "evaluations.csv").open() as file:
        rows = list(csv.DictReader(file))
    curve = page.evaluate("document.getElementById('curve').data.at(-1)")
    assert [curve["x"], curve["y"]] == [[float(row[name]) for row in rows] for name in ("step", "mean_score")]
    assert page.text_content("#step") == "6,000 of 6,000" and page.text_content("#status") == "finished"
    assert page.text_content("#recall") == "100.0 %" and page.text_content("#fill") != "–"


def test_nothing_is_cut_off_on_a_phone_or_a_laptop(page: Any, room_address: str, screenshots: Path | None) -> None:
    play(page, room_address)
    go_to(page, 6)
    for width, scheme in product((1280, 390), ("light", "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function("() => document.querySelector('.chart .main-svg').clientWidth <= innerWidth")  # redrawn
        assert overflow(page) == 0
        if screenshots is not None:
            page.screenshot(path=screenshots / f"watch-{width}-{scheme}.png", full_page=True)


def test_the_theme_can_be_switched_and_stays(page: Any, room_address: str) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(room_address)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.click("#theme")
    dark = page.evaluate(ground)
    page.reload()
    assert light != dark == page.evaluate(ground)


def test_the_page_follows_a_run_in_training(page: Any, serve: Serve, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "memec.cli", "train", "CartPole-v1", "--steps", "50000000", "--out", "run"]
    command += ["--evaluate-every", "1000", "--set", "checkpoint.every_steps=2000"]
    training = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while not list(tmp_path.glob("run/checkpoint/step-*")):
            assert training.poll() is None and time.monotonic() < deadline
        with serve(tmp_path / "run") as address:
            play(page, address)
            step = "Number(document.getElementById('step').textContent.split(' ')[0].replaceAll(',', ''))"
            first = page.evaluate(step)
            page.wait_for_function(f"first => {step} > first", arg=first)
            evaluations = page.evaluate("document.getElementById('curve').data.at(-1).x.length")
            page.wait_for_function(
                "count => document.getElementById('curve').data.at(-1).x.length > count", arg=evaluations
            )
            assert page.text_content("#status") == "running"
            loaded = page.text_content("#loaded")
            page.click("#newer")  # offered as soon as there is another checkpoint
            page.wait_for_function("before => loaded.textContent !== before", arg=loaded)
            training.send_signal(signal.SIGTERM)
            training.wait(60)
            page.wait_for_function("() => document.getElementById('status').textContent === 'interrupted'")
            page.goto("about:blank")
    finally:
        training.kill()
        training.wait()


def test_whatever_a_run_says_is_shown_as_text(page: Any, room_run: Path, serve: Serve, tmp_path: Path) -> None:
    run = tmp_path / "<script>alert(3)<" / "b>x<img src=y onerror=alert(4)>"
    shutil.copytree(room_run, run)
    record = json.loads((run / "run.json").read_text())
    record.pop("digest", None)
    record["settings"]["environment"]["id"] = SCRIPT
    record["settings"]["agent"][SCRIPT] = {SCRIPT: SCRIPT}
    record |= {"status": SCRIPT, "reason": SCRIPT, "command": SCRIPT}
    (run / "run.json").write_text(json.dumps(record))
    with serve(run) as address:
        page.goto(address)
        page.wait_for_selector("#curve .main-svg")
        assert page.text_content("h1") == run.name
        assert SCRIPT in page.text_content("#what") and page.text_content("#status") == SCRIPT
        page.click("summary")
        assert page.locator("#settings code", has_text=SCRIPT).count() >= 4
        assert page.locator("main img:not(#picture), main script").count() == 0
        page.click("#play")
        page.wait_for_function("() => working.textContent.length > 10")
        page.goto("about:blank")


def test_frames_that_were_not_kept_are_asked_for(page: Any, pong_runs: dict[bool, Path], serve: Serve) -> None:
    with serve(pong_runs[False]) as address:
        play(page, address)
        go_to(page, 3)
        assert page.is_visible("#frames-note") and "--keep-frames" in page.text_content("#frames-note")
        assert page.locator("#memories img").count() == 0 < page.locator("#memories li").count()
        assert page.evaluate("picture.complete && picture.naturalWidth > 0")
        page.goto("about:blank")
