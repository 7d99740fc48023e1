"""How the verdict judges, in words and in what so many seeds can decide."""

from importlib.resources import files

from memec.report.evidence import CLOSE, LEAST_SEEDS, NEARLY_ALL
from memec.report.significance import (
    LEVEL,
    TRUE_PROBABILITY,
    TRUE_SHARE,
    least_p_value,
    power_of_rank_tests,
    power_of_share,
    share_test,
)
from memec.report.tables import Table


def method() -> str:
    """Return how a claim is judged."""
    return _text("method").format(
        level=LEVEL,
        true_probability=TRUE_PROBABILITY,
        true_share=TRUE_SHARE,
        least_seeds=LEAST_SEEDS,
        least_p=least_p_value(LEAST_SEEDS, LEAST_SEEDS),
        nearly_all=NEARLY_ALL,
        close=CLOSE,
    )


def left_open() -> str:
    """Return what the paper leaves open, and what is taken here."""
    return _text("left_open")


def _text(name: str) -> str:
    return files("memec.report").joinpath("static", f"{name}.md").read_text(encoding="utf-8").rstrip()


def what_seeds_can_decide() -> Table:
    """Return the smallest p-values and the power of so many seeds."""
    columns = (
        "seeds of each",
        "a pair: least p",
        "power",
        "four pairs: power",
        "most seeds: least p",
        "power",
        "90%: least p",
    )
    rows: list[tuple[str, ...]] = []
    for seeds in (3, 5, 10, 29):
        least = least_p_value(seeds, seeds)
        reliable = share_test(seeds, seeds, NEARLY_ALL)
        rows.append(
            (
                str(seeds),
                f"{least:.2g}",
                f"{power_of_rank_tests(seeds, (seeds,)):.2f}",
                f"{power_of_rank_tests(seeds, (seeds,) * 4):.2f}",
                f"{share_test(seeds, seeds):.2g}",
                f"{power_of_share(seeds):.2f}",
                f"{reliable:.2g}",
            )
        )
    return Table("seeds", "What seeds can decide", columns, rows)
