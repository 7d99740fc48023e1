"""A run folder from a stranger is data: nothing in it is imported, executed or followed to another place."""

import ast
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import memec as package
from memec.agents import MFEC
from memec.errors import MemecError
from memec.memory import Memory, MemorySettings
from memec.train.files import read_arrays, write_arrays
from tests.command import Memec

EVIL = """
from pathlib import Path
Path(__file__).with_name("marker").touch()
"""


@pytest.fixture
def run(memec: Memec) -> Path:
    common = ("train", "CartPole-v1", "--evaluate-every", 30, "--set", "memory.capacity=30", "--out", "run")
    assert memec(*common, "--steps", 60, "--set", "training.evaluation_episodes=1").status == 0
    return Path("run")


def rewrite(run: Path, **changes: Any) -> None:
    """Change run.json as a stranger would, who knows no checksum or makes a right one."""
    record = json.loads((run / "run.json").read_text())
    del record["digest"]
    (run / "run.json").write_text(json.dumps(record | changes))


COMMANDS = [("evaluate", "run"), ("report", "run"), ("train", "--resume", "run", "--steps", 90)]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("identity", ["evil:Env-v0", "evil:CartPole-v1", ":CartPole-v1", "evil.sub:ALE/Pong-v5"])
def test_a_module_named_in_a_run_is_not_imported(
    memec: Memec, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[Any, ...], identity: str
) -> None:
    (tmp_path / "evil.py").write_text(EVIL)
    monkeypatch.syspath_prepend(tmp_path)
    settings = json.loads((run / "run.json").read_text())["settings"]
    rewrite(run, settings=settings | {"environment": {"id": identity}}, status="interrupted")
    for file in (run / "checkpoint").iterdir():
        arrays, about = read_arrays(file)
        write_arrays(file, arrays, about | {"environment": identity})
        with pytest.raises(MemecError, match="pass env="):
            MFEC.load(file)
    result = memec(*command)
    assert "Traceback" not in result.error
    assert command[0] == "report" or (result.status == 2 and "if you trust it" in result.error)
    assert not (tmp_path / "marker").exists() and "evil" not in sys.modules


def test_what_a_run_says_cannot_steer_the_terminal(memec: Memec, run: Path) -> None:
    settings = json.loads((run / "run.json").read_text())["settings"]
    rewrite(run, settings=settings | {"environment": {"id": "a:\x1b[2J\x07; rm -rf /\n"}})
    result = memec("evaluate", "run")
    assert result.status == 2 and "\x1b" not in result.error and "\x07" not in result.error


@pytest.mark.parametrize("name", ["episodes.csv", "evaluations.csv", ".lock", "checkpoint", "run.json"])
def test_a_link_in_a_run_folder_is_not_written_through(memec: Memec, run: Path, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    shutil.move(run / name, outside)
    (run / name).symlink_to(outside)
    files = [outside] if outside.is_file() else sorted(outside.iterdir())
    before = [file.read_bytes() for file in files]
    result = memec("train", "--resume", "run", "--steps", 90)
    assert result.status == 2 and "is a link" in result.error
    assert [file.read_bytes() for file in files] == before


def test_checkpoints_that_are_links_are_replaced_rather_than_followed(memec: Memec, run: Path, tmp_path: Path) -> None:
    (file,) = (run / "checkpoint").iterdir()
    shutil.move(file, tmp_path / "outside")
    file.symlink_to(tmp_path / "outside")
    before = (tmp_path / "outside").read_bytes()
    assert memec("train", "--resume", "run", "--steps", 90).status == 0
    assert (tmp_path / "outside").read_bytes() == before


def test_a_picture_that_is_a_link_is_replaced_rather_than_followed(memec: Memec, run: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("dear")
    for name in ("curve.png", "report.html"):
        (run / name).symlink_to(tmp_path / "outside")
    assert memec("report", "run").status == 0
    assert (tmp_path / "outside").read_text() == "dear"


@pytest.mark.parametrize("place", ["../../outside", "/tmp/outside", "..", "~"])
def test_nothing_in_run_json_or_a_checkpoint_is_a_path(memec: Memec, run: Path, tmp_path: Path, place: str) -> None:
    """Names in them are put into every text: what is there before is there afterwards, and no more."""
    record = json.loads((run / "run.json").read_text())
    rewrite(run, id=place, preset=place, command=place, status="running", started=place)
    for file in (run / "checkpoint").iterdir():
        arrays, about = read_arrays(file)
        write_arrays(file, arrays, about | {"run": place, "segments": [["../" + place, 0, 1, 1, "x"]]})
    before = {file for file in tmp_path.rglob("*") if "run" not in file.relative_to(tmp_path).parts[:1]}
    for command in COMMANDS:
        assert "Traceback" not in memec(*command).error
    assert before == {file for file in tmp_path.rglob("*") if "run" not in file.relative_to(tmp_path).parts[:1]}
    assert record["id"] != place


def test_nothing_in_the_package_can_execute_data() -> None:
    """No pickle, no eval, no exec: the parser of Python sees every name that is used."""
    forbidden = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "eval", "exec", "compile"}
    for file in Path(package.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names: list[str] = []
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [part for alias in node.names for part in alias.name.split(".")]
                names += (getattr(node, "module", None) or "").split(".")
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                names = [node.func.id]
            elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                names = ["pickle"]
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "torch":
                names = ["pickle"] if node.attr in ("load", "save") else []
            assert not forbidden & set(names), f"{file} uses {forbidden & set(names)}"


# --- what compiled code is given ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def indexed() -> tuple[Memory, dict[str, Any]]:
    """A memory with an approximate index, and another one in the making."""
    return filled_memory()


def filled_memory(**kind: Any) -> tuple[Memory, dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memec.memory.ivf.rebuild.FEWEST_INDEXED", 100)
        memory = Memory(MemorySettings(capacity=400, search="approximate"), 2, 40, seed=1, **kind)
        rng = np.random.default_rng(0)
        for _ in range(30):
            keys = rng.normal(size=(20, 40)).astype(np.float32)
            memory.write(rng.integers(2, size=20), keys, keys[:, 0], rng.integers(0, 2**63, (20, 2), np.uint64))
            memory.recall(keys)
    arrays = memory.arrays()
    assert any(name.startswith("search.index.") for name in arrays)
    return memory, arrays


def test_a_memory_with_an_index_comes_back(indexed: tuple[Memory, dict[str, Any]]) -> None:
    memory, arrays = indexed
    other = Memory(memory.settings, 2, 40, seed=1)
    other.restore(arrays)
    for name, array in other.arrays().items():
        np.testing.assert_array_equal(array, arrays[name], err_msg=name)


BOOKS = ["slots", "lengths", "group_begins", "fine", "lagging_slots"]


@pytest.mark.parametrize(
    "name",
    [
        *(f"search.index.{book}" for book in BOOKS),
        "search.last_candidates",
        "search.likely",
        "search.followers",
        "sizes",
    ],
)
def test_no_number_in_the_books_of_an_index_leads_out_of_it(indexed: tuple[Memory, dict[str, Any]], name: str) -> None:
    """An index out of range would make compiled code read and write anywhere."""
    memory, arrays = indexed
    rng = np.random.default_rng(3)
    flat = arrays[name].reshape(-1)
    for place in rng.permutation(flat.size)[:60]:
        for value in (-(2**31), -2, 2**31 - 1, int(flat[place]) + 1, 10**6):
            changed = flat.copy()
            changed[place] = np.clip(value, *[getattr(np.iinfo(flat.dtype), end) for end in ("min", "max")])
            if changed[place] == flat[place]:
                continue
            other = Memory(memory.settings, 2, 40, seed=1)
            try:
                other.restore(arrays | {name: changed.reshape(arrays[name].shape)})
            except MemecError as error:
                assert "\n" not in str(error)
                continue
            # what nobody reads may be anything, and what is read must be safe to work with
            keys = rng.normal(size=(3, 40)).astype(np.float32)
            slots = other.recall(keys).slots
            assert slots.min() >= -1 and slots.max() < 800
            other.write(rng.integers(2, size=3), keys, keys[:, 0], rng.integers(0, 2**63, (3, 2), np.uint64))


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("index.error", 0, -1),
        ("index.error", 0, np.nan),
        ("measures", 1, np.inf),
        ("measures", 0, -1),
        ("measures", 0, 0.0),
        ("measures", 0, 1.5),
        ("tuner", 0, 2**63 - 1),
    ],
)
def test_a_search_whose_measures_are_no_numbers_is_refused(
    indexed: tuple[Memory, dict[str, Any]], name: str, place: int, value: float
) -> None:
    memory, arrays = indexed
    changed = arrays[f"search.{name}"].copy()
    changed[place] = value
    with pytest.raises(MemecError, match="does not fit"):
        Memory(memory.settings, 2, 40, seed=1).restore(arrays | {f"search.{name}": changed})


@pytest.mark.parametrize("name", ["last_candidates", "likely", "followers"])
def test_a_search_that_remembers_what_is_not_there_is_refused(
    indexed: tuple[Memory, dict[str, Any]], name: str
) -> None:
    memory, arrays = indexed
    changed = arrays[f"search.{name}"].copy()
    changed.flat[0] = np.flatnonzero(~arrays["present"])[0]
    with pytest.raises(MemecError, match="not present"):
        Memory(memory.settings, 2, 40, seed=1).restore(arrays | {f"search.{name}": changed})


def test_a_search_whose_index_lacks_an_entry_that_it_remembers_is_refused(
    indexed: tuple[Memory, dict[str, Any]],
) -> None:
    memory, arrays = indexed
    slots, lengths = arrays["search.index.slots"], arrays["search.index.lengths"].copy()
    forgotten = int(np.flatnonzero(slots == arrays["search.last_candidates"].max())[0])
    lengths[np.searchsorted(lengths.cumsum(), forgotten, "right")] -= 1
    changed = {"search.index.slots": np.delete(slots, forgotten), "search.index.lengths": lengths}
    with pytest.raises(MemecError, match="never added"):
        Memory(memory.settings, 2, 40, seed=1).restore(arrays | changed)


def test_a_search_with_entries_among_those_of_other_actions_is_refused() -> None:
    memory, arrays = filled_memory(replace_known_keys=True)  # each action has lists of its own
    lengths = arrays["search.index.lengths"].copy()
    pair = 2 * int(np.flatnonzero(lengths[::2] != lengths[1::2])[0])  # the lists of a cluster, one for each action
    lengths[[pair, pair + 1]] = lengths[[pair + 1, pair]]
    with pytest.raises(MemecError, match="among those of other actions"):
        Memory(memory.settings, 2, 40, seed=1, replace_known_keys=True).restore(
            arrays | {"search.index.lengths": lengths}
        )
