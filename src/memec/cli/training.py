"""`memec train` and `memec evaluate`: one run."""

import json
import logging
import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from memec.cli.options import (
    RunsAgent,
    RunsEmbedding,
    RunsEnvironment,
    RunsStrategy,
    Steps,
    agent_here,
    complete_agents,
    complete_environments,
    complete_strategies,
    look_here_too,
    say,
    show_tracebacks,
)
from memec.errors import MemecError

if TYPE_CHECKING:
    from memec.experiments.run import Outcome

STRATEGY_OF = {"omega": "mellowmax", "temperature": "boltzmann", "epsilon_final": "epsilon-greedy", "bonus": "ucb"}
"""Which strategy is meant where only an option of it is given."""


def train(
    context: typer.Context,
    env: Annotated[
        str | None,
        typer.Argument(
            metavar="ENV",
            help="Any Gymnasium id, such as CartPole-v1, ALE/Pong-v5 or module:Id.",
            callback=look_here_too,
            autocompletion=complete_environments,
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            help="The agent; `memec list` shows them, and module:Name is one of yours. Default: vpec, but mfec for "
            "pictures and other long observations, for a strategy of its own and for --preset paper.",
            callback=agent_here,
            autocompletion=complete_agents,
        ),
    ] = None,
    explore: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="epsilon-greedy, boltzmann, mellowmax, mellowmax-auto, ucb, ucb-calibrated, thompson, "
            "thompson-calibrated, or one of yours by module:Name. Default: the preset's.",
            callback=look_here_too,
            autocompletion=complete_strategies,
        ),
    ] = None,
    embed: Annotated[
        str | None,
        typer.Option(
            metavar="module:Name",
            help="mfec: an embedding of yours. Default: memec's own.",
            callback=look_here_too,
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
    steps: Steps = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same run.")] = 0,
    device: Annotated[str | None, typer.Option(help="nec and d3qn: cpu (the default) or cuda.")] = None,
    evaluate_every: Annotated[int | None, typer.Option(help="Steps between greedy evaluations; 0 for none.")] = None,
    environments: Annotated[
        int | None, typer.Option(help="Environments to play in side by side; --steps counts the steps in all of them.")
    ] = None,
    engine: Annotated[
        str, typer.Option(help="Where they are played: process, threads, workers, or auto by what their steps take.")
    ] = "auto",
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any setting, such as memory.capacity=20000."),
    ] = None,
    env_set: Annotated[
        list[str] | None,
        typer.Option(
            "--env-set", metavar="NAME=VALUE", help="What the environment is made with, such as is_slippery=false."
        ),
    ] = None,
    settings_file: Annotated[
        Path | None,
        typer.Option(
            "--settings", metavar="FILE", help="Settings from a file: a run.json, or what `memec tune` found."
        ),
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
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of what broke.", callback=show_tracebacks)
    ] = False,
) -> None:
    """Train an agent and record the run.

    The run folder gets run.json (all settings), episodes.csv, evaluations.csv and checkpoints. Ctrl-C stops cleanly;
    memec train --resume RUN goes on.
    """
    from memec.envs.world import make_again
    from memec.experiments import run as experiment
    from memec.experiments.plugged import KINDS, made_parts
    from memec.experiments.presets import default_agent, settings_for
    from memec.experiments.run_settings import (
        Changes,
        changes_from,
        environment_from,
        keeping_frames,
        on_device,
        read_settings_file,
    )

    logging.basicConfig(format="%(message)s")
    logging.getLogger("memec").setLevel(logging.INFO)  # where environments are played
    if resume is not None:
        from memec.agents import OWN

        kept = {"resume", "steps", "env", "log", "explore", "embed", "debug", "engine"} | (
            set() if agent in OWN else {"agent"}
        )
        given = [name for name in _given_options(context) if name not in kept]
        if given:
            option = {"settings_file": "settings", "set_": "set"}.get(given[0], given[0].replace("_", "-"))
            raise MemecError(f"A resumed run keeps its settings: leave out --{option}.")
        _show(experiment.resume(resume, env=env, explore=explore, embed=embed, steps=steps, log=log, engine=engine))
    told: Changes = (
        {} if settings_file is None else read_settings_file(settings_file, explore=explore, embed=embed, env=env)
    )
    env = env or told.get("environment", {}).get("id")
    if env is None:
        raise MemecError("Say which environment to train in, such as CartPole-v1, or which run to --resume.")
    if told.get("environment", {}).get("id", env) != env:
        del told["environment"]  # the settings of an agent may be tried elsewhere
    assignments = [*(f"environment.kwargs.{assignment}" for assignment in env_set or ()), *(set_ or ())]
    options = {"omega": omega, "temperature": temperature, "epsilon_final": epsilon_final, "bonus": bonus}
    world = make_again(environment_from(env, assignments, told.get("environment", {})), training=True)
    if explore is not None:
        explore = KINDS["explore"].full_name(explore)
    else:
        explore = next((STRATEGY_OF[name] for name, value in options.items() if value is not None), None)
    if agent is None:
        agent = told.get("agent", {}).get("name")
    if agent is None:
        agent, remark = default_agent(world.observation.kind, world.observation.shape, world.actions)
        if preset != "tuned" or explore is not None:
            agent = "mfec"
        elif remark is not None:
            say(remark)
    if told.get("agent", {}).get("name", agent) != agent:
        raise MemecError(f"The settings of {settings_file} are of {told['agent']['name']}, not of {agent}.")
    base = settings_for(env, world.observation.kind, agent=agent, preset=preset, explore=explore).changed(told)
    told_of_training = {"steps": steps, "evaluate_every_steps": evaluate_every, "environments": environments}
    named: dict[str, Any] = {"training": told_of_training, "seed": seed}
    named["agent"] = {"explore": {name: value for name, value in options.items() if value is not None}}
    if embed is not None:
        named["agent"]["embed"] = {"name": KINDS["embed"].full_name(embed)}
    if device is not None:
        base = on_device(base, device)
    if keep_frames:
        base = keeping_frames(base)
    settings = base.changed(named).changed(changes_from(assignments, agent))
    parts, settings = made_parts(settings)
    folder = out or experiment.new_folder(settings)
    command = shlex.join(["memec", *sys.argv[1:]])
    _show(
        experiment.run(
            settings, folder, preset=preset, command=command, log=log, world=world, parts=parts, engine=engine
        )
    )


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


def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or an agent's .safetensors file.")],
    episodes: Annotated[int, typer.Option(help="Greedy episodes to play.")] = 10,
    env: RunsEnvironment = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the episodes. Default: the run's.")] = None,
    embed: RunsEmbedding = None,
    agent: RunsAgent = None,
    video: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Film the first of the episodes: a name in .mp4 or .gif.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Say it as JSON, for other programs.")] = False,
) -> None:
    """Try out a trained agent, greedily, in fresh episodes."""
    from memec.experiments.run import evaluate_run

    if video is not None:
        from memec.watch.video import record_video

        filmed = record_video(run, video, env=env, seed=seed, embed=embed)
        typer.echo(f"Video: {filmed}", err=as_json)
    result = evaluate_run(run, episodes, env=env, seed=seed, embed=embed)
    if as_json:
        typer.echo(json.dumps(result._asdict()))
        return
    typer.echo(
        f"{result.episodes} greedy episodes: score {result.mean_score:.5g} +- {result.std_score:.4g} "
        f"(lowest {result.min_score:.5g}, highest {result.max_score:.5g}), {result.mean_length:.5g} steps each"
    )


def verify(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    steps: Steps = None,
    env: RunsEnvironment = None,
    explore: RunsStrategy = None,
    embed: RunsEmbedding = None,
    agent: RunsAgent = None,
) -> None:
    """Train a recorded run again, or its first --steps, and compare every episode and evaluation with the record.

    Exit status 0 where all are the same, 1 where one differs.
    """
    from memec.experiments.verify import verify_run

    found = verify_run(run, steps, env=env, explore=explore, embed=embed)
    for differing in found.other_versions:
        typer.echo(f"Another version: {differing}")
    if found.difference is not None:
        typer.echo(f"Not the same: {found.difference}")
        raise typer.Exit(1)
    typer.echo(f"The same: {found.rows:,} episodes and evaluations in {found.steps:,} steps are as recorded.")
