"""Exact search: blocks of keys, in few dimensions sorted into cells of space, most of which are ruled out."""

from memec.memory.exact.following import Following
from memec.memory.exact.search import Exact

__all__ = ["Exact", "Following"]
