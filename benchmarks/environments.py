"""What many environments at once are worth, against one."""

import time
from typing import Any

import gymnasium
import numpy as np

from benchmarks.measure import Row, at_least, median_ratio
from memec import MFEC
from memec.memory import Memory, MemorySettings
from memec.train.loop import TrainingSettings

STEP_SECONDS = 0.005
REPEATS = 5


class Sleeping(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Takes long for a step and computes nothing, as a simulator on another machine."""

    def step(self, action: Any) -> Any:
        time.sleep(STEP_SECONDS)
        return super().step(action)


def sleeping() -> gymnasium.Env[Any, Any]:
    return Sleeping(gymnasium.make("CartPole-v1").unwrapped)


def learning(env: str, environments: int, steps: int) -> Any:
    """Return what learns so many more steps, where the environments are played best by now."""
    agent = MFEC(env, environments=environments, seed=0).learn(20 * environments)

    def learn() -> None:
        for _ in agent.train(TrainingSettings(steps=agent.steps + steps)):
            pass

    learn()
    return learn


def slow_steps() -> Row:
    name = "memec/Sleeping-v0"
    gymnasium.register(name, entry_point=f"{__name__}:sleeping", max_episode_steps=500)
    one, many = learning(name, 1, 64), learning(name, 16, 1024)
    ratio, of_many, of_one = median_ratio(many, one, REPEATS)
    per_second = 1024 / of_many, 64 / of_one
    note = f"steps per second: {per_second[0]:.0f} and {per_second[1]:.0f}"
    return at_least("16 environments whose step takes 5 ms / one", 16 / ratio, 12.0, note)


def recall(key_size: int, capacity: int, batch: int = 16) -> Row:
    """What one query costs alone, over what it costs in a batch: above 1 the batch is quicker."""
    rng = np.random.default_rng(0)
    memory = Memory(MemorySettings(capacity=capacity), 4, key_size)
    count = 4 * capacity
    ids = rng.integers(2**62, size=(count, 2)).astype(np.uint64)
    keys = rng.normal(size=(count, key_size)).astype(np.float32)
    memory.write(np.arange(count) % 4, keys, rng.normal(size=count), ids)
    asked = rng.normal(size=(40, batch, key_size)).astype(np.float32)
    asked[1:] = asked[0] + 0.02 * np.cumsum(asked[1:], axis=0)  # as states follow one another, side by side
    unknown = rng.integers(2**62, size=(batch, 2)).astype(np.uint64)

    def single() -> None:
        for row in range(batch):
            for queries in asked:
                memory.recall(queries[row], unknown[row], fleeting=True)

    def together() -> None:
        for queries in asked:
            memory.recall(queries, unknown, fleeting=True)

    single(), together()
    ratio, alone, batched = median_ratio(single, together, 9)
    each = 1e6 / (40 * batch)
    note = f"microseconds per query: {alone * each:.1f} alone, {batched * each:.1f} in a batch"
    return at_least(f"recall alone / in a batch of {batch}, keys of {key_size}", ratio, 1.0, note)


def rows() -> list[Row]:
    return [slow_steps(), recall(4, 20_000), recall(128, 20_000)]
