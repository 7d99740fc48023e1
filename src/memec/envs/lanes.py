"""Several environments side by side, in lockstep: each round takes one step in every one of them."""

import os
import resource
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, Literal, NamedTuple, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from memec.envs.vector import VectorWorlds, is_vector
from memec.envs.world import Step, World, make, make_again
from memec.errors import MemecError, unknown_name

Observation = NDArray[Any]
Engine = Literal["auto", "process", "threads", "workers"]
"""Where the environments are played: in this process, in its threads, in processes of their own."""
SHORT_STEP = 3e-4
"""Seconds below which to tell another thread or process of a step takes about as long as the step."""


class Played(Protocol):
    """A world, to who lets others act in it."""

    id: str
    actions: int
    is_random: bool

    @property
    def game_over(self) -> bool:
        """Whether the last episode ended with its game."""

    def state_id(self) -> NDArray[np.uint64]:
        """The id of the current state."""


class Worlds(Protocol):
    """The environments; what happens in one does not depend on the others."""

    repeats: bool
    """Whether games can be played again, each from its seed up to where it was."""

    @property
    def worlds(self) -> Sequence[Played]:
        """Each of them as it is."""

    def begin(self, seeds: Sequence[int | None]) -> list[Observation]:
        """Begin a game in every one of them."""

    def reset(self, lane: int, seed: int | None, *, new_game: bool = True) -> Observation | None:
        """Begin an episode in one where one is over; None if its first observation comes with the next round."""

    def step(self, actions: Sequence[int | None]) -> list[Step | None]:
        """Take an action in each, but for those where there is none; what came of it, where it was one."""


class InProcess:
    """Environments in this process, one after the other."""

    repeats = True

    def __init__(self, worlds: Sequence[World]) -> None:
        self.worlds = worlds

    def begin(self, seeds: Sequence[int | None]) -> list[Observation]:
        """Begin a game in every one of them."""
        return [world.reset(seed) for world, seed in zip(self.worlds, seeds, strict=True)]

    def reset(self, lane: int, seed: int | None, *, new_game: bool = True) -> Observation:
        """Begin an episode in one of them."""
        return self.worlds[lane].reset(seed)

    def step(self, actions: Sequence[int | None]) -> list[Step | None]:
        """Take an action in each, but for those where there is none."""
        return [
            None if action is None else world.step(action) for world, action in zip(self.worlds, actions, strict=True)
        ]


class InThreads(InProcess):
    """Environments in threads of this process: for those that wait, or compute without Python's lock."""

    def __init__(self, worlds: Sequence[World], threads: int) -> None:
        super().__init__(worlds)
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads)

    def step(self, actions: Sequence[int | None]) -> list[Step | None]:
        """Take an action in each, all at the same time."""
        steps: list[Step | None] = [None] * len(actions)

        def play(first: int) -> None:
            for lane in range(first, len(actions), self._threads):
                action = actions[lane]
                if action is not None:
                    steps[lane] = self.worlds[lane].step(action)

        begun = [self._pool.submit(play, first) for first in range(self._threads)]
        wait(begun)
        for one in begun:
            one.result()  # raises what was raised there
        return steps


class Pace(NamedTuple):
    """What the first steps in this process took."""

    steps: int = 0
    seconds: float = 0.0
    processor_seconds: float = 0.0
    waits: int = 0
    """How often the processor was given away, as is done to wait for something."""

    def timed(self, worlds: Worlds, actions: Sequence[int | None]) -> tuple[list[Step | None], "Pace"]:
        """Take a round of steps, and return the pace with it."""
        began, worked, waited = time.perf_counter(), time.thread_time(), _waits()
        results = worlds.step(actions)
        return results, Pace(
            self.steps + sum(action is not None for action in actions),
            self.seconds + time.perf_counter() - began,
            self.processor_seconds + time.thread_time() - worked,
            self.waits + _waits() - waited,
        )


def _waits() -> int:
    who = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)  # of this thread where that can be told (Linux)
    return resource.getrusage(who).ru_nvcsw


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def engine_for(worlds: InProcess, pace: Pace) -> tuple[Engine, str]:
    """Return where environments with such steps are best played in, and why."""
    # Where it does not wait, what it does not compute either is taken by others on this machine.
    waits = 2 * pace.waits > pace.steps and 2 * pace.processor_seconds < pace.seconds
    step = (pace.seconds if waits else pace.processor_seconds) / pace.steps
    said, cores = f"a step takes {1e3 * step:.2g} ms", processors()
    if step < SHORT_STEP:
        return "process", f"in this process: {said}"
    if waits:
        return "threads", f"in {len(worlds.worlds)} threads: {said}, most of which it waits"
    if cores == 1:
        return "process", f"in this process: {said}, and there is one processor"
    if worlds.worlds[0].is_emulator:
        return "process", f"in this process: {said}; where processors are idle, try the engine 'threads'"
    if worlds.worlds[0].recorded.lost is not None:
        return "process", f"in this process: {said}, but {worlds.worlds[0].recorded.lost}"
    return "workers", f"in {min(cores, len(worlds.worlds))} worker processes: {said}"


def played_by(engine: Engine, worlds: InProcess) -> Worlds:
    """Return these environments where the engine plays them; those in other processes have no game under way."""
    if engine == "threads":
        emulator, count = worlds.worlds[0].is_emulator, len(worlds.worlds)
        return InThreads(worlds.worlds, min(count, processors()) if emulator else count)
    if engine == "workers":
        from memec.envs.workers import InWorkers

        count = len(worlds.worlds)
        if worlds.worlds[0].recorded.lost is not None:
            raise MemecError(
                f"{worlds.worlds[0].id} cannot be made in other processes ({worlds.worlds[0].recorded.lost}): "
                "use engine='threads'."
            )
        return InWorkers(worlds.worlds[0], count, min(count, max(2, processors())))
    return worlds


def world_and_lanes(
    env: Any, environments: int, engine: Engine, env_kwargs: Mapping[str, Any]
) -> tuple[World, Worlds | None]:
    """Return the world of an environment, and where there are several of them all of them."""
    if env_kwargs and not isinstance(env, str):
        raise MemecError("An environment object is used as it is: give env_kwargs with an environment's id instead.")
    if is_vector(env):
        several = VectorWorlds(env)
        if environments not in (1, len(several.worlds)):
            raise MemecError(
                f"This vector environment holds {len(several.worlds)} environments: leave environments=... out."
            )
        return several.worlds[0], several
    if environments < 1:
        raise MemecError(f"An agent needs an environment: environments={environments} is none.")
    world = env if isinstance(env, World) else make(env, **env_kwargs)
    if engine not in get_args(Engine):
        raise unknown_name("engine", engine, get_args(Engine))
    if environments == 1:
        return world, None
    if world.recorded.lost is not None:
        raise MemecError(
            f"{world.id} cannot be made {environments} times ({world.recorded.lost}): pass a vector environment, such "
            "as gymnasium.vector.SyncVectorEnv, of as many as you want."
        )
    others = [make_again(world.recorded, training=True) for _ in range(environments - 1)]
    return world, InProcess([world, *others])
