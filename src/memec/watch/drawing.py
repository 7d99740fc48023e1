"""Pictures as PNG files: of moments, and of what an agent remembers."""

from math import atan2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memec.envs.rooms import AGENT_COLOUR, FLOOR_COLOUR, GOAL_COLOUR, WALL_COLOUR, Room
from memec.envs.world import World
from memec.errors import from_extra
from memec.frames import are_pixels
from memec.watch.episode import Picture

THUMBNAIL = 168
PIXELS_PER_CELL = 12


def png(picture: Picture, largest_side: int | None = None) -> bytes:
    """Return a picture as a PNG file, reduced to a largest side where asked."""
    with from_extra("watch", "A picture"):
        import cv2  # a third of a second to import

    if largest_side is not None and max(picture.shape[:2]) > largest_side:
        scale = largest_side / max(picture.shape[:2])
        size = (max(1, round(picture.shape[1] * scale)), max(1, round(picture.shape[0] * scale)))
        picture = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
    written, file = cv2.imencode(".png", picture[..., ::-1] if picture.ndim == 3 else picture)
    assert written
    return bytes(file)


def draw_observation(world: World, observation: NDArray[Any]) -> Picture | None:
    """Draw what an observation shows, where it can be told; `world` is one that nobody plays in."""
    if are_pixels(observation.shape, observation.dtype):
        return observation
    environment: Any = world.environment.unwrapped
    if isinstance(environment, Room):
        return _room(environment.walls, observation)
    state = _state(type(environment).__name__, observation.astype(float).tolist())
    if state is None or world.environment.render_mode != "rgb_array":
        return None
    environment.state = np.array(state)
    drawn: Picture = world.environment.render()  # type: ignore[assignment]
    return drawn


def can_draw(world: World) -> bool:
    """Whether the bare observation of this world can be drawn."""
    environment: Any = world.environment.unwrapped
    if isinstance(environment, Room):
        return True
    probe = np.zeros(world.observation.shape).tolist()
    return world.observation.kind == "vector" and _state(type(environment).__name__, probe) is not None


def _state(environment: str, numbers: list[float]) -> list[float] | None:
    """Return the state of a classic-control world that is observed as these numbers."""
    match environment, numbers:
        case "CartPoleEnv", [_, _, _, _]:
            return numbers
        case "MountainCarEnv", [_, _]:
            return numbers
        case "AcrobotEnv", [cosine1, sine1, cosine2, sine2, speed1, speed2]:
            return [atan2(sine1, cosine1), atan2(sine2, cosine2), speed1, speed2]
        case _:
            return None


def _room(walls: tuple[str, ...], observation: NDArray[Any]) -> Picture:
    """Draw a room with the walker where the observation says, north on top."""
    colours = {"#": WALL_COLOUR, ".": FLOOR_COLOUR}
    cells = np.array([[colours[mark] for mark in row] for row in walls], np.uint8)
    free = [(y, x) for y, row in enumerate(walls) for x, mark in enumerate(row) if mark == "."]
    cells[free[-1]] = GOAL_COLOUR
    x, y = (int(number) for number in observation)
    if 0 <= y < len(walls) and 0 <= x < len(walls[0]):
        cells[y, x] = AGENT_COLOUR
    return cells[::-1].repeat(PIXELS_PER_CELL, axis=0).repeat(PIXELS_PER_CELL, axis=1)
