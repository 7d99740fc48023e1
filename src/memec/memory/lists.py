"""Compiled pieces of the graph of experiences: which entries are near to where each experience led.

`near[slot, action]` lists the entries of an action whose keys are nearest to where the experience in `slot` led. A new
key has to enter the lists it belongs to: the places where experiences led are sorted into cells as keys are, and a cell
is ruled out when its box is further away than it reaches, to the furthest listed neighbour of any place in it. In a
cell that is not, a key is compared with 64 places at once: how near it must be is kept in blocks as keys are.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from memec.memory.blocks import CHAIN, FILLED, FIRST, PLACE
from memec.memory.exact import Filing, block_distances, box_distances, file_keys, find_nearest
from memec.memory.intrinsics import LANES
from memec.memory.kernels import COMPILE
from memec.memory.propagation import SAME, Floats, Keys, Links, Outcomes, Slots, sweep

Entries = tuple[Keys, Keys, NDArray[np.int64], NDArray[np.int64]]
"""Observations, those that followed, when each was experienced last, and how many there are of each action."""
Reach = tuple[Keys, Keys]
"""How near a key must be to be listed: by [action, cell] for any place in it, and by [action, block, lane]."""


@njit(**COMPILE)
def lead_to(
    slots: NDArray[np.int64],
    found: NDArray[np.int64],
    found_distances: Keys,
    terminal: NDArray[np.bool_],
    links: Links,
    places: Filing,
    reach: Reach,
) -> None:
    """Take down what is nearest to where these experiences led, and how near a key must be to enter those lists."""
    near, distances, _, _, stale = links
    for row in range(len(slots)):
        slot = slots[row]
        for action in range(near.shape[1]):
            for i in range(near.shape[2]):
                near[slot, action, i] = found[row, action, i]
                distances[slot, action, i] = found_distances[row, action, i]
            stale[slot, action] = True
    bound(slots, terminal, distances, places, reach)


@njit(**COMPILE)
def bound(slots: NDArray[np.int64], terminal: NDArray[np.bool_], distances: Keys, places: Filing, reach: Reach) -> None:
    """Note how near a key must be to enter the lists of these places; none is needed where an episode ended."""
    cells, bounds = reach
    for slot in slots:
        cell, place = places[8][slot, CHAIN], places[8][slot, PLACE]
        for action in range(len(cells)):
            furthest = np.float32(-1) if terminal[slot] else distances[slot, action, -1]
            bounds[action, place // LANES, place % LANES] = furthest
            cells[action, cell] = max(cells[action, cell], furthest)


@njit(**COMPILE)
def introduce(slot: int, action: int, links: Links, reach: Reach, keys: Keys, places: Filing) -> None:
    """Enter a new key into the lists of all places it is among the nearest of."""
    near, distances, _, _, stale = links
    _, _, _, boxes, block_keys, chains, members, nexts, _, _ = places
    cells, bounds = reach[0][action], reach[1][action]
    away = np.empty(LANES, np.float32)
    query = np.zeros(block_keys.shape[1], np.float32)
    query[: keys.shape[1]] = keys[slot]
    gaps = np.empty(LANES, np.float32)
    for group in range(boxes.shape[1]):
        box_distances(boxes[0, group], query, gaps)
        if not _any_within(gaps, cells[group * LANES : (group + 1) * LANES]):
            continue
        for cell in range(group * LANES, (group + 1) * LANES):
            if gaps[cell % LANES] > cells[cell]:
                continue
            entered = False
            block, filled = chains[cell, FIRST], chains[cell, FILLED]
            while block >= 0:
                block_distances(block_keys, block, query, away)
                if _any_within(away, bounds[block]):
                    for lane in range(filled):
                        other = members[block, lane]
                        if away[lane] < bounds[block, lane] and other != slot:
                            _enter(slot, away[lane], near[other, action], distances[other, action])
                            bounds[block, lane] = distances[other, action, -1]
                            stale[other, action] = True
                            entered = True
                block = nexts[block]
                filled = LANES
            if entered:
                cells[cell] = _furthest(chains[cell], nexts, bounds)


@njit(inline="always", **COMPILE)
def _any_within(gaps: Keys, reaches: Keys) -> bool:
    within = 0
    for lane in range(LANES):
        within += gaps[lane] <= reaches[lane]
    return within > 0


@njit(inline="always", **COMPILE)
def _furthest(chain: NDArray[np.int32], nexts: NDArray[np.int32], bounds: Keys) -> np.float32:
    """Return how far the furthest listed neighbour of any place in this cell is."""
    furthest = np.float32(-1)
    block, filled = chain[FIRST], chain[FILLED]
    while block >= 0:
        for lane in range(filled):
            furthest = max(furthest, bounds[block, lane])
        block = nexts[block]
        filled = LANES
    return furthest


@njit(inline="always", **COMPILE)
def _enter(slot: int, distance: np.float32, near: Slots, distances: Keys) -> None:
    """Put an entry in its place in a list ascending by distance, where it may have stood with an older key."""
    place = len(near) - 1
    for i in range(len(near) - 1):
        if near[i] == slot:
            place = i
            break
    while place < len(near) - 1 and near[place] == slot and distances[place + 1] < distance:  # it moved away
        near[place], distances[place] = near[place + 1], distances[place + 1]
        place += 1
        near[place] = slot
    while place > 0 and distances[place - 1] > distance:
        near[place], distances[place] = near[place - 1], distances[place - 1]
        place -= 1
    near[place], distances[place] = slot, distance


@njit(**COMPILE)
def remember(
    action: int,
    before: Keys,
    reward: float,
    after: Keys,
    ended: bool,
    step: int,
    scale: Keys,
    here: NDArray[np.int64],
    here_distances: Keys,
    there: NDArray[np.int64],
    there_distances: Keys,
    discount: float,
    entries: Entries,
    outcomes: Outcomes,
    links: Links,
    rules: Floats,
    limits: Floats,
    reach: Reach,
    filing: Filing,
    last_found: NDArray[np.int64],
    places: Filing,
) -> tuple[int, int, int]:
    """Write one experience, tell all others of its key, look at where it led and value it: all of a step at once.

    What is nearest to where it began is given, what is nearest to where it led is filled in. Returns its slot, or -1 if
    an observation is not finite, and how many keys and places are new.
    """
    observations, next_observations, steps, sizes = entries
    rewards, terminal, _ = outcomes
    keys, next_keys = filing[0], places[0]
    capacity = len(steps) // len(sizes)
    for i in range(len(scale)):
        if not (np.isfinite(before[i] * scale[i]) and np.isfinite(after[i] * scale[i])):
            return -1, 0, 0
    slot = here[0, action, 0]
    known = slot >= 0 and here_distances[0, action, 0] <= SAME
    if not known and (slot < 0 or sizes[action] < capacity):
        slot = action * capacity + sizes[action]
        sizes[action] += 1
    written, new_keys = np.array([slot]), 0
    rewards[slot], terminal[slot], steps[slot] = reward, ended, step
    for i in range(len(scale)):
        next_observations[slot, i], next_keys[slot, i] = after[i], after[i] * scale[i]
    if not known:
        for i in range(len(scale)):
            observations[slot, i], keys[slot, i] = before[i], before[i] * scale[i]
        new_keys = file_keys(written, filing)
        introduce(slot, action, links, reach, keys, places)
    wanted = np.ones((1, len(sizes)), np.bool_)
    find_nearest(next_keys[slot : slot + 1], wanted, there_distances, there, last_found, filing)
    moved = places[8][slot, PLACE]
    new_places = file_keys(written, places)
    if new_places == 0:  # another may have taken its lane
        bound(np.array([places[6][moved // LANES, moved % LANES]], np.int64), terminal, links[1], places, reach)
    lead_to(written, there, there_distances, terminal, links, places, reach)
    sweep(written, discount, outcomes, links, rules, limits)
    return slot, new_keys, new_places
