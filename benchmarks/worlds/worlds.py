"""The worlds of the league, their budgets, and on which of them anything may be chosen."""

from typing import NamedTuple

from benchmarks.worlds.environments import REWARD_SCALE, REWARD_SHIFT

OURS = "benchmarks.worlds"


class World(NamedTuple):
    """Where the players meet, for how long, and how often and how well that is looked at."""

    id: str
    steps: int = 100_000
    evaluate_every_steps: int = 4_000
    episodes: int = 10
    """How many an evaluation has: more where one says little and costs little."""
    reward_unit: float = 1.0
    """What a reward of 1 is multiplied by in the environment; scores are reported without it."""


WORLDS = {
    "cartpole": World("CartPole-v1", 50_000, 2_000),
    "acrobot": World("Acrobot-v1", 50_000, 2_000),
    "openroom": World("memec/OpenRoom-v0", evaluate_every_steps=1_000),
    "fourroom": World("memec/FourRoom-v0", evaluate_every_steps=1_000),
    "mountaincar": World("MountainCar-v0"),
    "lunarlander": World("LunarLander-v3"),
    "frozenlake": World("FrozenLake-v1", 20_000, 1_000, episodes=100),
    "frozenlake-8x8": World("FrozenLake8x8-v1", 50_000, 2_000, episodes=100),
    "taxi": World("Taxi-v4", 50_000, 2_000, episodes=20),
    "cliff": World(f"{OURS}:CliffWalkingLimited-v0", 5_000, 250),
    "cliff-slippery": World(f"{OURS}:CliffWalkingSlipperyLimited-v0", 20_000, 1_000, episodes=20),
    "blackjack": World("Blackjack-v1", 20_000, 1_000, episodes=1_000),
    "minatar-breakout": World(f"{OURS}:MinAtar-Breakout-v1"),
    "minatar-asterix": World(f"{OURS}:MinAtar-Asterix-v1"),
    "minatar-freeway": World(f"{OURS}:MinAtar-Freeway-v1"),
    "minatar-seaquest": World(f"{OURS}:MinAtar-Seaquest-v1"),
    "minatar-spaceinvaders": World(f"{OURS}:MinAtar-SpaceInvaders-v1"),
    "minigrid-empty": World(f"{OURS}:MiniGridImage-Empty-8x8-v0"),
    "minigrid-doorkey": World(f"{OURS}:MiniGridImage-DoorKey-6x6-v0", 20_000, 1_000, episodes=20),
    "minigrid-fourrooms": World(f"{OURS}:MiniGridImage-FourRooms-v0", 50_000, 2_000, episodes=20),
    "minigrid-unlock": World(f"{OURS}:MiniGridImage-Unlock-v0", episodes=20),
    "cartpole-noisy": World(f"{OURS}:NoisyCartPole-v0", 20_000, 1_000),
    "cartpole-slippery": World(f"{OURS}:SlipperyCartPole-v0", 20_000, 1_000),
    "cartpole-irrelevant": World(f"{OURS}:IrrelevantCartPole-v0"),
    "cartpole-rewards": World(
        f"{OURS}:OtherRewardsCartPole-v0", reward_unit=REWARD_SCALE * (1.0 + REWARD_SHIFT)
    ),  # where every reward is 1
}  # fmt: skip

CHOSEN_ON = (
    "cartpole", "acrobot", "openroom", "fourroom",
    "lunarlander", "frozenlake", "taxi", "cliff", "blackjack", "minatar-breakout", "minatar-spaceinvaders",
    "minigrid-empty", "minigrid-doorkey", "cartpole-noisy",
)  # fmt: skip
"""Settings may be chosen here, with seeds 0 to 4: the first four and ten of the other twenty-one."""
CHOOSING_SEEDS = range(5)
HELD_OUT_SEEDS = range(300, 310)
"""With these all worlds are reported; what is changed after a look at them is reported with those from 310 on."""

NEVER_LOOKED_AT = (
    "minatar-freeway", "minatar-seaquest", "minigrid-unlock", "cartpole-irrelevant", "cartpole-rewards",
)  # fmt: skip
"""Worlds in which no version of the default agent had been tried by anyone when this list was written."""
