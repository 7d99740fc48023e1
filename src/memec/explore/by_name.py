"""Strategies by their name, for settings files and the command line."""

from typing import Annotated, Any

from pydantic import Field

from memec.errors import unknown_name
from memec.explore.boltzmann import Boltzmann
from memec.explore.epsilon_greedy import EpsilonGreedy
from memec.explore.greedy import Greedy
from memec.explore.mellowmax import Mellowmax
from memec.explore.mellowmax_auto import MellowmaxAuto
from memec.explore.optimism import Optimism
from memec.explore.thompson import Thompson, ThompsonCalibrated
from memec.explore.ucb import UCB, UCBCalibrated

AnyStrategy = (
    EpsilonGreedy
    | Boltzmann
    | Mellowmax
    | UCB
    | Thompson
    | MellowmaxAuto
    | UCBCalibrated
    | ThompsonCalibrated
    | Greedy
    | Optimism
)

ExploreSettings = Annotated[AnyStrategy, Field(discriminator="name")]
"""Any strategy, as a field of settings: its `name` says which."""

STRATEGIES: dict[str, type[AnyStrategy]] = {
    "epsilon-greedy": EpsilonGreedy,
    "boltzmann": Boltzmann,
    "mellowmax": Mellowmax,
    "ucb": UCB,
    "thompson": Thompson,
    "mellowmax-auto": MellowmaxAuto,
    "ucb-calibrated": UCBCalibrated,
    "thompson-calibrated": ThompsonCalibrated,
    "greedy": Greedy,
    "optimism": Optimism,
}


def strategy(name: str, **options: Any) -> AnyStrategy:
    """Make the strategy of this name, such as `strategy("mellowmax", omega=25)`."""
    if name not in STRATEGIES:
        raise unknown_name("strategy", name, STRATEGIES)
    return STRATEGIES[name].read(options)
