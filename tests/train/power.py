"""Runs whose power is cut: every state in which a disk may then be must be gone on from as if nothing had happened.

A process that is killed loses nothing it has written, for the system writes it later. A power cut loses what was not
synced, in any order: the content of a file, or its name in its folder. This records what a short run does to the disk,
builds the disk for every moment of it with some of what was not synced missing or torn, and goes on with the run there.

`python -m tests.train.power` tries all states, `make torture` does so; the tests try some.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from memec.agents import AGENTS, OWN
from memec.errors import MemecError
from memec.train import RunFolder
from memec.train.background import Background
from memec.train.checkpoint import Checkpoints, CheckpointSettings
from memec.train.events import Event

from .torture import compare

SETTINGS: dict[str, dict[str, Any]] = {
    "mfec": {"memory": {"capacity": 40}},
    "nec": {
        "memory": {"capacity": 40, "neighbours": 11},
        "train_start_steps": 30,
        "replay_capacity": 60,
        "batch_size": 4,
        "hidden_size": 4,
    },
    "d3qn": {"train_start_steps": 30, "replay_capacity": 60, "batch_size": 4, "hidden_size": 4},
    "vpec": {"memory": {"capacity": 40}},
}
STEPS, STOP, EVERY = 150, 70, 30
"""How long a run is, where it is stopped and gone on with, and how many steps lie between two checkpoints."""
EVENTS_BEFORE_WRITING = 2
"""A checkpoint is written beside the training: here so many events later, always at the same moment."""
ROOT = 0
NEVER_COUNTED = (".lock",)


class Write(NamedTuple):
    """The content of a file became another: from a place on, and so long."""

    file: int
    place: int
    content: bytes
    length: int

    def onto(self, before: bytes) -> bytes:
        """Return what is in the file afterwards; what was lost before the place reads as zeros."""
        return (before[: self.place].ljust(self.place, b"\0") + self.content)[: self.length]

    def torn(self) -> "Write":
        """Return the write with only half of it done."""
        half = self.content[: len(self.content) // 2]
        return self._replace(content=half, length=self.place + len(half))


class Names(NamedTuple):
    """Names in a folder changed, all at once: each now means this file or folder, or nothing."""

    folder: int
    names: dict[str, int | None]


class Sync(NamedTuple):
    """All that was done to a file or to the names in a folder is safe."""

    what: int


class Promise(NamedTuple):
    """From here on a run must be at least so far: a checkpoint was said to be written."""

    step: int


Operation = Write | Names | Sync | Promise


@dataclass
class Tree:
    """What is on a disk: contents by file, and the names in each folder."""

    contents: dict[int, bytes] = field(default_factory=dict)
    folders: dict[int, dict[str, int]] = field(default_factory=lambda: {ROOT: {}})

    def copy(self) -> "Tree":
        return Tree(dict(self.contents), {folder: dict(names) for folder, names in self.folders.items()})

    def do(self, operation: Operation) -> None:
        if isinstance(operation, Write):
            self.contents[operation.file] = operation.onto(self.contents.get(operation.file, b""))
        elif isinstance(operation, Names):
            names = self.folders.setdefault(operation.folder, {})
            for name, what in operation.names.items():
                names.pop(name, None)
                if what is not None:
                    names[name] = what

    def files(self, folders: set[int], folder: int = ROOT, at: str = "") -> dict[str, bytes | None]:
        """Return what can be reached from the root, by path; folders have no content."""
        found: dict[str, bytes | None] = {}
        for name, what in self.folders.get(folder, {}).items():
            if what in folders:
                found |= {f"{at}{name}": None} | self.files(folders, what, f"{at}{name}/")
            else:
                found[f"{at}{name}"] = self.contents.get(what, b"")
        return found


class Recorder:
    """Takes down what is done below a folder by the calls of `os`, and by writing in between."""

    def __init__(self, root: Path) -> None:
        self.operations: list[Operation] = []
        self.folders = {ROOT}
        self._root = root
        self._seen = Tree()
        self._numbers = {root.stat().st_ino: ROOT}
        self._next = 1

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record while entered."""
        calls = ("fsync", "replace", "unlink", "mkdir", "truncate")
        with patch.multiple(os, **{name: self._around(name, getattr(os, name)) for name in calls}):
            yield
        self.look()

    def _around(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(*arguments: Any, **options: Any) -> Any:
            self.look()
            result = call(*arguments, **options)
            if name == "fsync":
                number = self._numbers.get(os.fstat(arguments[0]).st_ino)
                if number is not None:
                    self.operations.append(Sync(number))
            else:
                self.look()
            return result

        return recorded

    def look(self) -> None:
        """Take down what is different since the last look, new names first."""
        self._look_into(self._root, ROOT)

    def _look_into(self, folder: Path, number: int) -> None:
        before = dict(self._seen.folders.get(number, {}))
        entries = {entry.name: entry for entry in os.scandir(folder) if entry.name not in NEVER_COUNTED}
        now = {name: self._number(entry) for name, entry in entries.items()}
        changed: dict[str, int | None] = {name: what for name, what in now.items() if before.get(name) != what}
        changed |= dict.fromkeys(before.keys() - now.keys())
        if changed:
            self._do(Names(number, changed))
            gone = set(before.values()) - set(now.values())  # a new file may get the inode of one that is gone
            self._numbers = {inode: what for inode, what in self._numbers.items() if what not in gone}
        for name, entry in entries.items():
            if entry.is_dir():
                self.folders.add(now[name])
                self._look_into(Path(entry), now[name])
                continue
            old, new = self._seen.contents.get(now[name], b""), Path(entry).read_bytes()
            if old != new:
                different = (at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
                place = next(different, min(len(old), len(new)))
                self._do(Write(now[name], place, new[place:], len(new)))

    def _number(self, entry: "os.DirEntry[str]") -> int:
        inode = entry.inode()
        if inode not in self._numbers:
            self._numbers[inode], self._next = self._next, self._next + 1
        return self._numbers[inode]

    def _do(self, operation: Operation) -> None:
        self.operations.append(operation)
        self._seen.do(operation)


class State(NamedTuple):
    """A disk as a power cut may leave it."""

    files: dict[str, bytes | None]
    promised: int
    """At least so far the run must be; -1 before there is one."""
    lost: str


def states(recorder: Recorder) -> Iterator[State]:
    """Yield each different state, for a cut after each operation: all, none, or all but one or two of what is not safe.

    Besides, each write that is not safe is torn.
    """
    safe, pending = Tree(), list[Write | Names]()
    promised = -1
    known = set()
    for number, operation in enumerate(recorder.operations):
        if isinstance(operation, Promise):
            promised = operation.step
        elif isinstance(operation, Sync):
            for done in pending:
                if operation.what == (done.file if isinstance(done, Write) else done.folder):
                    safe.do(done)
            pending = [
                done for done in pending if operation.what != (done.file if isinstance(done, Write) else done.folder)
            ]
        else:
            pending.append(operation)
        for what, done in _outcomes(pending):
            disk = safe.copy()
            for one in done:
                disk.do(one)
            files = disk.files(recorder.folders)
            digest = sha256(repr((promised, sorted(files.items()))).encode()).digest()
            if digest not in known:
                known.add(digest)
                yield State(files, promised, f"after operation {number} {what}")


def _outcomes(pending: list[Write | Names]) -> Iterator[tuple[str, list[Write | Names]]]:
    """Yield what may have been done of what is not safe."""
    yield "nothing more is there", []
    for count in (0, 1, 2):
        for lost in combinations(range(len(pending)), count):
            yield f"all but {lost} of {len(pending)}", [one for at, one in enumerate(pending) if at not in lost]
    for at, one in enumerate(pending):
        if isinstance(one, Write):
            yield f"{at} of {len(pending)} is torn", [*pending[:at], one.torn(), *pending[at + 1 :]]


def make(agent: str) -> Any:
    made: Callable[..., Any] = AGENTS[agent]
    return made("CartPole-v1", seed=3, **SETTINGS[agent])


def whole_run(agent: str, folder: Path) -> None:
    """Do the run that nothing happens to."""
    make(agent).learn(STEPS, run=folder, evaluate_every=60, evaluation_episodes=1)


def record(agent: str, root: Path) -> Recorder:
    """Do the run with checkpoints, stopped once on its way, and record it."""
    recorder = Recorder(root)

    def look(event: Event) -> bool:
        recorder.look()
        return event.step < STOP

    often = CheckpointSettings(every_steps=EVERY)
    with recorder.recording(), _writing_later(), _promising(recorder):
        run = root / "runs" / "run"
        make(agent).learn(
            STEPS,
            run=run,
            evaluate_every=60,
            evaluation_episodes=1,
            checkpoint=often,
            callback=look,
        )
        make(agent).learn(STEPS, resume=run, checkpoint=often, callback=lambda _: recorder.look())
    return recorder


@contextmanager
def _promising(recorder: Recorder) -> Iterator[None]:
    """Take down when a new run, or a checkpoint of it, is said to be written."""
    start_files, write = RunFolder.start_files, Checkpoints.write

    def started(folder: RunFolder) -> None:
        start_files(folder)
        recorder.operations.append(Promise(0))

    def written(checkpoints: Checkpoints, step: int, *content: Any) -> None:
        write(checkpoints, step, *content)
        recorder.operations.append(Promise(step))

    with patch.object(RunFolder, "start_files", started), patch.object(Checkpoints, "write", written):
        yield


@contextmanager
def _writing_later() -> Iterator[None]:
    """Write checkpoints some events after they were taken, as a thread would, but always at the same moment."""
    waiting: list[Callable[[], None]] = []
    checks = 0

    def start(_: Background, job: Callable[[], None]) -> None:
        nonlocal checks
        finish(_)
        checks = 0
        waiting.append(job)

    def finish(_: Background) -> None:
        while waiting:
            waiting.pop()()

    def check(_: Background) -> None:
        nonlocal checks
        checks += 1
        if checks > EVENTS_BEFORE_WRITING:
            finish(_)

    with patch.multiple(Background, start=start, finish=finish, check=check):
        yield


def go_on(agent: str, state: State, root: Path, whole: Path) -> None:
    """Build the disk of a state and take its run to the end, or raise an error if that goes wrong."""
    for path, content in state.files.items():
        if content is None:
            (root / path).mkdir()
        else:
            (root / path).write_bytes(content)
    run = root / "runs" / "run"
    if not (run / "run.json").is_file():
        assert state.promised < 0, f"the run is gone, {state.lost}"
        return
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        try:
            folder = RunFolder.open(run)
            at = int(folder.checkpoints.newest(folder.record()["id"]).file.stem.removeprefix("step-"))
        except MemecError:
            at = 0
        assert at >= state.promised, f"the run is set back from step {state.promised} to {at}, {state.lost}"
        make(agent).learn(STEPS, resume=run)
    try:
        compare(whole, run)
    except AssertionError as error:
        raise AssertionError(f"{error}, {state.lost}") from None


def cut_the_power(agent: str, home: Path, most: int | None = None) -> tuple[int, int]:
    """Try the states of an agent's run, or as many of them by chance; return how many, and of how many."""
    whole_run(agent, home / "whole")
    (home / "recorded").mkdir()
    found = list(states(record(agent, home / "recorded")))
    tried = found if most is None else random.Random(0).sample(found, min(most, len(found)))
    for state in tried:
        disk = home / "disk"
        disk.mkdir()
        go_on(agent, state, disk, home / "whole")
        shutil.rmtree(disk)
    return len(tried), len(found)


def main() -> None:
    """Try all states of every agent and say how many there were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", nargs="*", default=list(OWN))
    parser.add_argument("--most", type=int, help="states per agent; default: all")
    parser.add_argument("--folder", help="where the disks are built; default: the system's temporary folder")
    options = parser.parse_args()
    total = 0
    for agent in options.agents:
        home, began = Path(tempfile.mkdtemp(prefix="memec-power-", dir=options.folder)), time.monotonic()
        try:
            tried, there_are = cut_the_power(agent, home, options.most)
        finally:
            shutil.rmtree(home)
        total += tried
        seconds = time.monotonic() - began
        print(f"{agent}: {tried:,} of {there_are:,} power cuts, {seconds:.0f} s: identical", flush=True)
    print(f"{total:,} power cuts: every run went on from what was synced, and ended as if nothing had happened")


if __name__ == "__main__":
    sys.exit(main())
