"""Keys of real games, recorded once by playing them and cached outside the repository."""

import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import progress
from memec.agents import MFEC, NEC
from memec.envs.world import World

STEPS = 150_000


def recorded_keys(game: str, steps: int = STEPS) -> NDArray[np.float32]:
    """Return the keys an MFEC agent with seed 0 sees in so many steps of random play."""

    def record() -> NDArray[np.float32]:
        agent = MFEC(game, memory={"capacity": 11}, seed=0)
        return np.stack([agent.embed(observation).copy() for observation in played(agent.world, game, steps)])

    return recorded(f"{game.replace('/', '-')}-{steps}-v3", record)


def recorded_network_keys(game: str, steps: int = STEPS) -> NDArray[np.float32]:
    """Return the keys that a NEC agent with seed 0, not trained yet, sees in so many steps of random play."""

    def record() -> NDArray[np.float32]:
        agent = NEC(game, memory={"capacity": 11}, replay_capacity=32, seed=0)
        observations = played(agent.world, game, steps)
        parts = iter(lambda: list(islice(observations, 500)), [])
        return np.concatenate([agent.network(np.stack(part)) for part in parts])

    return recorded(f"{game.replace('/', '-')}-{steps}-network-v1", record)


def recorded(name: str, record: Callable[[], NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return the array of this name, which is recorded where it is not there yet."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memec" / "benchmarks"
    path = cache / f"{name}.npy"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}.npy")
        np.save(partial, record())
        partial.replace(path)
    keys: NDArray[np.float32] = np.load(path)
    return keys


def played(world: World, game: str, steps: int) -> Iterator[NDArray[Any]]:
    """Yield the observations of random play.

    Actions are held for one to eight steps, which gets further into a game than noise does.
    """
    random = np.random.default_rng(1)
    observation = world.reset(0)
    action = held_for = games = 0
    for step in range(steps):
        if step % 10_000 == 0:
            progress(f"recording {game}, once: {step:,} of {steps:,} steps")
        yield observation
        if held_for == 0:
            action, held_for = int(random.integers(world.actions)), int(random.integers(1, 9))
        held_for -= 1
        observation, _, terminated, truncated = world.step(action)
        if terminated or truncated:
            over = world.game_over
            games += over
            observation = world.reset(games if over else None)
