"""The paper's study as a list of runs."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

from memec.agents import AGENTS
from memec.errors import MemecError, unknown_name
from memec.experiments.presets import settings_for
from memec.experiments.run_settings import MEMEC, RunSettings, changes_from
from memec.explore import STRATEGIES
from memec.settings import flat

SMALL = {
    "cartpole": "CartPole-v1",
    "acrobot": "Acrobot-v1",
    "openroom": "memec/OpenRoom-v0",
    "fourroom": "memec/FourRoom-v0",
}
GAMES = {
    "pong": "ALE/Pong-v5",
    "spaceinvaders": "ALE/SpaceInvaders-v5",
    "qbert": "ALE/Qbert-v5",
    "bowling": "ALE/Bowling-v5",
    "mspacman": "ALE/MsPacman-v5",
}
ENVIRONMENTS = SMALL | GAMES
STUDIES = {**{name: (name,) for name in ENVIRONMENTS}, "small": tuple(SMALL), "atari": tuple(GAMES)}
BEYOND = ("better", "ablation", "strategies")
"""What is no part of the paper; planned in `better`."""
WHATS = (*STUDIES, "omega", "all", *BEYOND)
"""What can be asked for."""

AGENTS_OF_THE_PAPER = ("mfec", "nec", "d3qn")
AGENTS_RELEASED = ("mfec", "nec")
"""Those of which the authors' code is to be had."""
STRATEGIES_OF_THE_PAPER = ("epsilon-greedy", "boltzmann", "mellowmax", "ucb", "thompson")
STRATEGIES_ON_ATARI = ("epsilon-greedy", "mellowmax")
ONLY_EPSILON_GREEDY = ("d3qn",)
"""Baselines: how they explore is part of what they are."""

OMEGAS_SMALL = (5.0, 7.0, 9.0, 12.0)
OMEGAS_ATARI = (10.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0)
"""The paper's grid search for omega."""


@dataclass(frozen=True)
class GridRun:
    """One run of a study: all that decides it, and its place among the others."""

    environment: str
    """The short name, such as fourroom."""
    settings: RunSettings
    preset: str
    label: str = ""
    """What tells runs of one strategy apart, such as omega9 in the search for omega."""
    study: str = ""
    """The part of all results that this belongs to, where that does not follow from the environment."""
    runner: str = MEMEC
    """The module that does it: another one for what is no agent of memec's."""

    @property
    def agent(self) -> str:
        """The agent's name."""
        return self.settings.agent.name

    @property
    def variant(self) -> str:
        """The strategy's name, with what tells its runs apart."""
        strategy: str = self.settings.agent.explore.name
        return f"{strategy}-{self.label}" if self.label else strategy

    @property
    def seed(self) -> int:
        """The run's seed."""
        return self.settings.seed

    @property
    def curve(self) -> str:
        """What the seeds of one learning curve have in common, such as fourroom/mfec-mellowmax."""
        return f"{self.environment}/{self.agent}-{self.variant}"

    @property
    def name(self) -> str:
        """The run's name in its study, and its folder's path: fourroom/mfec-mellowmax/seed-3."""
        return f"{self.curve}/seed-{self.seed}"

    @property
    def part(self) -> str:
        """The part of all results that its own are kept with: small, atari, omega or better."""
        if self.study:
            return self.study
        return "small" if self.environment in SMALL else "atari"

    def with_seed(self, seed: int) -> "GridRun":
        """Return the same run with another seed."""
        return replace(self, settings=self.settings.model_copy(update={"seed": seed}))

    def folder(self, study: Path) -> Path:
        """Return where the run lives in a study's folder."""
        return study / self.name


def plan(
    what: str,
    *,
    seeds: int = 10,
    agents: Sequence[str] | None = None,
    strategies: Sequence[str] | None = None,
    environments: Sequence[str] | None = None,
    preset: str = "paper",
    steps: int | None = None,
    assignments: Sequence[str] = (),
) -> list[GridRun]:
    """Return the runs of a part of the paper's study; `assignments` change settings, as `--set` does.

    All of one seed come before the next, so that a study stopped in the middle compares all strategies with few seeds
    rather than few strategies with all.
    """
    if what not in WHATS:
        raise unknown_name("part of the study", what, WHATS)
    agents = _known("agent", agents, AGENTS_RELEASED if preset == "released" else AGENTS_OF_THE_PAPER, AGENTS)
    strategies = _known("strategy", strategies, STRATEGIES_OF_THE_PAPER, STRATEGIES)
    environments = _known("environment", environments, ENVIRONMENTS)
    if seeds < 1:
        raise MemecError(f"A study needs at least one seed; --seeds {seeds} is none.")
    curves = [
        curve
        for part in (("small", "atari", "omega") if what == "all" else (what,))
        for curve in (_omega_curves(agents) if part == "omega" else _curves(STUDIES[part], agents, strategies))
        if curve[0] in environments
    ]
    if "mellowmax" not in strategies:
        curves = [curve for curve in curves if curve[3] is None]
    if not curves:
        raise MemecError(
            f"The paper has no such runs in {what!r}: on Atari there are {' and '.join(STRATEGIES_ON_ATARI)} only, "
            f"{' and '.join(ONLY_EPSILON_GREEDY)} explores by epsilon-greedy only, and omega belongs to mellowmax."
        )
    first = [_first_seed(curve, preset, steps, assignments) for curve in curves]
    return [run.with_seed(seed) for seed in range(seeds) for run in first]


def digest(settings: RunSettings) -> str:
    """Return what tells the settings of a run from any other's."""
    text = json.dumps(_that_decide(settings), sort_keys=True)
    return sha256(text.encode()).hexdigest()[:16]


def differences(there: RunSettings, here: RunSettings) -> list[str]:
    """Say how two sets of settings differ, one text each; how often a run is saved is no difference."""
    flat_there, flat_here = (dict(flat(_that_decide(settings))) for settings in (there, here))
    names = [*flat_there, *(name for name in flat_here if name not in flat_there)]
    return [
        f"{name} is {flat_there.get(name, 'not set')} there and {flat_here.get(name, 'not set')} here"
        for name in names
        if flat_there.get(name) != flat_here.get(name)
    ]


Curve = tuple[str, str, str, float | None]


def _curves(environments: Iterable[str], agents: Sequence[str], strategies: Sequence[str]) -> list[Curve]:
    return [
        (environment, agent, strategy, None)
        for environment, agent, strategy in product(environments, agents, strategies)
        if (strategy in STRATEGIES_ON_ATARI or environment in SMALL)
        and (strategy == "epsilon-greedy" or agent not in ONLY_EPSILON_GREEDY)
    ]


def _omega_curves(agents: Sequence[str]) -> list[Curve]:
    return [
        (environment, agent, "mellowmax", omega)
        for environment, agent in product(ENVIRONMENTS, agents)
        if agent not in ONLY_EPSILON_GREEDY
        for omega in (OMEGAS_SMALL if environment in SMALL else OMEGAS_ATARI)
    ]


def _first_seed(curve: Curve, preset: str, steps: int | None, assignments: Sequence[str]) -> GridRun:
    environment, agent, strategy, omega = curve
    kind = "vector" if environment in SMALL else "frames"
    settings = settings_for(ENVIRONMENTS[environment], kind, agent=agent, preset=preset, explore=strategy)
    changes: dict[str, Any] = {"training": {"steps": steps}}
    if omega is not None:
        changes["agent"] = {"explore": {"omega": omega}}
    settings = settings.changed(changes).changed(changes_from(list(assignments), agent))
    if omega is None:
        return GridRun(environment, settings, preset)
    return GridRun(environment, settings, preset, label=f"omega{omega:g}", study="omega")


def _known(
    what: str, names: Sequence[str] | None, default: Iterable[str], known: Iterable[str] | None = None
) -> list[str]:
    if names is None:
        return list(default)
    known = list(default if known is None else known)
    for name in names:
        if name not in known:
            raise unknown_name(what, name, known)
    return list(dict.fromkeys(names))


def _that_decide(settings: RunSettings) -> dict[str, Any]:
    return settings.model_dump(mode="json", exclude={"checkpoint"})
