"""VPEC's memory: what was experienced, what came of it, and which experiences are near to there."""

from memec.graph.answers import Opinion, Outcome, Remembered, View
from memec.graph.graph import Graph
from memec.graph.remembering import Experience
from memec.graph.settings import GraphSettings

__all__ = ["Experience", "Graph", "GraphSettings", "Opinion", "Outcome", "Remembered", "View"]
