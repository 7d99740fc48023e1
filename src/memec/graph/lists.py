"""Compiled pieces of the graph: which entries are near to where each outcome led.

`links.near[row, action]` lists the entries of an action whose keys are nearest to where the outcome in `row` led. A new
key has to enter the lists it belongs to: the places where outcomes led are sorted into cells as keys are, and a cell is
ruled out when its box is further away than it reaches, to the furthest listed neighbour of any place in it. In a cell
that is not, a key is compared with 64 places at once: how near it must be is kept in blocks as keys are.
"""

import numpy as np
from numba import njit

from memec.graph.tables import Flags, Ints, Keys, Links, Numbers, Reach, Tables
from memec.memory.compiled.intrinsics import LANES
from memec.memory.compiled.kernels import COMPILE, squared_distance
from memec.memory.compiled.lists import FILLED, FIRST, LIST, PLACE
from memec.memory.exact.query import SLACK, Filing, block_distances, box_distances


@njit(**COMPILE)
def lead_to(
    rows: Ints, found: Ints, found_distances: Keys, terminal: Flags, links: Links, places: Filing, reach: Reach
) -> None:
    """Take down what is nearest to where these outcomes led, and how near a key must be to enter those lists."""
    for at in range(len(rows)):
        row = rows[at]
        for action in range(links.near.shape[1]):
            for i in range(links.near.shape[2]):
                links.near[row, action, i] = found[at, action, i]
                links.distances[row, action, i] = found_distances[at, action, i]
            links.stale[row, action] = True
    bound(rows, terminal, links.distances, places, reach)


@njit(**COMPILE)
def bound(rows: Ints, terminal: Flags, distances: Keys, places: Filing, reach: Reach) -> None:
    """Note how near a key must be to enter the lists of these places; none is needed where an episode ended."""
    for row in rows:
        cell, place = places.lists.places[row, LIST], places.lists.places[row, PLACE]
        for action in range(len(reach.cells)):
            furthest = np.float32(-1) if terminal[row] else distances[row, action, -1]
            reach.places[action, place // LANES, place % LANES] = furthest
            reach.cells[action, cell] = max(reach.cells[action, cell], furthest)


@njit(**COMPILE)
def introduce(slot: int, action: int, key: Keys, tables: Tables) -> None:
    """Enter a new key into the lists of all places it is among the nearest of."""
    _visit(slot, action, key, False, tables)


@njit(**COMPILE)
def depart(slot: int, action: int, old_key: Keys, tables: Tables) -> None:
    """Put an entry whose key was replaced in its new place in all lists in which it stands with its old key."""
    _visit(slot, action, old_key, True, tables)


@njit(**COMPILE)
def _visit(slot: int, action: int, key: Keys, departing: bool, tables: Tables) -> None:
    """Go to every place within whose reach this key is: the entry enters its list, or is put where it belongs now."""
    links = tables.links
    keys, (next_keys, _, _, boxes, block_keys, lists) = tables.filing.keys, tables.places
    heads, members, nexts = lists.heads, lists.members, lists.nexts
    cells, bounds = tables.reach.cells[action], tables.reach.places[action]
    away, gaps = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    query = np.zeros(block_keys.shape[1], np.float32)
    query[: len(key)] = key
    slack = SLACK if departing else np.float32(1)  # who stands in a list at its very end must be found there
    for group in range(boxes.shape[1]):
        box_distances(boxes[0, group], query, gaps)
        if not _any_within(gaps, cells[group * LANES : (group + 1) * LANES], slack):
            continue
        for cell in range(group * LANES, (group + 1) * LANES):
            if gaps[cell % LANES] > cells[cell] * slack:
                continue
            entered = False
            block, filled = heads[cell, FIRST], heads[cell, FILLED]
            while block >= 0:
                block_distances(block_keys, block, query, away)
                if _any_within(away, bounds[block], slack):
                    for lane in range(filled):
                        row = members[block, lane]
                        distance = away[lane]
                        if departing:
                            if distance > bounds[block, lane] * slack or not _lists(links.near[row, action], slot):
                                continue
                            distance = squared_distance(keys, slot, next_keys[row])
                        elif distance >= bounds[block, lane]:
                            continue
                        _enter(slot, distance, links.near[row, action], links.distances[row, action])
                        bounds[block, lane] = links.distances[row, action, -1]
                        links.stale[row, action] = True
                        entered = True
                block = nexts[block]
                filled = LANES
            if entered:
                cells[cell] = _furthest(heads[cell], nexts, bounds)


@njit(inline="always", **COMPILE)
def _any_within(gaps: Keys, reaches: Keys, slack: np.float32) -> bool:
    within = 0
    for lane in range(LANES):
        within += gaps[lane] <= reaches[lane] * slack
    return within > 0


@njit(inline="always", **COMPILE)
def _lists(near: Numbers, slot: int) -> bool:
    found = 0
    for listed in near:
        found += listed == slot
    return found > 0


@njit(inline="always", **COMPILE)
def _furthest(chain: Numbers, nexts: Numbers, bounds: Keys) -> np.float32:
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
def _enter(slot: int, distance: np.float32, near: Numbers, distances: Keys) -> None:
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
