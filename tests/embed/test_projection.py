"""The Gaussian projection: the same bits by every way, and distances that are kept."""

from functools import cache

import cv2
import numpy as np
import pytest
from ale_py import ALEInterface, LoggerMode, roms
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save

from memec.embed import GaussianProjection
from memec.errors import MemecError
from memec.frames import stack_depth

ATARI = (4, 84, 84)


def by_definition(projection: GaussianProjection, observation: np.ndarray) -> np.ndarray:
    """The oracle: int64 sums over the whole observation, scaled once."""
    arrays = projection.arrays()
    depth = stack_depth(observation.shape)
    matrix = arrays["matrix"].reshape(-1, depth, projection.key_size).astype(np.int64)
    sums = np.einsum("sp,psk->k", observation.reshape(depth, -1).astype(np.int64), matrix)
    assert abs(sums).max() < 2**31
    return sums.astype(np.float32) * arrays["scale"]


@cache
def atari_projection() -> GaussianProjection:
    return GaussianProjection(ATARI, np.uint8, 128, seed=0)


@cache
def game_stacks(game: str, steps: int = 120) -> np.ndarray:
    """Stacks of real frames, with an episode's start (one frame four times) in the middle."""
    ALEInterface.setLoggerMode(LoggerMode.Error)
    emulator = ALEInterface()
    emulator.setFloat("repeat_action_probability", 0.0)
    emulator.setInt("random_seed", 1)
    emulator.loadROM(roms.get_rom_path(game))
    actions = emulator.getMinimalActionSet()
    rng = np.random.default_rng(0)
    stacks: list[np.ndarray] = []
    for step in range(steps):
        fresh = step in (0, steps // 2)
        if fresh:
            emulator.reset_game()
        for _ in range(4):
            emulator.act(actions[rng.integers(len(actions))])
        frame = cv2.resize(emulator.getScreenGrayscale(), (84, 84), interpolation=cv2.INTER_AREA)
        stacks.append(np.stack([frame] * 4) if fresh else np.stack([*stacks[-1][1:], frame]))
    return np.stack(stacks)


@pytest.mark.parametrize("game", ["pong", "qbert", "ms_pacman"])
def test_real_frames_have_the_same_bits_by_every_way(game: str) -> None:
    projection = atari_projection().fork()
    stacks = game_stacks(game)
    followed = np.stack([projection(stack) for stack in stacks])
    assert (followed == projection.batch(stacks)).all()
    for index in (0, 1, 3, 59, 60, 61, 119):
        assert (followed[index] == by_definition(projection, stacks[index])).all()


def test_interleaved_streams_have_the_same_keys_as_each_alone() -> None:
    projection = atari_projection()
    shared, own_pong, own_qbert = projection.fork(), projection.fork(), projection.fork()
    for pong, qbert in zip(game_stacks("pong"), game_stacks("qbert"), strict=True):
        assert (shared(pong) == own_pong(pong)).all()
        assert (shared(qbert) == own_qbert(qbert)).all()
        assert (shared(qbert) == own_qbert(qbert)).all()


def test_fork_shares_the_matrix_and_not_the_track() -> None:
    projection = atari_projection()
    fork = projection.fork()
    assert fork.arrays()["matrix"] is projection.arrays()["matrix"]
    assert fork.arrays()["matrix"].dtype == np.int16
    stacks = game_stacks("pong")
    expected = projection(stacks[5])
    fork(stacks[50])
    assert (projection(stacks[6]) == by_definition(projection, stacks[6])).all()
    assert (fork(stacks[5]) == expected).all()


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.sampled_from([(3, 5, 6), (2, 4, 4), (1, 9, 9), (8, 9, 10), (7, 9, 3), (6, 7), (200,), (5, 4, 3, 2)]),
    st.integers(0, 2**32 - 1),
)
def test_any_order_of_random_images_of_any_shape_gives_the_defined_keys(shape: tuple[int, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    projection = GaussianProjection(shape, np.uint8, 16, seed=3)
    depth = stack_depth(shape)
    observation = rng.integers(0, 256, shape, dtype=np.uint8)
    for _ in range(12):
        move = rng.integers(5)
        if move == 0:
            observation = rng.integers(0, 256, shape, dtype=np.uint8)
        elif move == 1:
            observation = np.where(rng.random(shape) < 0.1, rng.integers(0, 256, shape), observation).astype(np.uint8)
        elif move == 2 and depth > 1:
            observation = np.concatenate([observation[1:], rng.integers(0, 256, (1, *shape[1:]), dtype=np.uint8)])
        elif move == 3:
            observation = np.full(shape, rng.choice([0, 255]), dtype=np.uint8)
        expected = by_definition(projection, observation)
        assert (projection(observation) == expected).all()
        assert (projection.batch(observation[None])[0] == expected).all()


def test_a_key_is_an_array_of_its_own_and_does_not_follow_its_observation() -> None:
    projection = GaussianProjection((9, 9), np.uint8, 8, seed=0)
    observation = np.arange(81, dtype=np.uint8).reshape(9, 9)
    first = projection(observation)
    kept = first.copy()
    observation += 1  # as an environment that reuses its buffer does
    second = projection(observation)
    assert (first == kept).all()
    assert (second == by_definition(projection, observation)).all()


def test_strided_and_read_only_observations_are_welcome() -> None:
    projection = GaussianProjection((2, 9, 9), np.uint8, 8, seed=0)
    observation = np.random.default_rng(0).integers(0, 256, (9, 9, 2), dtype=np.uint8).transpose(2, 0, 1)
    read_only = observation.copy()
    read_only.flags.writeable = False
    assert (projection(observation) == projection(read_only)).all()
    assert (projection.batch(observation[None]) == projection.batch(read_only[None])).all()


def test_the_first_axis_is_a_stack_only_if_short() -> None:
    assert stack_depth((4, 84, 84)) == 4
    assert stack_depth((8, 84, 84)) == 8
    assert stack_depth((9, 84, 84)) == 1
    assert stack_depth((84, 84, 3)) == 1
    assert stack_depth((7, 7, 3)) == 1
    assert stack_depth((84, 84)) == 1


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_squared_distances_are_kept_on_average(dtype: type) -> None:
    rng = np.random.default_rng(0)
    shape = (4, 12, 12)
    pair = rng.integers(0, 256, (2, *shape)).astype(dtype)
    unit = 255.0 if dtype is np.uint8 else 1.0
    true = np.sum(((pair[0].astype(float) - pair[1].astype(float)) / unit) ** 2)
    ratios = []
    for seed in range(100):
        keys = GaussianProjection(shape, dtype, 128, seed).batch(pair)
        ratios.append(np.sum((keys[0].astype(float) - keys[1]) ** 2) / true)
    # Each ratio is a chi-square of 128 degrees over 128: standard deviation 1/8, of the mean of a hundred 1/80.
    assert np.mean(ratios) == pytest.approx(1.0, abs=4 / 80)
    assert np.std(ratios) == pytest.approx(1 / 8, rel=0.35)


def test_stack_positions_are_projected_independently() -> None:
    stack = np.zeros((4, 12, 12), dtype=np.uint8)
    stack[0, 3, 3] = 200
    projection = GaussianProjection(stack.shape, np.uint8, 32, seed=0)
    assert not np.allclose(projection(stack), projection(np.roll(stack, 1, axis=0)))


def test_the_seed_decides_the_matrix() -> None:
    def matrix(seed: int) -> np.ndarray:
        return GaussianProjection((9, 9), np.uint8, 8, seed).arrays()["matrix"]

    assert (matrix(1) == matrix(1)).all()
    assert (matrix(1) != matrix(2)).any()
    generator = np.random.default_rng(1)
    assert (GaussianProjection((9, 9), np.uint8, 8, generator).arrays()["matrix"] == matrix(1)).all()


def test_no_image_overflows_the_sums() -> None:
    """The worst image for a column is white where the column is positive; large images get a coarser matrix."""
    for shape in (ATARI, (210, 160, 3), (480, 640)):
        projection = GaussianProjection(shape, np.uint8, 4, seed=0)
        depth = stack_depth(shape)
        matrix = projection.arrays()["matrix"].reshape(-1, depth, 4)
        for sign in (1, -1):
            worst = np.where(sign * matrix[:, :, 0].T > 0, 255, 0).astype(np.uint8).reshape(shape)
            expected = by_definition(projection, worst)
            assert sign * expected[0] > 0
            assert (projection(worst) == expected).all()
            assert (projection.batch(worst[None])[0] == expected).all()


@pytest.mark.parametrize(("shape", "dtype"), [((4, 12, 12), np.uint8), ((300,), np.float32)])
def test_arrays_restore_the_projection(shape: tuple[int, ...], dtype: type) -> None:
    projection = GaussianProjection(shape, dtype, 16, seed=7)
    stored = load(save(projection.arrays()))
    restored = GaussianProjection.from_arrays(shape, dtype, stored)
    assert restored.key_size == 16
    observations = np.random.default_rng(0).integers(0, 256, (5, *shape)).astype(dtype)
    assert (restored.batch(observations) == projection.batch(observations)).all()
    with pytest.raises(MemecError, match="does not belong to"):
        GaussianProjection.from_arrays((4, 13, 12), np.uint8, stored)


def test_float_observations_are_multiplied_as_they_are() -> None:
    projection = GaussianProjection((20, 30), np.float32, 16, seed=0)
    observations = np.random.default_rng(0).standard_normal((7, 20, 30))
    keys = projection.batch(observations)
    assert keys.dtype == np.float32
    expected = observations.reshape(7, -1) @ projection.arrays()["matrix"].astype(np.float64)
    np.testing.assert_allclose(keys, expected, atol=1e-4)
    assert all((projection(one) == key).all() for one, key in zip(observations, keys, strict=True))


def test_an_observation_that_does_not_fit_is_an_error() -> None:
    projection = GaussianProjection((9, 9), np.uint8, 8, seed=0)
    with pytest.raises(MemecError, match=r"must have the shape \(9, 9\), but this one has \(9, 8\)"):
        projection(np.zeros((9, 8), dtype=np.uint8))
    with pytest.raises(MemecError, match="must be of type uint8, but these are float64"):
        projection(np.zeros((9, 9)))
    with pytest.raises(MemecError, match=r"observations of shape \(9, 9\)"):
        projection.batch(np.zeros((9, 9), dtype=np.uint8))
