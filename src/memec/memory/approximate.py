"""Approximate nearest neighbours for large tables of long keys, held to a target recall.

An `Index` answers; this module keeps it good. When the table has grown or turned over, the index gets a successor,
fitted to what the table holds now and filled a little with every write, so that no step waits for it. Now and then one
answer is compared with brute force, which gives the running estimate of the recall; more often with a search that looks
at more of the table and dismisses less, from which follows how much a search needs. Where no index can reach the
target, and while the table is small, search is by brute force.

Why not a library (microseconds a step for 6 x 100,000 x 128 on one thread, measured earlier): faiss brute force
17,600, IVF 304 to 2,455, hnswlib 594 at recall .975 and 300 to 570 to insert, usearch 5,300.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memec.errors import MemecError
from memec.memory.filing import note_newest
from memec.memory.index import Index
from memec.memory.kernels import brute_force, note
from memec.memory.saved import check_search

SMALL = 8_192
CANDIDATES_PER_NEIGHBOUR = 3
# Where a network that learns makes the keys, so many of the entries put last are always looked at: its keys go where
# none were, and soon most neighbours are among the newest, and no cluster is near them. For keys that stay it would
# cost a quarter of a search and find nothing more. In Pong, NEC found .983 of the neighbours with 64 and .989 with 96;
# with 128 searching took .154 of its time instead of .144.
NEWEST = 96
# Where keys stay, what came next in the episodes of the last candidates is looked at, whichever action it belongs to:
# of the neighbours that are neither last candidates nor in the nearest clusters, that was half in Ms. Pac-Man and
# Q*bert, so that half the effort is enough.
FOLLOWERS_PER_NEIGHBOUR = 6
PUTS_AT_ONCE = 1_024
# Entries filed in a successor with each write: it takes over after a quarter of the writes the present one took.
MOVED_PER_PUT = 4
# An index is renewed after as many writes as the table has entries, while a search looks at so many: keys that it was
# not fitted to lie far from its clusters. The more it looks at, the sooner, and the other way round, within bounds. In
# Ms. Pac-Man, for the same recall, a search looked at 33,000 entries right after a fit, 46,000 after four of ten were
# replaced, 71,000 after nine of ten. In Pong with 20,000 an action it was 2,400 and, after two tables' worth of writes,
# 10,600, which took 82 instead of 70 us: on average no more than renewing it twice as often costs.
RENEWED_AT = 2**15
LEAST_RENEWED, MOST_RENEWED = 0.5, 2.0
# Larger tables keep their index: two sets of codes would no longer fit beside the keys.
MOST_REFITTED = 2**21

# With less than the least, looks no longer see what is missed: Pong's recall stayed at .970 with a thirtieth.
LEAST_EFFORT, FIRST_EFFORT, EFFORT_STEP = 1 / 64, 1 / 16, 2**0.5
# Distances compared with brute force agree but for rounding.
SAME_DISTANCE = np.float32(1 + 1e-5)
# One (query, action) is checked per so many keys' numbers: about 4 microseconds a call, 1% of an emulator step.
CHECKED_NUMBERS_PER_QUERY = 25_600
CHECKS_REMEMBERED = 64
# Looks see what four times the effort finds. In play of Seaquest, .990 of the neighbours were found with 4 and .981
# with 2, for a quarter more time; in Pong and Q*bert no more than with 2. In 2,400 steps of NEC in Pong, .997 and .992
# of what play and replay asked for were found with 4, and .986 and .988 with 8, which took half as long again: what is
# farther away is not worth its cost, and raises the effort by chance.
LOOK_EVERY, MORE_EFFORT = 32, 4
# A new index is looked at more often, so that it soon costs what it should.
FIRST_LOOKS, LOOK_FIRST_EVERY = 256, 6
# An index is judged by at least so many queries; one that was not good enough is judged again after as many looks.
FEWEST_ASKED = 16
# The effort follows from what the last looks would have needed, once there are a few: many, which are less a matter of
# chance, and the latest few, which follow at once when play has become harder. For these the target itself is enough.
LOOKS_REMEMBERED, LATEST_LOOKS, LEARN_EVERY = 1_024, 32, 8
# The recall is aimed above the target by this part of what is missing to 1, as play may go on to be harder than what
# the looks have seen. Aimed half-way, held-out play of Ms. Pac-Man had .9928 instead of .9919, searches took 5% more.
AIM_ABOVE = 0.4
# With every comparison with brute force, while by the estimate twice as many are missed as may be (it is no surer than
# that): what codes cannot tell apart, no look can see. If it does not help, it ends in brute force.
MORE_IF_BELOW = 1.1

# The margin that lets nearly all true neighbours pass by their sketches, found like the effort. 99.9% had -.2 in
# Ms. Pac-Man, 0 in Pong and Q*bert, 1.1 where keys lie on a smooth surface.
FIRST_MARGIN, LEAST_MARGIN, MORE_MARGIN = 1.0, -1.0, 0.25
PASSED = 0.998

NONE = np.empty(0, np.intp)


class Approximate:
    """Nearly the k nearest entries of every action, found at a small part of the cost; their distances are exact.

    `moving` keys come from a network that learns, so that new ones lie where older ones do not.
    """

    def __init__(
        self,
        keys: NDArray[np.float32],
        actions: int,
        neighbours: int,
        *,
        seed: int = 0,
        target_recall: float = 0.99,
        moving: bool = False,
    ) -> None:
        self._keys = keys
        self._actions = actions
        self._seed = seed
        self._target = target_recall
        self._aim = target_recall + AIM_ABOVE * (1 - target_recall)
        self._present = np.zeros(len(keys), np.bool_)
        self._rows = np.zeros(actions, np.int64)
        self._sizes = np.zeros(actions, np.int64)
        self._last_candidates = np.full((actions, CANDIDATES_PER_NEIGHBOUR * neighbours), -1, np.int64)
        self._moving = moving
        self._likely = np.full((actions, NEWEST if moving else FOLLOWERS_PER_NEIGHBOUR * neighbours), -1, np.int64)
        self._followers = np.full(0 if moving else len(keys), -1, np.int32)
        self._known = self._last_candidates, self._likely, self._followers
        self._puts = np.zeros(actions, np.int64)
        self._neighbours = neighbours
        self._index: Index | None = None
        self._successor: Index | None = None
        self._moved = 0  # slots below have been considered for the successor
        self._fits = 0
        self._puts_since_fit = 0
        self._entries_at_fit = 0
        self._trusted = False  # the index can reach the target
        self._effort = FIRST_EFFORT
        self._margin = FIRST_MARGIN
        self._checks = 0
        self._looks = 0
        # A ring: the effort and the margin to find each true neighbour.
        self._needed = np.zeros((2, LOOKS_REMEMBERED, neighbours), np.float32)
        self._needs = 0
        self._extra = 1.0  # times the effort that the looks would have needed
        self._played_since_look = self._replayed_since_look = 0
        self._asked_since_check = 0
        self._asked = np.zeros((CHECKS_REMEMBERED, keys.shape[1]), np.float32)  # a ring of queries to calibrate by
        self._asked_count = 0
        self.recall_estimate = 1.0

    def put(self, slots: NDArray[np.int64]) -> None:
        """Take in the keys just written at `slots`, in order of time: new entries, replaced ones, or moved keys."""
        if not self._moving:
            self._followers[slots[:-1]] = slots[1:]
            self._followers[slots[-1:]] = -1
        for begin in range(0, len(slots), PUTS_AT_ONCE):
            self._put(slots[begin : begin + PUTS_AT_ONCE])

    def nearest(
        self,
        queries: NDArray[np.float32],
        wanted: NDArray[np.bool_],
        squared_distances: NDArray[np.float32],
        slots: NDArray[np.int64],
        remember: bool,
        learn: bool = False,
    ) -> None:
        """Fill in, per query and wanted action, the nearest entries; missing ones are inf and -1.

        Now and then a query that it may remember or learn from is looked at again.
        """
        look = (remember or learn) and wanted[-1].any() and self._look_is_due(len(queries), learn)
        before = np.concatenate((self._last_candidates, self._likely), axis=1) if look else None
        if self._index is not None and self._trusted:
            self._index.nearest(
                queries, wanted, squared_distances, slots, remember, self._effort, self._margin,
                *self._known, self._sizes,
            )  # fmt: skip
        else:
            brute_force(queries, wanted, squared_distances, slots, self._keys, self._present, self._rows)
        if before is not None:
            self._look(queries[-1:], wanted[-1], squared_distances[-1], slots[-1], before)

    def rebuild(self) -> None:
        """Take in that all keys changed in place: fit and fill a new index at once."""
        self._index = self._successor = None
        self._trusted = False
        self._asked_count = 0
        if self._sizes.sum() >= SMALL:
            self._begin_successor()
            self._move(len(self._keys))

    def arrays(self, lagging: NDArray[np.intp] = NONE) -> dict[str, NDArray[Any]]:
        """Return what `restore` needs to go on identically; the keys of `lagging` slots moved since they were put."""
        arrays = {
            "present": self._present.copy(),
            "last_candidates": self._last_candidates.copy(),
            "likely": self._likely.copy(),
            "followers": self._followers.copy(),
            "puts": self._puts.copy(),
            "asked": self._asked.copy(),
            "needed": self._needed.copy(),
            "counts": np.array([getattr(self, name) for name in _COUNTS], np.int64),
            "measures": np.array([self._effort, self._margin, self._extra, self.recall_estimate]),
        }
        for name, index in (("index", self._index), ("successor", self._successor)):
            if index is not None:
                arrays |= {f"{name}.{key}": array.copy() for key, array in index.arrays(lagging).items()}
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from where `arrays` was taken; the keys are already in place."""
        shapes = self._last_candidates.shape, self._likely.shape, self._asked.shape, self._needed.shape
        check_search(arrays, *shapes, len(_COUNTS), len(self._keys), len(self._followers))
        self._present[:] = False
        self._rows[:] = self._sizes[:] = 0
        note(np.flatnonzero(arrays["present"]), self._present, self._rows, self._sizes)
        self._last_candidates[:] = arrays["last_candidates"]
        self._likely[:], self._followers[:], self._puts[:] = arrays["likely"], arrays["followers"], arrays["puts"]
        self._asked[:], self._needed[:] = arrays["asked"], arrays["needed"]
        for name, count in zip(_COUNTS, arrays["counts"], strict=True):
            setattr(self, name, int(count))
        self._effort, self._margin, self._extra, self.recall_estimate = map(float, arrays["measures"])
        self._index, self._successor = (self._restored(name, arrays) for name in ("index", "successor"))
        if self._index is not None and not all(self._index.holds(known) for known in self._known):
            raise MemecError("The saved memory does not fit: its search remembers entries that were never filed.")

    def _restored(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> Index | None:
        own = {key.removeprefix(f"{name}."): array for key, array in arrays.items() if key.startswith(f"{name}.")}
        return Index.restored(self._keys, self._actions, own, moving=self._moving) if own else None

    @property
    def effort(self) -> float:
        """The share of a table's entries that an easy search looks at; 1 while it is by brute force."""
        return self._effort if self._index is not None and self._trusted else 1.0

    @property
    def _check_every(self) -> int:
        return max(16, int(self._sizes.max()) * int(self._keys.shape[1]) // CHECKED_NUMBERS_PER_QUERY)

    def _put(self, slots: NDArray[np.int64]) -> None:
        note(slots, self._present, self._rows, self._sizes)
        if self._moving:
            note_newest(slots, self._likely, self._puts, len(self._keys) // self._actions)
        self._puts_since_fit += len(slots)
        if self._index is not None:
            self._index.file(slots)
        if self._successor is not None:
            self._successor.file(slots)
            self._move(MOVED_PER_PUT * len(slots))
        elif self._worn():
            self._begin_successor()

    def _worn(self) -> bool:
        """Tell whether the table has outgrown its index, or most of it was replaced since."""
        entries = int(self._sizes.sum())
        if entries < SMALL or entries > MOST_REFITTED:
            return entries >= SMALL and self._index is None
        renewed_after = min(max(RENEWED_AT / (self._effort * entries), LEAST_RENEWED), MOST_RENEWED)
        return entries >= 2 * self._entries_at_fit or self._puts_since_fit >= renewed_after * entries

    def _begin_successor(self) -> None:
        present = np.flatnonzero(self._present)
        rng = np.random.default_rng([self._seed, self._fits])
        last = 2 * len(present) > MOST_REFITTED
        self._successor = Index.fitted(self._keys, self._actions, present, rng, last=last, moving=self._moving)
        self._fits += 1
        self._moved = 0
        self._puts_since_fit = 0
        self._entries_at_fit = len(present)

    def _move(self, count: int) -> None:
        """File the next entries in the successor; when it has them all it takes over."""
        assert self._successor is not None
        slots, self._moved = self._successor.unfiled(self._present, self._moved, count)
        self._successor.file(slots)
        if self._moved == len(self._keys):
            self._index, self._successor = self._successor, None
            self._calibrate(self._index)

    def _calibrate(self, index: Index) -> None:
        """Find the least effort at which a new index reaches the target on queries asked before."""
        # Bounded work: a million entries an action are compared for 16 queries.
        count = int(np.clip(6_400_000 // max(1, int(self._sizes.max())), 16, CHECKS_REMEMBERED))
        if self._asked_count >= FEWEST_ASKED:
            queries = self._asked[: min(self._asked_count, count)]
            count = len(queries)
        else:  # the table's own keys are harder to answer: they have equals that no code can tell apart
            rng = np.random.default_rng([self._seed, self._fits, 1])
            queries = self._keys[rng.choice(np.flatnonzero(self._present), count)]
        actions = np.flatnonzero(self._sizes)
        wanted = np.zeros((count, self._actions), np.bool_)
        wanted[np.arange(count), actions[np.arange(count) % len(actions)]] = True
        best, found = np.full((2, count, self._actions, self._neighbours), np.inf, np.float32)
        slots = np.empty(found.shape, np.int64)
        brute_force(queries, wanted, best, slots, self._keys, self._present, self._rows)
        likely = self._likely if self._moving else np.full_like(self._likely, -1)
        known = np.full_like(self._last_candidates, -1), likely, self._followers
        effort = LEAST_EFFORT / EFFORT_STEP
        recall = 0.0
        aim = (1 + self._target) / 2  # with a margin, for these are few
        while recall < aim and effort < 1:
            effort = min(1.0, effort * EFFORT_STEP)
            index.nearest(queries, wanted, found, slots, False, effort, FIRST_MARGIN, *known, self._sizes)
            recall = float(np.mean([_recall(found[wanted][row], best[wanted][row]) for row in range(count)]))
        self._effort, self._margin = effort, FIRST_MARGIN
        self._trusted = recall >= self._target
        self.recall_estimate = recall if self._trusted else 1.0
        self._checks = count // 2
        self._needs, self._extra = 0, 1.0
        self._last_candidates[:] = -1

    def _look_is_due(self, queries: int, replayed: bool) -> bool:
        """Count these queries, and tell whether it is time to look at one of their kind.

        What is replayed comes in batches: play, which asks one by one, would never have its turn between them.
        """
        every = LOOK_EVERY if self._needs >= FIRST_LOOKS else LOOK_FIRST_EVERY
        counter = "_replayed_since_look" if replayed else "_played_since_look"
        since = getattr(self, counter) + queries
        due: bool = since >= every
        setattr(self, counter, 0 if due else since)
        self._asked_since_check += 1
        return due

    def _look(
        self,
        query: NDArray[np.float32],
        wanted: NDArray[np.bool_],
        squared_distances: NDArray[np.float32],
        found: NDArray[np.int64],
        before: NDArray[np.int64],
    ) -> None:
        """Compare the answer for one action with a better one, and look at more or less of the table from now on.

        Mostly the better one comes from a search of several times the effort, which costs little; at times from brute
        force, which alone counts for the estimate of the recall.
        """
        self._looks += 1
        check = self._asked_since_check >= self._check_every
        if check or not self._trusted:
            self._asked_since_check = 0
            self._asked[self._asked_count % CHECKS_REMEMBERED] = query[0]
            self._asked_count += 1
        if self._index is None or not self._trusted:
            if self._index is not None and self._looks % FEWEST_ASKED == 0:
                self._calibrate(self._index)
            return
        choices = np.flatnonzero(wanted)
        action = int(choices[self._looks % len(choices)])
        only = np.zeros((1, self._actions), np.bool_)
        only[0, action] = True
        better = np.empty((1, *squared_distances.shape), np.float32)
        slots = np.empty(better.shape, np.int64)
        if check:
            brute_force(query, only, better, slots, self._keys, self._present, self._rows)
        else:
            effort = min(1.0, MORE_EFFORT * self._effort)
            margin = self._margin + MORE_MARGIN
            self._index.nearest(query, only, better, slots, False, effort, margin, *self._known, self._sizes)
        was_found = (slots[0, action, :, None] == found[action]).any(1)
        was_found |= better[0, action] * SAME_DISTANCE >= squared_distances[action, -1]
        needed = self._index.needed(query[0], action, slots[0, action], int(self._sizes[action]))
        efforts, margins = needed
        efforts[(slots[0, action, :, None] == before[action]).any(1)] = 0.0  # looked at in any case
        dismissed = ~was_found & (efforts <= self._effort) & (margins <= self._margin)
        efforts[dismissed] = 1.0  # by its code, for it was looked at and its sketch passed
        self._learn(needed)
        if check:
            self._checks += 1
            recall = _recall(squared_distances[action], better[0, action])
            self.recall_estimate += (recall - self.recall_estimate) / min(self._checks, CHECKS_REMEMBERED)
            below = 1 - self.recall_estimate > 2 * (1 - self._target)
            self._extra = max(1.0, self._extra * (MORE_IF_BELOW if below else 1 / MORE_IF_BELOW))
            if below and self._effort == 1.0:
                self._trusted = False
                self.recall_estimate = 1.0

    def _learn(self, needed: NDArray[np.float32]) -> None:
        """Take the least effort and margin with which the last looks would have had the recall aimed at.

        `needed` is what would have found each neighbour in the latest of them.
        """
        self._needed[:, self._needs % LOOKS_REMEMBERED] = needed
        self._needs += 1
        if self._needs >= LATEST_LOOKS and self._needs % LEARN_EVERY == 0:
            efforts, margins = self._needed[:, : min(self._needs, LOOKS_REMEMBERED)].reshape(2, -1)
            latest = self._needed[0, (self._needs - 1 - np.arange(LATEST_LOOKS)) % LOOKS_REMEMBERED].ravel()
            effort = max(_least(efforts, self._aim), _least(latest, self._target))
            self._effort = min(1.0, max(LEAST_EFFORT, self._extra * effort))
            self._margin = max(LEAST_MARGIN, _least(margins, PASSED))


_COUNTS = (
    "_moved",
    "_fits",
    "_puts_since_fit",
    "_entries_at_fit",
    "_trusted",
    "_checks",
    "_looks",
    "_needs",
    "_played_since_look",
    "_replayed_since_look",
    "_asked_since_check",
    "_asked_count",
)


def _recall(found: NDArray[np.float32], best: NDArray[np.float32]) -> float:
    """Return the share of the nearest that were found, where any of several equally near will do."""
    there = np.isfinite(best)
    if not there.any():
        return 1.0
    return float(np.mean(found[there] <= best[there][-1] * SAME_DISTANCE))


def _least(needed: NDArray[np.float32], share: float) -> float:
    """Return what suffices for this share of those that were needed."""
    place = len(needed) - 1 - int((1 - share) * len(needed))
    return float(np.sort(needed)[place])  # a partition takes ten times as long where most need nothing
