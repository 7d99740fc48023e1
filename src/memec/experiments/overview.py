"""What there is to choose from, for `memec list`."""

from typing import Any

from pydantic_core import to_jsonable_python
from rich.console import Console
from rich.table import Table

from memec.agents import AGENTS, MFECSettings
from memec.experiments.presets import GENERAL_TRAINING, PAPER
from memec.experiments.run_settings import RunSettings
from memec.explore import STRATEGIES
from memec.settings import Settings, setting_names


def show_overview() -> None:
    """Print environments, agents, strategies, presets and every setting with its default."""
    console = Console(soft_wrap=False)
    console.print(_environments())
    console.print(_strategies())
    for name, agent in AGENTS.items():
        console.print(_settings(f"Settings of {name} (--set NAME=VALUE)", agent.settings_type))
    console.print(_settings("Settings of a run", RunSettings, without="agent."))


def overview() -> dict[str, Any]:
    """Return the same as plain data."""
    return {
        "environments": {name: domain._asdict() for name, domain in PAPER.items()},
        "strategies": {name: _defaults(strategy) for name, strategy in STRATEGIES.items()},
        "agents": {name: _defaults(agent.settings_type) for name, agent in AGENTS.items()},
        "run": {name: value for name, value in _defaults(RunSettings).items() if not name.startswith("agent.")},
    }


def _defaults(settings: type[Settings]) -> dict[str, Any]:
    """Return every setting that has a default, by its dotted name."""
    return {
        name: to_jsonable_python(field.get_default())
        for name, field in setting_names(settings)
        if not field.is_required() and name != "name"
    }


def _environments() -> Table:
    table = Table(title="Environments and the settings their presets give them", title_justify="left")
    for column in ("environment", "capacity", "omega", "steps", "evaluated every"):
        table.add_column(column, justify="left" if column == "environment" else "right")
    for name, domain in PAPER.items():
        numbers = (domain.capacity, domain.omega, domain.steps, domain.evaluate_every_steps)
        table.add_row(name, *(f"{number:,}" for number in numbers))
    for kind, training in GENERAL_TRAINING.items():
        general = MFECSettings.suiting(kind).model_dump()
        omega = general["explore"].get("omega", "auto")
        every = f"{training['evaluate_every_steps']:,}"
        capacity, steps = f"{general['memory']['capacity']:,}", f"{training['steps']:,}"
        table.add_row(f"any other, {kind} observations", capacity, str(omega), steps, every)
    table.caption = (
        "Capacity and omega are those of the preset paper for mfec and nec; nec trains 3,500,000 steps on Atari. With "
        "tuned, the default, mfec and d3qn have one set of settings for all environments without pictures, as vpec "
        "always has, and omega follows the values (mellowmax-auto)."
    )
    return table


def _strategies() -> Table:
    table = Table(title="Strategies (--explore NAME)", title_justify="left")
    table.add_column("name")
    table.add_column("what it does")
    table.add_column("settings")
    for name, strategy in STRATEGIES.items():
        options = [f"{option}={field.default}" for option, field in strategy.model_fields.items() if option != "name"]
        table.add_row(name, (strategy.__doc__ or "").partition("\n")[0], ", ".join(options))
    table.caption = "optimism needs vpec; d3qn and vpec have no memories for ucb, thompson and what is calibrated."
    return table


def _settings(title: str, settings: type[Settings], without: str = "\n") -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("setting", no_wrap=True)
    table.add_column("default")
    table.add_column("meaning")
    seen = set()
    for name, field in setting_names(settings):
        if name.startswith(without) or name == "name" or name in seen:
            continue
        seen.add(name)
        default = "" if field.is_required() else str(field.default)
        table.add_row(name, default, field.description or "")
    return table
