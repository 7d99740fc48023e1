"""The episodic memory: keys, returns and recall."""

from memec.memory.memory import Memory
from memec.memory.memory_settings import MemorySettings
from memec.memory.recall import Recall, Written
from memec.memory.rules import KeepLarger, MoveTowards

__all__ = ["KeepLarger", "Memory", "MemorySettings", "MoveTowards", "Recall", "Written"]
