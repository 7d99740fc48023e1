"""Full, named sets of settings: the paper's own, and general ones for any other environment."""

from math import prod
from typing import Any, Literal, NamedTuple

from memec.agents import AGENTS
from memec.errors import MemecError, unknown_name
from memec.experiments.run_settings import RunSettings
from memec.explore import STRATEGIES

Preset = Literal["paper", "released", "tuned"]
PRESETS: tuple[Preset, ...] = ("tuned", "paper", "released")


class Domain(NamedTuple):
    """What the paper's two tables of hyperparameters and its section on omega say about an environment."""

    omega: float
    capacity: int
    steps: int
    evaluate_every_steps: int


ROOMS = Domain(omega=7.5, capacity=150, steps=100_000, evaluate_every_steps=500)
CLASSIC_CONTROL = ROOMS._replace(capacity=10_000)
ATARI = Domain(omega=40.0, capacity=100_000, steps=5_000_000, evaluate_every_steps=100_000)

PAPER: dict[str, Domain] = {
    "CartPole-v1": CLASSIC_CONTROL,
    "Acrobot-v1": CLASSIC_CONTROL,
    "memec/OpenRoom-v0": ROOMS,
    "memec/FourRoom-v0": ROOMS,
    "ALE/Pong-v5": ATARI._replace(omega=25.0),
    "ALE/SpaceInvaders-v5": ATARI,
    "ALE/Qbert-v5": ATARI,
    "ALE/Bowling-v5": ATARI._replace(omega=50.0),
    "ALE/MsPacman-v5": ATARI._replace(omega=60.0),
}
"""The nine environments of the paper."""

PAPER_FRAMES: dict[str, dict[str, Any]] = {
    "mfec": {},
    "nec": {"key_size": 128, "train_start_steps": 50_000},
    "d3qn": {"replay_capacity": 1_000_000, "train_start_steps": 12_500, "target_update_steps": 1_000},
}
"""The paper's second table, for Atari, where it differs from the first, which the agents have as defaults."""

PAPER_STRATEGIES: dict[tuple[str, str, str], dict[str, Any]] = {
    ("nec", "epsilon-greedy", "frames"): {"epsilon_final": 0.001},
    ("d3qn", "epsilon-greedy", "vector"): {"anneal_start_steps": 1, "anneal_end_steps": 50_000},
    ("d3qn", "epsilon-greedy", "frames"): {
        "epsilon_final": 0.01,
        "anneal_start_steps": 1,
        "anneal_end_steps": 1_000_000,
    },
}
"""What the paper's tables give a strategy by agent and kind of observation, where it differs from the defaults."""

TUNED_FOR_ALL = {
    "mfec": ("vector", "discrete", "frames"),
    "nec": ("vector", "discrete"),
    "d3qn": ("vector", "discrete"),
}
"""Agents whose tuned preset is one set of settings for every environment with these kinds of observation."""

PAPER_STEPS = {("nec", "frames"): 3_500_000}
"""Budgets that an agent has for itself."""

GENERAL_TRAINING = {
    "vector": {"steps": 100_000, "evaluate_every_steps": 2_000},
    "discrete": {"steps": 100_000, "evaluate_every_steps": 2_000},
    "frames": {"steps": 1_000_000, "evaluate_every_steps": 50_000},
}


MOST_COMPARED = 6_000
"""Numbers of an observation times actions up to which VPEC's memory, which keeps all of them, stays below 10 GB."""


def default_agent(kind: str, shape: tuple[int, ...], actions: int) -> tuple[str, str | None]:
    """Return the agent that measured best for such observations, and what to say where it would not fit."""
    if kind == "frames":
        return "mfec", None
    numbers = prod(shape)
    if numbers * actions <= MOST_COMPARED:
        return "vpec", None
    return (
        "mfec",
        f"{numbers:,} numbers and {actions} actions are too many for vpec to remember: mfec is taken instead.",
    )


def settings_for(
    environment: str,
    kind: str,
    *,
    agent: str = "mfec",
    preset: str = "tuned",
    explore: str | None = None,
    changes: dict[str, Any] | None = None,
) -> RunSettings:
    """Return all settings of a run in an environment with this kind of observation (vector, discrete or frames).

    `explore` names another strategy than the preset's, with what the preset says about it. `changes` is nested as the
    settings are.
    """
    if preset not in PRESETS:
        raise unknown_name("preset", preset, PRESETS)
    if agent not in AGENTS:
        raise unknown_name("agent", agent, AGENTS)
    if explore is not None and explore not in STRATEGIES and ":" not in explore:
        raise unknown_name("agent.explore", explore, STRATEGIES)
    if agent not in PAPER_FRAMES and preset != "tuned":
        raise MemecError(f"The paper has no {agent}: use --preset tuned.")
    domain = PAPER.get(environment)
    if domain is None and preset != "tuned":
        raise MemecError(f"The preset {preset} is for {_names(preset)}, not for {environment}: use --preset tuned.")
    content: dict[str, Any] = {"environment": {"id": environment}}
    if preset == "paper" and kind == "frames" and agent in ("mfec", "nec"):
        # as in the authors' code, which lets the stack go on after a lost life; D3QN keeps the way of DQN
        content["environment"]["empty_stack_after_life_loss"] = False
    for_all = preset == "tuned" and kind in TUNED_FOR_ALL.get(agent, ())
    if domain is None or agent not in PAPER_FRAMES or for_all:
        general = AGENTS[agent].settings_type.suiting(kind).model_dump(mode="json")
        if explore not in (None, general["explore"]["name"]):
            general["explore"] = {"name": explore} | _paper_strategy(agent, domain, kind, explore)
        content["agent"] = general
    elif preset == "released":
        if agent == "d3qn" or kind == "frames":
            raise MemecError(f"The preset released is for mfec and nec in {_names(preset)}.")
        content["agent"] = _released_agent(agent, domain, kind, explore)
    else:
        content["agent"] = _paper_agent(agent, domain, kind, explore)
    if domain is None:
        content["training"] = GENERAL_TRAINING[kind]
    else:
        steps = PAPER_STEPS.get((agent, kind), domain.steps)
        content["training"] = {"steps": steps, "evaluate_every_steps": domain.evaluate_every_steps}
    return RunSettings.read(content).changed(changes or {})


def _names(preset: str) -> str:
    """Name the environments that a preset of the paper has."""
    return ", ".join(name for name, domain in PAPER.items() if preset == "paper" or domain.capacity < ATARI.capacity)


def _paper_agent(agent: str, domain: Domain, kind: str, explore: str | None) -> dict[str, Any]:
    explore = explore or ("epsilon-greedy" if agent == "d3qn" else "mellowmax")
    memory: dict[str, Any] = {} if agent == "d3qn" else {"memory": {"capacity": domain.capacity}}
    if agent == "nec" and kind != "frames":
        memory["memory"]["search"] = "exact"  # learned keys of few numbers are searched exactly in no more time
    own = PAPER_FRAMES[agent] if kind == "frames" else {}
    return {
        "name": agent,
        **memory,
        **own,
        "explore": {"name": explore, **_paper_strategy(agent, domain, kind, explore)},
    }


def _released_agent(agent: str, domain: Domain, kind: str, explore: str | None) -> dict[str, Any]:
    """Return the paper's agent with what the authors' released code does otherwise, where that changes a verdict."""
    content = _paper_agent(agent, domain, kind, explore)
    content["explore"]["ties"] = "first"
    if content["explore"]["name"] in ("ucb", "thompson"):
        content["explore"]["gaussian_process"] = "released"
    return content


def _paper_strategy(agent: str, domain: Domain | None, kind: str, explore: str | None) -> dict[str, Any]:
    """Return what the paper sets of a strategy in one of its environments."""
    if domain is None or explore is None:
        return {}
    return {"omega": domain.omega} if explore == "mellowmax" else PAPER_STRATEGIES.get((agent, explore, kind), {})


def preset_of(content: dict[str, Any], *, any_omega: bool = False) -> str | None:
    """Return which reading of the paper a run's settings are, by themselves and not by the name they were given.

    None if any differs but the seed, the budget, what is saved and on what it runs; on request omega may differ, too.
    """
    try:
        settings = RunSettings.read(content)
        environment, agent = settings.environment.id, settings.agent
        if environment not in PAPER:
            return None
        for preset in ("paper", "released"):
            kind = "frames" if environment.startswith("ALE/") else "vector"
            name = agent.explore.name
            try:
                expected = settings_for(environment, kind, agent=agent.name, preset=preset, explore=name)
            except MemecError:  # it has no such agent
                continue
            if _comparable(settings, any_omega) == _comparable(expected, any_omega):
                return preset
    except MemecError:
        pass
    return None


def _comparable(settings: RunSettings, any_omega: bool) -> dict[str, Any]:
    content = settings.model_dump(mode="json", exclude={"seed", "checkpoint"})
    content["training"].pop("steps")
    for name in ("device", "threads"):
        content["agent"].pop(name, None)
    if any_omega:
        content["agent"]["explore"].pop("omega", None)
    return content
