"""Write the page on what goes beyond the paper: `python -m benchmarks.own_targets RESULTS PAGE`."""

import argparse
import sys
from pathlib import Path

from benchmarks.own_targets.page import write_beyond
from memec.errors import MemecError


def main() -> int:
    """Write it, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("results", type=Path, help="the folder of results")
    parser.add_argument("page", type=Path, help="the file to write")
    options = parser.parse_args()
    try:
        write_beyond(options.results, options.page)
    except MemecError as error:
        print(f"own_targets: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
