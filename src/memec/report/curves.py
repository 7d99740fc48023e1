"""Learning curves as pictures."""

import csv
from pathlib import Path

from memec.errors import MemecError


def draw_run(folder: Path) -> Path:
    """Draw a run's greedy score over its steps, with the spread between episodes, to `curve.png` beside its data."""
    try:
        import matplotlib
    except ImportError:
        raise MemecError("Drawing needs matplotlib: pip install 'memec[report]'.") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = read_evaluations(folder)
    if not rows:
        raise MemecError(f"{folder} has no evaluations to draw yet.")
    steps = [row["step"] for row in rows]
    mean = [row["mean_score"] for row in rows]
    low = [row["mean_score"] - row["std_score"] for row in rows]
    high = [row["mean_score"] + row["std_score"] for row in rows]
    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    axes.fill_between(steps, low, high, alpha=0.2, linewidth=0)
    axes.plot(steps, mean)
    axes.set(xlabel="steps", ylabel="greedy score (mean and spread of the episodes)", title=folder.name)
    axes.grid(alpha=0.3)
    picture = folder / "curve.png"
    figure.savefig(picture, dpi=120)
    pyplot.close(figure)
    return picture


def read_evaluations(folder: Path) -> list[dict[str, float]]:
    """Return the rows of a run's evaluations.csv; a last line cut in half is passed over."""
    file = folder / "evaluations.csv"
    if not file.is_file():
        raise MemecError(f"{folder} is no run folder: it has no evaluations.csv.")
    rows = []
    with file.open(newline="") as lines:
        for row in csv.DictReader(lines):
            try:
                rows.append({name: float(value) for name, value in row.items()})
            except (TypeError, ValueError):
                continue
    return rows
