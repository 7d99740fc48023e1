"""The tables of the graph, as compiled code takes them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memec.memory.exact.query import Filing

Floats = NDArray[np.float64]
Keys = NDArray[np.float32]
Numbers = NDArray[np.int32]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

VALUE, HOPE, TEMPERED = 0, 1, 2
"""The columns of values: what is believed, what may be hoped for, and what is believed where luck is not trusted."""
BEST, WORST, RANGE = 0, 1, 2
"""The best and the worst return ever seen, and how much of what is between them one step may change."""
REPEATS, ELSEWHERE, COMPARED, STRAYED, STEPS = range(5)
"""What is known of chance: how often a known state and action was tried again, how often that led elsewhere than the
last time; how many moves were compared with that of a moment nearby, how far they strayed; and the step of all that."""
ROWS_USED, ROWS_FREE = 0, 1
"""Of the table of outcomes: how many rows were ever in use, and how many of them are not any more."""
SAME = np.float32(1e-10)
"""Keys at this squared distance are one state."""


class Entries(NamedTuple):
    """What was experienced: a state and an action, in the slots of that action."""

    observations: Keys
    values: Floats
    """[slots, 3] what it is worth, what it may be worth, and what it is worth if one experience may have been luck."""
    steps: Ints
    """When it was experienced last."""
    sizes: Ints
    """How many there are of each action."""
    visits: Floats
    """How often it was experienced, as far as its outcomes tell."""
    first: Numbers
    """The row of its newest kind of outcome."""
    latest: Numbers
    """The row of what came of it the last time."""


class Outcomes(NamedTuple):
    """What came of an entry: a row for each kind of it, all those of an entry in a chain."""

    observations: Keys
    """What was observed next."""
    rewards: Floats
    """The mean reward."""
    terminal: Flags
    counts: Floats
    """How often it came about."""
    nexts: Numbers
    """The next row of the chain, -1 after the last."""
    free: Numbers
    """A stack of rows that are not in use any more."""
    rows: Ints
    """How many rows were ever used, and how many are free again."""


class Links(NamedTuple):
    """Of each row of outcomes, by action: the entries nearest to where it led, and what they count."""

    near: Numbers
    """[rows, actions, neighbours] slots, nearest first; -1 where there is none."""
    distances: Keys
    weights: Floats
    """They sum to 1 for each action."""
    corrections: Floats
    """[rows, actions, actions * neighbours] what each neighbour's value adds to an action's by the common slope."""
    opinions: Floats
    """[rows, actions, 2] how new this makes the place, and how doubtful."""
    stale: Flags
    """[rows, actions] whether all of this is out of date."""


class Rules(NamedTuple):
    """The constants of the arithmetic."""

    step_length: float
    """The squared length of a typical step: the unit of squared distances."""
    width: float
    far: float
    doubt: float
    ridge: float
    """Negative where there is no slope."""
    pseudo: float
    discount: float


class Reach(NamedTuple):
    """How near a key must be to enter a list of neighbours."""

    cells: Keys
    """[actions, cells] for any place in the cell."""
    places: Keys
    """[actions, blocks, lanes] place by place."""


class Tables(NamedTuple):
    """All of them."""

    entries: Entries
    outcomes: Outcomes
    links: Links
    filing: Filing
    """How the keys of entries are filed."""
    places: Filing
    """How the places where outcomes led are filed."""
    reach: Reach
    limits: Floats
    luck: Floats
