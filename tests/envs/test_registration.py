"""The rooms are found by Gymnasium as soon as memec's worlds are imported, and cheaply."""

import subprocess
import sys

import gymnasium
import pytest

from memec.envs.registration import register


def run_fresh(code: str) -> str:
    finished = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.strip()


@pytest.mark.parametrize(
    "code",
    [
        "import gymnasium, memec; print(gymnasium.make('memec/FourRoom-v0').spec.id)",
        "import gymnasium; print(gymnasium.make('memec:memec/FourRoom-v0').spec.id)",
        "from memec.envs.world import make; print(make('memec/FourRoom-v0').environment.spec.id)",
    ],
)
def test_a_fresh_process_finds_the_rooms(code: str) -> None:
    assert run_fresh(code) == "memec/FourRoom-v0"


def test_registering_imports_neither_the_rooms_nor_the_emulator() -> None:
    code = """
import sys, memec.envs
heavy = ['memec.envs.rooms', 'ale_py', 'cv2', 'torch', 'numba']
print([name for name in heavy if name in sys.modules])
"""
    assert run_fresh(code) == "[]"


def test_worlds_other_than_atari_do_not_wait_for_the_emulator() -> None:
    code = """
import sys
from memec.envs.world import make
make('CartPole-v1').reset(0)
print([name for name in ['ale_py', 'cv2'] if name in sys.modules])
"""
    assert run_fresh(code) == "[]"


def test_registering_twice_is_silent_and_keeps_the_first() -> None:
    register()
    first = gymnasium.spec("memec/OpenRoom-v0")
    register()
    assert gymnasium.spec("memec/OpenRoom-v0") is first
