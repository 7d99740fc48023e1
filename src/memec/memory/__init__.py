"""The episodic memory: keys, returns and recall."""

from memec.memory.memory import Memory
from memec.memory.memory_settings import MemorySettings
from memec.memory.recall import Recall

__all__ = ["Memory", "MemorySettings", "Recall"]
