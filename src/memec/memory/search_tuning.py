"""The numbers that the approximate search is tuned by; `python -m benchmarks.search.sweep NAME V1 V2` tries others."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchTuning:
    """Each is a compromise between recall and time on recorded keys of games."""

    lists_per_root: float = 5.0
    """Inverted lists per root of the entries; four fifths of it where each action is on its own."""
    samples_per_list: int = 16
    """Entries that the centroids are fitted to, for each list."""
    most_lists: int = 6_144
    """Measuring how far all lists are must stay a small part of a search."""
    groups_looked_into: int = 4
    """Groups of centroids in which an added entry looks for its nearest."""
    clipped: float = 0.05
    """The share of keys that may lie outside the scalar quantiser's range, to be kept in coarse lists of their own."""
    candidates_per_neighbour: int = 3
    """Candidates kept from one search to the next, and re-ranked at most."""
    followers_per_neighbour: int = 6
    """Of what came next in the episodes of the last candidates, how many are tried first, where keys stay."""
    newest: int = 96
    """Of the entries put last, how many of each action are tried first, where a network makes the keys."""
    least_scanned: int = 256
    """Entries of an action that are scanned whatever the share; one with fewer is scanned in full."""
    rounding: float = 2.0
    """How much farther than the k-th candidate an entry may be by its code, to be re-ranked, in units of the codes."""
    better_by: float = 4.0
    """How many times the share a measuring search probes: what it misses too is not worth its cost."""
    measured_every: int = 32
    """Queries between two measurements."""
    remembered: int = 1_024
    """Measurements that the share follows from."""
    aimed_above: float = 0.4
    """How much of what is missing from the target to 1 is aimed at: play may go on to be harder than it was."""
    passing: float = 0.998
    """The share of true neighbours that the fast scan must let through."""
    rebuilt_at: int = 2**15
    """An index is rebuilt after as many puts as there are entries, while a search scans so many; sooner if more."""


TUNING = SearchTuning()
