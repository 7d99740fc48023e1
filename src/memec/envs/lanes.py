"""Several environments side by side, in lockstep: each round takes one step in every one of them."""

from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from memec.envs.vector import VectorWorlds, is_vector
from memec.envs.world import Step, World, make, make_again
from memec.errors import MemecError

Observation = NDArray[Any]


class Worlds(Protocol):
    """The environments, each of them a world; what happens in one does not depend on the others."""

    worlds: Sequence[World]

    def begin(self, seeds: Sequence[int | None]) -> list[Observation]:
        """Begin a game in every one of them."""

    def reset(self, lane: int, seed: int | None) -> Observation | None:
        """Begin an episode in one where one is over; None if its first observation comes with the next round."""

    def step(self, actions: Sequence[int | None]) -> list[Step | None]:
        """Take an action in each, but for those where there is none; what came of it, where it was one."""


class InProcess:
    """Environments in this process, one after the other."""

    def __init__(self, worlds: Sequence[World]) -> None:
        self.worlds = worlds

    def begin(self, seeds: Sequence[int | None]) -> list[Observation]:
        """Begin a game in every one of them."""
        return [world.reset(seed) for world, seed in zip(self.worlds, seeds, strict=True)]

    def reset(self, lane: int, seed: int | None) -> Observation:
        """Begin an episode in one of them."""
        return self.worlds[lane].reset(seed)

    def step(self, actions: Sequence[int | None]) -> list[Step | None]:
        """Take an action in each, but for those where there is none."""
        return [
            None if action is None else world.step(action) for world, action in zip(self.worlds, actions, strict=True)
        ]


def world_and_lanes(env: Any, environments: int) -> tuple[World, Worlds | None]:
    """Return the world of an environment, and where there are several of them all of them."""
    if is_vector(env):
        several = VectorWorlds(env)
        if environments not in (1, len(several.worlds)):
            raise MemecError(
                f"This vector environment holds {len(several.worlds)} environments: leave environments=... out."
            )
        return several.worlds[0], several
    if environments < 1:
        raise MemecError(f"An agent needs an environment: environments={environments} is none.")
    world = env if isinstance(env, World) else make(env)
    if environments == 1:
        return world, None
    if world.recorded.lost is not None:
        raise MemecError(
            f"{world.id} cannot be made {environments} times ({world.recorded.lost}): pass a vector environment, such "
            "as gymnasium.vector.SyncVectorEnv, of as many as you want."
        )
    others = [make_again(world.recorded, training=True) for _ in range(environments - 1)]
    return world, InProcess([world, *others])
