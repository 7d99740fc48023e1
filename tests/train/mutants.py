"""How many small changes to the code that writes runs down do its tests notice?

Cosmic Ray makes the mutants; it needs an environment of its own that also sees memec's:

    python -m venv .mutants && .mutants/bin/pip install cosmic-ray
    echo $PWD/.venv/lib/python3.*/site-packages > $(echo .mutants/lib/python3.*/site-packages)/memec.pth
    .mutants/bin/python -m tests.train.mutants --sample 100

Each mutant is tried in a process forked from one that has imported what is none of memec's, which takes longest.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

FILES = ("files", "checkpoint", "recording", "run_folder")
TESTS = ("files", "disturbed", "failing", "disk", "damage", "resume", "header")
LEFT_OUT = (
    "a_flipped_bit_in_run_json or signal_stops_even or segments_swapped or evaluation_that or is_held_up or storm"
)
"""Tests that take long and look at something else."""
HEAVY = ("numpy", "torch", "numba", "scipy", "gymnasium", "ale_py", "cv2", "pydantic", "typer", "rich", "hypothesis",
         "pytest", "safetensors.numpy")  # fmt: skip
IMPORTED = "ignore::pytest.PytestAssertRewriteWarning"
MOST_SECONDS = 600


def mutants(source: str) -> list[tuple[str, Callable[[], str | None]]]:
    """Return all changes that Cosmic Ray knows for a source, by name, to be made when they are wanted."""
    from cosmic_ray.ast import ast_nodes, get_ast  # type: ignore[import-not-found]
    from cosmic_ray.mutating import mutate_code  # type: ignore[import-not-found]
    from cosmic_ray.plugins import get_operator, operator_names  # type: ignore[import-not-found]

    found = []
    for name in sorted(operator_names()):
        if "Variable" in name:  # these must be told which
            continue
        operator = get_operator(name)()
        places = [place for node in ast_nodes(get_ast(source)) for place in operator.mutation_positions(node)]
        for number, (start, _) in enumerate(places):
            make = partial(mutate_code, source, operator, number)
            found.append((f"line {start[0]} {name.removeprefix('core/')}", make))
    return found


def run_tests(tree: Path) -> int:
    """Run the tests in a process of their own; return its status, 99 if memec cannot even be imported."""
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(MOST_SECONDS)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nowhere, stream)
        os.chdir(tree)
        sys.path[:0] = [str(tree / "src"), str(tree)]
        for name in [name for name in sys.modules if name.split(".")[0] in ("memec", "tests")]:
            del sys.modules[name]
        try:
            import_module("memec.agents")
        except BaseException:
            os._exit(99)
        import pytest

        names = [f"tests/train/test_{name}.py" for name in TESTS]
        os._exit(
            int(
                pytest.main(
                    ["-x", "-n", "0", "-p", "no:cacheprovider", "-W", IMPORTED, "-k", f"not ({LEFT_OUT})", *names]
                )
            )
        )
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def main() -> None:
    """Try mutants by chance and say which survive."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--files", nargs="*", default=list(FILES))
    options = parser.parse_args()
    for name in HEAVY:
        import_module(name)
    tree = Path(tempfile.gettempdir()) / "memec-mutants"  # compiled code that is kept is known by its place
    for name in ("src", "tests", "examples", "benchmarks"):
        shutil.rmtree(tree / name, ignore_errors=True)
        shutil.copytree(name, tree / name, ignore=shutil.ignore_patterns("__pycache__", "*.csv"))
    shutil.copy("pyproject.toml", tree)
    os.environ["NUMBA_CACHE_DIR"] = str(tree / "compiled")
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    sources = {name: (tree / "src" / "memec" / "train" / f"{name}.py") for name in options.files}
    all_mutants = [(name, *mutant) for name, file in sources.items() for mutant in mutants(file.read_text())]
    run_tests(tree)  # compiles
    assert (status := run_tests(tree)) == 0, f"the tests fail without any change: {status}"
    tally: Counter[str] = Counter()
    for name, what, make in random.Random(options.seed).sample(all_mutants, min(options.sample, len(all_mutants))):
        changed, before, began = make(), sources[name].read_text(), time.monotonic()
        if changed is None:
            continue
        sources[name].write_text(changed)
        status = run_tests(tree)
        sources[name].write_text(before)
        how = {0: "survived", 99: "no program"}.get(status, "noticed")
        tally[how] += 1
        print(f"{how}: {name}.py {what}, {time.monotonic() - began:.0f} s", flush=True)
    tried = tally["noticed"] + tally["survived"]
    print(f"{tally['noticed']} of {tried} mutants noticed ({tally['noticed'] / max(tried, 1):.0%}), a sample of "
          f"{len(all_mutants):,}; {tally['no program']} more were no program")  # fmt: skip


if __name__ == "__main__":
    main()
