"""Runs that are killed again and again must end as if nothing had happened.

`make torture` is the long form; the tests run a short one. Processes are forked from one that has compiled everything
already, so that a kill falls into training and the writing of checkpoints rather than into starting up; some are
started anew from the command line instead.
"""

import argparse
import csv
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ENVIRONMENTS = {"CartPole-v1": 420, "memec/FourRoom-v0": 420, "ALE/Pong-v5": 160}
"""Where runs are tortured, and for how many steps."""
SETTINGS = {
    "training.evaluation_episodes": 2,
    "training.evaluation_episode_steps": 40,
    "checkpoint.every_seconds": 0,
}
MEMORY = {"memory.capacity": 60}
NETWORK = {"train_start_steps": 40, "train_every_steps": 8, "batch_size": 8, "replay_capacity": 90}
OWN_SETTINGS: dict[str, dict[str, Any]] = {
    "mfec": MEMORY,
    "nec": MEMORY | NETWORK | {"n_step": 10},
    "d3qn": NETWORK | {"target_update_steps": 50},
    "vpec": MEMORY,
}
MODULES = {"monte-carlo": "examples.own_parts.agent:MonteCarlo"}
"""Where agents are found that are none of memec's."""
"""Small enough that everything wraps around, is replaced and is trained within a short run."""
LONGEST_LIFE_SECONDS = 240.0
LONGEST_PATIENCE_SECONDS = 0.2


class Case(NamedTuple):
    """A run to torture."""

    agent: str
    environment: str
    steps: int
    checkpoint_every: int

    def arguments(self, folder: Path) -> list[str]:
        """What to tell the command line to begin the run."""
        settings = SETTINGS | OWN_SETTINGS.get(self.agent, {}) | {"checkpoint.every_steps": self.checkpoint_every}
        if self.agent in ("mfec", "nec") and self.environment != "CartPole-v1":
            settings |= {"memory.search": "approximate"}
        changes = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        agent = MODULES.get(self.agent, self.agent)
        return [
            "train", self.environment, "--agent", agent, "--steps", str(self.steps), "--evaluate-every", "70",
            "--seed", "5", "--out", str(folder), *changes,
        ]  # fmt: skip


class Tally(NamedTuple):
    """What a tortured run went through."""

    kills: int
    while_writing: int
    """Kills that left a half-written file behind."""
    seconds: float


def torture(case: Case, home: Path, kills: int, chance: random.Random, anew: float = 0.0) -> Tally:
    """Do a run twice, once undisturbed and once with kills, and raise an error unless both are the same."""
    undisturbed, tortured = home / "undisturbed", home / "tortured"
    began = time.monotonic()
    assert memec(case.arguments(undisturbed)) == 0, f"{case} failed"  # compiles what the forks then have
    words = case.arguments(tortured)
    longest_patience = min((time.monotonic() - began) / max(kills, 1), LONGEST_PATIENCE_SECONDS)
    happened = torn = 0
    while True:
        patience = chance.uniform(0.0, longest_patience) if happened < kills else None
        status = _life(words, tortured, patience, while_writing=chance.random() < 0.5, anew=chance.random() < anew)
        if status == 0:
            break
        assert status == -signal.SIGKILL, f"{case} left with status {status} after {happened} kills"
        happened += 1
        torn += bool(_half_written(tortured))
        if (tortured / "run.json").exists():
            named = ["--agent", MODULES[case.agent]] if case.agent in MODULES else []
            words = ["train", "--resume", str(tortured), *named]
    compare(undisturbed, tortured)
    return Tally(happened, torn, time.monotonic() - began)


def compare(one: Path, other: Path) -> None:
    """Raise an error unless two runs have the same files and end in the same agent."""
    assert (one / "episodes.csv").read_bytes() == (other / "episodes.csv").read_bytes(), "episodes differ"
    assert _evaluations(one) == _evaluations(other), "evaluations differ"
    first, second = final_state(one), final_state(other)
    assert first.keys() == second.keys(), "the agents have different parts"
    different = [name for name in first if not _same(first[name], second[name])]
    assert not different, f"the agents differ in {different}"
    names = [sorted(file.name for file in folder.glob(".*") if file.name != ".lock") for folder in (one, other)]
    assert names == [[], []], f"files were left behind: {names}"


def final_state(run: Path) -> dict[str, Any]:
    """Return everything the newest checkpoint of a run holds, but for what names the run itself."""
    from memec.train import RunFolder

    folder = RunFolder.open(run)
    checkpoint = folder.checkpoints.newest(folder.record()["id"])
    state: dict[str, Any] = dict(checkpoint.arrays)
    state |= {
        name: value for name, value in checkpoint.about.items() if name not in ("run", "files", "segments", "cost")
    }
    first = int(checkpoint.arrays["experience.range"][0]) if "experience.range" in checkpoint.arrays else 0
    for segment, rows in folder.checkpoints.rows_of(checkpoint):
        for column, values in rows.items():
            numbered = dict(enumerate(values, segment.start))
            kept = {f"{column}[{number}]": row for number, row in numbered.items() if number >= first}
            state |= kept if segment.journal == "steps" else {}
    return state


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return bool(np.all(one == other))


def _evaluations(run: Path) -> list[dict[str, str]]:
    with (run / "evaluations.csv").open(newline="") as lines:
        return [row | {"seconds": ""} for row in csv.DictReader(lines)]


def _half_written(run: Path) -> list[Path]:
    return list((run / "checkpoint").glob(".*"))


def _newest(run: Path) -> str:
    return max((file.name for file in (run / "checkpoint").glob("step-*")), default="")


def _life(
    words: list[str], run: Path, patience: float | None, *, while_writing: bool = False, anew: bool = False
) -> int:
    """Let a process work on a run; with patience, kill it so many seconds after it has written a checkpoint.

    With `while_writing`, it is killed when a file is then seen half-written.
    """
    before = _newest(run)
    process = _started(words) if anew else _forked(words)
    deadline = time.monotonic() + LONGEST_LIFE_SECONDS
    moment = None
    while True:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        assert time.monotonic() < deadline, f"{words} never ends"
        if moment is None and patience is not None and _newest(run) > before:
            moment = time.monotonic() + patience
        if moment is not None and time.monotonic() >= moment and (not while_writing or _half_written(run)):
            os.kill(process, signal.SIGKILL)
        time.sleep(0.0 if while_writing else 0.0005)


def _forked(words: list[str]) -> int:
    process = os.fork()
    if process:
        return process
    try:
        status = memec(words)
    except BaseException:
        status = 70
    os._exit(status)


def _started(words: list[str]) -> int:
    command = [sys.executable, __file__, "--as-memec", *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid


def memec(words: list[str]) -> int:
    """Call the command line silently, and return the status it leaves with."""
    from memec import cli

    sys.argv = ["memec", *words]
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        try:
            cli.main()
        except SystemExit as leaving:
            return leaving.code if isinstance(leaving.code, int) else 0
    return 0


def cases(agents: list[str], checkpoint_every: int, length: float) -> Iterator[Case]:
    """Every agent in every environment."""
    for agent in agents:
        for environment, steps in ENVIRONMENTS.items():
            if agent == "vpec" and environment.startswith("ALE/"):
                continue  # not for frames
            yield Case(agent, environment, round(length * steps), checkpoint_every)


def main() -> None:
    """Torture runs and say what they went through."""
    from memec.agents import OWN

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", nargs="*", default=[*OWN, *MODULES])
    parser.add_argument("--kills", type=int, default=12, help="per agent, environment and interval")
    parser.add_argument("--every", type=int, nargs="*", default=[7, 20], help="steps between checkpoints")
    parser.add_argument("--length", type=float, default=1.0, help="of the runs, against the usual")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--anew", type=float, default=0.1, help="share of processes that are started from nothing")
    parser.add_argument("--folder", help="where the runs are; default: the system's temporary folder")
    options = parser.parse_args()
    make_everything_small()
    kills = torn = 0
    began = time.monotonic()
    for every in options.every:
        for case in cases(options.agents, every, options.length):
            home = Path(tempfile.mkdtemp(prefix="memec-torture-", dir=options.folder))
            try:
                chance = random.Random(f"{options.seed} {case}")
                tally = torture(case, home, options.kills, chance, options.anew)
            finally:
                shutil.rmtree(home)
            kills, torn = kills + tally.kills, torn + tally.while_writing
            print(f"{case.agent} in {case.environment}, a checkpoint every {every} steps: "
                  f"{tally.kills} kills, {tally.while_writing} while writing, {tally.seconds:.0f} s: identical",
                  flush=True)  # fmt: skip
    print(f"{kills} kills in {time.monotonic() - began:.0f} s, {torn} of them while a file was written: all identical")


def make_everything_small() -> None:
    """Let short runs meet what otherwise needs long ones: several segments of a replay, an approximate index."""
    from memec.memory.ivf import rebuild
    from memec.train import journal

    journal.SMALL_ROWS = 25
    rebuild.FEWEST_INDEXED = 64


if __name__ == "__main__":
    if sys.argv[1:2] == ["--as-memec"]:
        make_everything_small()
        sys.exit(memec(sys.argv[2:]))
    main()
