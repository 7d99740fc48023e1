"""Options that several commands have, and how what is written on the command line is read."""

import re
from typing import Annotated

import typer

from memec.onlookers import Onlookers

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
"""How Gymnasium colours its warnings."""


def look_here_too(env: str | None) -> str | None:
    """Let a module:Name find the modules of this folder, too."""
    if env is not None:
        from memec.envs import modules

        modules.look_here_too(env)
    return env


def agent_here(agent: str | None) -> str | None:
    """Import an agent that is none of memec's, and return its name."""
    if agent is None or (":" not in agent and not _is_installed(agent)):
        return agent
    from memec.agents import agent_named

    look_here_too(agent)
    return agent_named(agent).name


def _is_installed(agent: str) -> bool:
    from importlib.metadata import entry_points

    return any(entry.name == agent for entry in entry_points(group="memec.agents"))


RunsEnvironment = Annotated[
    str | None,
    typer.Option(help="The run's environment, where it is a module:Id to import.", callback=look_here_too),
]


RunsStrategy = Annotated[
    str | None,
    typer.Option(help="The run's strategy, where it is a module:Name to import.", callback=look_here_too),
]
RunsAgent = Annotated[
    str | None,
    typer.Option(help="The run's agent, where it is a module:Name to import.", callback=agent_here),
]
RunsEmbedding = Annotated[
    str | None,
    typer.Option(help="The run's embedding, where it is a module:Name to import.", callback=look_here_too),
]


def whole_number(text: str) -> int:
    """Read a number of steps: 20000, 20_000 or 2e4."""
    try:
        number = float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number.") from None
    if not number.is_integer():  # which infinity is not, either
        raise typer.BadParameter(f"{text!r} is not a whole number.")
    return int(text) if text.strip("+-").isdecimal() else int(number)


def names(text: str | None) -> list[str] | None:
    """Read a list such as vpec,mfec."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def complete_environments(incomplete: str) -> list[str]:
    """Return the ids that begin so, for a shell's Tab."""
    import gymnasium

    from memec.envs.registration import register

    register()
    return sorted(name for name in gymnasium.registry if name.startswith(incomplete))


def complete_agents(incomplete: str) -> list[str]:
    """Return the agents that begin so."""
    from memec.agents import AGENTS

    return [name for name in AGENTS if name.startswith(incomplete)]


def complete_strategies(incomplete: str) -> list[str]:
    """Return the strategies that begin so."""
    from memec.explore import STRATEGIES

    return [name for name in STRATEGIES if name.startswith(incomplete)]


tracebacks_wanted = False
"""Whether a mistake is shown with where it came about."""


def show_tracebacks(asked: bool) -> bool:
    """From now on show where a mistake came about, if asked."""
    global tracebacks_wanted
    tracebacks_wanted |= asked
    return asked


Steps = Annotated[
    int | None, typer.Option(parser=whole_number, metavar="N", help="Steps to train, such as 20000 or 1e6.")
]


def say(text: str) -> None:
    """Say something in one line; what a file or a module put into it cannot steer the terminal."""
    line = " ".join(COLOUR.sub("", text).split()).removeprefix("WARN: ")
    print("memec: " + "".join(letter if letter.isprintable() else "?" for letter in line), file=Onlookers(), flush=True)
