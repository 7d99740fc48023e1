"""`python -m benchmarks.worlds`: the default agent beside its peers in 25 worlds, at the same steps.

    python -m benchmarks.worlds --worlds taxi,cliff --players vpec,tabular-q --seeds 0-4 --results runs/choosing
    python -m benchmarks.worlds --seeds 300-309 --workers 2
    python -m benchmarks.worlds --seeds 300-304 --players sb3-dqn,sb3-ppo --engine ray
    python -m benchmarks.worlds --report
    python -m benchmarks.worlds --report --seeds 0-4 --results runs/choosing --page runs/choosing.md

Finished runs are recorded in results/worlds and never done again, also where the code has changed since: remove them
first. Ctrl-C stops cleanly, and the same command goes on. Settings may be chosen on the worlds of CHOSEN_ON
(benchmarks/worlds/worlds.py) with seeds 0 to 4; all worlds are reported with seeds from 300 on. `--report` writes
docs/worlds.md from what is recorded with these seeds. What the worlds need beside memec is the dependency group
`worlds`: pip install --group worlds.
"""

import argparse
import shlex
import sys
from pathlib import Path

from benchmarks.worlds.league import PLAYERS, plan
from benchmarks.worlds.report import write_report
from benchmarks.worlds.worlds import HELD_OUT_SEEDS, WORLDS
from memec.errors import MemecError
from memec.experiments.reproduce import ENGINES, Study, describe, make_engine, reproduce
from memec.experiments.results import Results


def seeds(text: str) -> list[int]:
    """Read 300-309, or 0,2,5, or both in one."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if not first.isdecimal() or (last and not last.isdecimal()) or part.endswith("-"):
            raise MemecError(f"--seeds takes numbers such as 300-309 or 0,2,5; {text!r} is not that.")
        found += range(int(first), int(last or first) + 1)
    if not found:
        raise MemecError(f"The league needs at least one seed; --seeds {text} is none.")
    return list(dict.fromkeys(found))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.worlds", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    held_out = f"{HELD_OUT_SEEDS[0]}-{HELD_OUT_SEEDS[-1]}"
    parser.add_argument("--worlds", metavar="NAMES", help=f"comma-separated, of: {', '.join(WORLDS)}")
    parser.add_argument("--players", metavar="NAMES", help=f"comma-separated, of: {', '.join(PLAYERS)}")
    parser.add_argument("--seeds", default=held_out, help=f"such as 0-4 or 300,305; default {held_out}")
    parser.add_argument("--steps", type=int, help="another budget than the worlds' own, for a try")
    parser.add_argument("--engine", default="local", help=f"{' or '.join(ENGINES)}; default local")
    parser.add_argument("--workers", type=int, help="how many runs at a time; default: one per core")
    parser.add_argument("--address", help="of a Ray cluster that is there")
    parser.add_argument("--out", type=Path, default=Path("runs/worlds"), help="where the run folders are")
    parser.add_argument("--results", type=Path, default=Path("results"), help="where finished runs are recorded")
    parser.add_argument("--dry-run", action="store_true", help="show the runs and about how long they take")
    parser.add_argument("--report", action="store_true", help="write the page from what is recorded, and run nothing")
    parser.add_argument("--page", type=Path, default=Path("docs/worlds.md"), help="the page of --report")
    asked = parser.parse_args()
    try:
        status = _do(asked)
    except MemecError as error:
        parser.exit(2, f"{error}\n")
    sys.exit(status)


def _do(asked: argparse.Namespace) -> int:
    if asked.report:
        write_report(asked.results / "worlds", asked.page, seeds(asked.seeds))
        print(f"Report: {asked.page}")
        return 0
    worlds, players = (names and names.split(",") for names in (asked.worlds, asked.players))
    study = Study(plan(worlds, players, seeds(asked.seeds), asked.steps), asked.out, Results(asked.results))
    engine, workers = make_engine(asked.engine, asked.out, workers=asked.workers, address=asked.address)
    if asked.dry_run:
        print(describe(study, workers))
        return 0
    command = shlex.join(["python", "-m", "benchmarks.worlds", *sys.argv[1:]])
    return reproduce(study, engine, workers, command=command, keep_checkpoints=False)


if __name__ == "__main__":
    main()
