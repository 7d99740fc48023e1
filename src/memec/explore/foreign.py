"""Strategies that are none of memec's: recorded by what they are set to, and held to their contract.

All that one must have is `choose(belief, step, rng) -> int`. It may have:

- `needs_std`: whether the belief is to have standard deviations (agents with a memory have them);
- `observe(reward, over)`: it is told what each decision brought, and `forget()` when an episode is over or given up;
- `arrays()` and `restore(arrays)`: what it has learned, as a dictionary of numpy arrays, for checkpoints;
- `probabilities(belief, step)`: the distribution it draws from, for those who look on;
- `diagnostics(beliefs, step)`: numbers for the diary, by name;
- `insight()`, instead of observing itself: what learns for it (`memec.explore.Insight`).
"""

from collections.abc import Generator as Generated
from collections.abc import Sequence
from contextlib import AbstractContextManager, contextmanager
from operator import index
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from memec.errors import MemecError, OutsideError
from memec.explore.belief import Belief, Floats
from memec.explore.insight import Insight
from memec.explore.strategy import Need
from memec.foreign import ForeignSettings, description, learned_arrays, naming
from memec.plugins import is_made, made, name_of


class ForeignStrategySettings(ForeignSettings):
    """What is recorded of a strategy that is none of memec's."""

    needs: ClassVar[Need] = "values"


def describe(own: Any, options: dict[str, Any] | None = None, name: str | None = None) -> ForeignStrategySettings:
    """Return the record of a strategy."""
    return ForeignStrategySettings.read(description(own, options, name))


def make_foreign(plugin: Any, options: dict[str, Any]) -> "Foreign":
    """Make a strategy of what a user named."""
    own = made("strategy", plugin, "choose", options)
    name = None if is_made(plugin, "choose") else name_of(plugin)
    return Foreign(own, describe(own, options, name))


class Foreign:
    """A strategy of the user's own as agents see it."""

    def __init__(self, own: Any, settings: ForeignStrategySettings | None = None) -> None:
        if isinstance(own, type):
            raise MemecError(f"explore takes an object, and {own.__name__} is a class: pass {own.__name__}(...).")
        if not callable(getattr(own, "choose", None)):
            raise MemecError(f"{name_of(own)} cannot be a strategy: it has no method choose(belief, step, rng).")
        self._own = own
        self.settings = settings or describe(own)
        self.name = self.settings.name
        self.needs_std = bool(getattr(own, "needs_std", False))
        self.needs: Need = getattr(own, "needs", "memory" if self.needs_std else "values")
        self.ties: Literal["random", "first"] = getattr(own, "ties", "random")
        self.judges_as_released = bool(getattr(own, "judges_as_released", False))

    def choose(self, belief: Belief, step: int, rng: Generator) -> int:
        """Draw an action, and see that it is one."""
        with self._named("choose"):
            action = self._own.choose(_frozen(belief), step, rng)
        try:
            chosen = index(action)
        except TypeError:
            what = f"chose {action!r}, a {type(action).__name__}: it must be a whole number"
            raise OutsideError(f"The strategy {self.name} {what}.") from None
        if not 0 <= chosen < belief.mean.size:
            last = belief.mean.size - 1
            raise OutsideError(f"The strategy {self.name} chose {chosen}, and the actions are 0 to {last}.")
        return chosen

    def probabilities(self, belief: Belief, step: int) -> Floats | None:
        """Return the distribution `choose` draws from, where it can tell."""
        if not hasattr(self._own, "probabilities"):
            return None
        with self._named("probabilities"):
            told = np.asarray(self._own.probabilities(_frozen(belief), step), np.float64)
        if told.shape != belief.mean.shape or not np.isfinite(told).all() or told.min() < 0.0:
            raise OutsideError(f"The probabilities of the strategy {self.name} are none of actions: {told.tolist()}.")
        return told

    def diagnostics(self, beliefs: Sequence[Belief], step: int) -> dict[str, float]:
        """Return its own measures."""
        if not hasattr(self._own, "diagnostics"):
            return {}
        with self._named("diagnostics"):
            return {str(name): float(value) for name, value in self._own.diagnostics(beliefs, step).items()}

    def insight(self) -> Insight:
        """Return what tells the strategy how it goes, and saves what it learns."""
        if hasattr(self._own, "insight"):
            with self._named("insight"):
                found: Insight = self._own.insight()
                return found
        return OwnInsight(self._own, self.name)

    def _named(self, method: str) -> Any:
        return _naming(self.name, method)


class OwnInsight(Insight):
    """What a user's strategy learns: it is kept in the strategy itself."""

    def __init__(self, own: Any, name: str) -> None:
        self._own = own
        self._name = name

    def enter(self, lane: int) -> None:
        """Refuse to mix up what it is told of several episodes: it takes them for one."""
        if lane > 0 and (hasattr(self._own, "observe") or hasattr(self._own, "forget")):
            raise MemecError(
                f"The strategy {self._name} observes one episode at a time: leave environments=... out, or give it a "
                "method insight() whose result has a method enter(lane)."
            )

    def observe(self, reward: float, over: bool) -> None:
        """Tell the strategy."""
        if hasattr(self._own, "observe"):
            with _naming(self._name, "observe"):
                self._own.observe(reward, over)

    def forget(self) -> None:
        """Tell the strategy."""
        if hasattr(self._own, "forget"):
            with _naming(self._name, "forget"):
                self._own.forget()

    @contextmanager
    def untouched(self) -> Generated[None]:
        """Let it choose without learning from it."""
        before = self.arrays()
        try:
            yield
        finally:
            if before:
                self.restore(before)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return copies of what it has learned."""
        if not hasattr(self._own, "arrays"):
            return {}
        with _naming(self._name, "arrays"):
            return learned_arrays(self._own.arrays())

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Hand back what it has learned."""
        if not hasattr(self._own, "restore"):
            if arrays:
                raise MemecError(f"The strategy {self._name} has no method restore, and this is what it learned once.")
            return
        with _naming(self._name, "restore"):
            self._own.restore({name: array.copy() for name, array in arrays.items()})


class Missing:
    """Stands for a strategy that an agent once had and was not given again: it can be evaluated, but not explore."""

    ties: Literal["random"] = "random"
    needs: Need = "values"
    needs_std = judges_as_released = False

    def __init__(self, settings: ForeignStrategySettings) -> None:
        self.name = settings.name

    def choose(self, belief: Belief, step: int, rng: Generator) -> int:
        """Say what is missing."""
        raise MemecError(f"This agent explores by {self.name}, which is none of memec's: pass it as explore=... again.")

    def probabilities(self, belief: Belief, step: int) -> None:
        """Nobody knows."""

    def diagnostics(self, beliefs: Sequence[Belief], step: int) -> dict[str, float]:
        """Nobody knows."""
        return {}

    def insight(self) -> Insight:
        """Return what keeps the learned arrays for whoever has the strategy."""
        return Kept()


class Kept(Insight):
    """What a strategy learned that is not there."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return them as they came."""
        return dict(self._arrays)

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Keep them."""
        self._arrays = dict(arrays)


def _naming(strategy: str, method: str) -> AbstractContextManager[None]:
    return naming(f"strategy {strategy}", method, "belief")


def _frozen(belief: Belief) -> Belief:
    """Return a copy that can be kept, and not be changed."""
    return Belief(*(_copied(part) for part in belief))


def _copied(part: Any) -> Any:
    if isinstance(part, tuple):
        return tuple(_copied(one) for one in part)
    if not isinstance(part, np.ndarray):
        return part
    copy = part.copy()
    copy.flags.writeable = False
    return copy
