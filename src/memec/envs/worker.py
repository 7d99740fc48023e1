"""A process that plays some of the environments: `python -m memec.envs.worker`, begun by `memec.envs.workers`.

It is told what to do by a byte on its standard input, and answers by a line; everything else is in shared memory.
"""

import json
import mmap
import os
import signal
import sys
from typing import Any, NamedTuple, Self

import gymnasium
import numpy as np
from numpy.typing import NDArray

from memec.errors import MemecError, NotFiniteError

NOTHING, BEGIN, GO_ON = -1, -2, -3
"""What to do beside actions: nothing, begin a game (by its seed), begin an episode within a game."""
GO = b"g"
NO_SEED = -1


class Board(NamedTuple):
    """What is in shared memory: an entry for each environment."""

    orders: NDArray[np.int64]
    seeds: NDArray[np.int64]
    rewards: NDArray[np.float64]
    ended: NDArray[np.bool_]
    """[environments, 3] Whether its episode is terminated, truncated, and its game over."""
    state_ids: NDArray[np.uint64]
    observations: NDArray[Any]

    @classmethod
    def forms(cls, count: int, shape: tuple[int, ...], kind: str) -> list[tuple[tuple[int, ...], Any]]:
        """Return shape and type of each array."""
        return [
            ((count,), np.int64), ((count,), np.int64), ((count,), np.float64), ((count, 3), np.bool_),
            ((count, 2), np.uint64), ((count, *shape), np.dtype(kind)),
        ]  # fmt: skip

    @classmethod
    def size(cls, *form: Any) -> int:
        """Return how many bytes it takes."""
        return sum(_bytes(shape, kind) for shape, kind in cls.forms(*form))

    @classmethod
    def over(cls, buffer: Any, *form: Any) -> Self:
        """Lay it over some memory."""
        arrays: list[Any] = []
        at = 0
        for shape, kind in cls.forms(*form):
            arrays.append(np.ndarray(shape, kind, buffer, at))
            at += _bytes(shape, kind)
        return cls(*arrays)


def _bytes(shape: tuple[int, ...], kind: Any) -> int:
    """Return the size of an array, rounded up so that the next begins where a number may."""
    size: int = np.dtype(kind).itemsize * int(np.prod(shape))
    return -(-size // 8) * 8


def main() -> None:
    """Make the environments and do as told until nobody is there any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that plays
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what an environment prints is no answer
    orders = sys.stdin.buffer
    told = json.loads(orders.readline())
    board = Board.over(mmap.mmap(told["memory"], Board.size(*told["form"])), *told["form"])
    try:
        lanes = _made(told)
    except Exception as error:
        answers.write(_said(error))
        return
    answers.write(b"\n")
    while orders.read(1) == GO:
        try:
            for lane, world in lanes.items():
                _play(world, lane, board)
        except Exception as error:
            answers.write(_said(error))
        else:
            answers.write(b"\n")


def _made(told: dict[str, Any]) -> dict[int, Any]:
    from memec.envs.recorded import EnvironmentSettings
    from memec.envs.world import make_again

    if told["registered"] is not None and told["registered"]["id"] not in gymnasium.registry:
        gymnasium.register(**told["registered"])
    settings = EnvironmentSettings.read(told["environment"])
    return {lane: make_again(settings, training=True) for lane in told["lanes"]}


def _play(world: Any, lane: int, board: Board) -> None:
    order, seed = int(board.orders[lane]), int(board.seeds[lane])
    if order == NOTHING:
        return
    if order < 0:
        board.observations[lane] = world.reset(seed if order == BEGIN and seed != NO_SEED else None)
    else:
        observation, reward, terminated, truncated = world.step(order)
        board.observations[lane], board.rewards[lane] = observation, reward
        board.ended[lane] = terminated, truncated, world.game_over
    board.state_ids[lane] = world.state_id()


def _said(error: Exception) -> bytes:
    """Tell the other side what was raised."""
    kind = next((one.__name__ for one in (NotFiniteError, MemecError) if isinstance(error, one)), None)
    return json.dumps([kind or type(error).__name__, str(error)]).encode() + b"\n"


if __name__ == "__main__":
    main()
