"""Whether a run slows down while its memory turns over."""

import statistics
import time

from benchmarks.measure import Row, at_least, progress, seconds
from benchmarks.steps import emulator_alone, paper_agent

STEPS, CAPACITY, CHUNK = 300_000, 20_000, 3_000


def rows() -> list[Row]:
    agent = paper_agent("ALE/Pong-v5", memory={"capacity": CAPACITY})
    while agent.memory.fill < 1.0 and agent.steps < 12 * CAPACITY * agent.world.actions:
        progress(f"turnover: filling, {agent.memory.fill:.0%}")
        agent.learn(20_000)
    emulator = emulator_alone("pong", CHUNK)

    def speed() -> float:
        """Steps a second, in units of the emulator's at the same time."""
        return statistics.median(seconds(emulator) / seconds(lambda: agent.learn(CHUNK)) for _ in range(5))

    first, start, last_word = speed(), agent.steps, time.monotonic()
    while agent.steps < start + STEPS:
        agent.learn(10_000)
        if time.monotonic() > last_word + 10:
            progress(f"turnover: {agent.steps - start:,} of {STEPS:,} steps")
            last_word = time.monotonic()
    return [at_least(f"steps/s after {STEPS:,} more Pong steps / when the memory is full", speed() / first, 0.95)]
