"""A comparison in any environment: agents, strategies and settings, each with the same seeds and steps."""

from collections.abc import Sequence
from itertools import product
from typing import Any

from memec.agents import AGENTS
from memec.envs.recorded import EnvironmentSettings
from memec.envs.world import make_again
from memec.errors import MemecError, unknown_name
from memec.experiments.grid import GridRun
from memec.experiments.presets import default_agent, settings_for
from memec.experiments.run_settings import changes_from
from memec.explore import STRATEGIES

PRESET = "compare"
"""What its runs are recorded as, so that no other report takes them for its own."""
EVALUATIONS = 25
"""How often a budget that is not the preset's own is looked at."""


def short_name(env: str) -> str:
    """Return what an environment's runs are named after: frozenlake-v1."""
    return env.rpartition("/")[2].rpartition(":")[2].lower()


def plan_comparison(
    environment: EnvironmentSettings,
    *,
    agents: Sequence[str] | None = None,
    strategies: Sequence[str] | None = None,
    grid: Sequence[str] = (),
    seeds: int = 10,
    steps: int | None = None,
    evaluate_every: int | None = None,
    assignments: Sequence[str] = (),
) -> list[GridRun]:
    """Return the runs, all of one seed before the next.

    `grid` holds assignments of several values, such as memory.neighbours=5,11: each combination is a competitor. A
    strategy that one of several agents cannot explore by is left out for that agent.
    """
    if seeds < 1:
        raise MemecError(f"A comparison needs at least one seed; --seeds {seeds} is none.")
    for name in agents or ():
        if name not in AGENTS:
            raise unknown_name("agent", name, AGENTS)
    for name in strategies or ():
        if name not in STRATEGIES:
            raise unknown_name("strategy", name, STRATEGIES)
    world = make_again(environment, training=True)
    kind = world.observation.kind
    chosen = agents or [default_agent(kind, world.observation.shape, world.actions)[0]]
    world.close()
    explored: Sequence[str | None] = strategies or (None,)
    settings_made: dict[str, GridRun] = {}
    refused: list[str] = []
    for agent, strategy in product(dict.fromkeys(chosen), explored):
        base = settings_for(environment.id, kind, agent=agent)
        try:
            if strategy is not None:
                base = settings_for(environment.id, kind, agent=agent, explore=strategy)
        except MemecError as error:
            refused.append(str(error))
            continue
        training: dict[str, Any] = {"steps": steps, "evaluate_every_steps": evaluate_every}
        if steps is not None and evaluate_every is None:
            training["evaluate_every_steps"] = max(1, steps // EVALUATIONS)
        base = base.changed({"environment": environment.model_dump(mode="json"), "training": training})
        for values in _combinations(grid):
            settings = base.changed(changes_from([*assignments, *values], agent))
            every = settings.training.evaluate_every_steps
            if not 0 < every <= settings.training.steps:
                raise MemecError(f"Greedy evaluations are compared: one every {every:,} steps makes none.")
            label = "-".join(_in_a_name(value) for value in values)
            run = GridRun(short_name(environment.id), settings, PRESET, label=label, study=PRESET)
            if run.curve in settings_made:
                raise MemecError(f"The competitor {run.curve} is there twice: leave one out.")
            settings_made[run.curve] = run
    if not settings_made:
        raise MemecError(refused[0])
    runs = settings_made.values()
    first = min(run.seed for run in runs)
    return [run.with_seed(first + seed) for seed in range(seeds) for run in runs]


def _combinations(grid: Sequence[str]) -> list[tuple[str, ...]]:
    """Return every way to take one value of each assignment."""
    axes = []
    for assignment in grid:
        name, equals, text = assignment.partition("=")
        values = [value.strip() for value in text.split(",") if value.strip()]
        if not equals or not name.strip() or not values:
            raise MemecError(
                f"--grid takes name=value,value, such as memory.neighbours=5,11,21; {assignment!r} is not that."
            )
        axes.append([f"{name.strip()}={value}" for value in dict.fromkeys(values)])
    return list(product(*axes))


def _in_a_name(assignment: str) -> str:
    """Return what tells a competitor from others in the name of its folder: neighbours5."""
    name, _, value = assignment.partition("=")
    kept = "".join(letter if letter.isalnum() or letter in ".-" else "_" for letter in value)
    return name.rpartition(".")[2] + kept
