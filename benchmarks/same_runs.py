"""Whether a change left every learning curve as it was: `record` a fixed set of short runs before, `check` them after.

python -m benchmarks.same_runs record FILE [PART ...]
python -m benchmarks.same_runs check FILE [PART ...]

Every agent by every strategy, with the same seeds. Episodes, evaluations and the final agent's arrays must be the same
bit for bit; an array that got another name, or another place, is only told of. A part names runs by their beginning.
"""

import csv
import json
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.measure import progress
from memec import cli
from memec.train import RunFolder

VALUES = ("epsilon-greedy", "boltzmann", "mellowmax", "greedy")
UNCERTAIN = ("ucb", "thompson", "mellowmax-auto", "ucb-calibrated", "thompson-calibrated")
NETWORK = ("train_start_steps=100", "train_every_steps=8", "batch_size=16", "replay_capacity=400")
OWN = {
    "mfec": ("memory.capacity=200",),
    "nec": ("memory.capacity=200", "n_step=20", *NETWORK),
    "d3qn": ("target_update_steps=150", *NETWORK),
    "vpec": ("memory.capacity=300",),
}
STEPS = {"mfec": 1_200, "nec": 600, "d3qn": 600, "vpec": 600}


class Run(NamedTuple):
    """A run by its name and what the command line is told."""

    name: str
    words: tuple[str, ...]


def runs() -> list[Run]:
    """Every agent by each strategy that it takes, and the worlds and settings in which they go other ways."""
    found = [_run(agent, explore) for agent in ("mfec", "nec") for explore in VALUES + UNCERTAIN]
    found += [_run("d3qn", explore) for explore in VALUES]
    found += [_run("vpec", explore) for explore in ("optimism", *VALUES)]
    for explore in ("ucb", "thompson"):
        found += [_run(agent, explore, "released", preset="released") for agent in ("mfec", "nec")]
    for explore in ("mellowmax", "epsilon-greedy", "ucb-calibrated"):
        found.append(_run("mfec", explore, "room", env="memec/FourRoom-v0", steps=3_000))
    found.append(_run("mfec", "mellowmax", "paper", env="Acrobot-v1", preset="paper", steps=1_500))
    found.append(_run("mfec", "mellowmax-auto", "bootstrap", sets=("truncation=bootstrap",), env="Acrobot-v1"))
    # Enough steps for an index to be fitted.
    searched = ("memory.search=approximate", "memory.capacity=8000")
    found.append(_run("mfec", "mellowmax", "approximate", sets=searched, env="Acrobot-v1", steps=24_000))
    found.append(_run("vpec", "optimism", "room", env="memec/FourRoom-v0"))
    pictures = ("memory.keep_frames=50",)
    found.append(_run("mfec", "mellowmax", "pong", env="ALE/Pong-v5", steps=150, sets=pictures))
    found.append(_run("nec", "mellowmax", "pong", env="ALE/Pong-v5", steps=150, sets=pictures))
    return found


def _run(
    agent: str,
    explore: str,
    what: str = "cartpole",
    *,
    env: str = "CartPole-v1",
    preset: str = "tuned",
    steps: int | None = None,
    sets: tuple[str, ...] = (),
) -> Run:
    assignments = (*OWN[agent], "training.evaluation_episodes=3", "training.evaluation_episode_steps=60", *sets)
    words = ["train", env, "--agent", agent, "--explore", explore, "--preset", preset, "--seed", "7"]
    steps = steps or STEPS[agent]
    words += ["--steps", str(steps), "--evaluate-every", str(steps // 3)]
    words += [word for assignment in assignments for word in ("--set", assignment)]
    return Run(f"{agent}-{explore}-{what}", tuple(words))


def fingerprint(run: Run, home: Path) -> dict[str, str]:
    """Do a run and return the digest of each part of what it left."""
    folder = home / run.name
    sys.argv = ["memec", *run.words, "--out", str(folder)]
    said = home / "said"
    with said.open("w") as out, redirect_stdout(out), redirect_stderr(out):
        try:
            cli.main()
        except SystemExit as leaving:
            if leaving.code:
                raise RuntimeError(f"{run.name} left with {leaving.code}: {said.read_text()}") from None
    checkpoint = RunFolder.open(folder).checkpoints.newest(RunFolder.open(folder).record()["id"])
    with (folder / "evaluations.csv").open(newline="") as lines:
        evaluations = [[value for name, value in row.items() if name != "seconds"] for row in csv.DictReader(lines)]
    return {
        "episodes": sha256((folder / "episodes.csv").read_bytes()).hexdigest()[:16],
        "evaluations": sha256(json.dumps(evaluations).encode()).hexdigest()[:16],
        **{f"array {name}": _digest(array) for name, array in checkpoint.arrays.items()},
    }


def _digest(array: np.ndarray) -> str:
    return sha256(f"{array.dtype}{array.shape}".encode() + np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def differences(before: dict[str, str], after: dict[str, str]) -> tuple[list[str], list[str]]:
    """Return what changed, and what has another name only."""
    changed = [name for name in before if name in after and before[name] != after[name]]
    moved = [name for name in {*before, *after} if (name in before) != (name in after)]
    lost = set(before.values()) - set(after.values())
    return changed + [name for name in moved if before.get(name) in lost], moved


def main() -> int:
    """Record or check, and return the exit status."""
    what, file, *parts = sys.argv[1:]
    path = Path(file)
    known = json.loads(path.read_text()) if what == "check" else {}
    found, wrong = {}, 0
    with tempfile.TemporaryDirectory(prefix="memec-same-") as home:
        for run in runs():
            if parts and not run.name.startswith(tuple(parts)):
                continue
            progress(run.name)
            found[run.name] = fingerprint(run, Path(home))
            if what == "check" and run.name not in known:
                print(f"{run.name}: not in {path}")
            elif what == "check":
                changed, moved = differences(known[run.name], found[run.name])
                wrong += bool(changed)
                if changed or moved:
                    print(f"{run.name}: changed {changed or 'nothing'}; other names: {sorted(moved) or 'none'}")
    if what == "record":
        path.write_text(json.dumps(found, indent=1) + "\n")
    print(f"{len(found)} runs, {wrong} of them not as before" if what == "check" else f"{len(found)} runs recorded")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
