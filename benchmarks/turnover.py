"""Whether a run slows down while its memory turns over; and, while it plays on, how much memory runs take."""

import statistics
import time
from concurrent.futures import ThreadPoolExecutor

from benchmarks import memory
from benchmarks.measure import Row, at_least, progress, seconds
from benchmarks.recordings import recorded_keys
from benchmarks.steps import emulator_alone, fill, paper_agent

STEPS, CAPACITY, CHUNK, REPEATS = 300_000, 20_000, 1_500, 15


def rows() -> list[Row]:
    progress("turnover: filling")
    agent = paper_agent("ALE/Pong-v5", memory={"capacity": CAPACITY})
    fill(agent.memory, recorded_keys("ALE/Pong-v5"))
    agent.learn(3_000)
    emulator = emulator_alone("pong", CHUNK)

    def speed() -> float:
        """Steps a second, in units of the emulator's at the same time."""
        return statistics.median(seconds(emulator) / seconds(lambda: agent.learn(CHUNK)) for _ in range(REPEATS))

    first, start, last_word = speed(), agent.steps, time.monotonic()
    with ThreadPoolExecutor(1) as beside:
        taken = beside.submit(memory.rows)
        while agent.steps < start + STEPS:
            agent.learn(10_000)
            if time.monotonic() > last_word + 10:
                progress(f"turnover: {agent.steps - start:,} of {STEPS:,} steps")
                last_word = time.monotonic()
        progress("turnover: waiting for the memory that runs take")
    name = f"steps/s after {STEPS:,} more Pong steps / when the memory is full"
    return [at_least(name, speed() / first, 0.95), *taken.result()]
