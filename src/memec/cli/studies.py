"""`memec reproduce` and `memec compare`: many runs."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memec.cli.options import (
    Steps,
    agent_here,
    complete_environments,
    look_here_too,
    names,
)
from memec.errors import MemecError

if TYPE_CHECKING:
    from memec.experiments.grid import GridRun
    from memec.experiments.reproduce import Study

AnyEnvironment = Annotated[
    str,
    typer.Argument(
        metavar="ENV",
        help="Any Gymnasium id, such as CartPole-v1 or module:Id.",
        callback=look_here_too,
        autocompletion=complete_environments,
    ),
]
Workers = Annotated[int | None, typer.Option(help="Runs at a time. Default: one per core.")]
EngineName = Annotated[str, typer.Option("--engine", help="local (processes on this machine) or ray (a cluster).")]
Address = Annotated[str | None, typer.Option(help="ray: the cluster's address. Default: this machine.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the runs and how long they would take.")]
Index = Annotated[
    int | None,
    typer.Option(help="Do only this run, counted from 0: for the tasks of a job array (docs/studies.md).", min=0),
]
Assignments = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any setting, in every run.")
]


def reproduce(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="cartpole, acrobot, openroom, fourroom or small (these four); pong, spaceinvaders, qbert, bowling, "
            "mspacman or atari (these five); omega (the search for it); or all. Beyond the paper: better, ablation, "
            "strategies.",
        ),
    ],
    seeds: Annotated[int, typer.Option(help="How many seeds; the paper has 3.")] = 10,
    agents: Annotated[str | None, typer.Option(metavar="A,B", help="Only these agents.")] = None,
    strategies: Annotated[str | None, typer.Option(metavar="A,B", help="Only these strategies.")] = None,
    envs: Annotated[str | None, typer.Option(metavar="A,B", help="Only these environments, by short name.")] = None,
    steps: Steps = None,
    preset: Annotated[str, typer.Option(help="paper, released or tuned.")] = "paper",
    set_: Assignments = None,
    workers: Workers = None,
    engine: EngineName = "local",
    address: Address = None,
    index: Index = None,
    out: Annotated[Path | None, typer.Option(help="The folder of the run folders. Default: runs/study-PRESET.")] = None,
    results: Annotated[
        Path | None, typer.Option(help="Export finished runs to here, and count runs recorded here as done.")
    ] = None,
    keep_checkpoints: Annotated[bool, typer.Option(help="Keep the checkpoints of finished runs.")] = True,
    dry_run: DryRun = False,
) -> None:
    """Do the paper's study, or a part of it.

    Called again, it does what is missing and goes on with what was interrupted. Ctrl-C stops cleanly.
    """
    from memec.experiments import reproduce as studies
    from memec.experiments.better import BEYOND, plan_better
    from memec.experiments.grid import plan
    from memec.experiments.results import Results

    limits: dict[str, Any] = {
        "seeds": seeds, "environments": names(envs), "steps": steps, "assignments": set_ or [],
    }  # fmt: skip
    if what in BEYOND:
        runs, preset = plan_better(**limits, part=what), "tuned"
    else:
        runs = plan(what, agents=names(agents), strategies=names(strategies), preset=preset, **limits)
    study = studies.Study(
        _one_of(runs, index), out or Path(f"runs/study-{preset}"), Results(results) if results else None
    )
    if not dry_run:
        raise typer.Exit(_do(study, engine, workers, address, keep_checkpoints=keep_checkpoints))
    typer.echo(studies.describe(study, workers or studies.cores()))


def compare(
    env: AnyEnvironment,
    agents: Annotated[
        str | None, typer.Option(metavar="A,B", help="Agents, such as vpec,mfec. Default: the one that fits best.")
    ] = None,
    strategies: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Strategies, such as mellowmax-auto,ucb. Default: each agent's own."),
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=V,W", help="A setting with several values, such as memory.neighbours=5,11,21."),
    ] = None,
    seeds: Annotated[int, typer.Option(help="How many seeds, from the first one on (--set seed=100).")] = 10,
    steps: Steps = None,
    evaluate_every: Annotated[int | None, typer.Option(help="Steps between greedy evaluations.")] = None,
    set_: Assignments = None,
    env_set: Annotated[
        list[str] | None, typer.Option("--env-set", metavar="NAME=VALUE", help="What the environment is made with.")
    ] = None,
    workers: Workers = None,
    engine: EngineName = "local",
    address: Address = None,
    index: Index = None,
    out: Annotated[Path | None, typer.Option(help="The folder of the run folders. Default: runs/compare-ENV.")] = None,
    dry_run: DryRun = False,
) -> None:
    """Compare agents, strategies or settings in any environment, and say which is better, by how much, how surely.

    Called again, it does what is missing and goes on with what was interrupted. Ctrl-C stops cleanly.
    """
    from memec.experiments import reproduce as studies
    from memec.experiments.compare import plan_comparison, short_name
    from memec.experiments.run_settings import environment_from

    assignments = [*(f"environment.kwargs.{assignment}" for assignment in env_set or ()), *(set_ or ())]
    runs = plan_comparison(
        environment_from(env, assignments),
        agents=[str(agent_here(name)) for name in names(agents) or ()] or None,
        strategies=names(strategies),
        grid=grid or (),
        seeds=seeds,
        steps=steps,
        evaluate_every=evaluate_every,
        assignments=assignments,
    )
    study = studies.Study(_one_of(runs, index), out or Path("runs") / f"compare-{short_name(env)}")
    if dry_run:
        typer.echo(studies.describe(study, workers or studies.cores()))
        return
    import memec.report.comparison  # noqa: F401  (if what it needs is missing, that is said before the runs)

    status = _do(study, engine, workers, address)
    if status == 0 and index is None:
        _say_which_is_better(study.out)
    raise typer.Exit(status)


def tune(
    env: AnyEnvironment,
    agent: Annotated[
        str | None,
        typer.Option(help="The agent. Default: the one that fits best.", callback=agent_here),
    ] = None,
    search: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="What to search: discount=0.9,0.99 or memory.neighbours=3:51. Default: what matters of the agent.",
        ),
    ] = None,
    trials: Annotated[int, typer.Option(help="How many settings to try in all, of all processes.", min=1)] = 40,
    hours: Annotated[float | None, typer.Option(help="Begin no further trial after so many hours.", min=0)] = None,
    seeds: Annotated[int, typer.Option(help="Seeds of each trial; bad ones are stopped after the first.", min=1)] = 3,
    held_out: Annotated[int, typer.Option(help="Other seeds, to judge the winner by; 0 for no judgement.", min=0)] = 10,
    steps: Steps = None,
    evaluate_every: Annotated[int | None, typer.Option(help="Steps between greedy evaluations.")] = None,
    set_: Assignments = None,
    env_set: Annotated[
        list[str] | None, typer.Option("--env-set", metavar="NAME=VALUE", help="What the environment is made with.")
    ] = None,
    workers: Workers = None,
    out: Annotated[Path | None, typer.Option(help="The folder of the search. Default: runs/tune-ENV-AGENT.")] = None,
) -> None:
    """Search settings for an environment, and judge the best by seeds it was not chosen on.

    Called again, it goes on; several processes or machines share a search by giving the same command on a disk they
    share. The winner is OUT/settings.json, for memec train --settings.
    """
    from memec.experiments import reproduce as studies
    from memec.experiments.compare import plan_comparison, short_name
    from memec.experiments.run_settings import environment_from
    from memec.experiments.tune import SPACES, Found, Tuning, axis, write_settings
    from memec.experiments.tune import search as search_settings
    from memec.report.comparison import surely_better

    assignments = [*(f"environment.kwargs.{assignment}" for assignment in env_set or ()), *(set_ or ())]
    environment = environment_from(env, assignments)
    agents = None if agent is None else [agent]
    (base,) = plan_comparison(
        environment, agents=agents, seeds=1, steps=steps, evaluate_every=evaluate_every, assignments=assignments
    )
    spaces = search or SPACES.get(base.agent, [])
    if not spaces:
        raise MemecError(f"Say what to search of {base.agent}, such as --search discount=0.9,0.99.")
    folder = out or Path("runs") / f"tune-{short_name(env)}-{base.agent}"
    axes = [axis(text) for text in spaces]
    tuning = Tuning(base.settings, axes, folder, trials=trials, seeds=seeds, hours=hours, held_out=held_out)
    at_a_time = workers or studies.cores()
    found = search_settings(tuning, at_a_time, lambda text: typer.echo(text, err=True))
    if not isinstance(found, Found):
        raise typer.Exit(found)
    typer.echo(f"Best of {found.trials} trials: {found.score:.5g}, mean of {seeds} seeds, with")
    for name, value in found.values.items():
        typer.echo(f"  {name}={value}")
    write_settings(found.settings, folder / "settings.json")
    typer.echo(f"Settings: {folder / 'settings.json'} (memec train {env} --settings {folder / 'settings.json'})")
    if found.settings == base.settings:
        typer.echo("These are the default settings: nothing was found that did better.")
    elif held_out:
        study = studies.Study(tuning.rivals(found.settings), folder / "held-out")
        status = _do(study, "local", at_a_time, None)
        if status == 0:
            _say_which_is_better(study.out)
            winner, default = (study.out / run.curve for run in study.runs[:2])
            if surely_better(winner, default):
                typer.echo("What was found is better than the default, on seeds it was not chosen on.")
            else:
                typer.echo("The default is as good as what was found, as far as these seeds can tell.")
        raise typer.Exit(status)


def _say_which_is_better(folder: Path) -> None:
    from memec.experiments.presets import preset_of
    from memec.report import study
    from memec.report.comparison import write_comparison

    for line in [*write_comparison(folder), *study.report(folder, folder / "report", preset_of)[-1:]]:
        typer.echo(line)


def _one_of(runs: "list[GridRun]", index: int | None) -> "list[GridRun]":
    """Return all runs, or only the one that a task of a job array is to do."""
    if index is not None and index >= len(runs):
        raise MemecError(f"There are {len(runs)} runs, counted from 0: --index {index} is none of them.")
    return runs if index is None else [runs[index]]


def _do(study: "Study", engine: str, workers: int | None, address: str | None, *, keep_checkpoints: bool = True) -> int:
    """Do what is missing of a study; return the exit status."""
    from memec.experiments import reproduce as studies

    study.states()  # what is wrong with the folder is said before any engine starts
    made, at_a_time = studies.make_engine(engine, study.out, workers=workers, address=address)
    command = shlex.join(["memec", *sys.argv[1:]])
    return studies.reproduce(study, made, at_a_time, command=command, keep_checkpoints=keep_checkpoints)
