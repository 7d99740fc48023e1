"""Starting where nothing can be written: a read-only installation and no home, as in a container.

The folders that numba looks for are files here, and the home lies in /proc: that binds the superuser too.
"""

import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.registry import CPUDispatcher

import memec
import memec.graph
import memec.memory

SCRIPT = """
import numpy as np
from memec import MFEC, NEC, VPEC, EpsilonGreedy, UCB  # all kernels are defined
from memec.explore import Belief
print(EpsilonGreedy().choose(Belief(np.array([0.0, 1.0])), 30_000, np.random.default_rng(0)))
"""


@pytest.fixture
def installation(tmp_path: Path) -> Path:
    source = Path(memec.__file__).parent
    shutil.copytree(source, tmp_path / "memec", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [tmp_path / "memec", *(path for path in (tmp_path / "memec").rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    return tmp_path


def start(installation: Path, **more: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    places = {"PYTHONPATH": str(installation), "HOME": "/proc/no-home", **more}
    return subprocess.run([sys.executable, "-c", SCRIPT], env=kept | places, capture_output=True, text=True)


def test_without_a_place_for_compiled_code_it_starts_and_says_so(installation: Path) -> None:
    result = start(installation)
    assert (result.returncode, result.stdout) == (0, "1\n"), result.stderr
    assert result.stderr.count("\n") == 1 and "set NUMBA_CACHE_DIR" in result.stderr


def test_a_named_folder_keeps_compiled_code(installation: Path, tmp_path: Path) -> None:
    result = start(installation, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert (result.returncode, result.stdout, result.stderr) == (0, "1\n", "")
    assert list((tmp_path / "cache").rglob("epsilon_greedy._choose*.nbc"))


def test_compiled_code_of_the_memories_says_how_it_rounds() -> None:
    """Else numba takes that from whatever calls it first: code compiled anew would not round as the cached does."""
    found = 0
    for package in (memec.memory, memec.graph):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            for name, function in vars(importlib.import_module(module.name)).items():
                if isinstance(function, CPUDispatcher):
                    found += 1
                    assert "fastmath" in function.targetoptions, f"{module.name}.{name}"
    assert found > 50
