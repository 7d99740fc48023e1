"""How far a search looks: as far as past searches should have looked.

Now and then one answer is compared with a better one. From what share of the lists, and what margin, would have found
each neighbour follows what the next searches do; from how many were missed, the running estimate of the recall.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memec.memory.ivf.query import Effort
from memec.memory.ivf.saved import check_counters
from memec.memory.saved import refuse
from memec.memory.search_tuning import TUNING

# With less than the least, measurements no longer see what is missed.
LEAST_SHARE, FIRST_SHARE = 1 / 64, 1 / 16
# The margin that lets nearly all true neighbours pass the fast scan.
FIRST_MARGIN, LEAST_MARGIN = 1.0, -1.0
# A new index is measured more often, so that it soon costs what it should.
FIRST_MEASURED, FIRST_MEASURED_EVERY = 256, 6
# The latest measurements follow at once when play has become harder; for these few the target itself is enough.
LATEST, LEARN_EVERY = 32, 8
CHECKS_REMEMBERED = 64
# With every comparison with brute force, while by the estimate twice as many are missed as may be (it is no surer than
# that): what codes cannot tell apart, no measurement by codes can see. If it does not help, it ends in brute force.
MORE_IF_BELOW = 1.1

COUNTS = ("trusted", "_checks", "_needs", "_played", "_replayed")


class Tuner:
    """The effort of the next search, and the estimate of how well the last ones did."""

    def __init__(self, neighbours: int, target: float) -> None:
        self._target = target
        self._aim = target + TUNING.aimed_above * (1 - target)
        self.effort = Effort(FIRST_SHARE, FIRST_MARGIN)
        self.recall_estimate = 1.0
        self.trusted = False
        """Whether the index can reach the target: else search is by brute force."""
        # A ring: the share and the margin to find each true neighbour.
        self._needed = np.zeros((2, TUNING.remembered, neighbours), np.float32)
        self._needs = 0
        self._extra = 1.0  # times the share that would have been needed
        self._checks = 0
        self._played = self._replayed = 0  # since the last measurement

    def start(self, share: float, recall: float, checks: int) -> None:
        """Begin with a new index, which had this recall with that share of its lists."""
        self.effort = Effort(share, FIRST_MARGIN)
        self.trusted = recall >= self._target
        self.recall_estimate = recall if self.trusted else 1.0
        self._checks = checks
        self._needs, self._extra = 0, 1.0

    def distrust(self) -> None:
        """Do without the index, until a calibration finds that it can reach the target."""
        self.trusted = False
        self.recall_estimate = 1.0

    def is_due(self, queries: int, replayed: bool) -> bool:
        """Count these queries, and tell whether it is time to measure one of their kind.

        What is replayed comes in batches: play, which asks one by one, would never have its turn between them.
        """
        every = TUNING.measured_every if self._needs >= FIRST_MEASURED else FIRST_MEASURED_EVERY
        since = (self._replayed if replayed else self._played) + queries
        due = since >= every
        if replayed:
            self._replayed = 0 if due else since
        else:
            self._played = 0 if due else since
        return due

    def learn(self, needed: NDArray[np.float32]) -> None:
        """Take the least effort with which the last measured searches would have had the recall aimed at.

        `needed` is what would have found each neighbour in the latest of them.
        """
        ring = TUNING.remembered
        self._needed[:, self._needs % ring] = needed
        self._needs += 1
        if self._needs >= LATEST and self._needs % LEARN_EVERY == 0:
            shares, margins = self._needed[:, : min(self._needs, ring)].reshape(2, -1)
            latest = self._needed[0, (self._needs - 1 - np.arange(LATEST)) % ring].ravel()
            share = max(_least(shares, self._aim), _least(latest, self._target))
            self.effort = Effort(
                min(1.0, max(LEAST_SHARE, self._extra * share)), max(LEAST_MARGIN, _least(margins, TUNING.passing))
            )

    def check(self, recall: float) -> None:
        """Take in the recall of one answer, by comparison with brute force."""
        self._checks += 1
        self.recall_estimate += (recall - self.recall_estimate) / min(self._checks, CHECKS_REMEMBERED)
        below = 1 - self.recall_estimate > 2 * (1 - self._target)
        self._extra = max(1.0, self._extra * (MORE_IF_BELOW if below else 1 / MORE_IF_BELOW))
        if below and self.effort.share == 1.0:
            self.distrust()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what `restore` needs."""
        return {
            "needed": self._needed.copy(),
            "tuner": np.array([getattr(self, name) for name in COUNTS], np.int64),
            "measures": np.array([*self.effort, self._extra, self.recall_estimate]),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from where `arrays` was taken."""
        check_counters(arrays, self.arrays())
        share = arrays["measures"][0]
        refuse(not 0 < share <= 1 or (arrays["measures"][[2, 3]] < 0).any(), "measures what cannot be")
        self._needed[:] = arrays["needed"]
        for name, count in zip(COUNTS, arrays["tuner"], strict=True):
            setattr(self, name, int(count))
        share, margin, self._extra, self.recall_estimate = map(float, arrays["measures"])
        self.effort = Effort(share, margin)


def _least(needed: NDArray[np.float32], share: float) -> float:
    """Return what suffices for this share of those that were needed."""
    place = len(needed) - 1 - int((1 - share) * len(needed))
    return float(np.sort(needed)[place])  # a partition takes ten times as long where most need nothing
