"""How things are measured here: alternately, repeatedly, and as ratios, because the machine is never quiet."""

import gc
import re
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

REPEATS = 15


class Row(NamedTuple):
    """One line of the table."""

    name: str
    value: float
    target: str
    met: bool
    note: str = ""


def at_most(name: str, value: float, target: float, note: str = "") -> Row:
    return Row(name, value, f"<= {target:g}", value <= target, note)


def at_least(name: str, value: float, target: float, note: str = "") -> Row:
    return Row(name, value, f">= {target:g}", value >= target, note)


def seconds(work: Callable[[], object]) -> float:
    """Return how long one call takes, with no garbage collection in it."""
    gc.collect()
    gc.disable()
    try:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started
    finally:
        gc.enable()


def median_ratio(
    work: Callable[[], object], yardstick: Callable[[], object], repeats: int = REPEATS
) -> tuple[float, float, float]:
    """Return the median ratio of two pieces of work done in turns, and the median seconds of each."""
    pairs = [(seconds(work), seconds(yardstick)) for _ in range(repeats)]
    return (
        statistics.median(mine / theirs for mine, theirs in pairs),
        statistics.median(mine for mine, _ in pairs),
        statistics.median(theirs for _, theirs in pairs),
    )


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def gigabytes_held() -> float:
    """Return the most memory this process held so far; what its parent held when it was started is not counted."""
    status = Path("/proc/self/status")
    if status.exists():
        return float(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1]) / 1e6  # type: ignore[index]
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
