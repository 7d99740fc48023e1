"""The command line. It has no logic of its own, and imports what is heavy only when a command needs it."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from memec.errors import MemecError

if TYPE_CHECKING:
    from memec.experiments.run import Outcome

app = typer.Typer(
    name="memec",
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="Episodic control for Gymnasium: agents that remember what paid off and learn from a few thousand steps.",
    epilog="Try: [bold]memec train memec/FourRoom-v0 --steps 20000[/bold]",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def train(
    context: typer.Context,
    env: Annotated[
        str | None,
        typer.Argument(metavar="ENV", help="Any Gymnasium id, such as CartPole-v1, ALE/Pong-v5 or module:Id."),
    ] = None,
    agent: Annotated[str, typer.Option(help="The agent; `memec list` shows them.")] = "mfec",
    explore: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="epsilon-greedy, boltzmann, mellowmax, ucb or thompson. Default: the preset's."
        ),
    ] = None,
    omega: Annotated[float | None, typer.Option(help="mellowmax: large is greedy, small is uniform.")] = None,
    temperature: Annotated[float | None, typer.Option(help="boltzmann: small is greedy, large is uniform.")] = None,
    epsilon_final: Annotated[float | None, typer.Option(help="epsilon-greedy: where epsilon ends.")] = None,
    bonus: Annotated[float | None, typer.Option(help="ucb: how many standard deviations are added.")] = None,
    preset: Annotated[str, typer.Option(help="tuned (the best we know) or paper (the paper's, faithfully).")] = "tuned",
    steps: Annotated[int | None, typer.Option(help="Steps to train. Default: the preset's.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same run.")] = 0,
    evaluate_every: Annotated[int | None, typer.Option(help="Steps between greedy evaluations; 0 for none.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any setting, such as memory.capacity=20000."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder. Default: a new one under runs/.")] = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Go on with this run, exactly where it stopped; --steps may ask for more."),
    ] = None,
) -> None:
    """Train an agent and record the run.

    The run folder gets run.json (all settings), episodes.csv, evaluations.csv and checkpoints. Ctrl-C stops cleanly;
    memec train --resume RUN goes on.
    """
    from memec.envs.world import make
    from memec.experiments import run as experiment
    from memec.experiments.presets import settings_for
    from memec.experiments.run_settings import changes_from

    if resume is not None:
        given = [name for name in _given_options(context) if name not in ("resume", "steps", "env")]
        if given:
            raise MemecError(f"A resumed run keeps its settings: leave out --{given[0].strip('_').replace('_', '-')}.")
        _show(experiment.resume(resume, env=env, steps=steps))
    if env is None:
        raise MemecError("Say which environment to train in, such as CartPole-v1, or which run to --resume.")
    options = {"omega": omega, "temperature": temperature, "epsilon_final": epsilon_final, "bonus": bonus}
    world = make(env)
    world.close()
    base = settings_for(env, world.observation.kind, agent=agent, preset=preset)
    named = {"training": {"steps": steps, "evaluate_every_steps": evaluate_every}, "seed": seed}
    strategy: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if explore is not None:
        strategy["name"] = explore
    if strategy:
        named["agent"] = {"explore": strategy}
    settings = base.changed(named).changed(changes_from(set_ or [], agent))
    folder = out or experiment.new_folder(settings)
    _show(experiment.run(settings, folder, preset=preset, command=shlex.join(["memec", *sys.argv[1:]])))


def _given_options(context: typer.Context) -> list[str]:
    """Return the names of the options that the user wrote, whatever their value."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]


def _show(outcome: "Outcome") -> NoReturn:
    if outcome.last_evaluations:
        mean = sum(evaluation.mean_score for evaluation in outcome.last_evaluations) / len(outcome.last_evaluations)
        typer.echo(f"Greedy score, mean of the last {len(outcome.last_evaluations)} evaluations: {mean:.5g}")
    typer.echo(f"Run {outcome.status}: {outcome.folder}")
    raise typer.Exit(outcome.exit_status)


@app.command()
def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    episodes: Annotated[int, typer.Option(help="Greedy episodes to play.")] = 10,
    env: Annotated[str | None, typer.Option(help="The run's environment, where it is a module:Id to import.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the episodes. Default: the run's.")] = None,
) -> None:
    """Try out a trained agent, greedily, in fresh episodes."""
    from memec.experiments.run import evaluate_run

    result = evaluate_run(run, episodes, env=env, seed=seed)
    typer.echo(
        f"{result.episodes} greedy episodes: score {result.mean_score:.5g} +- {result.std_score:.4g} "
        f"(lowest {result.min_score:.5g}, highest {result.max_score:.5g}), {result.mean_length:.5g} steps each"
    )


@app.command()
def report(folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A run folder.")]) -> None:
    """Draw the learning curve of a run."""
    from memec.report.curves import draw_run

    typer.echo(f"Learning curve: {draw_run(folder)}")


@app.command(name="list")
def list_() -> None:
    """Show environments, agents, strategies, presets and all settings."""
    from memec.experiments.overview import show_overview

    show_overview()


def main() -> None:
    """Run the command line; a user's mistake is one line and exit status 2."""
    try:
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except typer.TyperException as error:
        typer.echo(f"memec: {error.format_message()}", err=True)
        sys.exit(2)
    except MemecError as error:
        typer.echo(f"memec: {error}", err=True)
        sys.exit(2)
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    sys.exit(status)


if __name__ == "__main__":
    main()
