"""Keys of real games, recorded once by playing them and cached outside the repository."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from ale_py import ALEInterface, LoggerMode, roms
from numba import njit
from numpy.typing import NDArray

GAMES = {"Pong": "pong", "Q*bert": "qbert", "Ms. Pac-Man": "ms_pacman"}
STEPS = 150_000
DIMENSIONS = 128
STACK = 4
PIXELS = 84 * 84


def recorded_keys(game: str, steps: int = STEPS) -> NDArray[np.float32]:
    """Return the keys of `steps` steps of a game in the order they were played, from the cache if they are there."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memec" / "benchmarks"
    path = cache / f"{GAMES[game]}-{steps}x{DIMENSIONS}-v2.npy"
    if not path.exists():
        keys = _record(game, steps)
        cache.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}.npy")
        np.save(partial, keys)
        partial.replace(path)
    return np.load(path)  # type: ignore[no-any-return]


def _record(game: str, steps: int) -> NDArray[np.float32]:
    """Project the last four frames of every step with one seeded Gaussian matrix, as MFEC does."""
    projection = np.random.default_rng(0).standard_normal((PIXELS, STACK * DIMENSIONS)) / np.sqrt(DIMENSIONS)
    keys = np.empty((steps, DIMENSIONS), np.float32)
    seen = np.zeros(PIXELS, np.uint8)
    # In double precision, so that the same frames give the same key however they were reached.
    newest = np.zeros(STACK * DIMENSIONS)  # the newest frame, as if it stood at each place of the stack
    stack = np.zeros((STACK, STACK, DIMENSIONS))
    for step, frame in zip(range(steps), _frames(GAMES[game]), strict=False):
        _project_changes(frame, seen, projection, newest)
        stack[:-1] = stack[1:]
        stack[-1] = newest.reshape(STACK, DIMENSIONS)
        keys[step] = stack[range(STACK), range(STACK)].sum(0)
        if step % 10_000 == 0:
            print(f"\rrecording {game}: {step:,} of {steps:,} steps", end="", file=sys.stderr, flush=True)
    print(f"\rrecorded {game}: {steps:,} steps{' ' * 12}", file=sys.stderr)
    return keys


def _frames(rom: str) -> Iterator[NDArray[np.uint8]]:
    """Play for ever: four repeated frames, maximum of the last two, grey, 84 x 84, up to 30 no-ops at a new game.

    Actions are random and held for one to eight steps, which gets further into a game than noise does.
    """
    ALEInterface.setLoggerMode(LoggerMode.Error)
    cv2.setNumThreads(1)
    emulator: Any = ALEInterface()
    emulator.setFloat("repeat_action_probability", 0.0)
    emulator.setInt("random_seed", 1)
    emulator.loadROM(roms.get_rom_path(rom))
    actions = emulator.getMinimalActionSet()
    rng = np.random.default_rng(1)
    last_two = np.empty((2, *emulator.getScreenDims()), np.uint8)
    action, held_for = 0, 0
    while True:
        if emulator.game_over() or emulator.getEpisodeFrameNumber() >= 108_000:
            emulator.reset_game()
        if emulator.getEpisodeFrameNumber() == 0:
            for _ in range(int(rng.integers(31))):
                emulator.act(0)
        if held_for == 0:
            action, held_for = actions[rng.integers(len(actions))], int(rng.integers(1, 9))
        held_for -= 1
        for repeat in range(4):
            emulator.act(action)
            if repeat >= 2:
                emulator.getScreenGrayscale(last_two[repeat - 2])
        yield cv2.resize(last_two.max(0), (84, 84), interpolation=cv2.INTER_AREA).reshape(-1)


@njit(cache=True, fastmath=True)
def _project_changes(
    frame: NDArray[np.uint8], seen: NDArray[np.uint8], projection: NDArray[np.float64], projected: NDArray[np.float64]
) -> None:
    """Bring `projected` from the frame last seen to this one, touching only pixels that changed."""
    for pixel in range(len(frame)):
        if frame[pixel] != seen[pixel]:
            change = (np.float64(frame[pixel]) - np.float64(seen[pixel])) / 255
            for column in range(len(projected)):
                projected[column] += change * projection[pixel, column]
            seen[pixel] = frame[pixel]


if __name__ == "__main__":
    for name in GAMES:
        recorded_keys(name)
