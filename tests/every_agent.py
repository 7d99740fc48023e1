"""Every agent that the contract holds for: memec's own, and one that is none of its own."""

from typing import Any

from examples.own_parts.agent import MonteCarlo

from memec.agents import AGENTS, OWN

FOREIGN = {MonteCarlo.name: f"{MonteCarlo.__module__}:{MonteCarlo.__name__}"}
"""Agents that are none of memec's, by how the command line is told of them."""
EVERY = (*OWN, *FOREIGN)
NETWORK = {"train_start_steps": 50, "replay_capacity": 150, "batch_size": 8}
SMALL: dict[str, dict[str, Any]] = {
    "mfec": {"memory": {"capacity": 80}},
    "nec": {"memory": {"capacity": 80}, **NETWORK},
    "d3qn": {**NETWORK, "target_update_steps": 60},
    "vpec": {"memory": {"capacity": 64}},
    "monte-carlo": {},
}
"""What lets short runs meet everything: small memories, networks that are trained at once."""


def agent(name: str = "mfec", env: Any = "CartPole-v1", seed: int = 3, **changes: Any) -> Any:
    """Make a small one."""
    made: Any = AGENTS[name]
    return made(env, seed=seed, **(SMALL[name] | changes))
