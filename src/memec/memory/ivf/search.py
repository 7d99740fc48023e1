"""Approximate nearest neighbours for large tables of long keys, held to a target recall.

An index answers (inverted lists, a product quantiser to dismiss by, a scalar quantiser to pick candidates by, the keys
to re-rank them). Three objects keep it good: `Hints` knows what to try first, `Tuner` how far to look, `Rebuilder` when
to fit it anew. Where no index can reach the target, and while the table is small, search is by brute force.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memec.memory.compiled.kernels import brute_force, slots_in_use, take_in
from memec.memory.ivf.hints import Hints
from memec.memory.ivf.query import Effort
from memec.memory.ivf.rebuild import Rebuilder
from memec.memory.ivf.saved import check_counters, check_hints
from memec.memory.ivf.tune import CHECKS_REMEMBERED, FIRST_MARGIN, LEAST_SHARE, Tuner
from memec.memory.saved import refuse
from memec.memory.search_tuning import TUNING

PUTS_AT_ONCE = 1_024
SHARE_STEP = 2**0.5
# Distances compared with brute force agree but for rounding.
SAME_DISTANCE = np.float32(1 + 1e-5)
# One (query, action) is checked per so many keys' numbers: about 4 microseconds a call, 1% of an emulator step.
CHECKED_NUMBERS_PER_QUERY = 25_600
# An index is judged by at least so many queries; one that was not good enough is judged again after as many more.
FEWEST_ASKED = 16
MORE_MARGIN = 0.25

NONE = np.empty(0, np.intp)


class Approximate:
    """Nearly the k nearest entries of every action, found at a small part of the cost; their distances are exact.

    `moving` keys come from a network that learns, so that new ones lie where older ones do not.
    """

    handle = None

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
        self._seed = seed
        self._target = target_recall
        self._neighbours = neighbours
        self._sizes = np.zeros(actions, np.int64)
        self._hints = Hints(len(keys), actions, neighbours, moving=moving)
        self._tuner = Tuner(neighbours, target_recall)
        self._rebuilder = Rebuilder(keys, self._sizes, seed=seed, moving=moving)
        self._measured = 0
        self._asked_since_check = 0
        self._asked = np.zeros((CHECKS_REMEMBERED, keys.shape[1]), np.float32)  # a ring of queries to calibrate by
        self._asked_count = 0

    @property
    def recall_estimate(self) -> float:
        """The share of true neighbours that are found, by comparison with brute force now and then."""
        return self._tuner.recall_estimate

    @property
    def share(self) -> float:
        """The share of a table's entries that an easy search scans; 1 while it is by brute force."""
        return self._tuner.effort.share if self._rebuilder.index is not None and self._tuner.trusted else 1.0

    def put(self, slots: NDArray[np.int64]) -> None:
        """Take in the keys just written at `slots`, in order of time: new entries, replaced ones, or moved keys."""
        self._hints.follow(slots)
        for begin in range(0, len(slots), PUTS_AT_ONCE):
            part = slots[begin : begin + PUTS_AT_ONCE]
            take_in(part, self._sizes, len(self._keys) // len(self._sizes))
            self._hints.put(part)
            if self._rebuilder.put(part, self._tuner.effort.share):
                self._calibrate()

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

        Now and then a query that it may remember or learn from is measured.
        """
        before = None
        if (remember or learn) and wanted[-1].any():
            before = self._hints.now() if self._tuner.is_due(len(queries), learn) else None
            self._asked_since_check += 1
        index = self._rebuilder.index
        if index is not None and self._tuner.trusted:
            index.nearest(
                queries, wanted, squared_distances, slots, remember, self._tuner.effort, self._hints.handle
            )  # fmt: skip
        else:
            brute_force(queries, wanted, squared_distances, slots, self._keys, self._sizes)
        if before is not None:
            self._measure(queries[-1:], wanted[-1], squared_distances[-1], slots[-1], before)

    def rebuild(self) -> None:
        """Take in that all keys changed in place: fit and fill a new index at once."""
        self._tuner.trusted = False
        self._asked_count = 0
        if self._rebuilder.rebuild():
            self._calibrate()

    def arrays(self, lagging: NDArray[np.intp] = NONE) -> dict[str, NDArray[Any]]:
        """Return what `restore` needs to go on identically; the keys of `lagging` slots moved since they were put."""
        return self._hints.arrays() | self._tuner.arrays() | self._rebuilder.arrays(lagging) | self._own_arrays()

    def restore(self, arrays: Mapping[str, NDArray[Any]], sizes: NDArray[np.int64]) -> None:
        """Go on from where `arrays` was taken; the keys of so many entries of each action are in place."""
        check_hints(arrays, self._hints.arrays(), sizes, len(self._keys))
        check_counters(arrays, self._own_arrays())
        self._sizes[:] = sizes
        self._hints.restore(arrays)
        self._tuner.restore(arrays)
        self._rebuilder.restore(arrays)
        self._asked[:] = arrays["asked"]
        self._measured, self._asked_since_check, self._asked_count = map(int, arrays["counts"])
        index = self._rebuilder.index
        refuse(index is not None and not index.holds(self._hints.slots()), "remembers entries that were never added")

    def _own_arrays(self) -> dict[str, NDArray[Any]]:
        counts = np.array([self._measured, self._asked_since_check, self._asked_count])
        return {"asked": self._asked.copy(), "counts": counts}

    def _calibrate(self) -> None:
        """Find the least share at which a new index reaches the target on queries asked before."""
        index = self._rebuilder.index
        assert index is not None
        # Bounded work: a million entries an action are compared for 16 queries.
        count = int(np.clip(6_400_000 // max(1, int(self._sizes.max())), 16, CHECKS_REMEMBERED))
        if self._asked_count >= FEWEST_ASKED:
            queries = self._asked[: min(self._asked_count, count)]
            count = len(queries)
        else:  # the table's own keys are harder to answer: they have equals that no code can tell apart
            rng = np.random.default_rng([self._seed, self._rebuilder.fits, 1])
            queries = self._keys[rng.choice(slots_in_use(self._sizes, len(self._keys)), count)]
        actions = np.flatnonzero(self._sizes)
        wanted = np.zeros((count, len(self._sizes)), np.bool_)
        wanted[np.arange(count), actions[np.arange(count) % len(actions)]] = True
        best, found = np.full((2, *wanted.shape, self._neighbours), np.inf, np.float32)
        slots = np.empty(found.shape, np.int64)
        brute_force(queries, wanted, best, slots, self._keys, self._sizes)
        hints = self._hints.without_last()
        share, recall = LEAST_SHARE / SHARE_STEP, 0.0
        aim = (1 + self._target) / 2  # with a margin, for these are few
        while recall < aim and share < 1:
            share = min(1.0, share * SHARE_STEP)
            index.nearest(queries, wanted, found, slots, False, Effort(share, FIRST_MARGIN), hints)
            recall = float(np.mean([_recall(found[wanted][row], best[wanted][row]) for row in range(count)]))
        self._tuner.start(share, recall, count // 2)
        self._hints.forget()

    def _measure(
        self,
        query: NDArray[np.float32],
        wanted: NDArray[np.bool_],
        squared_distances: NDArray[np.float32],
        found: NDArray[np.int64],
        before: NDArray[np.int64],
    ) -> None:
        """Compare the answer for one action with a better one, and look farther or less far from now on.

        Mostly the better one comes from a search of several times the share, which costs little; at times from brute
        force, which alone counts for the estimate of the recall.
        """
        self._measured += 1
        tuner, index = self._tuner, self._rebuilder.index
        every = max(16, int(self._sizes.max()) * int(self._keys.shape[1]) // CHECKED_NUMBERS_PER_QUERY)
        check = self._asked_since_check >= every
        if check or not tuner.trusted:
            self._asked_since_check = 0
            self._asked[self._asked_count % CHECKS_REMEMBERED] = query[0]
            self._asked_count += 1
        if index is None or not tuner.trusted:
            if index is not None and self._measured % FEWEST_ASKED == 0:
                self._calibrate()
            return
        choices = np.flatnonzero(wanted)
        action = int(choices[self._measured % len(choices)])
        better, slots = self._better(query, action, check)
        was_found = (slots[:, None] == found[action]).any(1)
        was_found |= better * SAME_DISTANCE >= squared_distances[action, -1]
        needed = index.needed(query[0], action, slots)
        shares, margins = needed
        shares[(slots[:, None] == before[action]).any(1)] = 0.0  # tried in any case
        dismissed = ~was_found & (shares <= tuner.effort.share) & (margins <= tuner.effort.margin)
        shares[dismissed] = 1.0  # by its scalar code, for it was scanned and passed
        tuner.learn(needed)
        if check:
            tuner.check(_recall(squared_distances[action], better))

    def _better(
        self, query: NDArray[np.float32], action: int, check: bool
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return a better answer for one action: by brute force, for a check, or with more effort."""
        only = np.zeros((1, len(self._sizes)), np.bool_)
        only[0, action] = True
        better = np.empty((1, len(self._sizes), self._neighbours), np.float32)
        slots = np.empty(better.shape, np.int64)
        if check:
            brute_force(query, only, better, slots, self._keys, self._sizes)
        else:
            share, margin = self._tuner.effort
            more = Effort(min(1.0, TUNING.better_by * share), margin + MORE_MARGIN)
            assert self._rebuilder.index is not None
            self._rebuilder.index.nearest(query, only, better, slots, False, more, self._hints.handle)
        return better[0, action], slots[0, action]


def _recall(found: NDArray[np.float32], best: NDArray[np.float32]) -> float:
    """Return the share of the nearest that were found, where any of several equally near will do."""
    there = np.isfinite(best)
    if not there.any():
        return 1.0
    return float(np.mean(found[there] <= best[there][-1] * SAME_DISTANCE))
