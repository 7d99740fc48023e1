"""Environments in processes of their own, for steps that take long and are computed in Python."""

import json
import mmap
import os
import subprocess
import sys
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from memec.envs.worker import BEGIN, GO, GO_ON, NO_SEED, NOTHING, Board
from memec.envs.world import Step, World
from memec.errors import MemecError, NotFiniteError

Observation = NDArray[Any]
SHARED = Path("/dev/shm")
"""Where a file is memory."""
MOST_LIVES = 5
"""How often in a row a worker that dies is begun anew for the same step."""


class Elsewhere:
    """A world that is in another process, as the loop sees it."""

    def __init__(self, like: World, board: Board, lane: int) -> None:
        self.id, self.actions, self.is_random = like.id, like.actions, like.is_random
        self._board = board
        self._lane = lane

    @property
    def game_over(self) -> bool:
        """Whether the last episode ended with its game."""
        return bool(self._board.ended[self._lane, 2])

    def state_id(self) -> NDArray[np.uint64]:
        """The id of the current state."""
        known: NDArray[np.uint64] = self._board.state_ids[self._lane].copy()
        return known


class Worker:
    """A process that plays in some of the environments."""

    def __init__(self, told: dict[str, Any], lanes: list[int]) -> None:
        self.lanes = lanes
        words = [sys.executable, "-m", "memec.envs.worker"]
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, pass_fds=[told["memory"]],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
        self._tell(json.dumps(told | {"lanes": lanes}).encode() + b"\n")

    @property
    def process(self) -> int:
        """Which process it is."""
        return self._process.pid

    def go(self) -> None:
        """Let it do what stands on the board."""
        self._tell(GO)

    def wait(self) -> bool:
        """Wait until it is done; false if it has died."""
        assert self._process.stdout is not None
        answer = self._process.stdout.readline()
        if not answer:
            return False
        if answer == b"\n":
            return True
        kind, text = json.loads(answer)
        known = {one.__name__: one for one in (NotFiniteError, MemecError)}
        raise known.get(kind, type(kind, (Exception,), {}))(text)

    def stop(self) -> None:
        """End it."""
        with self._process:  # which closes its pipes and waits for it
            self._process.kill()

    def _tell(self, text: bytes) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has died, which is noticed when it is waited for
            self._process.stdin.write(text)


class InWorkers:
    """Environments in worker processes. One that dies is replaced, and its games are played again from their seeds."""

    repeats = True

    def __init__(self, like: World, environments: int, workers: int) -> None:
        fit = like.observation
        form = environments, fit.shape, fit.dtype.str
        size = Board.size(*form)
        # Without a name, so that nothing of it stays, whatever happens.
        self._file = TemporaryFile(dir=SHARED if SHARED.is_dir() else None)  # noqa: SIM115
        self._file.truncate(size)
        self._board = Board.over(mmap.mmap(self._file.fileno(), size), *form)
        self.worlds = [Elsewhere(like, self._board, lane) for lane in range(environments)]
        self._games: list[list[int]] = [[] for _ in range(environments)]
        self._told = {
            "memory": self._file.fileno(), "form": form,
            "environment": like.recorded.model_dump(mode="json"), "registered": _registered(like),
        }  # fmt: skip
        shares = [list(range(first, environments, workers)) for first in range(workers)]
        self._workers = [Worker(self._told, share) for share in shares]
        self._finish = weakref.finalize(self, _end, self._workers, self._file)
        if not all(worker.wait() for worker in self._workers):
            raise MemecError(f"A process that makes {like.id} ended at once.")

    def begin(self, seeds: Sequence[int | None]) -> list[Observation]:
        """Begin a game in every one of them."""
        self._board.seeds[:] = [NO_SEED if seed is None else seed for seed in seeds]
        self._play([BEGIN] * len(self.worlds))
        return [observation.copy() for observation in self._board.observations]

    def reset(self, lane: int, seed: int | None, *, new_game: bool = True) -> Observation:
        """Begin an episode in one of them."""
        if new_game:
            self._board.seeds[lane] = NO_SEED if seed is None else seed
        orders = [NOTHING] * len(self.worlds)
        orders[lane] = BEGIN if new_game else GO_ON
        self._play(orders)
        observation: Observation = self._board.observations[lane].copy()
        return observation

    def step(self, actions: Sequence[int | None]) -> list[Step | None]:
        """Take an action in each, but for those where there is none."""
        self._play([NOTHING if action is None else action for action in actions])
        board = self._board
        return [
            None if action is None else (seen.copy(), float(reward), bool(ended[0]), bool(ended[1]))
            for action, seen, reward, ended in zip(actions, board.observations, board.rewards, board.ended, strict=True)
        ]

    @property
    def processes(self) -> list[int]:
        """The ids of the processes."""
        return [worker.process for worker in self._workers]

    def close(self) -> None:
        """End the processes."""
        self._finish()

    def _play(self, orders: Sequence[int]) -> None:
        self._board.orders[:] = orders
        asked = [worker for worker in self._workers if any(orders[lane] != NOTHING for lane in worker.lanes)]
        for worker in asked:
            worker.go()
        for worker in asked:
            if not worker.wait():
                self._replace(worker, orders)
        for game, order in zip(self._games, orders, strict=True):
            if order == BEGIN:
                game.clear()
            if order != NOTHING:
                game.append(order)

    def _replace(self, dead: Worker, orders: Sequence[int]) -> None:
        """Begin a process anew, let it play the games under way up to here, and do what it did not finish."""
        for _ in range(MOST_LIVES):
            dead.stop()
            worker = Worker(self._told, dead.lanes)
            self._workers[self._workers.index(dead)] = dead = worker
            if worker.wait() and all(self._played_again(worker, orders, at) for at in range(self._longest(worker))):
                self._board.orders[:] = orders
                worker.go()
                if worker.wait():
                    return
        raise MemecError(f"the process it is played in died {MOST_LIVES} times in a row")

    def _longest(self, worker: Worker) -> int:
        return max(len(self._games[lane]) for lane in worker.lanes)

    def _played_again(self, worker: Worker, orders: Sequence[int], at: int) -> bool:
        self._board.orders[:] = NOTHING
        for lane in worker.lanes:
            if at < len(self._games[lane]) and orders[lane] != BEGIN:
                self._board.orders[lane] = self._games[lane][at]
        worker.go()
        return worker.wait()


def _end(workers: list[Worker], file: IO[bytes]) -> None:
    for worker in workers:
        worker.stop()
    file.close()


def _registered(world: World) -> dict[str, Any] | None:
    """Return how its id is registered, for a process that did not import what registered it."""
    spec = gymnasium.registry.get(world.recorded.id.rpartition(":")[2])
    if spec is None or not isinstance(spec.entry_point, str):
        return None
    options = {"max_episode_steps": spec.max_episode_steps, "kwargs": spec.kwargs}
    try:
        return json.loads(json.dumps({"id": spec.id, "entry_point": spec.entry_point, **options}))  # type: ignore[no-any-return]
    except TypeError:
        return None
