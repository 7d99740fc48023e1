"""The slope between neighbours: against a regression by numpy, and on functions that are straight."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memec.graph import Experience, Graph, GraphSettings
from memec.graph.slope import fit_slope

ACTIONS, NEIGHBOURS = 3, 5


def neighbourhood(seed: int, size: int) -> tuple[Any, ...]:
    random = np.random.default_rng(seed)
    keys = random.normal(size=(ACTIONS * NEIGHBOURS, size)).astype(np.float32)
    near = np.arange(ACTIONS * NEIGHBOURS, dtype=np.int32).reshape(ACTIONS, NEIGHBOURS)
    weights = random.random((ACTIONS, NEIGHBOURS)) + 0.1
    return random.normal(size=size).astype(np.float32), near, weights / weights.sum(axis=1, keepdims=True), keys


def by_numpy(place: Any, near: Any, weights: Any, keys: Any, ridge: float, values: Any) -> Any:
    """What the slope adds to every action's mean, by the normal equations."""
    offsets = (keys[near] - place).astype(np.float64)
    means = (weights[..., None] * offsets).sum(axis=1)
    deviations = offsets - means[:, None]
    scatter = np.einsum("ai,aid,aie->de", weights, deviations, deviations)
    scatter += ridge * np.trace(scatter) / len(place) * np.eye(len(place))
    slope = np.linalg.solve(scatter, np.einsum("ai,aid,ai->d", weights, deviations, values[near]))
    return -means @ slope


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**31), st.integers(1, 6), st.floats(1e-3, 1.0))
def test_corrections_are_those_of_a_ridge_regression(seed: int, size: int, ridge: float) -> None:
    place, near, weights, keys = neighbourhood(seed, size)
    corrections = np.empty((ACTIONS, ACTIONS * NEIGHBOURS))
    fit_slope(place, near, weights, keys, ridge, corrections)
    values = np.random.default_rng(seed + 1).normal(size=len(keys))
    found = corrections @ values[near].reshape(-1)
    np.testing.assert_allclose(found, by_numpy(place, near, weights, keys, ridge, values), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        corrections.reshape(ACTIONS, ACTIONS, -1).sum(axis=2), 0.0, atol=1e-6
    )  # a constant has no slope


def test_neighbours_that_lie_in_one_place_have_no_slope() -> None:
    place, near, weights, keys = neighbourhood(0, 2)
    corrections = np.ones((ACTIONS, ACTIONS * NEIGHBOURS))
    fit_slope(place, near, weights, np.ones_like(keys), 0.1, corrections)
    assert not corrections.any()


@pytest.mark.parametrize("neighbours_of_other_actions", [0, 1])
def test_missing_neighbours_are_left_out(neighbours_of_other_actions: int) -> None:
    place, near, weights, keys = neighbourhood(1, 2)
    near[1:, neighbours_of_other_actions:] = -1
    weights[1:] = 0.0
    weights[1:, :neighbours_of_other_actions] = 1.0
    corrections = np.empty((ACTIONS, ACTIONS * NEIGHBOURS))
    fit_slope(place, near, weights, keys, 0.1, corrections)
    values = np.random.default_rng(2).normal(size=len(keys))
    expected = by_numpy(place, near[:1], weights[:1], keys, 0.1, values)
    np.testing.assert_allclose((corrections[0, :NEIGHBOURS] @ values[near[0]]), expected[0], rtol=1e-6)


def values_of_a_straight_world(**changes: Any) -> Any:
    """Every action ends with a reward that rises by 3 and -2 along the two numbers seen, and by 10 an action."""
    random = np.random.default_rng(3)
    graph = Graph(GraphSettings(capacity=400, neighbours=8, doubt=0.0, **changes), 2, 2, 0.9)
    for step, state in enumerate(random.uniform(-1, 1, size=(600, 2)).astype(np.float32)):
        action = step % 2
        reward = 3.0 * state[0] - 2.0 * state[1] + 10.0 * action
        there = Experience(action, state, float(reward), state, True, step + 1)
        graph.remember(there, graph.look(state[None]), np.ones(2, np.float32))
    graph.saw_returns(best=20.0, worst=-20.0)
    asked = random.uniform(-0.8, 0.8, size=(200, 2)).astype(np.float32)
    truth = (asked @ [3.0, -2.0])[:, None] + [0.0, 10.0]
    return np.abs(graph.judge(graph.look(asked)).values - truth).mean()


def test_the_slope_takes_most_of_the_error_of_means_away() -> None:
    with_slope, means = values_of_a_straight_world(ridge=0.01), values_of_a_straight_world(slope_numbers=0)
    assert with_slope < means / 3


def test_a_value_never_leaves_the_range_of_its_own_neighbours() -> None:
    random = np.random.default_rng(4)
    graph = Graph(GraphSettings(capacity=100, neighbours=4, doubt=0.0, ridge=1e-6), 2, 2, 0.9)
    for step, state in enumerate(random.normal(size=(100, 2)).astype(np.float32)):
        there = Experience(step % 2, state, float(random.normal()), state, True, step + 1)
        graph.remember(there, graph.look(state[None]), np.ones(2, np.float32))
    graph.saw_returns(best=20.0, worst=-20.0)
    view = graph.look(random.normal(size=(200, 2)).astype(np.float32) * 2)
    behind = graph.returns[view.slots]
    values = graph.judge(view).values
    assert (values >= behind.min(axis=2) - 1e-9).all() and (values <= behind.max(axis=2) + 1e-9).all()
