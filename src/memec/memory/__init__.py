"""The episodic memory: keys, returns and recall."""

from memec.memory.memory import Memory, MemorySettings, Recall

__all__ = ["Memory", "MemorySettings", "Recall"]
