"""The rooms of the paper behave as they are described."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import memec.envs  # noqa: F401  (registers the rooms)
from memec.errors import MemecError

NORTH, EAST, SOUTH, WEST = range(4)
ROOMS = ("memec/OpenRoom-v0", "memec/FourRoom-v0")

DESIGN = """
#############
#.....#.....#
#.....#.....#
#...........#
#.....#.....#
#.....#.....#
##.####.....#
#.....###.###
#.....#.....#
#.....#.....#
#...........#
#.....#.....#
#############
"""
FOUR_ROOM_AS_DESIGNED = DESIGN.split()
OPEN_ROOM_AS_DESIGNED = ["#" * 12, *["#" + "." * 10 + "#"] * 10, "#" * 12]


def walk(room: gymnasium.Env, actions: list[int]) -> tuple[float, float]:
    room.reset()
    position = (1.0, 1.0)
    for action in actions:
        observation, *_ = room.step(action)
        position = (float(observation[0]), float(observation[1]))
    return position


def reachable_by_walking(room: gymnasium.Env) -> dict[tuple[int, int], list[int]]:
    """Every cell that can be reached, with the actions that lead there."""
    paths: dict[tuple[int, int], list[int]] = {(1, 1): []}
    frontier = [(1, 1)]
    while frontier:
        cell = frontier.pop(0)
        for action in range(4):
            x, y = walk(room, [*paths[cell], action])
            if (int(x), int(y)) not in paths:
                paths[int(x), int(y)] = [*paths[cell], action]
                frontier.append((int(x), int(y)))
    return paths


@pytest.mark.parametrize(
    ("room_id", "walls"), [("memec/OpenRoom-v0", OPEN_ROOM_AS_DESIGNED), ("memec/FourRoom-v0", FOUR_ROOM_AS_DESIGNED)]
)
def test_walkers_reach_exactly_the_free_cells_of_the_design(room_id: str, walls: list[str]) -> None:
    free = {(x, y) for y, row in enumerate(walls) for x, mark in enumerate(row) if mark == "."}
    room = gymnasium.make(room_id)
    assert set(reachable_by_walking(room)) == free


@pytest.mark.parametrize(("room_id", "shortest"), [("memec/OpenRoom-v0", 18), ("memec/FourRoom-v0", 20)])
def test_the_shortest_way_to_the_goal_pays_one_and_ends(room_id: str, shortest: int) -> None:
    room = gymnasium.make(room_id)
    corner = (10, 10) if "Open" in room_id else (11, 11)
    way = reachable_by_walking(room)[corner]
    assert len(way) == shortest
    room.reset()
    outcomes = [room.step(action)[1:4] for action in way]
    assert outcomes[:-1] == [(0.0, False, False)] * (shortest - 1)
    assert outcomes[-1] == (1.0, True, False)


def test_north_raises_y_and_east_raises_x() -> None:
    room = gymnasium.make("memec/FourRoom-v0")
    assert walk(room, [NORTH]) == (1, 2)
    assert walk(room, [EAST]) == (2, 1)
    assert walk(room, [NORTH, EAST, SOUTH]) == (2, 1)
    assert walk(room, [NORTH, EAST, WEST]) == (1, 2)


def test_a_wall_stops_the_walker() -> None:
    room = gymnasium.make("memec/FourRoom-v0")
    assert walk(room, [SOUTH]) == (1, 1)
    assert walk(room, [WEST]) == (1, 1)
    assert walk(room, [EAST] * 6) == (5, 1)
    assert walk(room, [NORTH, NORTH, *[EAST] * 6]) == (7, 3)  # through the door at (6, 3)


@pytest.mark.parametrize("room_id", ROOMS)
def test_an_episode_is_truncated_at_its_hundredth_step(room_id: str) -> None:
    room = gymnasium.make(room_id)
    for _ in range(2):
        room.reset()
        ends = [room.step(WEST)[2:4] for _ in range(100)]
        assert ends == [(False, False)] * 99 + [(False, True)]


@pytest.mark.parametrize("room_id", ROOMS)
def test_reaching_the_goal_with_the_last_step_is_no_truncation(room_id: str) -> None:
    room = gymnasium.make(room_id)
    way = reachable_by_walking(room)[(10, 10) if "Open" in room_id else (11, 11)]
    room.reset()
    for _ in range(100 - len(way)):
        room.step(WEST)
    assert [room.step(action) for action in way][-1][1:4] == (1.0, True, False)


@pytest.mark.parametrize("room_id", ROOMS)
@pytest.mark.parametrize("render_mode", [None, "rgb_array", "ansi"])
def test_gymnasium_finds_nothing_to_complain_about(room_id: str, render_mode: str | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(room_id, render_mode=render_mode).unwrapped)


@pytest.mark.parametrize("room_id", ROOMS)
def test_make_returns_the_bare_room(room_id: str) -> None:
    room = gymnasium.make(room_id)
    assert room is room.unwrapped


@pytest.mark.parametrize("room_id", ROOMS)
def test_the_bounds_are_the_corners_of_the_room(room_id: str) -> None:
    room = gymnasium.make(room_id)
    cells = np.array(list(reachable_by_walking(room)))
    assert np.array_equal(room.observation_space.low, cells.min(axis=0))
    assert np.array_equal(room.observation_space.high, cells.max(axis=0))


def test_writing_into_an_observation_changes_nothing() -> None:
    room = gymnasium.make("memec/OpenRoom-v0")
    first, _ = room.reset()
    first[:] = -1
    stepped, *_ = room.step(NORTH)
    stepped[:] = -1
    assert np.array_equal(room.reset()[0], [1, 1])
    assert np.array_equal(room.step(NORTH)[0], [1, 2])


def test_text_is_drawn_with_north_on_top() -> None:
    room = gymnasium.make("memec/FourRoom-v0", render_mode="ansi")
    room.reset()
    room.step(EAST)
    lines = room.render().splitlines()
    expected = [list(row) for row in FOUR_ROOM_AS_DESIGNED]
    expected[1][2] = "A"
    expected[11][11] = "G"
    assert lines == ["".join(row) for row in reversed(expected)]


def test_the_picture_shows_the_walker_where_the_text_does() -> None:
    picture = gymnasium.make("memec/OpenRoom-v0", render_mode="rgb_array")
    picture.reset()
    before = picture.render()
    picture.step(NORTH)
    after = picture.render()
    assert before.shape == (12 * 16, 12 * 16, 3) and before.dtype == np.uint8
    changed = np.argwhere((before != after).any(axis=2)) // 16
    assert {tuple(map(int, cell)) for cell in changed} == {(10, 1), (9, 1)}  # rows counted from the top: y=1 and y=2


@pytest.mark.parametrize("action", [-1, 4])
def test_an_action_that_does_not_exist_is_refused(action: int) -> None:
    room = gymnasium.make("memec/OpenRoom-v0")
    room.reset()
    with pytest.raises(MemecError, match="actions 0 to 3"):
        room.step(action)


def test_an_unknown_render_mode_is_refused() -> None:
    from memec.envs.rooms import FourRoom

    with pytest.raises(MemecError, match="rgb_array or ansi"):
        FourRoom(render_mode="human")
