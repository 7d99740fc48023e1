"""Figures like the paper's: one per environment, a panel per episodic agent, the baseline in every panel."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memec.errors import from_extra
from memec.report.authors import TheirRun
from memec.report.paper import AGENT_TITLES, short_name, title_of
from memec.report.runs import Curve

COLOURS = {
    "mellowmax": "#d62728",
    "boltzmann": "#ff7f0e",
    "epsilon-greedy": "#1f77b4",
    "ucb": "#2ca02c",
    "thompson": "#9467bd",
}
BASELINE = "d3qn"
AUTHORS = "authors' code, each seed"
BASELINE_COLOUR = "#555555"
FORMATS = ("png", "svg")
DOCUMENT_FORMAT = "png"
"""For pages: a picture of many curves is smaller in pixels than in lines."""


def draw_environment(
    environment: str, curves: Sequence[Curve], folder: Path, suffix: str = "", authors: Sequence[TheirRun] = ()
) -> list[Path]:
    """Draw the learning curves of an environment, mean and standard deviation over seeds, and return the pictures.

    Runs of the authors' code are drawn seed by seed, dotted.
    """
    pyplot = _pyplot()
    baselines = [curve for curve in curves if curve.agent == BASELINE]
    others = [curve for curve in curves if curve.agent != BASELINE]
    agents = sorted({curve.agent for curve in others}, key=lambda agent: (agent not in AGENT_TITLES, agent))
    panels = [(agent, [curve for curve in others if curve.agent == agent] + baselines) for agent in agents]
    panels = panels or [(BASELINE, baselines)]
    figure, axes = pyplot.subplots(
        1, len(panels), figsize=(5.5 * len(panels), 4), sharey=True, squeeze=False, layout="constrained"
    )
    for axis, (agent, shown) in zip(axes[0], panels, strict=True):
        for curve in shown:
            _draw_curve(axis, curve)
        for run in authors:
            if run.subject[:2] == (environment, agent):
                colour = COLOURS.get(run.strategy)
                axis.plot(run.steps, run.scores, color=colour, linestyle=":", linewidth=0.9, label=AUTHORS)
        axis.set(title=AGENT_TITLES.get(agent, agent), xlabel="steps")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("greedy score")
    lines = {line.get_label(): line for axis in axes[0] for line in axis.get_lines()}
    if AUTHORS in lines:  # the sign of all of their strategies
        lines[AUTHORS] = axes[0][0].plot([], [], color="black", linestyle=":", linewidth=0.9)[0]
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=3 * len(panels), fontsize="small")
    seeds = sorted({len(curve.seeds) for curve in curves})
    count = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    figure.suptitle(f"{title_of(environment)}: mean and standard deviation over {count} seed{'s' * (seeds[-1] > 1)}")
    pictures = [folder / f"{short_name(environment)}{suffix}.{kind}" for kind in FORMATS]
    for picture in pictures:
        figure.savefig(picture, dpi=120, metadata={"Date": None} if picture.suffix == ".svg" else {"Software": None})
    pyplot.close(figure)
    return pictures


def _draw_curve(axis: Any, curve: Curve) -> None:
    baseline = curve.agent == BASELINE
    label = curve.label.replace(curve.strategy, AGENT_TITLES[BASELINE]) if baseline else curve.label
    same_strategy = curve.label == curve.strategy
    colour = BASELINE_COLOUR if baseline else COLOURS.get(curve.strategy) if same_strategy else None
    mean = curve.scores.mean(axis=0)
    (line,) = axis.plot(
        curve.steps, mean, label=label, color=colour, linestyle="--" if baseline else "-", linewidth=1.3
    )
    if len(curve.seeds) > 1:
        std = curve.scores.std(axis=0, ddof=1)
        axis.fill_between(curve.steps, mean - std, mean + std, color=line.get_color(), alpha=0.12, linewidth=0)


def _pyplot() -> Any:
    with from_extra("report", "Drawing"):
        import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams["text.parse_math"] = False  # a name may have dollars in it
    matplotlib.rcParams["svg.hashsalt"] = "memec"  # the same data give the same file
    from matplotlib import pyplot

    return pyplot
