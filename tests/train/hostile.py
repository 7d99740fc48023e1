"""Files that are whole and hostile: every array has its name, type, shape and checksum, but not what it should hold.

Indices lead out of range, lists run in circles, permutations are none, counts contradict each other, numbers are none.
Whoever loads such a file or goes on with such a checkpoint is told so in one sentence, or gets an agent that works and
holds exactly what the file says. `python -m tests.train.hostile` tries as many as it is told, `make torture` does so.
"""

import argparse
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from memec.agents import AGENTS, OWN
from memec.errors import MemecError
from memec.train import RunFolder
from memec.train.checkpoint import CheckpointSettings
from memec.train.files import Arrays, read_arrays, write_arrays

from .torture import make_everything_small

NETWORK: dict[str, Any] = {"train_start_steps": 20, "replay_capacity": 90, "batch_size": 4, "hidden_size": 8}
APPROXIMATE = {"memory": {"capacity": 120, "search": "approximate"}}
SETTINGS: dict[str, dict[str, Any]] = {
    "mfec": APPROXIMATE,
    "nec": {**NETWORK, "memory": {"capacity": 120, "neighbours": 11, "search": "approximate"}},
    "d3qn": NETWORK,
    "vpec": {"memory": {"capacity": 64}},
}
STEPS, MORE = 140, 12
MOST_MEMORY = 600_000_000
MOST_SECONDS = 30
BATCH = 250
INTEGERS = (0, 1, -1, -2, 2**31 - 1, -(2**31), 2**40, 2**62, -(2**63), 2**63 - 1)
FLOATS = (np.nan, np.inf, -np.inf, 5e-324, 1e-40, 1e30, -1e30, 1e300, -0.0, 0.0, -1.0)


def one_number(array: NDArray[Any], rng: Generator) -> None:
    """Put in a number that leads astray, or one that stands elsewhere."""
    values: list[Any] = list(FLOATS if array.dtype.kind == "f" else INTEGERS)
    values += [array.size, array.size - 1, array[rng.integers(array.size)], array[rng.integers(array.size)]]
    place = rng.integers(array.size)
    array[place] = np.array(values[rng.integers(len(values))]).astype(array.dtype)


def a_little_more_or_less(array: NDArray[Any], rng: Generator) -> None:
    place = rng.integers(array.size)
    array[place] = (
        ~array[place] if array.dtype.kind == "b" else array[place] + array.dtype.type(1) * rng.choice([1, -1])
    )


def two_swapped(array: NDArray[Any], rng: Generator) -> None:
    places = rng.integers(array.size, size=2)
    array[places] = array[places[::-1]]


def one_twice(array: NDArray[Any], rng: Generator) -> None:
    """A permutation is none then."""
    array[rng.integers(array.size)] = array[rng.integers(array.size)]


def turned(array: NDArray[Any], rng: Generator) -> None:
    """Lists whose next entries are numbers in an array run into others, or in circles."""
    array[:] = np.roll(array, rng.integers(1, 5))


def shuffled(array: NDArray[Any], rng: Generator) -> None:
    rng.shuffle(array)


def all_the_same(array: NDArray[Any], rng: Generator) -> None:
    array[:] = array[rng.integers(array.size)]


def counted(array: NDArray[Any], rng: Generator) -> None:
    array[:] = np.arange(array.size).astype(array.dtype)


def noise(array: NDArray[Any], rng: Generator) -> None:
    """Any bytes, in some places."""
    some = rng.integers(array.size, size=1 + array.size // 20)
    array[some] = np.frombuffer(rng.bytes(some.size * array.itemsize), array.dtype) if array.dtype.kind != "b" else True


HARMS: list[Callable[[NDArray[Any], Generator], None]] = [
    one_number, one_number, one_number, a_little_more_or_less, two_swapped, one_twice, turned, shuffled, all_the_same,
    counted, noise,
]  # fmt: skip


def harmed(arrays: Arrays, rng: Generator) -> tuple[Arrays, str]:
    """Return the arrays with something wrong in one of them, or in two; and what."""
    names = [name for name in sorted(arrays) if arrays[name].size]
    changed, what = dict(arrays), []
    for name in rng.choice(names, size=1 + (rng.random() < 0.2)):
        flat = changed[name].reshape(-1).copy()
        harm = HARMS[rng.integers(len(HARMS))]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            harm(flat, rng)
        changed[name] = flat.reshape(changed[name].shape)
        what.append(f"{name}: {harm.__name__}")
    return changed, ", ".join(what)


@dataclass
class Prey:
    """An agent's file and an interrupted run, whole, to be changed."""

    agent: str
    home: Path
    kept: list[str] = field(default_factory=list)
    """The arrays that an agent keeps as they are in the file."""

    def make(self) -> Any:
        made: Any = AGENTS[self.agent]
        return made("CartPole-v1", seed=3, **SETTINGS[self.agent])

    def prepare(self) -> None:
        """Make both."""
        agent = self.make()
        agent.learn(STEPS, run=self.home / "whole", checkpoint=CheckpointSettings(every_steps=50))
        agent.save(self.home / "agent")
        arrays, _ = read_arrays(self.home / "agent")
        again = AGENTS[self.agent].load(self.home / "agent", env="CartPole-v1").arrays()
        self.kept = [
            name
            for name, array in arrays.items()
            if name in again and np.array_equal(array, again[name]) and "lagging" not in name  # follows from the drift
        ]

    def load(self, rng: Generator) -> tuple[str, str]:
        """Load a changed file and use what comes out of it; return what was changed, and how it ended."""
        arrays, about = read_arrays(self.home / "agent")
        changed, what = harmed(arrays, rng)
        write_arrays(self.home / "changed", changed, about)
        try:
            agent = AGENTS[self.agent].load(self.home / "changed", env="CartPole-v1")
        except MemecError as error:
            return what, _sentence(error)
        again = agent.arrays()
        for name in self.kept:  # else something else was made of it without a word
            array = changed[name]
            assert np.array_equal(again[name], array, equal_nan=array.dtype.kind == "f"), f"{name} became another"
        return what, self._used(agent)

    def resume(self, rng: Generator) -> tuple[str, str]:
        """Go on with a run whose checkpoint, or rows of its replay, were changed."""
        run = self.home / "run"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(self.home / "whole", run)
        folder = RunFolder.open(run)
        checkpoint = folder.checkpoints.newest(folder.record()["id"])
        arrays, about = checkpoint.arrays, checkpoint.about
        segments = about["segments"]
        if segments and rng.random() < 0.5:
            which = rng.integers(len(segments))
            segment, _ = list(folder.checkpoints.rows_of(checkpoint))[which]
            file = run / "checkpoint" / segment.file
            rows, of = read_arrays(file)
            rows, what = harmed(rows, rng)
            segments[which][-1] = write_arrays(file, rows, of)
        else:
            arrays, what = harmed(arrays, rng)
        for older in folder.checkpoints.files()[:-1]:
            older.unlink()
        write_arrays(checkpoint.file, arrays, about)
        try:
            agent = self.make().learn(STEPS + MORE, resume=run)
        except MemecError as error:
            return what, _sentence(error)
        assert agent.steps == STEPS + MORE
        return what, "works"

    def _used(self, agent: Any) -> str:
        try:
            action, _ = agent.predict(np.zeros(4, np.float32))
            assert 0 <= int(action) < 2, f"it wants to do {action}"
            agent.learn(MORE)
        except MemecError as error:  # such as a network that now leads to NaN
            return _sentence(error)
        return "works"


def _sentence(error: MemecError) -> str:
    text = str(error)
    assert text and "\n" not in text and len(text) < 1_000 and "llocate" not in text and "MemoryError" not in text, text
    return "refused"


def one_try(prey: Prey, number: int) -> tuple[str, str]:
    """Do the try of a number: a changed file to load, or, for each fourth, a run to go on with."""
    rng = np.random.default_rng([number, len(prey.agent)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return prey.resume(rng) if number % 4 == 0 else prey.load(rng)


class Finding(NamedTuple):
    """What should not have happened."""

    agent: str
    number: int
    what: str


def batch(prey: Prey, numbers: range, place: Path) -> tuple[Counter[str], Finding | None]:
    """Do some tries in a process of their own, for one may take it down; return how they ended, and what broke."""
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        resource.setrlimit(resource.RLIMIT_AS, (_size() + MOST_MEMORY, resource.RLIM_INFINITY))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        with place.open("w", buffering=1) as log:
            for number in numbers:
                print(number, file=log, end=" ")
                signal.alarm(MOST_SECONDS)
                try:
                    print(one_try(prey, number)[1], file=log)
                except BaseException as error:
                    print("broke", type(error).__name__, " ".join(str(error).split())[:300], file=log)
                    os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    lines = [line.split(" ", 1) for line in place.read_text().splitlines()]
    ended = Counter(how for _, how in lines if how in ("works", "refused"))
    if status == 0:
        return ended, None
    number = int(lines[-1][0])
    return ended, Finding(prey.agent, number, f"status {status}: {lines[-1][1]}")


def _size() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def try_all(agent: str, home: Path, tries: int, begin: int = 0) -> tuple[Counter[str], list[Finding]]:
    """Do so many tries with an agent; after one that breaks, go on with the next."""
    prey = Prey(agent, home)
    prey.prepare()
    for number in range(8):  # compiles what the forks then have
        one_try(prey, begin + number)
    ended, findings = Counter[str](), list[Finding]()
    at = begin
    while at < begin + tries:
        numbers = range(at, min(at + BATCH, begin + tries))
        done, finding = batch(prey, numbers, home / "log")
        ended += done
        at = numbers.stop
        if finding is not None:
            findings.append(finding)
            at = finding.number + 1
    return ended, findings


def main() -> None:
    """Try so many with each agent and say how they ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", nargs="*", default=list(OWN))
    parser.add_argument("--tries", type=int, default=25_000, help="per agent")
    parser.add_argument("--begin", type=int, default=0, help="number of the first")
    options = parser.parse_args()
    make_everything_small()
    broken = 0
    for agent in options.agents:
        with tempfile.TemporaryDirectory(prefix="memec-hostile-") as home:
            began = time.monotonic()
            ended, findings = try_all(agent, Path(home), options.tries, options.begin)
        for finding in findings:
            print(finding, flush=True)
        broken += len(findings)
        print(f"{agent}: {options.tries:,} hostile files, {ended['refused']:,} refused, {ended['works']:,} harmless, "
              f"{len(findings)} broke something, {time.monotonic() - began:.0f} s", flush=True)  # fmt: skip
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
