"""The episodic memory: keys, returns and recall."""

from memec.memory.familiar import Known
from memec.memory.memory import Memory, MemorySettings
from memec.memory.recall import Recall

__all__ = ["Known", "Memory", "MemorySettings", "Recall"]
