"""The memory of value-propagating episodic control: experiences that know which others are like where they led."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from memec.errors import MemecError, NotFiniteError
from memec.memory import lists, propagation
from memec.memory.blocks import CHAIN
from memec.memory.exact import Exact
from memec.memory.intrinsics import LANES
from memec.memory.limits import neighbours_fit, refuse_if_too_large
from memec.memory.propagation import BEST, HOPE, RANGE, VALUE, WORST
from memec.memory.recall import Recall
from memec.memory.saved import check_arrays
from memec.settings import Settings

Arrays = dict[str, NDArray[Any]]
BYTES_PER_ENTRY = 8 + 1 + 16 + 8 + 4 * 4  # reward, whether it ended, two values, step, places in two searches
AT_ONCE = 1_024
"""How many states are looked up in one call when all are: bounds the room that takes."""


class GraphSettings(Settings):
    """How much is remembered, and how values spread over it. Lengths are in steps as the world typically makes them."""

    capacity: PositiveInt = 50_000
    """Entries per action; when they are used up, the nearest entry makes room."""
    neighbours: PositiveInt = 11
    """How many of the most similar entries speak for a state."""
    width: PositiveFloat = 0.1
    """The squared distance below which neighbours count about the same, in squared steps."""
    far: PositiveFloat = 0.5
    """The squared distance of the nearest entry at which a state is half unknown, in squared steps."""
    doubt: NonNegativeFloat = 1.0
    """How much a value is lowered per step of distance to its neighbours, in what a step can be worth."""
    sweeps: NonNegativeFloat = 100.0
    """Entries whose values are brought up to date per step, besides those of the episode; 0 for those alone."""

    @model_validator(mode="after")
    def _neighbours_fit(self) -> Self:
        return neighbours_fit(self)


class View(NamedTuple):
    """What is near to some states."""

    slots: NDArray[np.int64]
    """[states, actions, neighbours] -1 where there is none."""
    squared_distances: NDArray[np.float32]


class Opinion(NamedTuple):
    """What is thought of some states, by action."""

    values: NDArray[np.float64]
    hopes: NDArray[np.float64]


class Graph:
    """Experiences of every action: a key, a reward, and the entries nearest to where it led."""

    def __init__(self, settings: GraphSettings, actions: int, key_size: int, discount: float) -> None:
        slots = actions * settings.capacity
        refuse_if_too_large(
            slots * (4 * 4 * key_size + actions * (16 * settings.neighbours + 17) + BYTES_PER_ENTRY),
            f"A memory of {settings.capacity:,} entries per action",
            "memory.capacity",
        )
        self.settings = settings
        self.actions = actions
        self.key_size = key_size
        self.sizes = np.zeros(actions, np.int64)
        self.keys = np.zeros((slots, key_size), np.float32)
        self.observations = np.zeros((slots, key_size), np.float32)
        self.next_observations = np.zeros((slots, key_size), np.float32)
        self.rewards = np.zeros(slots)
        self.terminal = np.zeros(slots, np.bool_)
        self.values = np.zeros((slots, 2))
        self.steps = np.zeros(slots, np.int64)
        """When each was experienced last."""
        self.limits = np.array([1.0, 0.0, 0.0])
        self._discount = discount
        self._rules = np.array([1.0, settings.width, settings.far, settings.doubt])
        self._near = np.zeros((slots, actions, settings.neighbours), np.int32)  # of used slots only
        self._distances = np.zeros(self._near.shape, np.float32)
        self._stale = np.zeros((slots, actions), np.bool_)
        # In double precision: values crowd near 1 / (1 - discount), where rounding would decide.
        weights, opinions = np.zeros(self._near.shape), np.zeros((slots, actions, 2))
        self._links = (self._near, self._distances, weights, opinions, self._stale)
        self._outcomes = (self.rewards, self.terminal, self.values)
        self._entries = (self.observations, self.next_observations, self.steps, self.sizes)
        self._search = Exact(self.keys, actions, settings.neighbours)
        self._next_keys = np.zeros((slots, key_size), np.float32)
        self._places = Exact(self._next_keys, 1, settings.neighbours)
        self._measure_reach()

    def __len__(self) -> int:
        return int(self.sizes.sum())

    @property
    def fill(self) -> float:
        """The fraction of the slots in use."""
        return len(self) / len(self.rewards)

    def used(self) -> NDArray[np.int64]:
        """Return the slots that hold an entry."""
        starts = np.arange(self.actions) * self.settings.capacity
        return np.concatenate([np.arange(start, start + size) for start, size in zip(starts, self.sizes, strict=True)])

    def look(self, keys: NDArray[np.float32]) -> View:
        """Return what is near to these states [n, key size]."""
        if not np.isfinite(keys).all():
            raise NotFiniteError("A key to look up is NaN or infinite.")
        found = self._room(len(keys))
        wanted = np.ones(found.slots.shape[:2], np.bool_)
        self._search.nearest(keys, wanted, found.squared_distances, found.slots, remember=True)
        return found

    def judge(self, view: View) -> Opinion:
        """Return what is thought of the states that were looked at, as of now."""
        opinion = Opinion(np.empty(view.slots.shape[:2]), np.empty(view.slots.shape[:2]))
        propagation.judge(view.slots, view.squared_distances, self._rules, self.values, self.limits, *opinion)
        return opinion

    def remember(
        self,
        action: int,
        here: View,
        before: NDArray[np.float32],
        reward: float,
        after: NDArray[np.float32],
        terminal: bool,
        step: int,
        scale: NDArray[np.float32],
    ) -> tuple[int, View]:
        """Take down where this action led from the state looked at; return the slot and what is near to where it led.

        Observations are given as they are, `here` by keys of this scale. The value is brought up to date as well.
        """
        there = self._room(1)
        slot, new_keys, new_places = lists.remember(
            action, before, reward, after, terminal, step, scale, *here, *there, self._discount, self._entries,
            self._outcomes, self._links, self._rules, self.limits, self._reach, self._search.filing,
            self._search.last_found, self._places.filing,
        )  # fmt: skip
        if slot < 0:
            raise NotFiniteError("An observation to remember is NaN or infinite.")
        self._search.note_put(new_keys, 1)
        if self._places.note_put(new_places, 1):
            self._measure_reach()
        return slot, there

    def sweep(self, order: NDArray[np.int64]) -> None:
        """Bring the values of these entries up to date, one after the other."""
        propagation.sweep(order, self._discount, self._outcomes, self._links, self._rules, self.limits)

    def newest_first(self) -> NDArray[np.int64]:
        """Return all entries, those experienced last first: values spread against time."""
        used = self.used()
        return used[np.argsort(-self.steps[used], kind="stable")]

    def saw_returns(self, best: float, worst: float) -> None:
        """Take note of what an episode came to: nothing is hoped for beyond the best, or feared beyond the worst."""
        self.limits[BEST], self.limits[WORST] = max(0.0, best), worst
        if best == worst == 0.0:
            self.limits[BEST] = 1.0  # nothing was ever won: all that is new is worth a look
        self.limits[RANGE] = (1.0 - self._discount) * (self.limits[BEST] - self.limits[WORST])

    def measure(self, step_length: float) -> None:
        """Take the squared length of a typical step for the unit of distances from now on."""
        self._rules[0] = step_length
        self._stale[self.used()] = True

    def rescale(self, scale: NDArray[np.float32], step_length: float) -> None:
        """Make all keys anew with this scale of the observations, and find again what is near to what."""
        used = self.used()
        self.keys[used] = self.observations[used] * scale
        self._search.rebuild()
        self._rules[0] = step_length
        for start in range(0, len(used), AT_ONCE):
            slots = used[start : start + AT_ONCE]
            keys = self.next_observations[slots] * scale
            self._lead_to(slots, self.look(keys), keys)
        self._places.rebuild()
        self._measure_reach()

    @property
    def returns(self) -> NDArray[np.float64]:
        """The values as they are believed, slot by slot."""
        return self.values[:, VALUE]

    def recall(self, key: NDArray[np.float32]) -> Recall:
        """Return the entries behind the values in one state, with nothing doubted; a known state speaks for itself."""
        slots, squared_distances = (found[0] for found in self.look(key[None]))
        exact = squared_distances[:, 0] <= propagation.SAME
        slots[exact, 1:], squared_distances[exact, 1:] = -1, np.inf
        found = Recall(np.zeros(self.actions), squared_distances, slots, exact)
        return found._replace(values=(self.weights(found) * self.returns[slots]).sum(-1))

    def weights(self, recall: Recall) -> NDArray[np.float64]:
        """Return each neighbour's weight in its action's value: rows sum to 1, or to 0 where there is none."""
        return recall.weights(self._rules[0] * self.settings.width)

    def arrays(self) -> Arrays:
        """Return everything `restore` needs."""
        used = self.used()
        near = self._near[used]
        present = np.zeros(len(self.rewards), np.bool_)
        present[used] = True
        return {
            "present": present,  # a byte for every slot: no file is much smaller than what it makes room for
            "sizes": self.sizes.copy(),
            "limits": self.limits.copy(),
            "step_length": self._rules[:1].copy(),
            "near": near,
            "distances": np.where(near < 0, np.float32(0), self._distances[used]),
            **{name: table[used] for name, table in self._tables().items()},
        }

    def restore(self, arrays: Arrays, scale: NDArray[np.float32]) -> None:
        """Become the graph whose `arrays` these are, with keys of this scale."""
        forms: dict[str, Any] = {
            "present": (np.bool_, (len(self.rewards),)),
            "sizes": (np.int64, (self.actions,)),
            "limits": (np.float64, (3,)),
            "step_length": (np.float64, (1,)),
        }
        check_arrays(arrays, forms)
        sizes = arrays["sizes"]
        if sizes.min() < 0 or sizes.max() > self.settings.capacity:
            raise MemecError("The saved memory does not fit: it has a larger capacity.")
        lists = (int(sizes.sum()), *self._near.shape[1:])
        forms = {"near": (np.int32, lists), "distances": (np.float32, lists)}
        forms |= {name: (table.dtype.type, (lists[0], *table.shape[1:])) for name, table in self._tables().items()}
        check_arrays(arrays, forms)
        self.sizes[:] = sizes
        used = self.used()
        near = arrays["near"]
        rows = near - (np.arange(self.actions) * self.settings.capacity)[:, None]
        if not ((near == -1) | ((rows >= 0) & (rows < sizes[:, None]))).all():
            raise MemecError("The saved memory does not fit: entries lead to places where there is nothing.")
        for name, table in self._tables().items():
            table[used] = arrays[name]
        self.limits[:] = arrays["limits"]
        self._rules[0] = arrays["step_length"][0]
        self.keys[used] = self.observations[used] * scale
        self._search.put(used)
        distances = np.where(near < 0, np.float32(np.inf), arrays["distances"])
        self._lead_to(used, View(near.astype(np.int64), distances), self.next_observations[used] * scale)

    def _room(self, states: int) -> View:
        shape = (states, self.actions, self.settings.neighbours)
        return View(np.empty(shape, np.int64), np.empty(shape, np.float32))

    def _lead_to(self, slots: NDArray[np.int64], there: View, keys: NDArray[np.float32]) -> None:
        self._next_keys[slots] = keys
        before = self._places.filing
        self._places.put(slots)
        if self._places.filing is not before:  # the cells were cut anew
            self._measure_reach()
        lists.lead_to(slots, *there, self.terminal, self._links, self._places.filing, self._reach)

    def _measure_reach(self) -> None:
        """Note anew how near a key must be to enter each list: the places were filed in other cells and blocks."""
        _, _, _, boxes, _, _, members, _, places, _ = self._places.filing
        cells = np.full((self.actions, boxes.shape[1] * LANES), -1, np.float32)
        self._reach = cells, np.full((self.actions, len(members), LANES), -1, np.float32)
        filed = np.flatnonzero(places[:, CHAIN] >= 0)
        lists.bound(filed, self.terminal, self._distances, self._places.filing, self._reach)

    def _tables(self) -> Arrays:
        return {
            "observations": self.observations,
            "next_observations": self.next_observations,
            "rewards": self.rewards,
            "terminal": self.terminal,
            "values": self.values,
            "steps": self.steps,
        }


__all__ = ["HOPE", "VALUE", "Graph", "GraphSettings", "Opinion", "View"]
