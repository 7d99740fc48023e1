"""Any Gymnasium observation fits: a float32 vector, a one-hot vector, or frames."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array

from memec.envs.observation import fit_observation
from memec.errors import MemecError

VECTORS = {
    "vector": spaces.Box(-1, 1, (4,), np.float32),
    "float64": spaces.Box(-1, 1, (3,), np.float64),
    "whole numbers": spaces.Box(-5, 5, (3,), np.int32),
    "console memory": spaces.Box(0, 255, (128,), np.uint8),
    "number": spaces.Box(-1, 1, (), np.float32),
    "matrix": spaces.Box(-1, 1, (3, 4), np.float32),
    "small board": spaces.Box(0, 255, (8, 8), np.uint8),
    "five dimensions": spaces.Box(0, 255, (4, 4, 4, 4, 4), np.uint8),
}
FRAMES = {
    "stack": spaces.Box(0, 255, (4, 84, 84), np.uint8),
    "colour": spaces.Box(0, 255, (32, 32, 3), np.uint8),
    "grey": spaces.Box(0, 255, (32, 32), np.uint8),
    "stack of colour": spaces.Box(0, 255, (2, 16, 16, 3), np.uint8),
}
DISCRETE = {
    "discrete": spaces.Discrete(5),
    "discrete from 3": spaces.Discrete(5, start=3),
    "discrete from -2": spaces.Discrete(5, start=-2),
    "multi discrete": spaces.MultiDiscrete([2, 3, 4]),
    "multi discrete from": spaces.MultiDiscrete([2, 3], start=[10, -1]),
    "multi discrete grid": spaces.MultiDiscrete([[2, 3], [4, 5]]),
    "bits": spaces.MultiBinary(6),
    "bits grid": spaces.MultiBinary([2, 3]),
    "tuple of discrete": spaces.Tuple((spaces.Discrete(3), spaces.MultiBinary(2))),
}
JOINED = {
    "dict": spaces.Dict({"b": spaces.Box(-1, 1, (2, 2), np.float32), "a": spaces.Discrete(3, start=1)}),
    "tuple": spaces.Tuple((spaces.Box(-1, 1, (), np.float32), spaces.Discrete(3), spaces.MultiDiscrete([2, 2]))),
    "nested": spaces.Dict(
        {"inner": spaces.Dict({"x": spaces.Box(-1, 1, (3,), np.float64)}), "pair": spaces.Tuple((spaces.Discrete(2),))}
    ),
}
ALL = VECTORS | FRAMES | DISCRETE | JOINED


def samples(space: gymnasium.Space, number: int) -> list[Any]:
    space.seed(0)
    return [space.sample() for _ in range(number)]


def batched(space: gymnasium.Space, observations: list[Any]) -> Any:
    """The form in which vector environments give several observations."""
    empty = create_empty_array(space, len(observations))
    return concatenate(space, observations, empty)


@pytest.mark.parametrize("name", ALL)
def test_one_and_many_become_arrays_of_the_promised_shape_and_type(name: str) -> None:
    space = ALL[name]
    fit = fit_observation(space)
    for raw in samples(space, 5):
        array = fit(raw)
        assert array.shape == fit.shape and array.dtype == fit.dtype and array.flags.c_contiguous
        assert not fit.is_batch(raw)
        assert np.array_equal(fit.batch(raw), array[np.newaxis])


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("number", [1, 3])
def test_a_batch_is_its_observations_one_by_one(name: str, number: int) -> None:
    space = ALL[name]
    fit = fit_observation(space)
    raws = samples(space, number)
    together = batched(space, raws)
    assert together in batch_space(space, number)
    assert fit.is_batch(together)
    assert np.array_equal(fit.batch(together), np.stack([fit(raw) for raw in raws]))


@pytest.mark.parametrize("name", VECTORS | DISCRETE | JOINED)
def test_everything_but_frames_is_flattened_as_gymnasium_does(name: str) -> None:
    space = ALL[name]
    fit = fit_observation(space)
    for raw in samples(space, 5):
        assert np.array_equal(fit(raw), spaces.flatten(space, raw).astype(np.float32))


@pytest.mark.parametrize(
    ("family", "kind"), [(VECTORS, "vector"), (FRAMES, "frames"), (DISCRETE, "discrete"), (JOINED, "vector")]
)
def test_every_space_has_its_kind(family: dict[str, gymnasium.Space], kind: str) -> None:
    for space in family.values():
        assert fit_observation(space).kind == kind


@pytest.mark.parametrize("name", FRAMES)
def test_frames_stay_bytes_in_their_own_shape(name: str) -> None:
    space = FRAMES[name]
    fit = fit_observation(space)
    assert fit.dtype == np.uint8 and fit.shape == space.shape
    (raw,) = samples(space, 1)
    assert np.array_equal(fit(raw), raw)
    assert np.array_equal(fit(np.asfortranarray(raw)), raw) and fit(np.asfortranarray(raw)).flags.c_contiguous


def test_a_picture_inside_a_dict_is_divided_by_255() -> None:
    space = spaces.Dict(
        {"camera": spaces.Box(0, 255, (32, 32), np.uint8), "speed": spaces.Box(-1, 1, (1,), np.float32)}
    )
    fit = fit_observation(space)
    assert fit.kind == "vector" and fit.shape == (32 * 32 + 1,)
    vector = fit({"camera": np.full((32, 32), 51, np.uint8), "speed": np.array([0.5], np.float32)})
    assert np.allclose(vector, [*[0.2] * 1024, 0.5])


@pytest.mark.parametrize("name", VECTORS | FRAMES)
def test_the_result_never_shares_memory_with_the_environment(name: str) -> None:
    space = ALL[name]
    fit = fit_observation(space)
    raw = np.array(samples(space, 1)[0])
    assert not np.shares_memory(fit(raw), raw)
    assert not np.shares_memory(fit.batch(raw), raw)
    assert not np.shares_memory(fit.batch(raw[np.newaxis]), raw)


def test_plain_lists_and_numbers_are_accepted() -> None:
    assert np.array_equal(fit_observation(VECTORS["vector"])([1, 2, 3, 4]), [1, 2, 3, 4])
    assert np.array_equal(fit_observation(VECTORS["vector"]).batch([[1, 2, 3, 4]]), [[1, 2, 3, 4]])
    assert np.array_equal(fit_observation(VECTORS["number"])(0.5), [0.5])
    assert np.array_equal(fit_observation(spaces.Discrete(3)).batch([2, 0]), [[0, 0, 1], [1, 0, 0]])


@pytest.mark.parametrize(
    ("space", "raw", "sentence"),
    [
        (VECTORS["vector"], np.zeros(3), r"shape \(4,\).*got an array of shape \(3,\)"),
        (VECTORS["vector"], np.zeros((2, 3)), r"shape \(4,\).*got an array of shape \(2, 3\)"),
        (VECTORS["vector"], np.zeros((1, 1, 4)), r"shape \(4,\).*got an array of shape \(1, 1, 4\)"),
        (VECTORS["vector"], 1.0, r"shape \(4,\).*got an array of shape \(\)"),
        (VECTORS["vector"], "left", r"shape \(4,\).*got str 'left'"),
        (VECTORS["vector"], None, r"shape \(4,\).*got NoneType"),
        (VECTORS["vector"], [[1, 2, 3, 4], [1]], "rows of different lengths"),
        (FRAMES["grey"], np.zeros((32, 32), np.float32), "frames of uint8, but got float32"),
        (FRAMES["grey"], np.zeros((32, 31), np.uint8), r"shape \(32, 32\).*got an array of shape \(32, 31\)"),
        (DISCRETE["discrete"], 1.5, "whole numbers.*float64"),
        (DISCRETE["discrete"], np.zeros((2, 2), int), r"shape \(\).*got an array of shape \(2, 2\)"),
        (JOINED["dict"], [1, 2], "dict of .*got list"),
        (JOINED["dict"], {"a": 1}, r"\['b'\] is missing"),
        (JOINED["tuple"], (0.5, 1), "3 parts, but got 2"),
        (JOINED["tuple"], 0.5, "3 parts, but got float"),
        (JOINED["dict"], {"a": 1, "b": np.zeros((5, 2, 2))}, "different numbers of observations"),
    ],
)
def test_a_wrong_observation_is_answered_with_what_was_expected(space: Any, raw: Any, sentence: str) -> None:
    fit = fit_observation(space)
    with pytest.raises(MemecError, match=sentence):
        fit.is_batch(raw)
    with pytest.raises(MemecError, match=sentence):
        fit.batch(raw)


@pytest.mark.parametrize("name", ["vector", "matrix", "grey", "discrete", "multi discrete", "dict", "tuple"])
@pytest.mark.parametrize("raw", [np.zeros((7, 7, 7)), "left", None, [[1], [2, 3]]])
def test_an_environment_that_breaks_its_own_space_is_told_so(name: str, raw: Any) -> None:
    with pytest.raises(MemecError):
        fit_observation(ALL[name])(raw)


@pytest.mark.parametrize("raw", [2, 8, np.int64(-1)])
def test_a_number_outside_a_discrete_space_is_refused(raw: int) -> None:
    fit = fit_observation(DISCRETE["discrete from 3"])
    with pytest.raises(MemecError, match=f"{raw}.* is not in the space"):
        fit(raw)
    with pytest.raises(MemecError, match="is not in the space"):
        fit.batch([raw])


@pytest.mark.parametrize(
    "space",
    [
        spaces.Text(5),
        spaces.Sequence(spaces.Discrete(2)),
        spaces.Graph(spaces.Discrete(2), None),
        spaces.OneOf((spaces.Discrete(2), spaces.Discrete(3))),
    ],
)
def test_a_space_without_a_fixed_size_is_refused_by_name(space: gymnasium.Space) -> None:
    for whole in (space, spaces.Dict({"a": spaces.Discrete(2), "b": space})):
        with pytest.raises(MemecError, match=type(space).__name__):
            fit_observation(whole)


@pytest.mark.parametrize("space", [spaces.Box(-1, 1, (0,), np.float32), spaces.Dict({}), spaces.Tuple(())])
def test_an_empty_space_is_refused(space: gymnasium.Space) -> None:
    with pytest.raises(MemecError, match="nothing to learn from"):
        fit_observation(space)


def test_of_a_mixed_space_it_is_known_which_numbers_are_quantities() -> None:
    space = spaces.Dict({"name": spaces.Discrete(2), "place": spaces.Box(-1, 1, (2,)), "bits": spaces.MultiBinary(1)})
    fit = fit_observation(space)
    observation = fit({"name": 1, "place": np.array([0.5, 0.25], np.float32), "bits": np.array([1], np.int8)})
    assert observation[fit.quantities].tolist() == [0.5, 0.25]
