"""memec without the packages that its extras bring: what works all the same, and what is said where one is needed."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
# Which extra brings what is imported: memec must do without each of these.
MODULES = {
    "atari": ["ale_py", "cv2"],
    "neural": ["torch"],
    "ray": ["ray"],
    "report": ["matplotlib", "scipy"],
    "tensorboard": ["tensorboard"],
    "tune": ["optuna"],
    "watch": ["cv2", "imageio", "imageio_ffmpeg", "starlette", "uvicorn"],
}
COMMANDS = {
    "train CartPole-v1 --steps 60 --out vpec": "",
    "train CartPole-v1 --steps 60 --agent mfec --out mfec": "",
    "train --resume mfec --steps 80": "",
    "evaluate mfec --episodes 1": "",
    "train CartPol-v1": "Unknown environment 'CartPol-v1': did you mean 'CartPole-v1'?",
    "train CartPole-v1 --agent nec": "A network (nec, d3qn) needs torch: pip install 'memec[neural]'.",
    "train CartPole-v1 --agent d3qn": "A network (nec, d3qn) needs torch: pip install 'memec[neural]'.",
    "train ALE/Pong-v5": "An Atari game needs ale_py: pip install 'memec[atari]'.",
    "train CartPole-v1 --log tensorboard": "Writing event files needs tensorboard: pip install 'memec[tensorboard]'.",
    "report mfec": "A report needs scipy: pip install 'memec[report]'.",
    "watch mfec": "Watching needs starlette: pip install 'memec[watch]'.",
    "evaluate mfec --video it.mp4": "A video needs imageio_ffmpeg: pip install 'memec[watch]'.",
    "compare CartPole-v1 --seeds 1": "A report needs scipy: pip install 'memec[report]'.",
    "reproduce cartpole --engine ray": "--engine ray needs ray: pip install 'memec[ray]'.",
}
WITHOUT = """
import json, sys, typer
for module in json.loads(sys.argv[1]):
    sys.modules[module] = None  # as if it were not installed
from memec import cli
said = {}
for command in json.loads(sys.argv[2]):
    try:
        cli.app(command.split(), standalone_mode=False)
        said[command] = ""
    except cli.MemecError as error:
        said[command] = str(error)
    except typer.Exit as exit:
        said[command] = "" if exit.exit_code == 0 else f"status {exit.exit_code}"
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_what_needs_a_missing_package_says_which_extra_has_it_and_the_rest_works(tmp_path: Path) -> None:
    modules = sorted({module for modules in MODULES.values() for module in modules})
    command = [sys.executable, "-c", WITHOUT, json.dumps(modules), json.dumps(list(COMMANDS))]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout.splitlines()[-1]) == COMMANDS


def test_all_brings_every_extra_of_memec(project: dict[str, Any]) -> None:
    extras = project["optional-dependencies"]
    assert extras["all"] == [f"memec[{','.join(sorted(MODULES))}]"]
    assert set(MODULES) < set(extras)


def test_the_version_is_the_same_everywhere(project: dict[str, Any]) -> None:
    version = project["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f'\n  version: "{version}"\n' in (ROOT / "conda/recipe.yaml").read_text()
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text()
