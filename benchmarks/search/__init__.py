"""How fast and how good the nearest-neighbour searches are."""

from benchmarks.search.search import rows

__all__ = ["rows"]
