"""Approximate search: inverted lists of codes, probed from the nearest on, and re-ranked by the keys themselves."""

from memec.memory.ivf.search import Approximate

__all__ = ["Approximate"]
