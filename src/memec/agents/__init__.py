"""The agents: each puts embedding, memory and exploration together."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, SerializeAsAny, Tag

from memec.agents.agent import Agent, Env, Part
from memec.agents.d3qn import D3QN
from memec.agents.episode import Column, Episode
from memec.agents.exploring import Decisions, ExploringSettings
from memec.agents.lookups import LookUps
from memec.agents.memories import Memories, Thought
from memec.agents.mfec import MFEC
from memec.agents.nec import NEC
from memec.agents.settings import D3QNSettings, MFECSettings, NECSettings, VPECSettings
from memec.agents.vpec import VPEC
from memec.errors import MemecError
from memec.plugins import Plugins, name_of
from memec.settings import FOREIGN
from memec.train import RunFolder
from memec.train.files import read_outline
from memec.train.protocol import GreedyPolicy

OWN: dict[str, type[Agent]] = {"mfec": MFEC, "nec": NEC, "d3qn": D3QN, "vpec": VPEC}
AGENTS = dict(OWN)
"""memec's own agents, and those that were registered."""
PLUGINS = Plugins("agent", "memec.agents", OWN)


def register_agent(agent: type[Agent]) -> None:
    """Let an agent be found by its name, in settings, on the command line and in files."""
    if not (isinstance(agent, type) and issubclass(agent, Agent)):
        raise MemecError(f"{name_of(agent)} is no agent: that is a class derived from memec.agents.Agent.")
    name = getattr(agent, "name", None)
    if not isinstance(name, str) or _name_in(getattr(agent, "settings_type", None)) != name:
        raise MemecError(
            f"{name_of(agent)} must have a name and a settings_type, derived from ExploringSettings, with that name."
        )
    PLUGINS.register(name, agent)
    AGENTS[name] = agent


def agent_named(name: str) -> type[Agent]:
    """Return the agent that the user asks for; one of others is imported and registered."""
    if name not in AGENTS:
        found = PLUGINS.find(name)
        if AGENTS.get(getattr(found, "name", "")) is not found:
            register_agent(found)
        return AGENTS[found.name]
    return AGENTS[name]


def load(path: str | Path, env: Env | None = None, **parts: Any) -> Agent:
    """Return the agent that a file holds, or the newest checkpoint of a run, whichever it is; see `Agent.load`."""
    path = Path(path)
    if path.is_dir():
        folder = RunFolder.open(path)
        path = folder.checkpoints.newest(folder.record()["id"], rows=False).file
    name = read_outline(path)[0].get("agent")
    if name not in AGENTS:
        raise MemecError(f"{path} holds an agent {name!r}, which is none of memec's: import what registers it first.")
    return AGENTS[name].load(path, env, **parts)


def _name_in(settings: Any) -> Any:
    """Return the name that settings of this class have."""
    if isinstance(settings, type) and issubclass(settings, ExploringSettings):
        return settings.model_fields["name"].default
    return None


def _which(content: Any) -> Any:
    name = content.get("name") if isinstance(content, dict) else getattr(content, "name", None)
    return FOREIGN if isinstance(name, str) and name not in OWN and name in AGENTS else name


def _read(content: Any) -> Any:
    return AGENTS[content["name"]].settings_type.read(content) if isinstance(content, dict) else content


AnyAgentSettings = Annotated[
    Annotated[MFECSettings, Tag("mfec")]
    | Annotated[NECSettings, Tag("nec")]
    | Annotated[D3QNSettings, Tag("d3qn")]
    | Annotated[VPECSettings, Tag("vpec")]
    | Annotated[SerializeAsAny[ExploringSettings], BeforeValidator(_read), Tag(FOREIGN)],
    Discriminator(_which),
]
"""The settings of any agent, as a field: its `name` says which."""

__all__ = [
    "AGENTS",
    "D3QN",
    "MFEC",
    "NEC",
    "OWN",
    "PLUGINS",
    "VPEC",
    "Agent",
    "AnyAgentSettings",
    "Column",
    "D3QNSettings",
    "Decisions",
    "Env",
    "Episode",
    "ExploringSettings",
    "GreedyPolicy",
    "LookUps",
    "MFECSettings",
    "Memories",
    "NECSettings",
    "Part",
    "Thought",
    "VPECSettings",
    "agent_named",
    "load",
    "register_agent",
]
