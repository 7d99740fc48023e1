"""The command line. It has no logic of its own, and imports what is heavy only when a command needs it."""

import re
import shlex
import sys
import warnings
from contextlib import suppress
from errno import EMFILE, ENFILE
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from memec.errors import MemecError
from memec.onlookers import Onlookers, let_go_of_output, open_missing_output

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


STRATEGY_OF = {"omega": "mellowmax", "temperature": "boltzmann", "epsilon_final": "epsilon-greedy", "bonus": "ucb"}
"""Which strategy is meant where only an option of it is given."""

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
"""How Gymnasium colours its warnings."""


def _show_version(asked: bool) -> None:
    if asked:
        from memec import __version__

        typer.echo(f"memec {__version__}")
        raise typer.Exit


@app.callback()
def every_command(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Take the options that belong to no command."""


def _look_here_too(env: str | None) -> str | None:
    if env is not None:
        from memec.envs.modules import look_here_too

        look_here_too(env)
    return env


def _agent_here(agent: str | None) -> str | None:
    """Import an agent that is none of memec's, and return its name."""
    if agent is None or (":" not in agent and not _is_installed(agent)):
        return agent
    from memec.agents import agent_named

    _look_here_too(agent)
    return agent_named(agent).name


def _is_installed(agent: str) -> bool:
    from importlib.metadata import entry_points

    return any(entry.name == agent for entry in entry_points(group="memec.agents"))


RunsEnvironment = Annotated[
    str | None,
    typer.Option(help="The run's environment, where it is a module:Id to import.", callback=_look_here_too),
]


RunsStrategy = Annotated[
    str | None,
    typer.Option(help="The run's strategy, where it is a module:Name to import.", callback=_look_here_too),
]
RunsAgent = Annotated[
    str | None,
    typer.Option(help="The run's agent, where it is a module:Name to import.", callback=_agent_here),
]
RunsEmbedding = Annotated[
    str | None,
    typer.Option(help="The run's embedding, where it is a module:Name to import.", callback=_look_here_too),
]


@app.command()
def train(
    context: typer.Context,
    env: Annotated[
        str | None,
        typer.Argument(
            metavar="ENV",
            help="Any Gymnasium id, such as CartPole-v1, ALE/Pong-v5 or module:Id.",
            callback=_look_here_too,
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            help="The agent; `memec list` shows them, and module:Name is one of yours. Default: vpec, but mfec for "
            "pictures and other long observations, for a strategy of its own and for --preset paper.",
            callback=_agent_here,
        ),
    ] = None,
    explore: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="epsilon-greedy, boltzmann, mellowmax, mellowmax-auto, ucb, ucb-calibrated, thompson, "
            "thompson-calibrated, or one of yours by module:Name. Default: the preset's.",
            callback=_look_here_too,
        ),
    ] = None,
    embed: Annotated[
        str | None,
        typer.Option(
            metavar="module:Name",
            help="mfec: an embedding of yours. Default: memec's own.",
            callback=_look_here_too,
        ),
    ] = None,
    omega: Annotated[float | None, typer.Option(help="mellowmax: large is greedy, small is uniform.")] = None,
    temperature: Annotated[float | None, typer.Option(help="boltzmann: small is greedy, large is uniform.")] = None,
    epsilon_final: Annotated[float | None, typer.Option(help="epsilon-greedy: where epsilon ends.")] = None,
    bonus: Annotated[float | None, typer.Option(help="ucb: how many standard deviations are added.")] = None,
    preset: Annotated[
        str,
        typer.Option(
            help="tuned (the best we know), paper (the paper's, faithfully) or released (as the authors' code)."
        ),
    ] = "tuned",
    steps: Annotated[int | None, typer.Option(help="Steps to train. Default: the preset's.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same run.")] = 0,
    device: Annotated[str | None, typer.Option(help="nec and d3qn: cpu (the default) or cuda.")] = None,
    evaluate_every: Annotated[int | None, typer.Option(help="Steps between greedy evaluations; 0 for none.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any setting, such as memory.capacity=20000."),
    ] = None,
    keep_frames: Annotated[
        bool, typer.Option("--keep-frames", help="Keep pictures of memories for `memec watch` (the newest 20,000).")
    ] = False,
    log: Annotated[str | None, typer.Option(metavar="NAME", help="tensorboard: write its event files too.")] = None,
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
    from memec.envs.world import make_again
    from memec.experiments import run as experiment
    from memec.experiments.plugged import KINDS, made_parts
    from memec.experiments.presets import default_agent, settings_for
    from memec.experiments.run_settings import changes_from, environment_from, keeping_frames, on_device

    if resume is not None:
        from memec.agents import OWN

        kept = {"resume", "steps", "env", "log", "explore", "embed"} | (set() if agent in OWN else {"agent"})
        given = [name for name in _given_options(context) if name not in kept]
        if given:
            raise MemecError(f"A resumed run keeps its settings: leave out --{given[0].strip('_').replace('_', '-')}.")
        _show(experiment.resume(resume, env=env, explore=explore, embed=embed, steps=steps, log=log))
    if env is None:
        raise MemecError("Say which environment to train in, such as CartPole-v1, or which run to --resume.")
    options = {"omega": omega, "temperature": temperature, "epsilon_final": epsilon_final, "bonus": bonus}
    world = make_again(environment_from(env, set_ or []), training=True)
    if explore is not None:
        explore = KINDS["explore"].full_name(explore)
    else:
        explore = next((STRATEGY_OF[name] for name, value in options.items() if value is not None), None)
    if agent is None:
        agent, remark = default_agent(world.observation.kind, world.observation.shape, world.actions)
        if preset != "tuned" or explore is not None:
            agent = "mfec"
        elif remark is not None:
            _say(remark)
    base = settings_for(env, world.observation.kind, agent=agent, preset=preset, explore=explore)
    named: dict[str, Any] = {"training": {"steps": steps, "evaluate_every_steps": evaluate_every}, "seed": seed}
    named["agent"] = {"explore": {name: value for name, value in options.items() if value is not None}}
    if embed is not None:
        named["agent"]["embed"] = {"name": KINDS["embed"].full_name(embed)}
    if device is not None:
        base = on_device(base, device)
    if keep_frames:
        base = keeping_frames(base)
    settings = base.changed(named).changed(changes_from(set_ or [], agent))
    parts, settings = made_parts(settings)
    folder = out or experiment.new_folder(settings)
    command = shlex.join(["memec", *sys.argv[1:]])
    _show(experiment.run(settings, folder, preset=preset, command=command, log=log, world=world, parts=parts))


def _given_options(context: typer.Context) -> list[str]:
    """Return the names of the options that the user wrote, whatever their value."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]


def _show(outcome: "Outcome") -> NoReturn:
    with suppress(OSError):  # the run is on the disk, whether anybody reads of it or not
        if outcome.nothing_to_do:
            typer.echo("There is nothing to do: the run has all its steps; ask for more with --steps.")
        if outcome.last_evaluations:
            mean = sum(evaluation.mean_score for evaluation in outcome.last_evaluations) / len(outcome.last_evaluations)
            typer.echo(f"Greedy score, mean of the last {len(outcome.last_evaluations)} evaluations: {mean:.5g}")
        typer.echo(f"Run {outcome.status}: {outcome.folder}")
    raise typer.Exit(outcome.exit_status)


@app.command()
def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    episodes: Annotated[int, typer.Option(help="Greedy episodes to play.")] = 10,
    env: RunsEnvironment = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the episodes. Default: the run's.")] = None,
    embed: RunsEmbedding = None,
    agent: RunsAgent = None,
    video: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Film the first of the episodes: a name in .mp4 or .gif.")
    ] = None,
) -> None:
    """Try out a trained agent, greedily, in fresh episodes."""
    from memec.experiments.run import evaluate_run

    if video is not None:
        from memec.watch.video import record_video

        typer.echo(f"Video: {record_video(run, video, env=env, seed=seed, embed=embed)}")
    result = evaluate_run(run, episodes, env=env, seed=seed, embed=embed)
    typer.echo(
        f"{result.episodes} greedy episodes: score {result.mean_score:.5g} +- {result.std_score:.4g} "
        f"(lowest {result.min_score:.5g}, highest {result.max_score:.5g}), {result.mean_length:.5g} steps each"
    )


@app.command()
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
    steps: Annotated[int | None, typer.Option(help="Steps per run. Default: the paper's.")] = None,
    preset: Annotated[str, typer.Option(help="paper, released or tuned.")] = "paper",
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any setting, in every run.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Runs at a time. Default: one per core.")] = None,
    engine: Annotated[str, typer.Option(help="local (processes on this machine) or ray (a cluster).")] = "local",
    address: Annotated[str | None, typer.Option(help="ray: the cluster's address. Default: this machine.")] = None,
    out: Annotated[Path | None, typer.Option(help="The folder of the run folders. Default: runs/study-PRESET.")] = None,
    results: Annotated[
        Path | None, typer.Option(help="Export finished runs to here, and count runs recorded here as done.")
    ] = None,
    keep_checkpoints: Annotated[bool, typer.Option(help="Keep the checkpoints of finished runs.")] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the runs and how long they would take.")] = False,
) -> None:
    """Do the paper's study, or a part of it.

    Called again, it does what is missing and goes on with what was interrupted. Ctrl-C stops cleanly.
    """
    from memec.experiments import reproduce as studies
    from memec.experiments.better import BEYOND, plan_better
    from memec.experiments.grid import plan
    from memec.experiments.results import Results

    def names(text: str | None) -> list[str] | None:
        return None if text is None else [name.strip() for name in text.split(",") if name.strip()]

    limits: dict[str, Any] = {
        "seeds": seeds, "environments": names(envs), "steps": steps, "assignments": set_ or [],
    }  # fmt: skip
    if what in BEYOND:
        runs, preset = plan_better(**limits, part=what), "tuned"
    else:
        runs = plan(what, agents=names(agents), strategies=names(strategies), preset=preset, **limits)
    study = studies.Study(runs, out or Path(f"runs/study-{preset}"), Results(results) if results else None)
    if dry_run:
        typer.echo(studies.describe(study, workers or studies.cores()))
        return
    study.states()  # what is wrong with the folder is said before any engine starts
    made, at_a_time = studies.make_engine(engine, study.out, workers=workers, address=address)
    command = shlex.join(["memec", *sys.argv[1:]])
    raise typer.Exit(studies.reproduce(study, made, at_a_time, command=command, keep_checkpoints=keep_checkpoints))


@app.command()
def report(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A run folder, a folder of run folders, or a results folder.")
    ],
    out: Annotated[Path | None, typer.Option(help="Where figures and tables go. Default: FOLDER/report.")] = None,
    verdict: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a page that judges every claim of the paper.")
    ] = None,
    beyond: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Only write the page on what goes beyond the paper.")
    ] = None,
) -> None:
    """Draw the learning curve of a run, or make figures and tables of many."""
    if beyond is not None:
        from memec.report.beyond import write_beyond

        write_beyond(folder, beyond)
        typer.echo(f"Beyond the paper: {beyond}")
        return
    from memec.experiments.presets import preset_of
    from memec.report import study

    said = (
        study.report(folder, out, preset_of)
        if verdict is None
        else study.report_verdict(folder, verdict, preset_of, out)
    )
    for line in said:
        typer.echo(line)


@app.command()
def watch(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, in training or finished.")],
    port: Annotated[int, typer.Option(help="The port of the page. Default: a free one.")] = 0,
    env: RunsEnvironment = None,
    explore: RunsStrategy = None,
    embed: RunsEmbedding = None,
    agent: RunsAgent = None,
) -> None:
    """Open a page that shows a run live and the memories behind each decision, for this machine only."""
    from memec.watch.server import watch as serve

    serve(run, port=port, env=env, parts={"explore": explore, "embed": embed}, say=typer.echo)


@app.command(name="list")
def list_() -> None:
    """Show environments, agents, strategies, presets and all settings."""
    from memec.experiments.overview import show_overview

    show_overview()


def _say(text: str) -> None:
    """Say something in one line; what a file or a module put into it cannot steer the terminal."""
    line = " ".join(COLOUR.sub("", text).split()).removeprefix("WARN: ")
    print("memec: " + "".join(letter if letter.isprintable() else "?" for letter in line), file=Onlookers(), flush=True)


def main() -> None:
    """Run the command line; a user's mistake is one line and exit status 2."""
    open_missing_output()
    warnings.showwarning = lambda message, *_, **__: _say(str(message))
    try:
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except typer.TyperException as error:
        _say(error.format_message())
        sys.exit(2)
    except MemecError as error:
        _say(str(error))
        sys.exit(2)
    except OSError as error:
        if error.errno in (EMFILE, ENFILE):
            _say("Too many files are open: raise the limit, such as by ulimit -n 1024, or close what is not needed.")
        else:  # such as a full disk that a result was to be written to
            _say(f"The system refuses: {' '.join(str(part) for part in (error.strerror, error.filename) if part)}.")
        sys.exit(2)
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    finally:
        let_go_of_output()
    sys.exit(status)


if __name__ == "__main__":
    main()
