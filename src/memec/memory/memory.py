"""The episodic memory: one table of (key, return) per action, recalled by similarity."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memec.errors import MemecError, NotFiniteError
from memec.memory import moves, tables
from memec.memory.compiled.handle import Handle
from memec.memory.compiled.kernels import slots_in_use
from memec.memory.limits import refuse_if_too_large
from memec.memory.looking_up import Answers, Kernel, begin_look_up, end_look_up, look_up, look_up_one, stored
from memec.memory.memory_settings import MemorySettings
from memec.memory.recall import Recall, Written
from memec.memory.rules import KEEP_LARGER, Rule
from memec.memory.saved import check_memory
from memec.memory.search import Search, is_approximate, make_search
from memec.memory.tables import Moments, Queue, Table
from memec.memory.uncertainty import gaussian_process_std, released_posterior

NOT_FINITE = "A key to look up is NaN or infinite."
NO_STATE_IDS = np.empty((0, 2), np.uint64)
BYTES_PER_ENTRY = 8 + 16 + 8 + 8 + 4 * 4  # return, state id, step, stamp, map at up to quarter load
BYTES_PER_SEARCHED_ENTRY = 4 * 4  # its slot in a block, its chain and its place there, what followed it


class Room(NamedTuple):
    """Where a look-up writes what it finds: the same arrays for people and for compiled code."""

    found: Recall
    answers: Answers
    filed: Handle | None
    """How keys were filed when this was made, where the search is exact."""
    handles: Handle | None
    """Then what is stored, the answers, and how keys are filed, as one."""


class Memory:
    """One table per action, each with the same capacity; the least recently used entry makes room for a new one.

    `rule` says what happens to the return of a known state that is written again.
    """

    def __init__(
        self,
        settings: MemorySettings,
        actions: int,
        key_size: int,
        *,
        rule: Rule = KEEP_LARGER,
        replace_known_keys: bool = False,
        seed: int = 0,
    ) -> None:
        slots = actions * settings.capacity
        self._is_approximate = is_approximate(settings.search, slots, key_size)
        # The search holds two codes of each key, or each key once more.
        searched = 2 * key_size if self._is_approximate else 4 * key_size
        refuse_if_too_large(
            slots * (4 * key_size + BYTES_PER_ENTRY + searched + BYTES_PER_SEARCHED_ENTRY),
            f"A memory of {settings.capacity:,} entries per action",
            "memory.capacity",
        )
        self.settings = settings
        self.actions = actions
        self.key_size = key_size
        self.sizes = np.zeros(actions, np.int64)
        self.keys = np.zeros((slots, key_size), np.float32)
        self.returns = np.zeros(slots, np.float64)
        self.state_ids = np.zeros((slots, 2), np.uint64)
        self.steps = np.zeros(slots, np.int64)
        self._last_used = np.zeros(slots, np.int64)
        self._clock = 1
        self._rule = rule
        self._replace_known_keys = replace_known_keys
        self._kernel = Kernel(settings.kernel == "inverse-distance", settings.delta, settings.initial_value)
        self._table = Table(
            self.keys, self.returns, self.state_ids, self.steps, self._last_used, self.sizes, tables.places_for(slots)
        )
        self._stored = stored(self._table, self._kernel)
        length = max(1, settings.capacity // 8)
        queued = np.zeros((2, actions, length), np.int64)
        self._queue = Queue(queued[0], queued[1], np.full(actions, length, np.int64))
        self._drift = np.zeros(slots, np.float32)
        self._fleeting: dict[int | None, Room] = {}
        self._seed = seed

    def __len__(self) -> int:
        return int(self.sizes.sum())

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the room for look-ups: its arrays are parts of each other, and those of a copy would not be."""
        return self.__dict__ | {"_fleeting": {}}

    @property
    def fill(self) -> float:
        """The fraction of the slots in use."""
        return len(self) / len(self.returns)

    @property
    def recall_estimate(self) -> float:
        """The share of true neighbours that the search finds, as it measures itself (1 for exact search)."""
        return self._search.recall_estimate

    def recall(
        self, keys: NDArray[np.float32], state_ids: NDArray[np.uint64] | None = None, *, fleeting: bool = False
    ) -> Recall:
        """Look up one key [key size] or a batch [n, key size], and mark what was found as used.

        What is found can be `fleeting`: it is overwritten by the next fleeting look-up of as many keys, which spares a
        step the making of its arrays.
        """
        found = self._look_up(keys, state_ids, self._clock, None, fleeting)
        self._clock += 1
        return found

    def peek(
        self,
        keys: NDArray[np.float32],
        state_ids: NDArray[np.uint64] | None = None,
        *,
        fleeting: bool = False,
    ) -> Recall:
        """Look up like `recall`, but change nothing."""
        return self._look_up(keys, state_ids, -1, None, fleeting)

    def replay(self, keys: NDArray[np.float32], actions: NDArray[np.int64]) -> Recall:
        """Look up a batch to learn from, each key in the table of one action; of the others nothing is found.

        Nothing is marked as used, but the search takes in how well it answers such queries.
        """
        return self._look_up(keys, None, -1, actions)

    def std(self, key: NDArray[np.float32], recall: Recall) -> NDArray[np.float64]:
        """Return the standard deviation of each action's value: a Gaussian process over the neighbours."""
        std = np.empty(self.actions)
        gaussian_process_std(
            key, recall.slots, recall.squared_distances, recall.exact, self.keys, self.settings.delta, std
        )
        return std

    def released_posterior(self, recall: Recall) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and standard deviation of each action's value as the authors' released code has them.

        The recall must be one of neighbours alone, made without a state id.
        """
        mean, std = np.empty((2, self.actions))
        released_posterior(
            recall.slots, recall.squared_distances, self.keys, self.returns, self.settings.delta, mean, std
        )
        return mean, std

    def weights(self, recall: Recall) -> NDArray[np.float64]:
        """Return each neighbour's weight in its action's value: rows sum to 1, or to 0 where there is none."""
        return recall.weights(self.settings.delta if self._kernel.inverse_distance else None)

    def write(
        self,
        actions: ArrayLike,
        keys: NDArray[np.float32],
        returns: ArrayLike,
        state_ids: NDArray[np.uint64],
        steps: ArrayLike = 0,
    ) -> Written:
        """Remember the returns of these states and actions, as if one by one in the given order.

        `actions` is one action for all or one for each; `steps` says when each was experienced. Returns where each of
        them went.
        """
        keys = np.ascontiguousarray(keys, np.float32)
        state_ids = np.ascontiguousarray(state_ids, np.uint64)
        count = len(keys)
        if keys.ndim != 2 or keys.shape[1] != self.key_size:
            raise MemecError(
                f"Keys of this memory have {self.key_size} numbers each; an array of shape {keys.shape} came."
            )
        if state_ids.shape != (count, 2):
            raise MemecError(
                f"{count} keys need {count} state ids of two numbers; an array of shape {state_ids.shape} came."
            )
        written = Written(np.empty(count, np.int64), np.empty(count, np.bool_))
        moments = Moments(
            _each(actions, np.int64, count),
            keys,
            _each(returns, np.float64, count),
            state_ids,
            _each(steps, np.int64, count),
        )
        refused = tables.write_in_order(
            moments, self._rule.step_size, self._replace_known_keys, self._table, self._queue, self._clock, *written
        )
        if refused == tables.NOT_FINITE:
            raise NotFiniteError("A key or return to remember is NaN or infinite; the memory was left as it was.")
        if refused == tables.NO_SUCH_ACTION:
            raise MemecError(f"Actions of this memory are 0 to {self.actions - 1}.")
        self._clock += count
        changed = written.slots[written.keyed]
        if len(changed):
            self._drift[changed] = 0.0
            self._search.put(changed)
        return written

    def move(
        self, slots: NDArray[np.int64], keys: NDArray[np.float32], returns: NDArray[np.float64], tolerance: float = 0.0
    ) -> None:
        """Move stored keys and returns a little, as a gradient step does.

        The search may go on looking for a key up to `tolerance` from where it is now; distances are always exact.
        """
        if not (np.isfinite(keys).all() and np.isfinite(returns).all()):
            raise NotFiniteError("A key or return to move to is NaN or infinite; the memory was left as it was.")
        astray = np.empty(len(slots), np.int64)
        count = moves.move(slots, keys, returns, tolerance, self.keys, self.returns, self._drift, astray)
        self._search.put(astray[:count])

    def rescale(self, factors: NDArray[np.float32]) -> None:
        """Multiply every stored key by one factor per dimension."""
        if not (np.isfinite(factors).all() and (factors > 0.0).all()):
            raise NotFiniteError("Keys can only be rescaled by factors above zero; the memory was left as it was.")
        self.keys *= factors
        self._drift[:] = 0.0
        self._search.rebuild()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything `restore` needs: the used rows of each table and the state of the search."""
        used = self.used()
        own = {
            "sizes": self.sizes.copy(),
            "present": np.isin(np.arange(len(self.keys)), used),
            "clock": np.array([self._clock]),
            "keys": self.keys[used],
            "returns": self.returns[used],
            "state_ids": self.state_ids[used],
            "steps": self.steps[used],
            "last_used": self._last_used[used],
            "drift": self._drift[used],
        }
        lagging = np.flatnonzero(self._drift)
        return own | {f"search.{name}": array for name, array in self._search.arrays(lagging).items()}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Become the memory whose `arrays` these are; actions, capacity and key size must be the same."""
        check_memory(arrays, self.actions, self.settings.capacity, self._tables())
        self.sizes[:] = arrays["sizes"]
        used = self.used()
        for name, table in self._tables().items():
            table[used] = arrays[name]
        self._clock = int(arrays["clock"][0])
        self._table.places[:] = 0
        if not tables.enter_all(self.sizes, self.settings.capacity, self.state_ids, self._table.places):
            raise MemecError("The saved memory does not fit: its state ids are no digests, or one is there twice.")
        self._queue.head[:] = self._queue.slots.shape[1]
        prefix = "search."
        own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        self._search.restore(own, self.sizes)

    def _look_up(
        self,
        keys: NDArray[np.float32],
        state_ids: NDArray[np.uint64] | None,
        stamp: int,
        actions: NDArray[np.int64] | None = None,
        fleeting: bool = False,
    ) -> Recall:
        if keys.shape[-1] != self.key_size:
            raise MemecError(f"Keys of this memory have {self.key_size} numbers; one of {keys.shape[-1]} came.")
        size = None if keys.ndim == 1 else len(keys)
        search = self._search
        room = self._fleeting.get(size) if fleeting else None
        if room is None or room.filed is not search.handle:
            room = self._room_for(size)
            if fleeting:
                self._fleeting[size] = room
        if room.handles is not None and actions is None:
            if state_ids is None:
                finite = look_up(keys.reshape(-1, self.key_size), NO_STATE_IDS, room.handles.rows, stamp)
            else:
                finite = (look_up_one if size is None else look_up)(keys, state_ids, room.handles.rows, stamp)
            if not finite:
                raise NotFiniteError(NOT_FINITE)
            return room.found
        queries = keys.reshape(-1, self.key_size)
        ids = NO_STATE_IDS if state_ids is None else state_ids.reshape(-1, 2)
        searches = begin_look_up(queries, ids, self._stored.rows, room.answers)
        if searches < 0:
            raise NotFiniteError(NOT_FINITE)
        wanted, _, squared_distances, slots, _ = room.answers
        if actions is not None:
            wanted &= actions[:, None] == np.arange(self.actions)
        if searches > 0:
            search.nearest(queries, wanted, squared_distances, slots, stamp >= 0, learn=actions is not None)
        end_look_up(self._stored.rows, stamp, room.answers)
        return room.found

    def _room_for(self, size: int | None) -> Room:
        """Return room for what is found for so many keys; None is for a single one, without the dimension in front."""
        shape = (1 if size is None else size, self.actions, self.settings.neighbours)
        wanted, exact = np.empty(shape[:2], np.bool_), np.empty(shape[:2], np.bool_)
        answers = Answers(wanted, np.empty(shape[:2]), np.empty(shape, np.float32), np.empty(shape, np.int64), exact)
        found = Recall(*(array[0] for array in answers[1:])) if size is None else Recall(*answers[1:])
        filed = self._search.handle
        handles = None if filed is None else Handle(self._stored, Handle(*answers), filed)
        return Room(found, answers, filed, handles)

    def _tables(self) -> dict[str, NDArray[Any]]:
        return {
            "keys": self.keys,
            "returns": self.returns,
            "state_ids": self.state_ids,
            "steps": self.steps,
            "last_used": self._last_used,
            "drift": self._drift,
        }

    def used(self) -> NDArray[np.int64]:
        """Return the slots that hold an entry."""
        return slots_in_use(self.sizes, len(self.keys))

    @cached_property
    def _search(self) -> Search:
        """Made when first needed: it takes room at once, which a file that is no memory's must not claim."""
        return make_search(
            self.keys,
            self.actions,
            self.settings.neighbours,
            approximate=self._is_approximate,
            moving=self._replace_known_keys,
            seed=self._seed,
            target_recall=self.settings.target_recall,
        )


def _each(numbers: ArrayLike, dtype: Any, count: int) -> NDArray[Any]:
    """Return an array with a number for each of so many; one may be given for all."""
    array = np.ascontiguousarray(numbers, dtype)
    return array if array.shape == (count,) else np.ascontiguousarray(np.broadcast_to(array, count))
