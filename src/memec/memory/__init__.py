"""The episodic memory: keys, returns and recall."""

from memec.memory.memory import Memory, MemorySettings
from memec.memory.recall import Recall

__all__ = ["Memory", "MemorySettings", "Recall"]
