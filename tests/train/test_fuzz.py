"""Nothing that a file claims makes `load`, `--resume` or `evaluate` do more than say what is wrong with it."""

import copy
import json
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memec.agents import AGENTS, OWN
from memec.errors import MemecError
from memec.experiments.run_settings import RunSettings
from memec.settings import Settings
from memec.train import TrainingSettings
from memec.train.checkpoint import CheckpointSettings
from memec.train.files import Arrays, read_arrays, write_arrays
from tests.command import Memec

QUICK = settings(
    max_examples=50,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.sampled_from([2**31, 10**9, -1]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
SMALL: dict[str, dict[str, Any]] = {
    "mfec": {"memory": {"capacity": 30}},
    "nec": {
        "memory": {"capacity": 30, "neighbours": 11},
        "train_start_steps": 20,
        "replay_capacity": 40,
        "batch_size": 4,
    },
    "d3qn": {"train_start_steps": 20, "replay_capacity": 40, "batch_size": 4},
    "vpec": {"memory": {"capacity": 64}},
}


@pytest.fixture(scope="module", params=OWN)
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Arrays, Any, Path]:
    """The agent's name, what its file holds, and a place for a changed one."""
    name: str = request.param
    file = tmp_path_factory.mktemp("saved") / "agent"
    AGENTS[name]("CartPole-v1", **SMALL[name]).learn(80).save(file)  # type: ignore[call-arg, arg-type]
    return name, *read_arrays(file), file.with_name("changed")


def load(name: str, file: Path) -> Any:
    """Load a file, and use what came out of it if anything did."""
    try:
        agent = AGENTS[name].load(file, env="CartPole-v1")
    except MemecError as error:
        assert "\n" not in str(error)
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's, of numbers that overflow
        try:
            agent.predict(np.zeros(4, np.float32))
            agent.learn(30)
        except MemecError as error:  # such as a network full of NaN
            assert "\n" not in str(error)
    return agent


def paths(content: Any, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in nested content."""
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [prefix, *(path for key, value in inner for path in paths(value, (*prefix, key)))][0 if prefix else 1 :]


def replaced(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(content)
    part = changed
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return changed


@QUICK
@given(data=st.data())
def test_whatever_an_agents_file_says_about_itself(saved: tuple[str, Arrays, Any, Path], data: st.DataObject) -> None:
    name, arrays, about, file = saved
    path = data.draw(st.sampled_from(paths(about)))
    write_arrays(file, arrays, replaced(about, path, data.draw(JSON)))
    load(name, file)


@QUICK
@given(data=st.data())
def test_whatever_arrays_an_agents_file_holds(saved: tuple[str, Arrays, Any, Path], data: st.DataObject) -> None:
    """Compiled code works on them without looking: what could lead it astray must be found before."""
    name, arrays, about, file = saved
    changed = dict(arrays)
    which = data.draw(st.sampled_from(sorted(arrays)))
    array = arrays[which]
    how = data.draw(st.sampled_from(["missing", "type", "shape", "shorter", "number", "empty"]))
    if how == "missing":
        del changed[which]
    elif how == "type":
        changed[which] = array.astype(data.draw(st.sampled_from([np.bool_, np.int8, np.int64, np.uint64, np.float32])))
    elif how == "shape":
        changed[which] = array[None] if data.draw(st.booleans()) else array.reshape(-1, 1)
    elif how == "shorter":
        changed[which] = array.reshape(-1)[: data.draw(st.integers(0, array.size))]
    elif how == "number" and array.size:
        extremes = [0, 1, -1, 2**31 - 1, -(2**31), 2**62, -(2**63), np.inf, np.nan, 1e30]
        worst = np.array(data.draw(st.sampled_from(extremes)))
        with np.errstate(all="ignore"):
            value = worst.astype(array.dtype)
        changed[which] = array.copy()
        changed[which].reshape(-1)[data.draw(st.integers(0, array.size - 1))] = value
    else:
        changed[which] = array.reshape(-1)[:0]
    write_arrays(file, changed, about)
    load(name, file)


@QUICK
@given(data=st.data())
@pytest.mark.parametrize(
    "kind", [RunSettings, TrainingSettings, CheckpointSettings, *(agent.settings_type for agent in OWN.values())]
)
def test_settings_are_read_or_refused_in_one_sentence(kind: type[Settings], data: st.DataObject) -> None:
    content: Any = data.draw(JSON)
    if data.draw(st.booleans()):
        good = {"environment": {"id": "CartPole-v1"}, "agent": {"name": "mfec"}} if kind is RunSettings else {}
        whole = kind.read(good).model_dump(mode="json")
        content = replaced(whole, data.draw(st.sampled_from(paths(whole))), content)
    try:
        kind.read(content)
    except MemecError as error:
        assert "\n" not in str(error)


@pytest.fixture
def run(memec: Memec, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A run stopped on its way, whose record is under no checksum: as a stranger would make it."""
    common = ("train", "CartPole-v1", "--evaluate-every", 0, "--set", "memory.capacity=30", "--out", "run")
    assert memec(*common, "--steps", 60).status == 0
    record: dict[str, Any] = json.loads(Path("run/run.json").read_text())
    del record["digest"]
    shutil.copytree("run", "before")
    return record | {"status": "interrupted"}


@settings(
    max_examples=100,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_whatever_a_run_json_says(memec: Memec, run: dict[str, Any], data: st.DataObject) -> None:
    changed = replaced(run, data.draw(st.sampled_from(paths(run))), data.draw(JSON))
    if data.draw(st.integers(0, 20)) == 0:
        changed = data.draw(JSON)
    shutil.rmtree("run")
    shutil.copytree("before", "run")
    Path("run/run.json").write_text(json.dumps(changed))
    steps = changed.get("settings", {}) if isinstance(changed, dict) else {}
    steps = steps.get("training", {}) if isinstance(steps, dict) else {}
    asked = steps.get("steps", 0) if isinstance(steps, dict) else 0
    commands = [("evaluate", "run", "--episodes", 1)]
    if not (isinstance(asked, int | float) and asked > 200):  # which would take long, and nothing else
        commands.append(("train", "--resume", "run"))
    for command in commands:
        result = memec(*command)
        assert result.status in (0, 2) and "Traceback" not in result.error
        if result.status == 2:
            assert result.error.count("\n") == 1 and result.error.startswith("memec: ")


CLAIMS: dict[str, dict[str, Any]] = {
    "mfec": {
        "memory.capacity": 60_000_000,
        "memory.neighbours": 10_000,
        "embed": {"kind": "projection", "key_size": 50_000},
    },
    "nec": {"memory.capacity": 10_000_000, "replay_capacity": 100_000_000, "hidden_size": 4_000, "key_size": 4_000},
    "d3qn": {"replay_capacity": 300_000_000, "hidden_size": 4_000},
    "vpec": {"memory.capacity": 10_000_000, "memory.neighbours": 10_000},
}
MEASURE = """
import json, resource, sys
from pathlib import Path
from memec.agents import AGENTS, OWN
from memec.errors import MemecError
name, folder = sys.argv[1:]
AGENTS[name].load(Path(folder, "honest"), env="CartPole-v1")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
said = {}
for file in sorted(Path(folder).glob("claims-*")):
    try:
        AGENTS[name].load(file, env="CartPole-v1")
        said[file.name] = ""
    except MemecError as error:
        said[file.name] = str(error)
print(json.dumps([resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, said]))
"""


def test_a_small_file_that_claims_much_takes_no_memory(saved: tuple[str, Arrays, Any, Path], tmp_path: Path) -> None:
    name, arrays, about, _ = saved
    write_arrays(tmp_path / "honest", arrays, about)
    for number, (setting, value) in enumerate(CLAIMS[name].items()):
        for claim in {value, 10**9} if isinstance(value, int) else [value]:
            changed = replaced(about, ("settings", *setting.split(".")), claim)
            if setting == "memory.neighbours":
                changed = replaced(changed, ("settings", "memory", "capacity"), claim)
            write_arrays(
                tmp_path / f"claims-{number}-{setting}-{claim if isinstance(claim, int) else 0}", arrays, changed
            )
    command = [sys.executable, "-c", MEASURE, name, str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    more_kilobytes, said = json.loads(result.stdout)
    # room that is never used, such as that of a large replay, is not taken
    assert all(sentence or "replay" in claim for claim, sentence in said.items()), said
    assert not any("\n" in sentence for sentence in said.values())
    assert more_kilobytes < 100_000, said
