"""The small picture is bit for bit what the emulator's greys, their maximum and OpenCV make of two screens."""

import ale_py
import cv2
import numpy as np
import pytest
from ale_py import roms
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memec.envs.screen import SmallScreen

SIZE = 84


class Screens:
    """An emulator that shows what it is told, with greys that do not tell the order of its colours."""

    def __init__(self, rows: int, columns: int) -> None:
        self.screen = np.zeros((rows, columns), np.uint8)
        self.greys = np.random.default_rng(1).permutation(256).astype(np.uint8)

    def getScreenDims(self) -> tuple[int, int]:  # noqa: N802  (the emulator's own name)
        return self.screen.shape

    def getScreen(self, into: NDArray[np.uint8]) -> None:  # noqa: N802
        into[:] = self.screen

    def getScreenGrayscale(self, into: NDArray[np.uint8]) -> None:  # noqa: N802
        into[:] = self.greys[self.screen]


def from_nothing(earlier: NDArray[np.uint8], later: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return cv2.resize(np.maximum(earlier, later), (SIZE, SIZE), interpolation=cv2.INTER_AREA)


@pytest.mark.parametrize("game", ["pong", "qbert", "ms_pacman", "space_invaders", "bowling", "air_raid", "video_chess"])
def test_games_look_as_if_every_screen_was_made_small_from_nothing(game: str) -> None:
    emulator = ale_py.ALEInterface()
    emulator.loadROM(roms.get_rom_path(game))
    buttons = emulator.getMinimalActionSet()
    screen, small = SmallScreen(emulator, SIZE), np.empty((SIZE, SIZE), np.uint8)
    for action in np.random.default_rng(0).integers(len(buttons), size=200):
        greys = []
        for which in (0, 1):
            emulator.act(buttons[action])
            screen.take(which)
            greys.append(emulator.getScreenGrayscale())
        screen.shrink(small)
        np.testing.assert_array_equal(small, from_nothing(*greys))


@settings(deadline=None)  # compiles for every number of pixels under one
@given(st.integers(0, 2**32), st.sampled_from([(210, 160), (250, 160), (97, 85), (300, 400)]))
def test_any_screens_are_made_small_as_opencv_does_it(seed: int, shape: tuple[int, int]) -> None:
    random = np.random.default_rng(seed)
    emulator = Screens(*shape)
    screen, small = SmallScreen(emulator, SIZE), np.empty((SIZE, SIZE), np.uint8)
    for _ in range(4):
        greys = []
        for which in (0, 1):
            rows = random.random(shape[0]) < random.choice([0.0, 0.1, 1.0])  # what changes; new colours come with it
            emulator.screen[rows] = random.integers(random.integers(1, 257), size=(rows.sum(), shape[1]))
            screen.take(which)
            greys.append(emulator.greys[emulator.screen])
        screen.shrink(small)
        np.testing.assert_array_equal(small, from_nothing(*greys))
