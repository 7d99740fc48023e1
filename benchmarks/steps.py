"""What a training step costs, against the environment alone."""

import time
from collections.abc import Callable
from typing import Any

import ale_py
import cv2
import gymnasium
import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Row, at_most, median_ratio, progress
from benchmarks.recordings import recorded_keys
from memec import MFEC
from memec.experiments.presets import PAPER, settings_for
from memec.memory import Memory

cv2.setNumThreads(1)

SMALL = {"CartPole-v1": 3.0, "Acrobot-v1": 2.0}
ROOMS = ("memec/OpenRoom-v0", "memec/FourRoom-v0")
ATARI = {"ALE/Pong-v5": ("pong", 1.5), "ALE/Qbert-v5": ("qbert", 1.5), "ALE/MsPacman-v5": ("ms_pacman", 1.8)}
ROOM_STEP_MICROSECONDS = 5.0
WRITTEN_AT_ONCE, ASKED_PER_WRITE, REPLACED_STEPS = 250, 20, 40_000


def paper_agent(env: str, **changes: Any) -> MFEC:
    kind = "frames" if env.startswith("ALE") else "vector"
    settings = settings_for(env, kind, preset="paper", changes={"agent": changes} if changes else None)
    return MFEC(env, settings=settings.agent, seed=0)


def environment_alone(env: str, steps: int) -> Callable[[], None]:
    """The plain environment with resets; the actions are drawn beforehand."""
    environment = gymnasium.make(env, disable_env_checker=True)
    actions = np.random.default_rng(0).integers(environment.action_space.n, size=steps).tolist()
    environment.reset(seed=0)

    def play() -> None:
        step, reset = environment.step, environment.reset
        for action in actions:
            _, _, terminated, truncated, _ = step(action)
            if terminated or truncated:
                reset()

    return play


def emulator_alone(rom: str, steps: int) -> Callable[[], None]:
    """The raw emulator: four frames, the maximum of the last two, grey, 84 x 84."""
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    emulator = ale_py.ALEInterface()
    emulator.setFloat("repeat_action_probability", 0.0)
    emulator.loadROM(ale_py.roms.get_rom_path(rom))
    buttons = emulator.getMinimalActionSet()
    actions = [buttons[i] for i in np.random.default_rng(0).integers(len(buttons), size=steps)]
    screens = [np.empty(emulator.getScreenDims(), np.uint8) for _ in range(2)]

    def play() -> None:
        for action in actions:
            emulator.act(action)
            emulator.act(action)
            for screen in screens:
                emulator.act(action)
                emulator.getScreenGrayscale(screen)
            cv2.resize(np.maximum(*screens), (84, 84), interpolation=cv2.INTER_AREA)
            if emulator.game_over():
                emulator.reset_game()

    return play


def fill(memory: Memory, keys: NDArray[np.float32]) -> None:
    """Write all these keys into every action's table, whatever the action was; repeated ones get a little noise.

    Where there are more than a table holds, the rest replaces what was written first, as in a run that goes on.
    """
    random = np.random.default_rng(0)
    spread = keys[:: max(1, len(keys) // 1_000)].std(axis=0).mean()
    writes = max(memory.settings.capacity, len(keys))
    for start in range(0, writes, 10_000):
        for action in range(memory.actions):
            count = min(10_000, writes - start)
            chosen = keys[(start + np.arange(count)) % len(keys)]
            if start >= len(keys):
                chosen = chosen + random.normal(scale=0.01 * spread, size=chosen.shape).astype(np.float32)
            ids = random.integers(0, 2**63, (count, 2)).astype(np.uint64)
            memory.write(action, chosen, random.normal(size=count), ids)


def fill_in_order(memory: Memory, recorded: NDArray[np.float32]) -> tuple[float, float]:
    """Write recorded steps into every table as a run does: in order, asked in between, until some were replaced.

    Where the recording is too short it is repeated with small noise. Returns the microseconds of writing an entry, and
    the seconds of the longest write.
    """
    random = np.random.default_rng(0)
    noise = np.float32(0.02 * recorded.std())
    capacity = memory.settings.capacity
    steps = capacity + min(REPLACED_STEPS, capacity // 2)
    spent = longest = 0.0
    for begin in range(0, steps, WRITTEN_AT_ONCE):
        keys = recorded[(begin + np.arange(WRITTEN_AT_ONCE)) % len(recorded)]
        if begin + WRITTEN_AT_ONCE > len(recorded):
            keys = keys + noise * random.standard_normal(keys.shape, np.float32)
        actions = np.repeat(np.arange(memory.actions), len(keys))
        ids = random.integers(1, 2**63, (len(actions), 2)).astype(np.uint64)
        returns = random.normal(size=len(actions))
        start = time.perf_counter()
        memory.write(actions, np.tile(keys, (memory.actions, 1)), returns, ids)
        took = time.perf_counter() - start
        spent, longest = spent + took, max(longest, took)
        for ahead in range(ASKED_PER_WRITE):
            memory.recall(recorded[(begin + WRITTEN_AT_ONCE + ahead) % len(recorded)])
        if begin % 100_000 == 0:
            progress(f"filling {capacity:,} entries per action: {begin:,} of {steps:,} steps")
    return spent / (steps * memory.actions) * 1e6, longest


def rows() -> list[Row]:
    found = []
    for env in (*ROOMS, *SMALL):
        progress(f"training step in {env}")
        agent = paper_agent(env)
        agent.learn(20_000 if env in ROOMS else 3 * PAPER[env].capacity * agent.world.actions)
        ratio, mine, alone = median_ratio(lambda agent=agent: agent.learn(10_000), environment_alone(env, 10_000))
        note = f"{mine * 100:.1f} us a step, {alone * 100:.2f} us the environment"
        if env in ROOMS:
            found.append(at_most(f"{env}, a step in us", alone * 100, ROOM_STEP_MICROSECONDS))
            ratio = mine * 100 / ROOM_STEP_MICROSECONDS
            name = f"training step / a room step of {ROOM_STEP_MICROSECONDS:g} us, {env}"
            found.append(at_most(name, ratio, 10.0, note))
        else:
            found.append(at_most(f"training step / environment alone, {env}", ratio, SMALL[env], note))
    for env, (rom, target) in ATARI.items():
        progress(f"training step in {env}, memory full")
        agent = paper_agent(env)
        fill(agent.memory, recorded_keys(env))
        agent.learn(4_000)
        ratio, mine, alone = median_ratio(lambda agent=agent: agent.learn(1_500), emulator_alone(rom, 1_500), 9)
        note = f"{mine / 1.5e-3:.0f} us a step, {alone / 1.5e-3:.0f} us the emulator"
        note += f", recall {agent.memory.recall_estimate:.4f}"
        found.append(at_most(f"training step / emulator alone, {env}", ratio, target, note))
        del agent
    return found
