"""Exploration: from a belief over action values to an action. One file per strategy."""

from memec.explore.belief import Belief
from memec.explore.boltzmann import Boltzmann
from memec.explore.by_name import (
    PLUGINS,
    STRATEGIES,
    AnyStrategy,
    ExploreSettings,
    full_name,
    in_use,
    make_strategy,
    register_strategy,
    strategy,
    taken_up,
)
from memec.explore.epsilon_greedy import EpsilonGreedy
from memec.explore.exploration import Exploration
from memec.explore.foreign import Foreign, ForeignStrategySettings
from memec.explore.greedy import Greedy, evaluated
from memec.explore.insight import Insight
from memec.explore.mellowmax import Mellowmax, mellowmax_policy
from memec.explore.mellowmax_auto import MellowmaxAuto
from memec.explore.strategy import MEANING, Need, Strategy
from memec.explore.thompson import Thompson, ThompsonCalibrated
from memec.explore.ucb import UCB, UCBCalibrated

__all__ = [
    "MEANING",
    "PLUGINS",
    "STRATEGIES",
    "UCB",
    "AnyStrategy",
    "Belief",
    "Boltzmann",
    "EpsilonGreedy",
    "Exploration",
    "ExploreSettings",
    "Foreign",
    "ForeignStrategySettings",
    "Greedy",
    "Insight",
    "Mellowmax",
    "MellowmaxAuto",
    "Need",
    "Strategy",
    "Thompson",
    "ThompsonCalibrated",
    "UCBCalibrated",
    "evaluated",
    "full_name",
    "in_use",
    "make_strategy",
    "mellowmax_policy",
    "register_strategy",
    "strategy",
    "taken_up",
]
