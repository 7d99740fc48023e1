"""Runs in which one call of the system fails: they say so in a sentence, and go on exactly when all is well again.

For every call that writes, and for every time it is made in a short run, one run in which it fails then: once, or from
then on. `python -m tests.train.failing` tries all, `make torture` does so; the tests try some.
"""

import argparse
import errno
import io
import os
import random
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from memec import cli
from memec.agents import OWN
from memec.train.background import Background
from memec.train.checkpoint import Checkpoints

from .torture import OWN_SETTINGS, compare

CALLS = ("open", "write", "fsync", "replace", "unlink", "mkdir", "truncate")
ERRORS = {name: getattr(errno, name) for name in ("EIO", "ENOSPC", "EDQUOT", "EMFILE", "EINTR")}
SHORT = "short"
"""Instead of an error: of what is to be written only one byte is."""
STEPS, HALF, EVERY = 100, 60, 40


class Failure(NamedTuple):
    """What goes wrong."""

    call: str
    number: int
    """Which of these calls, from 0."""
    error: str
    for_good: bool = False
    """The calls after it fail too."""
    resumed: bool = False
    """Not in the run from its beginning, but when it is gone on with."""

    def raise_it(self) -> None:
        """Do as the system does."""
        if self.error in ERRORS:
            raise OSError(ERRORS[self.error], os.strerror(ERRORS[self.error]))


class Faults:
    """Counts the calls that have to do with a folder, and lets one fail."""

    def __init__(self, root: Path, failure: Failure | None = None) -> None:
        self.made = dict.fromkeys(CALLS, 0)
        self.happened = ""
        self._root = str(root)
        self._failure = failure

    def due(self, call: str, how: str = "writing") -> bool:
        """Count a call; return whether this one fails."""
        number, failure = self.made[call], self._failure
        self.made[call] += 1
        now = failure is not None and failure.call == call
        if failure is None or not now or number < failure.number or (number > failure.number and not failure.for_good):
            return False
        self.happened = how
        return True

    @contextmanager
    def happening(self) -> Iterator[None]:
        """Let it fail while entered."""
        calls = {name: self._around(name, getattr(os, name)) for name in CALLS if name != "write"}
        with patch.multiple(os, **calls), patch.object(io, "open", self._opened(io.open)):
            yield

    def _around(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def made(*arguments: Any, **options: Any) -> Any:
            ours = name == "fsync" or str(arguments[0]).startswith(self._root)
            needless = name == "mkdir" and Path(arguments[0]).is_dir()
            if ours and self.due(name, "reading" if needless else "writing") and self._failure is not None:
                self._failure.raise_it()
            return call(*arguments, **options)

        return made

    def _opened(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def opened(file: Any, mode: str = "r", buffering: int = -1, *rest: Any, **options: Any) -> Any:
            if not str(file).startswith(self._root):
                return call(file, mode, buffering, *rest, **options)
            if self.due("open", "writing" if set(mode) & set("wax") else "reading") and self._failure is not None:
                self._failure.raise_it()
            if not set(mode) & set("wax"):
                return call(file, mode, buffering, *rest, **options)
            raw = Raw(file, mode.replace("b", ""), self, self._failure)
            if buffering == 0:
                return raw
            buffered = io.BufferedWriter(raw)
            return buffered if "b" in mode else io.TextIOWrapper(buffered)

        return opened


class Raw(io.FileIO):
    """A file whose writing may fail."""

    def __init__(self, file: Any, mode: str, faults: Faults, failure: Failure | None) -> None:
        super().__init__(file, mode)
        self._faults = faults
        self._failure = failure

    def write(self, content: Any) -> int:
        """Write, unless now is the time to fail."""
        if self._faults.due("write") and self._failure is not None:
            self._failure.raise_it()
            content = memoryview(content)[:1]
        return super().write(content)


class Said(NamedTuple):
    """How a command ended."""

    status: int
    error: str


def memec(*words: object) -> Said:
    """Call the command line."""
    error = io.StringIO()
    sys.argv = ["memec", *map(str, words)]
    with redirect_stdout(io.StringIO()), redirect_stderr(error), warnings.catch_warnings():
        warnings.simplefilter("default")
        try:
            cli.main()
            status = 0
        except SystemExit as leaving:
            status = leaving.code if isinstance(leaving.code, int) else 0
    return Said(status, error.getvalue())


def arguments(agent: str, run: Path, steps: int = STEPS) -> list[object]:
    """What to tell the command line."""
    settings: dict[str, Any] = OWN_SETTINGS[agent] | {
        "training.evaluation_episodes": 1,
        "checkpoint.every_steps": EVERY,
        "checkpoint.every_seconds": 0,
    }
    changes = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    return ["train", "CartPole-v1", "--agent", agent, "--steps", steps, "--evaluate-every", 50, "--out", run, *changes]


@contextmanager
def in_order() -> Iterator[None]:
    """Wait for the thread that writes a checkpoint, so that calls come in the same order each time."""
    start = Background.start

    def started(self: Background, job: Callable[[], None]) -> None:
        start(self, job)
        with self._busy:
            pass

    with patch.object(Background, "start", started):
        yield


def begin(agent: str, home: Path, *, resumed: bool) -> list[object]:
    """Prepare a run; return the command in which something goes wrong."""
    shutil.rmtree(home / "run", ignore_errors=True)
    if not resumed:
        return arguments(agent, home / "run")
    shutil.copytree(home / "half", home / "run")
    return ["train", "--resume", home / "run", "--steps", STEPS]


def failures(agent: str, home: Path) -> list[Failure]:
    """Do a run that nothing happens to; return all that can happen to it, or to one that is gone on with."""
    assert memec(*arguments(agent, home / "whole")).status == 0
    assert memec(*arguments(agent, home / "half", HALF)).status == 0
    found = []
    for resumed in (False, True):
        words = begin(agent, home, resumed=resumed)
        faults = Faults(home / "run")
        with faults.happening(), in_order():
            assert memec(*words).status == 0
        found += [
            Failure(call, number, error, for_good, resumed)
            for call, made in faults.made.items()
            for number in range(made)
            for error in (*ERRORS, *([SHORT] if call == "write" else []))
            for for_good in ((False, True) if error in ("EIO", "ENOSPC") else (False,))
        ]
    return found


def fail(agent: str, failure: Failure, home: Path) -> None:
    """Let it happen to a run, and raise an error unless it says so and can be gone on with exactly."""
    words, run = begin(agent, home, resumed=failure.resumed), home / "run"
    promised = [Checkpoints(run / "checkpoint").newest_step() or -1]
    write = Checkpoints.write

    def promising(checkpoints: Checkpoints, step: int, *content: Any) -> None:
        write(checkpoints, step, *content)
        promised.append(step)

    faults = Faults(run, failure)
    with faults.happening(), in_order(), patch.object(Checkpoints, "write", promising):
        said = memec(*words)
    lines = said.error.strip().splitlines()
    assert "Traceback" not in said.error, said.error
    assert faults.happened
    if failure.error == SHORT:
        assert said.status == 0, f"{said}"  # the rest is written then
    elif failure.error == "EINTR" and failure.call == "write" and said.status == 0:
        pass  # below a buffer it is tried again by the interpreter, as it always is where the system says so
    elif faults.happened == "writing" or said.status != 0:
        assert said.status == 2 and lines[-1].startswith("memec: "), f"{said}"
    newest = Checkpoints(run / "checkpoint").newest_step()
    assert (-1 if newest is None else newest) >= promised[-1], f"step {promised[-1]} was promised"
    if said.status != 0:
        again = ["train", "--resume", run, "--steps", STEPS] if (run / "run.json").exists() else arguments(agent, run)
        resumed = memec(*again)
        assert resumed.status == 0, f"{resumed} after {said}"
    compare(home / "whole", run)


def let_fail(agent: str, home: Path, most: int | None = None, seed: int = 0) -> int:
    """Try all that can happen, or so much of it; return how much."""
    found = failures(agent, home)
    tried = found if most is None else random.Random(seed).sample(found, min(most, len(found)))
    for failure in tried:
        try:
            fail(agent, failure, home)
        except AssertionError as error:
            raise AssertionError(f"{agent}, {failure}: {error}") from None
    return len(tried)


def main() -> None:
    """Try everything with every agent and say how much it was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", nargs="*", default=list(OWN))
    parser.add_argument("--most", type=int, help="failures per agent; default: all")
    options = parser.parse_args()
    total = 0
    for agent in options.agents:
        with tempfile.TemporaryDirectory(prefix="memec-failing-") as home:
            began = time.monotonic()
            tried = let_fail(agent, Path(home), options.most)
        total += tried
        print(f"{agent}: {tried:,} calls failed, {time.monotonic() - began:.0f} s: said, and identical", flush=True)
    print(f"{total:,} failing calls: each was said or did no harm, and every run went on as if nothing had happened")


if __name__ == "__main__":
    main()
