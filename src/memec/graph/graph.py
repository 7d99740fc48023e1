"""The memory of value-propagating episodic control: experiences that know which others are like where they led."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memec.errors import NotFiniteError
from memec.graph import lists, propagation, remembering, saved
from memec.graph.answers import Chains, Opinion, Outcome, Remembered, View
from memec.graph.handle import make_handle
from memec.graph.remembering import Experience
from memec.graph.settings import GraphSettings
from memec.graph.tables import (
    BEST,
    COMPARED,
    ELSEWHERE,
    RANGE,
    REPEATS,
    ROWS_USED,
    SAME,
    STRAYED,
    VALUE,
    WORST,
    Entries,
    Links,
    Outcomes,
    Reach,
    Rules,
    Tables,
)
from memec.memory.compiled.intrinsics import LANES
from memec.memory.compiled.lists import LIST
from memec.memory.exact import Exact
from memec.memory.limits import refuse_if_too_large
from memec.memory.recall import Recall
from memec.saved_arrays import check_arrays

Arrays = Mapping[str, NDArray[Any]]
AT_ONCE = 1_024
"""How many states are looked up in one call when all are: bounds the room that takes."""
MOST_COEFFICIENTS = 1_024
"""Numbers a slope may take at a place (actions x actions x neighbours): with more, means alone are followed."""
OUTCOMES_PER_ENTRY = 1.5
"""Rows of outcomes for every slot of an entry: where states are new each has one, where they repeat slots are free."""


class Graph:
    """Experiences of every action: a key, what came of it, and the entries nearest to where that led."""

    def __init__(self, settings: GraphSettings, actions: int, key_size: int, discount: float) -> None:
        slots, neighbours = actions * settings.capacity, settings.neighbours
        rows = int(slots * OUTCOMES_PER_ENTRY)
        coefficients = actions * actions * neighbours
        sloped = key_size <= settings.slope_numbers and coefficients <= MOST_COEFFICIENTS
        self.settings = settings
        self.actions = actions
        self.key_size = key_size
        self._refuse_too_many(slots, rows, coefficients if sloped else 0)
        self.keys = np.zeros((slots, key_size), np.float32)
        self.entries = Entries(
            observations=np.zeros((slots, key_size), np.float32),
            values=np.zeros((slots, 3)),
            steps=np.zeros(slots, np.int64),
            sizes=np.zeros(actions, np.int64),
            visits=np.zeros(slots),
            first=np.full(slots, -1, np.int32),
            latest=np.full(slots, -1, np.int32),
        )
        self.outcomes = Outcomes(
            observations=np.zeros((rows, key_size), np.float32),
            rewards=np.zeros(rows),
            terminal=np.zeros(rows, np.bool_),
            counts=np.zeros(rows),
            nexts=np.full(rows, -1, np.int32),
            free=np.zeros(rows, np.int32),
            rows=np.zeros(2, np.int64),
        )
        lists_shape = (rows, actions, neighbours)
        self._links = Links(
            near=np.zeros(lists_shape, np.int32),  # of rows in use only
            distances=np.zeros(lists_shape, np.float32),
            # In double precision: values crowd near 1 / (1 - discount), where rounding would decide.
            weights=np.zeros(lists_shape),
            corrections=np.zeros((rows if sloped else 1, actions, actions * neighbours)),
            opinions=np.zeros((rows, actions, 2)),
            stale=np.zeros((rows, actions), np.bool_),
        )
        self.limits = np.array([1.0, 0.0, 0.0])
        self._luck = np.zeros(5)
        self._rules = Rules(
            step_length=1.0,
            width=settings.width,
            far=settings.far,
            doubt=settings.doubt,
            ridge=settings.ridge if sloped else -1.0,
            pseudo=settings.pseudo,
            discount=discount,
        )
        self._search = Exact(self.keys, actions, neighbours)
        self._next_keys = np.zeros((rows, key_size), np.float32)
        self._places = Exact(self._next_keys, 1, neighbours)
        self._measure_reach()

    def __len__(self) -> int:
        return int(self.entries.sizes.sum())

    @property
    def fill(self) -> float:
        """The fraction of the slots in use."""
        return len(self) / len(self.keys)

    @property
    def observations(self) -> NDArray[np.float32]:
        """What was observed, slot by slot."""
        return self.entries.observations

    @property
    def returns(self) -> NDArray[np.float64]:
        """The values as they are believed, slot by slot."""
        return self.entries.values[:, VALUE]

    @property
    def steps(self) -> NDArray[np.int64]:
        """When each was experienced last."""
        return self.entries.steps

    def used(self) -> NDArray[np.int64]:
        """Return the slots that hold an entry."""
        starts = np.arange(self.actions) * self.settings.capacity
        sizes = self.entries.sizes
        return np.concatenate([np.arange(start, start + size) for start, size in zip(starts, sizes, strict=True)])

    def look(self, keys: NDArray[np.float32]) -> View:
        """Return what is near to these states [n, key size]."""
        if not np.isfinite(keys).all():
            raise NotFiniteError("A key to look up is NaN or infinite.")
        found = self._room(keys)
        wanted = np.ones(found.slots.shape[:2], np.bool_)
        self._search.nearest(keys, wanted, found.squared_distances, found.slots, remember=True)
        return found

    def judge(self, view: View) -> Opinion:
        """Return what is thought of the states that were looked at, as of now."""
        worths = np.empty((3, *view.slots.shape[:2]))
        propagation.judge(view.slots, view.squared_distances, view.keys, self._handle, worths)
        return Opinion(*worths)

    def remember(self, experience: Experience, here: View, scale: NDArray[np.float32]) -> Remembered:
        """Take down what came of an action in the state looked at; `here` is by keys of this scale."""
        there = self._room((experience.after * scale)[None])
        slot, new_keys, new_places, repeated = remembering.remember(
            experience, scale, here.slots, here.squared_distances, there.slots, there.squared_distances,
            self.settings.outcomes, self._handle,
        )  # fmt: skip
        if slot < 0:
            raise NotFiniteError("An observation to remember is NaN or infinite.")
        filed_again = self._search.note_put(new_keys, int(not repeated))
        if self._places.note_put(new_places, int(not repeated)) or filed_again:
            self._measure_reach()
        return Remembered(slot, there, not repeated)

    def sweep(self, order: NDArray[np.int64]) -> None:
        """Bring the values of these entries up to date, one after the other."""
        propagation.sweep(order, self._handle)

    def newest_first(self) -> NDArray[np.int64]:
        """Return all entries, those experienced last first: values spread against time."""
        used = self.used()
        return used[np.argsort(-self.steps[used], kind="stable")]

    def saw_returns(self, best: float, worst: float) -> None:
        """Take note of what an episode came to: nothing is hoped for beyond the best, or feared beyond the worst."""
        self.limits[BEST], self.limits[WORST] = max(0.0, best), worst
        if best == worst == 0.0:
            self.limits[BEST] = 1.0  # nothing was ever won: all that is new is worth a look
        self.limits[RANGE] = (1.0 - self._rules.discount) * (self.limits[BEST] - self.limits[WORST])

    def measure(self, step_length: float) -> None:
        """Take the squared length of a typical step for the unit of distances from now on."""
        self._rules = self._rules._replace(step_length=step_length)
        self._links.stale[: self._rows_used] = True
        self._hand_over()

    def rescale(self, scale: NDArray[np.float32], step_length: float) -> None:
        """Make all keys anew with this scale of the observations, and find again what is near to what."""
        used = self.used()
        self.keys[used] = self.observations[used] * scale
        self._search.rebuild()
        self._rules = self._rules._replace(step_length=step_length)
        self._measure_reach()
        for start in range(0, self._rows_used, AT_ONCE):
            rows = np.arange(start, min(start + AT_ONCE, self._rows_used))
            self._lead_to(rows, self.look(self.outcomes.observations[rows] * scale))
        self._places.rebuild()
        self._measure_reach()

    def recall(self, key: NDArray[np.float32]) -> Recall:
        """Return the entries behind the values in one state, with nothing doubted; a known state speaks for itself."""
        _, slots, squared_distances = (found[0] for found in self.look(key[None]))
        exact = squared_distances[:, 0] <= SAME
        slots[exact, 1:], squared_distances[exact, 1:] = -1, np.inf
        found = Recall(np.zeros(self.actions), squared_distances, slots, exact)
        return found._replace(values=(self.weights(found) * self.returns[slots]).sum(-1))

    def weights(self, recall: Recall) -> NDArray[np.float64]:
        """Return each neighbour's weight in its action's value: rows sum to 1, or to 0 where there is none."""
        return recall.weights(self._rules.step_length * self.settings.width)

    @property
    def chance(self) -> float:
        """The share of what was tried again that led elsewhere than the last time."""
        return float(self._luck[ELSEWHERE] / max(self._luck[REPEATS], 1.0))

    @property
    def straying(self) -> float:
        """How differently moments that are near to each other go on, in squared typical steps; 0 without chance."""
        return float(self._luck[STRAYED] / max(self._luck[COMPARED], 1.0))

    @property
    def lucky(self) -> bool:
        """Whether there is so much luck in the world that one experience should not be trusted."""
        return bool(propagation.is_lucky(self._luck, self._rules))

    def told(self, slot: int) -> list[Outcome]:
        """Return what came of an entry, the most frequent first."""
        rows = self.outcomes_of(np.array([slot])).rows
        counts, rewards, terminal = self.outcomes.counts, self.outcomes.rewards, self.outcomes.terminal
        found = [
            Outcome(int(counts[row]), float(rewards[row]), bool(terminal[row]), self.outcomes.observations[row].copy())
            for row in rows
        ]
        return sorted(found, key=lambda outcome: -outcome.count)

    def outcomes_of(self, slots: NDArray[np.int64]) -> Chains:
        """Return which rows hold the outcomes of these entries, one after the other."""
        return Chains(*saved.follow(slots, self.entries, self.outcomes))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything `restore` needs: outcomes in the order of their entries, and of each entry's chain."""
        used = self.used()
        rows, lengths, latest = self.outcomes_of(used)
        present = np.zeros(len(self.keys), np.bool_)
        present[used] = True
        near = self._links.near[rows]
        return {
            "present": present,  # a byte for every slot: no file is much smaller than what it makes room for
            "sizes": self.entries.sizes.copy(),
            "limits": self.limits.copy(),
            "luck": self._luck.copy(),
            "step_length": np.array([self._rules.step_length]),
            "lengths": lengths,
            "latest": latest,
            "near": near,
            "distances": np.where(near < 0, np.float32(0), self._links.distances[rows]),
            **{name: table[used] for name, table in self._entry_tables().items()},
            **{name: table[rows] for name, table in self._outcome_tables().items()},
        }

    def restore(self, arrays: Arrays, scale: NDArray[np.float32]) -> None:
        """Become the graph whose `arrays` these are, with keys of this scale."""
        saved.check_graph(arrays, self.actions, self.settings, self._entry_tables(), self._outcome_tables())
        self.entries.sizes[:] = arrays["sizes"]
        used = self.used()
        for name, table in self._entry_tables().items():
            table[used] = arrays[name]
        rows = np.arange(int(arrays["lengths"].sum()))
        ends = np.cumsum(arrays["lengths"])
        self.entries.first[used] = ends - arrays["lengths"]
        self.entries.latest[used] = self.entries.first[used] + arrays["latest"]
        for name, table in self._outcome_tables().items():
            table[rows] = arrays[name]
        self.outcomes.nexts[rows] = rows + 1
        self.outcomes.nexts[ends - 1] = -1
        if len(used):
            self.entries.visits[used] = np.add.reduceat(self.outcomes.counts[rows], self.entries.first[used])
        self.outcomes.rows[:] = len(rows), 0
        self.limits[:] = arrays["limits"]
        self._luck[:] = arrays["luck"]
        self._rules = self._rules._replace(step_length=float(arrays["step_length"][0]))
        self.keys[used] = self.observations[used] * scale
        self._search.put(used)
        near = arrays["near"]
        distances = np.where(near < 0, np.float32(np.inf), arrays["distances"])
        self._lead_to(rows, View(self.outcomes.observations[rows] * scale, near.astype(np.int64), distances))
        self._measure_reach()

    def restore_view(self, arrays: Arrays) -> View:
        """Return the view of one state whose `arrays` these are."""
        lists_shape = (1, self.actions, self.settings.neighbours)
        forms: dict[str, Any] = {"slots": (np.int64, lists_shape), "squared_distances": (np.float32, lists_shape)}
        check_arrays(arrays, {"keys": (np.float32, (1, self.key_size))} | forms)
        slots = arrays["slots"]
        saved.check_lists(slots, self.entries.sizes, self.settings.capacity)
        return View(arrays["keys"], slots, np.where(slots < 0, np.float32(np.inf), arrays["squared_distances"]))

    @property
    def _rows_used(self) -> int:
        return int(self.outcomes.rows[ROWS_USED])

    def _room(self, keys: NDArray[np.float32]) -> View:
        shape = (len(keys), self.actions, self.settings.neighbours)
        return View(keys, np.empty(shape, np.int64), np.empty(shape, np.float32))

    def _lead_to(self, rows: NDArray[np.int64], there: View) -> None:
        self._next_keys[rows] = there.keys
        before = self._places.filing
        self._places.put(rows)
        if self._places.filing is not before:  # the cells were cut anew
            self._measure_reach()
        lists.lead_to(
            rows, there.slots, there.squared_distances, self.outcomes.terminal, self._links, self._places.filing,
            self._reach,
        )  # fmt: skip

    def _measure_reach(self) -> None:
        """Note anew how near a key must be to enter each list: the places were filed in other cells and blocks."""
        boxes, lists_of_places = self._places.filing.boxes, self._places.filing.lists
        cells = np.full((self.actions, boxes.shape[1] * LANES), -1, np.float32)
        self._reach = Reach(cells, np.full((self.actions, len(lists_of_places.members), LANES), -1, np.float32))
        filed = np.flatnonzero(lists_of_places.places[:, LIST] >= 0)
        lists.bound(filed, self.outcomes.terminal, self._links.distances, self._places.filing, self._reach)
        self._hand_over()

    def _hand_over(self) -> None:
        """Let compiled code know the arrays and rules as they are now."""
        tables = Tables(
            self.entries, self.outcomes, self._links, self._search.filing, self._places.filing, self._reach,
            self.limits, self._luck,
        )  # fmt: skip
        self._handle = make_handle(tables, self._rules, self._search.last_found)

    def _entry_tables(self) -> dict[str, NDArray[Any]]:
        return {"observations": self.entries.observations, "values": self.entries.values, "steps": self.entries.steps}

    def _outcome_tables(self) -> dict[str, NDArray[Any]]:
        return {
            "next_observations": self.outcomes.observations,
            "rewards": self.outcomes.rewards,
            "terminal": self.outcomes.terminal,
            "counts": self.outcomes.counts,
        }

    def _refuse_too_many(self, slots: int, rows: int, coefficients: int) -> None:
        """Refuse what the machine could never hold."""
        of_a_slot = 4 * 3 * self.key_size + 3 * 8 + 8 + 8 + 2 * 4 + 2 * 4
        of_a_row = 4 * 3 * self.key_size + 8 + 1 + 8 + 2 * 4 + 2 * 4 + 8 * coefficients
        of_a_row += self.actions * (16 * self.settings.neighbours + 17)
        what = f"A memory of {self.settings.capacity:,} entries per action"
        refuse_if_too_large(slots * of_a_slot + rows * of_a_row, what, "memory.capacity")
