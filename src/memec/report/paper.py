"""What the paper says, in numbers, and what a score means in each of its environments."""

from typing import NamedTuple


class Domain(NamedTuple):
    """An environment of the paper."""

    name: str
    """Short, as in `memec reproduce NAME`."""
    title: str
    lowest: float
    highest: float
    solved: float | None = None
    """The final score from which on a seed counts as having solved it."""


DOMAINS = {
    # solved: Gymnasium's own thresholds, and for the rooms the goal in 19 of 20 episodes
    "CartPole-v1": Domain("cartpole", "CartPole", 0.0, 500.0, 475.0),
    "Acrobot-v1": Domain("acrobot", "Acrobot", -500.0, 0.0, -100.0),
    "memec/OpenRoom-v0": Domain("openroom", "OpenRoom", 0.0, 1.0, 0.95),
    "memec/FourRoom-v0": Domain("fourroom", "FourRoom", 0.0, 1.0, 0.95),
    # from random play to a human's score (Mnih et al., 2015), to give areas a scale
    "ALE/Bowling-v5": Domain("bowling", "Bowling", 23.1, 160.7),
    "ALE/Qbert-v5": Domain("qbert", "Q*bert", 163.9, 13455.0),
    "ALE/MsPacman-v5": Domain("mspacman", "Ms. Pac-Man", 307.3, 6951.6),
    "ALE/SpaceInvaders-v5": Domain("spaceinvaders", "Space Invaders", 148.0, 1668.7),
    "ALE/Pong-v5": Domain("pong", "Pong", -20.7, 14.6),
}
SMALL = tuple(environment for environment in DOMAINS if not environment.startswith("ALE/"))
GAMES = tuple(environment for environment in DOMAINS if environment.startswith("ALE/"))

AGENT_TITLES = {"mfec": "MFEC", "nec": "NEC", "d3qn": "D3QN"}
ATARI_BUDGETS = {"mfec": 5_000_000, "nec": 3_500_000}
"""Steps; D3QN stands in the paper's table twice, beside each of the two."""


class AtariRow(NamedTuple):
    """Half a row of the paper's table: mean and standard deviation over 3 seeds of the last 5 evaluations."""

    epsilon_greedy: tuple[float, float]
    mellowmax: tuple[float, float]
    d3qn: tuple[float, float]


ATARI_TABLE: dict[tuple[str, str], AtariRow] = {
    ("ALE/Bowling-v5", "mfec"): AtariRow((62, 0.8), (68, 0.7), (26, 12)),
    ("ALE/Qbert-v5", "mfec"): AtariRow((3896, 710), (11610, 898), (3743, 1100)),
    ("ALE/MsPacman-v5", "mfec"): AtariRow((4178, 510), (6968, 787), (2101, 56)),
    ("ALE/SpaceInvaders-v5", "mfec"): AtariRow((672, 13), (1029, 157), (737, 29)),
    ("ALE/Pong-v5", "mfec"): AtariRow((17, 2), (7, 4), (6, 4)),
    ("ALE/Bowling-v5", "nec"): AtariRow((11, 9), (9, 7), (22, 16)),
    ("ALE/Qbert-v5", "nec"): AtariRow((3951, 1321), (5654, 483), (1480, 271)),
    ("ALE/MsPacman-v5", "nec"): AtariRow((3900, 852), (6997, 256), (1851, 98)),
    ("ALE/SpaceInvaders-v5", "nec"): AtariRow((598, 110), (916, 228), (756, 30)),
    ("ALE/Pong-v5", "nec"): AtariRow((-7, 0.9), (-11, 0.5), (-5, 6)),
}


def title_of(environment: str) -> str:
    """Return an environment's name for people."""
    domain = DOMAINS.get(environment)
    return environment if domain is None else domain.title


def short_name(environment: str) -> str:
    """Return an environment's name for files."""
    domain = DOMAINS.get(environment)
    return environment.lower().replace("/", "-").replace(":", "-") if domain is None else domain.name
