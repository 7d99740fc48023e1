"""Learning curves as pictures."""

from pathlib import Path

from memec.errors import MemecError, from_extra
from memec.report.rows import read_evaluations
from memec.train.files import whole_file
from memec.train.run_folder import saying_where


def draw_run(folder: Path) -> Path:
    """Draw a run's greedy score over its steps, with the spread between episodes, to `curve.png` beside its data."""
    with from_extra("report", "Drawing"):
        import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams["text.parse_math"] = False  # a name may have dollars in it
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
    with saying_where(folder), whole_file(picture) as file:  # which replaces a link rather than follow it
        figure.savefig(file, dpi=120, format="png")
    pyplot.close(figure)
    return picture
