"""`memec report`, `memec watch` and `memec list`: what there is to see."""

import json
from pathlib import Path
from typing import Annotated

import typer

from memec.cli.options import RunsAgent, RunsEmbedding, RunsEnvironment, RunsStrategy


def report(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A run folder, a folder of run folders, or a results folder.")
    ],
    out: Annotated[Path | None, typer.Option(help="Where figures and tables go. Default: FOLDER/report.")] = None,
    verdict: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a page that judges every claim of the paper.")
    ] = None,
) -> None:
    """Draw the learning curve of a run, or make figures and tables of many."""
    from memec.experiments.presets import preset_of
    from memec.report import study

    said = (
        study.report(folder, out, preset_of)
        if verdict is None
        else study.report_verdict(folder, verdict, preset_of, out)
    )
    for line in said:
        typer.echo(line)


def watch(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run folder, in training or finished, or a folder of runs.")
    ],
    port: Annotated[int, typer.Option(help="The port of the page. Default: a free one.")] = 0,
    env: RunsEnvironment = None,
    explore: RunsStrategy = None,
    embed: RunsEmbedding = None,
    agent: RunsAgent = None,
) -> None:
    """Open a page that shows a run live and the memories behind each decision, for this machine only.

    Of a folder of runs, such as a study's, it lists all with their curves; each opens by its name.
    """
    from memec.watch.server import watch as serve

    serve(run, port=port, env=env, parts={"explore": explore, "embed": embed}, say=typer.echo)


def list_(as_json: Annotated[bool, typer.Option("--json", help="Say it as JSON, for other programs.")] = False) -> None:
    """Show environments, agents, strategies, presets and all settings."""
    from memec.experiments.overview import overview, show_overview

    if as_json:
        typer.echo(json.dumps(overview()))
    else:
        show_overview()
