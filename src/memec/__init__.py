"""Episodic control for Gymnasium: agents that remember what paid off and learn from a few thousand steps.

from memec import MFEC, Mellowmax

agent = MFEC("CartPole-v1", explore=Mellowmax(omega=7.5), seed=0).learn(50_000, progress=True)
action, _ = agent.predict(observation)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import memec.envs  # noqa: F401 (registers the rooms with Gymnasium)
from memec.caching import find_a_place

if TYPE_CHECKING:
    from memec.agents import D3QN as D3QN
    from memec.agents import MFEC as MFEC
    from memec.agents import NEC as NEC
    from memec.agents import VPEC as VPEC
    from memec.agents import load as load
    from memec.agents import register_agent as register_agent
    from memec.agents.memories import Memories as Memories
    from memec.embed import register_embedding as register_embedding
    from memec.envs.world import World as World
    from memec.envs.world import make as make
    from memec.errors import MemecError as MemecError
    from memec.explore import UCB as UCB
    from memec.explore import Boltzmann as Boltzmann
    from memec.explore import EpsilonGreedy as EpsilonGreedy
    from memec.explore import Mellowmax as Mellowmax
    from memec.explore import MellowmaxAuto as MellowmaxAuto
    from memec.explore import Thompson as Thompson
    from memec.explore import ThompsonCalibrated as ThompsonCalibrated
    from memec.explore import UCBCalibrated as UCBCalibrated
    from memec.explore import register_strategy as register_strategy
    from memec.memory import Memory as Memory
    from memec.memory import MemorySettings as MemorySettings
    from memec.train.events import Episode as Episode
    from memec.train.events import Evaluation as Evaluation
    from memec.train.events import Tick as Tick

_HOMES = {
    "D3QN": "memec.agents",
    "MFEC": "memec.agents",
    "NEC": "memec.agents",
    "VPEC": "memec.agents",
    "Memories": "memec.agents.memories",
    "load": "memec.agents",
    "register_agent": "memec.agents",
    "register_embedding": "memec.embed",
    "register_strategy": "memec.explore",
    "World": "memec.envs.world",
    "make": "memec.envs.world",
    "MemecError": "memec.errors",
    "UCB": "memec.explore",
    "Boltzmann": "memec.explore",
    "EpsilonGreedy": "memec.explore",
    "Mellowmax": "memec.explore",
    "MellowmaxAuto": "memec.explore",
    "Thompson": "memec.explore",
    "ThompsonCalibrated": "memec.explore",
    "UCBCalibrated": "memec.explore",
    "Memory": "memec.memory",
    "MemorySettings": "memec.memory",
    "Episode": "memec.train.events",
    "Evaluation": "memec.train.events",
    "Tick": "memec.train.events",
}
__all__ = sorted(_HOMES)
__version__: str
find_a_place()


def __getattr__(name: str) -> Any:
    """Import what is asked for, so that `memec --help` need not wait for compilers and emulators."""
    if name == "__version__":
        from importlib.metadata import version

        return version("memec")
    if name not in _HOMES:
        raise AttributeError(f"module 'memec' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
