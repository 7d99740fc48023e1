"""Runs whose power is cut: every state in which a disk may then be must be gone on from as if nothing had happened.

A process that is killed loses nothing it has written, for the system writes it later. A power cut loses what was not
synced, in any order: the content of a file, or its name in its folder. This records what a short run does to the disk,
builds the disk for every moment of it with up to two things that were not synced missing or torn, and looks which
checkpoint is chosen there. Of the states that a resume cannot tell apart, one is gone on with to the end.

`python -m tests.train.power` tries all states, `make torture` does so; the tests try some.
"""

import argparse
import os
import random
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, compress
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from memec.agents import AGENTS, OWN
from memec.errors import MemecError
from memec.train import RunFolder
from memec.train.background import Background
from memec.train.checkpoint import Checkpoints, CheckpointSettings
from memec.train.events import Event
from memec.train.run_folder import COLUMNS

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

    def torn(self) -> list["Write"]:
        """Return the write as it may be when part of it was done: cut off, or as long as it is with zeros in places."""
        if not self.content:
            return []
        half = len(self.content) // 2
        cut = [self.content[:half], self.content[:-1]]
        holes = [
            bytes(len(self.content)),
            bytes(half) + self.content[half:],
            self.content[:half].ljust(2 * half, b"\0"),
        ]
        return [self._replace(content=content, length=self.place + len(content)) for content in [*cut, *holes]]


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


@cache
def written(write: Write, before: bytes) -> bytes:
    """Return what is in a file after a write; what was lost before its place reads as zeros."""
    return (before[: write.place].ljust(write.place, b"\0") + write.content)[: write.length]


@dataclass
class Tree:
    """What is on a disk: contents by file, and the names in each folder."""

    contents: dict[int, bytes] = field(default_factory=dict)
    folders: dict[int, dict[str, int]] = field(default_factory=lambda: {ROOT: {}})

    def copy(self) -> "Tree":
        return Tree(dict(self.contents), {folder: dict(names) for folder, names in self.folders.items()})

    def do(self, operation: Operation) -> None:
        if isinstance(operation, Write):
            self.contents[operation.file] = written(operation, self.contents.get(operation.file, b""))
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
    """Yield each different state, for a cut after each operation: all that is not safe, nothing of it, or all but two.

    Of these two, each may be missing or torn.
    """
    safe, pending = Tree(), list[Write | Names]()
    promised = -1
    known = set()
    for number, operation in enumerate(recorder.operations):
        if isinstance(operation, Promise):
            promised = operation.step
        elif isinstance(operation, Sync):
            synced = [operation.what == (done.file if isinstance(done, Write) else done.folder) for done in pending]
            for done in compress(pending, synced):
                safe.do(done)
            pending = [done for done, gone in zip(pending, synced, strict=True) if not gone]
        else:
            pending.append(operation)
        for what, outcome in _outcomes(pending):
            disk = safe.copy()
            for one in outcome:
                disk.do(one)
            files = disk.files(recorder.folders)
            key = promised, frozenset(files.items())
            if key not in known:
                known.add(key)
                yield State(files, promised, f"after operation {number} {what}")


def _outcomes(pending: list[Write | Names]) -> Iterator[tuple[str, list[Write | Names]]]:
    """Yield what may have been done of what is not safe."""
    yield "nothing more is there", []
    yield f"all of {len(pending)} is there", pending
    harms: list[tuple[int, list[Write | Names]]] = []  # at each place what may be there instead
    for place, one in enumerate(pending):
        harms += [(place, [])] + [(place, [torn]) for torn in (one.torn() if isinstance(one, Write) else [])]
    for chosen in [*((harm,) for harm in harms), *combinations(harms, 2)]:
        instead = dict(chosen)
        if len(instead) == len(chosen):
            what = " and ".join(f"{place} {'torn' if there else 'missing'}" for place, there in chosen)
            yield (
                f"{what} of {len(pending)}",
                [one for place, whole in enumerate(pending) for one in instead.get(place, [whole])],
            )


class Kind(NamedTuple):
    """Which run is done."""

    agent: str
    seed: int = 3

    def make(self) -> Any:
        made: Callable[..., Any] = AGENTS[self.agent]
        return made("CartPole-v1", seed=self.seed, **SETTINGS[self.agent])


def whole_run(kind: Kind, folder: Path) -> None:
    """Do the run that nothing happens to."""
    kind.make().learn(STEPS, run=folder, evaluate_every=60, evaluation_episodes=1)


def record(kind: Kind, root: Path) -> Recorder:
    """Do the run with checkpoints, stopped once on its way, and record it."""
    recorder = Recorder(root)

    def look(event: Event) -> bool:
        recorder.look()
        return event.step < STOP

    often = CheckpointSettings(every_steps=EVERY)
    with recorder.recording(), _writing_later(), _promising(recorder):
        run = root / "runs" / "run"
        kind.make().learn(
            STEPS,
            run=run,
            evaluate_every=60,
            evaluation_episodes=1,
            checkpoint=often,
            callback=look,
        )
        kind.make().learn(STEPS, resume=run, checkpoint=often, callback=lambda _: recorder.look())
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


def build(state: State, root: Path) -> None:
    """Make the disk of a state; what would be the same as before stays."""
    before = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    for path in before - state.files.keys():
        (root / path).unlink()
    for path, content in state.files.items():
        if content is None:
            (root / path).mkdir(exist_ok=True)
        elif path not in before or (root / path).read_bytes() != content:
            (root / path).write_bytes(content)


def chosen(state: State, run: Path) -> Hashable:
    """Raise an error if a run is set back; return all that can make a difference to a resume, None if nothing is there.

    It reads the checkpoint it goes on from, and of the CSV files as much as that checkpoint knows. Of what was torn or
    is newer it sees that it is there.
    """
    if not (run / "run.json").is_file():
        assert state.promised < 0, f"the run is gone, {state.lost}"
        return None
    folder = RunFolder.open(run)
    at, positions = 0, dict.fromkeys(COLUMNS, (0, ""))
    with suppress(MemecError):
        _, about, file = folder.checkpoints.newest(folder.record()["id"])
        at, positions = int(file.stem.removeprefix("step-")), about["files"]
    assert at >= state.promised, f"the run is set back from step {state.promised} to {at}, {state.lost}"
    there = []
    for path, content in state.files.items():
        name = re.sub(r"\.[0-9a-f]{8}$", "", path)
        if name != path or content is None:
            there.append((name, ""))  # half-written: removed, whatever it is
        elif Path(path).name in (*COLUMNS, "diary.jsonl"):
            length = positions.get(Path(path).name, (0, ""))[0]
            there.append((name, content[:length], len(content) > length, content[-1:] == b"\n"))
        else:
            there.append((name, content))
    return at, frozenset(there)


def go_on(kind: Kind, state: State, run: Path, whole: Path) -> None:
    """Take the run of a state to the end, or raise an error if that goes wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind.make().learn(STEPS, resume=run)
    try:
        compare(whole, run)
    except AssertionError as error:
        raise AssertionError(f"{error}, {state.lost}") from None


class Tally(NamedTuple):
    """What was tried of a run."""

    states: int
    there_are: int
    resumed: int


def cut_the_power(kind: Kind, home: Path, most: int | None = None, resumes: int | None = None) -> Tally:
    """Try the states of a run, or as many of them by chance, and go on with one of each kind."""
    whole_run(kind, home / "whole")
    (home / "recorded").mkdir()
    found = list(states(record(kind, home / "recorded")))
    tried = found if most is None else random.Random(0).sample(found, min(most, len(found)))
    disk, known = home / "disk", set[Hashable]()
    disk.mkdir()
    for state in tried:
        build(state, disk)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seen = chosen(state, disk / "runs" / "run")
        if seen is not None and seen not in known and (resumes is None or len(known) < resumes):
            known.add(seen)
            go_on(kind, state, disk / "runs" / "run", home / "whole")
            shutil.rmtree(disk)
            disk.mkdir()
    return Tally(len(tried), len(found), len(known))


def main() -> None:
    """Try all states of the runs of every agent and say how many there were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", nargs="*", default=list(OWN))
    parser.add_argument("--seeds", type=int, nargs="*", default=[3, 4])
    parser.add_argument("--most", type=int, help="states per run; default: all")
    parser.add_argument("--folder", help="where the disks are built; default: the system's temporary folder")
    options = parser.parse_args()
    total = 0
    for kind in [Kind(agent, seed) for agent in options.agents for seed in options.seeds]:
        home, began = Path(tempfile.mkdtemp(prefix="memec-power-", dir=options.folder)), time.monotonic()
        try:
            tally = cut_the_power(kind, home, options.most)
        finally:
            shutil.rmtree(home)
        total += tally.states
        print(
            f"{kind.agent}, seed {kind.seed}: {tally.states:,} of {tally.there_are:,} power cuts, "
            f"{tally.resumed:,} kinds of them gone on with, {time.monotonic() - began:.0f} s: identical",
            flush=True,
        )
    print(f"{total:,} power cuts: every run went on from what was synced, and ended as if nothing had happened")


if __name__ == "__main__":
    sys.exit(main())
