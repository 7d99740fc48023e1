"""Strategies by their name, for settings files and the command line."""

from typing import Annotated, Any

from pydantic import Discriminator, Tag

from memec.errors import unknown_name
from memec.explore.boltzmann import Boltzmann
from memec.explore.epsilon_greedy import EpsilonGreedy
from memec.explore.foreign import Foreign, ForeignStrategySettings, Missing, make_foreign
from memec.explore.greedy import Greedy
from memec.explore.mellowmax import Mellowmax
from memec.explore.mellowmax_auto import MellowmaxAuto
from memec.explore.optimism import Optimism
from memec.explore.strategy import Strategy
from memec.explore.thompson import Thompson, ThompsonCalibrated
from memec.explore.ucb import UCB, UCBCalibrated
from memec.plugins import Plugins, name_of
from memec.settings import FOREIGN

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
"""memec's own."""

PLUGINS = Plugins("strategy", "memec.strategies", STRATEGIES)
"""Those of others."""


def _which(content: Any) -> Any:
    """Return which kind of settings this is: names with a colon are of classes that are none of memec's."""
    name = content.get("name") if isinstance(content, dict) else getattr(content, "name", None)
    return FOREIGN if isinstance(name, str) and ":" in name else name


ExploreSettings = Annotated[
    Annotated[EpsilonGreedy, Tag("epsilon-greedy")]
    | Annotated[Boltzmann, Tag("boltzmann")]
    | Annotated[Mellowmax, Tag("mellowmax")]
    | Annotated[UCB, Tag("ucb")]
    | Annotated[Thompson, Tag("thompson")]
    | Annotated[MellowmaxAuto, Tag("mellowmax-auto")]
    | Annotated[UCBCalibrated, Tag("ucb-calibrated")]
    | Annotated[ThompsonCalibrated, Tag("thompson-calibrated")]
    | Annotated[Greedy, Tag("greedy")]
    | Annotated[Optimism, Tag("optimism")]
    | Annotated[ForeignStrategySettings, Tag(FOREIGN)],
    Discriminator(_which),
]
"""Any strategy, as a field of settings: its `name` says which."""


def strategy(name: str, **options: Any) -> AnyStrategy:
    """Make the strategy of this name, such as `strategy("mellowmax", omega=25)`."""
    if name not in STRATEGIES:
        raise unknown_name("strategy", name, STRATEGIES)
    return STRATEGIES[name].read(options)


register_strategy = PLUGINS.register
"""Let a strategy be found by a name: a class, or a function that makes one."""


def full_name(name: str) -> str:
    """Return by what name a strategy is recorded that the user asks for; one of others is imported."""
    return name if name in STRATEGIES else name_of(PLUGINS.find(name))


def make_strategy(settings: ForeignStrategySettings) -> Foreign:
    """Make a strategy of others that the user asks for: it is imported."""
    return make_foreign(PLUGINS.find(settings.name), settings.options)


def taken_up(explore: Any) -> tuple[Any, Strategy | None]:
    """Return how settings describe what a user passed as a strategy, and the strategy where that is none of memec's."""
    if isinstance(explore, str) and explore not in STRATEGIES:
        own = make_foreign(PLUGINS.find(explore), {})
    elif (
        explore is None
        or isinstance(explore, str | dict | ForeignStrategySettings)
        or type(explore) in STRATEGIES.values()
    ):
        return explore, None
    else:
        own = explore if isinstance(explore, Foreign) else Foreign(explore)
    assert isinstance(own, Foreign)
    return own.settings, own


def in_use(settings: AnyStrategy | ForeignStrategySettings) -> Strategy:
    """Return the strategy that settings mean; one of others must have been passed, or is missing."""
    return Missing(settings) if isinstance(settings, ForeignStrategySettings) else settings
