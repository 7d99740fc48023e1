"""How far a VPEC agent is: the episode under way, what episodes came to, and when its memory is tended next."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from memec.errors import MemecError
from memec.graph import Graph, View
from memec.saved_arrays import check_arrays, check_not_negative
from memec.train.files import Arrays, part_of

FIRST_SCALE = 64
"""After so many steps observations are scaled for the first time, and again whenever there are twice as many."""


@dataclass
class Course:
    """What changes from step to step beside the memory."""

    here: View | None = None
    """What is near to the state under way, where it was looked up already."""
    slots: list[int] = field(default_factory=list)
    """What the steps of the episode under way were remembered as."""
    rewards: list[float] = field(default_factory=list)
    best: float = -np.inf
    worst: float = np.inf
    """The largest and the smallest return of any state so far."""
    since_sweep: int = 0
    next_scale: int = FIRST_SCALE

    def forget_episode(self) -> None:
        """Drop the episode under way."""
        self.here = None
        self.slots.clear()
        self.rewards.clear()

    def arrays(self) -> Arrays:
        """Return what `restore` needs."""
        near = {} if self.here is None else self.here.arrays()
        return {
            "counts": np.array([self.since_sweep, self.next_scale], np.int64),
            "returns_seen": np.array([self.best, self.worst] if np.isfinite(self.best) else [], np.float64),
            "episode.slots": np.array(self.slots, np.int64),
            "episode.rewards": np.array(self.rewards, np.float64),
            **{f"here.{name}": array for name, array in near.items()},
        }

    def restore(self, arrays: Arrays, graph: Graph) -> None:
        """Go on from what `arrays` returned, with the graph as it was."""
        steps = arrays["episode.rewards"].size
        forms: dict[str, Any] = {
            "counts": (np.int64, (2,)),
            "episode.slots": (np.int64, (steps,)),
            "episode.rewards": (np.float64, (steps,)),
            "returns_seen": (np.float64, (min(arrays["returns_seen"].size, 2),)),
        }
        check_arrays(arrays, forms)
        check_not_negative(arrays, "counts")
        self.since_sweep, self.next_scale = (int(number) for number in arrays["counts"])
        if arrays["returns_seen"].size == 2:
            self.best, self.worst = (float(seen) for seen in arrays["returns_seen"])
        self.slots, self.rewards = arrays["episode.slots"].tolist(), arrays["episode.rewards"].tolist()
        if not set(self.slots) <= set(graph.used().tolist()):
            raise MemecError("The saved episode does not fit: it was never remembered.")
        near = part_of(arrays, "here.")
        self.here = graph.restore_view(near) if near else None
