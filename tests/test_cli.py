"""The command line as a new user meets it, mistakes included."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest

import memec as package
from tests.command import Memec


def rows(path: Path) -> list[dict[str, str]]:
    """Read a table at once: a run under way may be writing it."""
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.mark.parametrize("explore", ["epsilon-greedy", "boltzmann", "mellowmax", "ucb", "thompson"])
@pytest.mark.parametrize("env", ["memec/OpenRoom-v0", "memec/FourRoom-v0", "CartPole-v1", "Acrobot-v1", "ALE/Pong-v5"])
def test_every_strategy_trains_in_every_kind_of_world(memec: Memec, env: str, explore: str) -> None:
    steps = 150 if env.startswith("ALE") else 1_000
    result = memec("train", env, "--explore", explore, "--steps", steps, "--evaluate-every", 0, "--out", "run")
    assert result.status == 0, result.error
    record = json.loads(Path("run/run.json").read_text())
    assert record["status"] == "finished" and record["settings"]["agent"]["explore"]["name"] == explore


def test_a_run_leaves_everything_behind_and_can_be_evaluated_and_drawn(memec: Memec) -> None:
    trained = memec("train", "memec/OpenRoom-v0", "--steps", 2_000, "--evaluate-every", 500, "--seed", 3)
    assert trained.status == 0
    (folder,) = Path("runs").iterdir()
    assert str(folder) in trained.out
    assert [row["step"] for row in rows(folder / "evaluations.csv")] == ["500", "1000", "1500", "2000"]
    assert set(rows(folder / "episodes.csv")[0]) == {"step", "score", "length"}
    record = json.loads((folder / "run.json").read_text())
    assert record["preset"] == "tuned" and record["settings"]["seed"] == 3 and "numpy" in record["versions"]
    assert "5 greedy episodes" in memec("evaluate", folder, "--episodes", 5).out
    assert memec("report", folder).status == 0 and (folder / "curve.png").stat().st_size > 1_000


def test_the_same_seed_gives_the_same_files_however_often_it_is_evaluated(memec: Memec) -> None:
    common = ("train", "CartPole-v1", "--steps", 1_500, "--seed", 11)
    for name, every in (("a", 500), ("b", 500), ("c", 300)):
        assert memec(*common, "--evaluate-every", every, "--out", name).status == 0
    episodes = [Path(name, "episodes.csv").read_bytes() for name in "abc"]
    assert episodes[0] == episodes[1] == episodes[2]
    first, again = ([row | {"seconds": ""} for row in rows(Path(name, "evaluations.csv"))] for name in "ab")
    assert first == again


def test_two_runs_without_a_folder_do_not_meet(memec: Memec) -> None:
    for _ in range(2):
        assert memec("train", "memec/OpenRoom-v0", "--steps", 50, "--evaluate-every", 0).status == 0
    assert len(list(Path("runs").iterdir())) == 2


def test_set_reaches_any_setting(memec: Memec) -> None:
    assigned = ["memory.capacity=77", "memory.kernel=mean", "training.evaluation_episodes=2"]
    sets = [word for assignment in assigned for word in ("--set", assignment)]
    result = memec("train", "CartPole-v1", "--steps", 50, "--evaluate-every", 0, "--omega", 3, *sets, "--out", "run")
    assert result.status == 0, result.error
    settings = json.loads(Path("run/run.json").read_text())["settings"]
    assert settings["agent"]["memory"]["capacity"] == 77 and settings["agent"]["memory"]["kernel"] == "mean"
    assert settings["agent"]["explore"] == {"name": "mellowmax", "omega": 3.0, "ties": "random"}
    assert settings["training"]["evaluation_episodes"] == 2


MISTAKES = {
    "environment": (["train", "CartPool-v1"], "CartPole-v1"),
    "room": (["train", "FourRoom-v0"], "memec/FourRoom-v0"),
    "agent": (["train", "CartPole-v1", "--agent", "mfek"], "mfec"),
    "strategy": (["train", "CartPole-v1", "--explore", "melowmax"], "mellowmax"),
    "preset": (["train", "CartPole-v1", "--preset", "papr"], "paper"),
    "setting": (["train", "CartPole-v1", "--set", "memory.capcity=3"], "capacity"),
    "unknown group": (["train", "CartPole-v1", "--set", "memry.capacity=3"], "memory.capacity"),
    "no value": (["train", "CartPole-v1", "--set", "memory.capacity"], "name=value"),
    "negative": (["train", "CartPole-v1", "--set", "memory.capacity=-3"], "memory.capacity"),
    "not a number": (["train", "CartPole-v1", "--set", "memory.width=small"], "memory.width"),
    "steps": (["train", "CartPole-v1", "--steps", "0"], "training.steps"),
    "steps text": (["train", "CartPole-v1", "--steps", "many"], "--steps"),
    "omega": (["train", "CartPole-v1", "--omega", "-1"], "omega"),
    "option of another strategy": (["train", "CartPole-v1", "--explore", "boltzmann", "--omega", "3"], "temperature"),
    "k over capacity": (["train", "CartPole-v1", "--set", "memory.capacity=5"], "larger than memory.capacity"),
    "continuous actions": (["train", "Pendulum-v1"], "Discrete"),
    "no run": (["evaluate", "nowhere"], "run folder"),
    "report of nothing": (["report", "nowhere"], "run folder"),
    "too large": (["train", "CartPole-v1", "--set", "memory.capacity=100000000000"], "GB"),
    "the paper's preset elsewhere": (
        ["train", "MountainCar-v0", "--preset", "paper", "--agent", "mfec"],
        "CartPole-v1, Acrob",
    ),
    "the released preset elsewhere": (
        ["train", "MountainCar-v0", "--preset", "released"],
        "memec/FourRoom-v0, not for",
    ),
    "device of the default agent": (["train", "CartPole-v1", "--device", "cuda"], "vpec has no network"),
    "pictures of the default agent": (
        ["train", "CartPole-v1", "--keep-frames"],
        "vpec keeps its memories without pictures",
    ),
    "a module that is not there": (["train", "no_such_module:Env-v0"], "no_such_module"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_one_sentence_and_status_2_and_writes_nothing(memec: Memec, mistake: str) -> None:
    arguments, hint = MISTAKES[mistake]
    result = memec(*arguments)
    assert result.status == 2
    assert hint in result.error and "Traceback" not in result.error
    assert result.error.count("\n") == 1
    assert not list(Path().iterdir())


def test_a_folder_that_holds_a_run_is_left_alone(memec: Memec) -> None:
    assert memec("train", "CartPole-v1", "--steps", 60, "--evaluate-every", 0, "--out", "run").status == 0
    before = {file: file.read_bytes() for file in Path("run").rglob("*") if file.is_file()}
    result = memec("train", "CartPole-v1", "--steps", 60, "--out", "run")
    assert result.status == 2 and "--out" in result.error
    assert before == {file: file.read_bytes() for file in Path("run").rglob("*") if file.is_file()}


def test_a_folder_that_cannot_be_written_is_said_so(memec: Memec) -> None:
    Path("file").write_text("in the way")
    result = memec("train", "CartPole-v1", "--steps", 60, "--out", "file/run")
    assert result.status == 2 and "cannot be written" in result.error


def test_an_environment_that_raises_keeps_what_was_learned(
    memec: Memec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fragile.py").write_text(
        "import gymnasium, os\n"
        "from gymnasium.envs.classic_control import CartPoleEnv\n"
        "class Fragile(CartPoleEnv):\n"
        "    steps = 0\n"
        "    def step(self, action):\n"
        "        self.steps += 1\n"
        "        if self.steps == 300 and not os.path.exists('mended'): raise OSError('cable unplugged')\n"
        "        return super().step(action)\n"
        "gymnasium.register('Fragile-v0', Fragile)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    result = memec("train", "fragile:Fragile-v0", "--steps", 1_000, "--evaluate-every", 0, "--out", "run")
    assert result.status == 2 and "OSError at step 300: cable unplugged" in result.error
    record = json.loads(Path("run/run.json").read_text())
    assert record["status"] == "failed" and "cable unplugged" in record["reason"]
    refused = memec("evaluate", "run")
    assert refused.status == 2 and "--env fragile:Fragile-v0" in refused.error
    Path("mended").touch()
    assert "2 greedy episodes" in memec("evaluate", "run", "--episodes", 2, "--env", "fragile:Fragile-v0").out
    assert memec("train", "fragile:Fragile-v0", "--resume", "run").status == 0
    assert json.loads(Path("run/run.json").read_text())["status"] == "finished"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_run_cleanly(tmp_path: Path, number: int, status: int) -> None:
    command = [sys.executable, "-m", "memec.cli", "train", "CartPole-v1", "--steps", "10000000", "--out", "run"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    episodes = tmp_path / "run" / "episodes.csv"
    deadline = time.monotonic() + 120
    while not (episodes.exists() and len(rows(episodes)) > 20):
        assert process.poll() is None and time.monotonic() < deadline
        os.sched_yield()
    process.send_signal(number)
    _, error = process.communicate(timeout=60)
    assert process.returncode == status and "Traceback" not in error
    assert json.loads((tmp_path / "run" / "run.json").read_text())["status"] == "interrupted"
    assert len(list((tmp_path / "run" / "checkpoint").glob("step-*.safetensors"))) == 1


def test_list_shows_what_there_is(memec: Memec) -> None:
    shown = memec("list").out
    for name in ("memec/FourRoom-v0", "ALE/MsPacman-v5", "thompson", "memory.capacity", "frames"):
        assert name in shown


OWN = """
import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv
gymnasium.register("Own-v0", CartPoleEnv, max_episode_steps=50)
"""


def test_a_module_in_this_folder_is_found_when_it_is_named(memec: Memec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])  # as for a console script
    Path("own_env.py").write_text(OWN)
    common = ("--steps", 60, "--evaluate-every", 0)
    assert memec("train", "own_env:Own-v0", *common, "--out", "run").status == 0
    assert memec("evaluate", "run", "--episodes", 1, "--env", "own_env:Own-v0").status == 0
    assert memec("train", "own_env:Own-v0", "--resume", "run", "--steps", 70).status == 0


def test_a_file_in_this_folder_does_not_stand_in_for_a_package(memec: Memec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    Path("colorsys.py").write_text("raise AssertionError")
    before = list(sys.path)
    assert memec("train", "CartPole-v1", "--steps", 60, "--evaluate-every", 0, "--out", "run").status == 0
    assert memec("train", "colorsys:CartPole-v1", "--steps", 60, "--evaluate-every", 0, "--out", "other").status == 0
    assert sys.path == before


def test_a_module_that_raises_is_said_so(memec: Memec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("half_done.py").write_text("import gymnasium\n1 / 0\n")
    result = memec("train", "half_done:Own-v0")
    assert result.status == 2 and "to import half_done raised ZeroDivisionError" in result.error


LONG = """
import gymnasium, numpy as np
from gymnasium.spaces import Box, Dict, Discrete
SPACES = {
    "Dict": Dict({"picture": Box(0, 255, (64, 64, 3), np.uint8), "speed": Box(-1, 1, (2,))}),
    "Picture": Box(0, 1, (84, 84, 3), np.float32),
    "Number": Discrete(100_000),
}
class Long(gymnasium.Env):
    action_space = Discrete(3)
    def __init__(self, kind):
        self.observation_space = SPACES[kind]
    def reset(self, *, seed=None, options=None):
        self.observation_space.seed(seed)
        return self.observation_space.sample(), {}
    def step(self, action):
        return self.observation_space.sample(), float(action), bool(action), False, {}
for kind in SPACES:
    gymnasium.register(f"{kind}-v0", Long, kwargs={"kind": kind})
"""


@pytest.mark.parametrize("kind", ["Dict", "Picture", "Number"])
def test_observations_too_long_for_the_default_agent_get_one_that_fits(
    memec: Memec, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("long_env.py").write_text(LONG)
    result = memec("train", f"long_env:{kind}-v0", "--steps", 20, "--evaluate-every", 0, "--out", "run")
    assert result.status == 0, result.error
    assert result.error.count("too many for vpec to remember: mfec is taken instead") == 1
    agent = json.loads(Path("run/run.json").read_text())["settings"]["agent"]
    assert agent["name"] == "mfec" and agent["memory"]["capacity"] == 10_000


def test_the_version_can_be_asked_for(tmp_path: Path) -> None:
    assert package.__version__ == version("memec")
    said = subprocess.run([sys.executable, "-m", "memec", "--version"], capture_output=True, text=True, cwd=tmp_path)
    assert (said.returncode, said.stdout) == (0, f"memec {package.__version__}\n")


def test_what_gymnasium_warns_of_comes_without_its_colours(memec: Memec) -> None:
    result = memec("train", "CartPole", "--steps", 60, "--evaluate-every", 0)
    assert "memec: Using the latest versioned environment `CartPole-v1`" in result.error
    assert "[33m" not in result.error and "WARN" not in result.error


FEW_FILES = """
import resource, sys
from memec import cli
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv.pop()),) * 2)  # Python itself needs more to start
cli.main()
"""


@pytest.mark.parametrize("files", [3, 4])
def test_a_process_that_may_open_no_more_files_says_so(files: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", FEW_FILES, "train", "CartPole-v1", "--agent", "mfec", "--steps", "60", str(files)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 2 and "Too many files are open" in result.stderr, result.stderr
    assert result.stderr.count("\n") == 1


def test_a_result_that_cannot_be_written_is_a_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "memec", "--version"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (result.returncode, result.stderr) == (2, "memec: The system refuses: No space left on device.\n")


def test_help_teaches_without_heavy_imports() -> None:
    script = (
        "import sys; from memec import cli; sys.argv=['memec','--help']\ntry: cli.main()\nexcept SystemExit: pass\n"
    )
    script += "assert not {'torch', 'numba', 'ale_py', 'cv2', 'scipy', 'matplotlib'} & set(sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "train" in result.stdout and "evaluate" in result.stdout


def test_training_a_room_does_not_import_torch(tmp_path: Path) -> None:
    script = "import sys; from memec import MFEC; MFEC('memec/OpenRoom-v0').learn(50)\n"
    script += "assert not {'torch', 'cv2', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path)
