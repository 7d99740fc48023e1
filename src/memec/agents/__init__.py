"""The agents: each puts embedding, memory and exploration together."""

from memec.agents.agent import Agent
from memec.agents.mfec import MFEC, MFECSettings

AGENTS: dict[str, type[Agent]] = {"mfec": MFEC}
AnyAgentSettings = MFECSettings

__all__ = ["AGENTS", "MFEC", "Agent", "AnyAgentSettings", "MFECSettings"]
