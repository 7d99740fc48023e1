"""Full, named sets of settings: the paper's own, and general ones for any other environment."""

from typing import Any, Literal, NamedTuple

from memec.agents import AGENTS
from memec.errors import unknown_name
from memec.experiments.run_settings import RunSettings

Preset = Literal["paper", "tuned"]
PRESETS: tuple[Preset, ...] = ("tuned", "paper")


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

GENERAL_TRAINING = {
    "vector": {"steps": 100_000, "evaluate_every_steps": 2_000},
    "discrete": {"steps": 100_000, "evaluate_every_steps": 2_000},
    "frames": {"steps": 1_000_000, "evaluate_every_steps": 50_000},
}


def settings_for(
    environment: str, kind: str, *, agent: str = "mfec", preset: str = "tuned", changes: dict[str, Any] | None = None
) -> RunSettings:
    """Return all settings of a run in an environment with this kind of observation (vector, discrete or frames).

    `changes` is nested as the settings are.
    """
    if preset not in PRESETS:
        raise unknown_name("preset", preset, PRESETS)
    if agent not in AGENTS:
        raise unknown_name("agent", agent, AGENTS)
    domain = PAPER.get(environment)
    content: dict[str, Any] = {"environment": {"id": environment}}
    if domain is None:
        content["agent"] = AGENTS[agent].general_settings(kind)
        content["training"] = GENERAL_TRAINING[kind]
    else:
        explore = {"name": "mellowmax", "omega": domain.omega}
        content["agent"] = {"name": agent, "memory": {"capacity": domain.capacity}, "explore": explore}
        content["training"] = {"steps": domain.steps, "evaluate_every_steps": domain.evaluate_every_steps}
    return RunSettings.read(content).changed(changes or {})
