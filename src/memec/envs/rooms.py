"""OpenRoom and FourRoom, the gridworlds of the paper (after Machado et al., 2017): one reward, far from the start."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from memec.errors import MemecError

STEP_LIMIT = 100
MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))
"""North, east, south, west as (dx, dy): north is y+1."""

OPEN_ROOM = ("############", *["#..........#"] * 10, "############")
FOUR_ROOM = (
    "#############",
    "#.....#.....#",
    "#.....#.....#",
    "#...........#",
    "#.....#.....#",
    "#.....#.....#",
    "##.####.....#",
    "#.....###.###",
    "#.....#.....#",
    "#.....#.....#",
    "#...........#",
    "#.....#.....#",
    "#############",
)
"""Walls with row 0 first; the row index is y."""

PIXELS_PER_CELL = 16
WALL_COLOUR, FLOOR_COLOUR, GOAL_COLOUR, AGENT_COLOUR = (60, 64, 72), (240, 238, 232), (88, 166, 92), (52, 104, 192)


class Room(gymnasium.Env[NDArray[np.float32], np.int64]):
    """A walk from the first free cell of a walled grid to the last: 1 at the goal, 0 elsewhere, at most 100 steps.

    The observation is the cell (x, y); the actions are north (y+1), east (x+1), south (y-1) and west (x-1), and a wall
    stops the walker. Pictures and text are drawn with north on top, so y grows upward.
    """

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 10}  # noqa: RUF012  (Gymnasium's own declaration)

    def __init__(self, walls: tuple[str, ...], render_mode: str | None = None) -> None:
        if render_mode not in (None, "rgb_array", "ansi"):
            raise MemecError(f"A room cannot be rendered as {render_mode!r}: choose rgb_array or ansi.")
        self.render_mode = render_mode
        self._walls = walls
        cells = [(x, y) for y, row in enumerate(walls) for x, mark in enumerate(row) if mark == "."]
        number = {cell: index for index, cell in enumerate(cells)}
        # Every answer is looked up, because a room is stepped millions of times.
        self._next_cell = [
            [number.get((x + dx, y + dy), here) for dx, dy in MOVES] for here, (x, y) in enumerate(cells)
        ]
        self._observations = [np.array(cell, dtype=np.float32) for cell in cells]
        self._goal = len(cells) - 1
        self._cell = 0
        self._steps = 0
        self.action_space = Discrete(len(MOVES))
        self.observation_space = Box(np.float32(1), np.float32(len(walls) - 2), shape=(2,), dtype=np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Go back to the start; nothing is random here, so the seed changes nothing."""
        super().reset(seed=seed)
        self._cell = self._steps = 0
        return self._observations[0].copy(), {}

    def step(self, action: int | np.integer[Any]) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Walk one cell."""
        if not 0 <= action < 4:
            raise MemecError(f"A room has the actions 0 to 3 (north, east, south, west), not {action}.")
        cell = self._cell = self._next_cell[self._cell][action]
        self._steps += 1
        at_goal = cell == self._goal
        truncated = self._steps >= STEP_LIMIT and not at_goal
        return self._observations[cell].copy(), 1.0 if at_goal else 0.0, at_goal, truncated, {}

    def render(self) -> NDArray[np.uint8] | str | None:
        """Draw the room as a picture (`rgb_array`) or as text (`ansi`: A is the walker, G the goal), north on top."""
        if self.render_mode is None:
            return None
        rows = [list(row) for row in self._walls]
        for cell, mark in ((self._goal, "G"), (self._cell, "A")):
            x, y = self._observations[cell].astype(int)
            rows[y][x] = mark
        rows.reverse()
        if self.render_mode == "ansi":
            return "\n".join("".join(row) for row in rows) + "\n"
        colours = {"#": WALL_COLOUR, ".": FLOOR_COLOUR, "G": GOAL_COLOUR, "A": AGENT_COLOUR}
        cells = np.array([[colours[mark] for mark in row] for row in rows], dtype=np.uint8)
        return cells.repeat(PIXELS_PER_CELL, axis=0).repeat(PIXELS_PER_CELL, axis=1)

    @property
    def walls(self) -> tuple[str, ...]:
        """The plan of the room: # is a wall, row 0 comes first, and the row index is y."""
        return self._walls

    def get_action_meanings(self) -> list[str]:
        """Return what each action does, in words."""
        return ["north", "east", "south", "west"]


class OpenRoom(Room):
    """An empty room of 12x12 cells with its walls: from (1, 1) to (10, 10)."""

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(OPEN_ROOM, render_mode)


class FourRoom(Room):
    """Four rooms joined by four doors, 13x13 cells with the walls: from (1, 1) to (11, 11)."""

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(FOUR_ROOM, render_mode)
