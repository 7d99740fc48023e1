"""Keys of real games, recorded once by playing them and cached outside the repository."""

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import progress
from memec import MFEC

STEPS = 150_000


def recorded_keys(game: str, steps: int = STEPS) -> NDArray[np.float32]:
    """Return the keys an MFEC agent with seed 0 sees in so many steps of random play.

    Actions are held for one to eight steps, which gets further into a game than noise does.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memec" / "benchmarks"
    path = cache / f"{game.replace('/', '-')}-{steps}-v3.npy"
    if path.exists():
        keys: NDArray[np.float32] = np.load(path)
        return keys
    agent = MFEC(game, memory={"capacity": 11}, seed=0)
    random = np.random.default_rng(1)
    keys = np.empty((steps, agent.embed.key_size), np.float32)
    observation = agent.world.reset(0)
    action = held_for = games = 0
    for step in range(steps):
        if step % 10_000 == 0:
            progress(f"recording {game}, once: {step:,} of {steps:,} steps")
        keys[step] = agent.embed(observation)
        if held_for == 0:
            action, held_for = int(random.integers(agent.world.actions)), int(random.integers(1, 9))
        held_for -= 1
        observation, _, terminated, truncated = agent.world.step(action)
        if terminated or truncated:
            over = agent.world.game_over
            games += over
            observation = agent.world.reset(games if over else None)
    cache.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.npy")
    np.save(partial, keys)
    partial.replace(path)
    return keys
