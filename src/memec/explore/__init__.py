"""Exploration: from a belief over action values to an action. One file per strategy."""

from memec.explore.belief import Belief
from memec.explore.boltzmann import Boltzmann
from memec.explore.by_name import STRATEGIES, AnyStrategy, Strategy, strategy
from memec.explore.epsilon_greedy import EpsilonGreedy
from memec.explore.greedy import Greedy
from memec.explore.mellowmax import Mellowmax, mellowmax_policy
from memec.explore.thompson import Thompson
from memec.explore.ucb import UCB

__all__ = [
    "STRATEGIES",
    "UCB",
    "AnyStrategy",
    "Belief",
    "Boltzmann",
    "EpsilonGreedy",
    "Greedy",
    "Mellowmax",
    "Strategy",
    "Thompson",
    "mellowmax_policy",
    "strategy",
]
