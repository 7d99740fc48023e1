"""The agents: each puts embedding, memory and exploration together."""

from typing import Annotated

from pydantic import Field

from memec.agents.agent import Agent
from memec.agents.d3qn import D3QN, D3QNSettings
from memec.agents.mfec import MFEC, MFECSettings
from memec.agents.nec import NEC, NECSettings
from memec.agents.vpec import VPEC, VPECSettings

AGENTS: dict[str, type[Agent]] = {"mfec": MFEC, "nec": NEC, "d3qn": D3QN, "vpec": VPEC}

AnyAgentSettings = Annotated[MFECSettings | NECSettings | D3QNSettings | VPECSettings, Field(discriminator="name")]
"""The settings of any agent, as a field: its `name` says which."""

__all__ = [
    "AGENTS",
    "D3QN",
    "MFEC",
    "NEC",
    "VPEC",
    "Agent",
    "AnyAgentSettings",
    "D3QNSettings",
    "MFECSettings",
    "NECSettings",
    "VPECSettings",
]
