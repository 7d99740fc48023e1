"""The graph of experiences: its lists against brute force, its values against plain value iteration."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memec.errors import MemecError, NotFiniteError
from memec.memory.graph import HOPE, VALUE, Graph, GraphSettings

ACTIONS, SIZE = 3, 2
UNIT = np.ones(SIZE, np.float32)


def walk(graph: Graph, steps: int, random: np.random.Generator, grid: int = 0) -> None:
    """Take random actions in a plane; on a grid, states come again."""

    def place() -> Any:
        return random.integers(grid, size=SIZE).astype(np.float32) if grid else random.normal(size=SIZE).astype("f4")

    here = place()
    for step in range(steps):
        action = int(random.integers(ACTIONS))
        terminal = bool(random.random() < 0.1)
        reward, there = float(random.normal()), place()
        remember(graph, action, here, reward, there, terminal, step + 1)
        here = place() if terminal else there


def remember(
    graph: Graph, action: int, here: Any, reward: float, there: Any, terminal: bool = False, step: int = 1
) -> int:
    return graph.remember(action, graph.look(here[None]), here, reward, there, terminal, step, UNIT)[0]


def make_graph(capacity: int = 128, **changes: Any) -> Graph:
    return Graph(GraphSettings(capacity=capacity, neighbours=4, **changes), ACTIONS, SIZE, discount=0.9)


def true_lists(graph: Graph, slot: int) -> list[list[float]]:
    """The squared distances of the nearest entries to where an experience led, per action."""
    there = graph.next_observations[slot]
    lists = []
    for action in range(ACTIONS):
        start = action * graph.settings.capacity
        keys = graph.keys[start : start + graph.sizes[action]]
        lists.append(np.sort(((keys - there) ** 2).sum(axis=1))[:4].tolist())
    return lists


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**31), st.integers(1, 300), st.sampled_from([0, 3, 12]))
def test_every_entry_lists_the_nearest_to_where_it_led(seed: int, steps: int, grid: int) -> None:
    graph = make_graph(capacity=max(steps, 4))
    walk(graph, steps, np.random.default_rng(seed), grid)
    assert_true_lists(graph)


def test_lists_are_right_in_a_space_of_many_cells_where_known_states_lead_elsewhere() -> None:
    graph = make_graph(capacity=4_000)
    walk(graph, 9_000, np.random.default_rng(0), grid=60)
    assert 4_096 < len(graph) < 8_500
    assert_true_lists(graph, every=20)


def assert_true_lists(graph: Graph, every: int = 1) -> None:
    arrays, used = graph.arrays(), graph.used()
    for row in range(0, len(used), every):
        slot = used[row]
        if not graph.terminal[slot]:
            for action, expected in enumerate(true_lists(graph, slot)):
                there = arrays["near"][row, action] >= 0
                np.testing.assert_allclose(arrays["distances"][row, action][there], expected, rtol=1e-5, atol=1e-6)


def test_a_full_table_lets_the_nearest_entry_make_room() -> None:
    graph = make_graph(capacity=64)
    walk(graph, 1_000, np.random.default_rng(0))
    assert graph.sizes.tolist() == [64, 64, 64]
    here = np.full((1, SIZE), 0.25, np.float32)
    nearest = graph.look(here).slots[0, 1, 0]
    assert remember(graph, 1, here[0], 1.0, here[0], terminal=True) == nearest
    assert graph.look(here).slots[0, 1, 0] == nearest and graph.look(here).squared_distances[0, 1, 0] == 0.0


def test_a_known_state_keeps_its_place_and_gets_its_newest_outcome() -> None:
    graph = make_graph()
    state = np.ones(SIZE, np.float32)
    slots = {remember(graph, 0, state, reward, state, terminal=True) for reward in (1.0, 5.0, 2.0)}
    assert len(slots) == len(graph) == 1
    assert graph.values[slots.pop(), VALUE] == 2.0


def test_values_are_those_of_value_iteration_where_every_state_is_known() -> None:
    """On a grid whose every state was tried with every action, the kernel has nothing to guess."""
    random, graph = np.random.default_rng(1), make_graph(doubt=0.0)
    side = 4
    states = [np.array([x, y], np.float32) for x in range(side) for y in range(side)]
    rewards, following = random.normal(size=(len(states), ACTIONS)), random.integers(16, size=(len(states), ACTIONS))
    for step, (number, action) in enumerate(np.ndindex(len(states), ACTIONS)):
        there = states[following[number, action]]
        remember(graph, action, states[number], rewards[number, action], there, step=step + 1)
    graph.saw_returns(best=20.0, worst=-20.0)
    for _ in range(300):
        graph.sweep(graph.newest_first())
    expected = np.zeros((len(states), ACTIONS))
    for _ in range(300):
        expected = rewards + 0.9 * expected.max(axis=1)[following]
    opinion = graph.judge(graph.look(np.stack(states)))
    np.testing.assert_allclose(opinion.values, expected, atol=1e-5)
    np.testing.assert_allclose(opinion.hopes, expected, atol=1e-5)


def test_what_is_far_is_hoped_for_and_doubted() -> None:
    graph = make_graph()
    walk(graph, 200, np.random.default_rng(2))
    graph.saw_returns(best=100.0, worst=-100.0)
    near, far = (graph.judge(graph.look(np.full((1, SIZE), at, np.float32))) for at in (0.0, 50.0))
    assert (far.hopes > 99.0).all() and (far.hopes > near.hopes).all()
    assert (far.values < near.values).all() and far.values.min() >= -100.0


def test_before_anything_is_known_everything_is_hoped_for_and_nothing_believed() -> None:
    graph = make_graph()
    opinion = graph.judge(graph.look(np.zeros((2, SIZE), np.float32)))
    assert (opinion.hopes == 1.0).all() and (opinion.values == 0.0).all()


def test_a_new_scale_finds_the_same_lists_as_keys_made_with_it_at_once() -> None:
    graph = make_graph(capacity=256)
    walk(graph, 400, np.random.default_rng(3))
    graph.rescale(np.array([0.1, 7.0], np.float32), 1.0)
    for row, slot in enumerate(graph.used()):
        there = graph.next_observations[slot] * np.array([0.1, 7.0], np.float32)
        keys = graph.observations[: graph.sizes[0]] * np.array([0.1, 7.0], np.float32)
        expected = np.sort(((keys - there) ** 2).sum(axis=1))[:4]
        np.testing.assert_allclose(graph.arrays()["distances"][row, 0], expected, rtol=1e-4)


def test_a_restored_graph_goes_on_identically() -> None:
    first = make_graph(capacity=64)
    walk(first, 500, np.random.default_rng(4))
    second = make_graph(capacity=64)
    second.restore({name: array.copy() for name, array in first.arrays().items()}, UNIT)
    for graph in (first, second):
        walk(graph, 300, np.random.default_rng(5))
        graph.sweep(graph.newest_first())
    for name, array in first.arrays().items():
        np.testing.assert_array_equal(array, second.arrays()[name], err_msg=name)


@pytest.mark.parametrize("name", ["near", "sizes", "values"])
def test_arrays_that_fit_no_graph_are_refused(name: str) -> None:
    graph = make_graph()
    walk(graph, 50, np.random.default_rng(6))
    arrays = graph.arrays()
    arrays[name] = np.full_like(arrays[name], 127 if name == "near" else 1_000 if name == "sizes" else np.nan)
    with pytest.raises(MemecError, match="does not fit"):
        make_graph().restore(arrays, UNIT)


def test_a_state_that_is_not_finite_is_refused() -> None:
    graph, nowhere = make_graph(), np.array([np.nan, 0.0], np.float32)
    with pytest.raises(NotFiniteError):
        graph.look(nowhere[None])
    with pytest.raises(NotFiniteError):
        remember(graph, 0, UNIT, 1.0, nowhere)
    assert len(graph) == 0


def test_hope_spreads_further_than_belief() -> None:
    graph = make_graph()
    walk(graph, 100, np.random.default_rng(7))
    graph.saw_returns(best=10.0, worst=-10.0)
    graph.sweep(graph.newest_first())
    used = graph.used()
    assert (graph.values[used, HOPE] >= graph.values[used, VALUE] - 1e-9).all()


def test_what_is_recalled_is_what_is_behind_a_value_that_nobody_doubts() -> None:
    graph = make_graph(doubt=0.0)
    walk(graph, 200, np.random.default_rng(8))
    graph.saw_returns(best=100.0, worst=-100.0)
    for key in (graph.keys[0], np.full(SIZE, 0.3, np.float32)):
        recall = graph.recall(key)
        np.testing.assert_allclose(recall.values, graph.judge(graph.look(key[None])).values[0], rtol=1e-6)
        np.testing.assert_allclose(graph.weights(recall).sum(axis=-1), 1.0)
    assert graph.recall(graph.keys[0]).exact[0] and (graph.recall(graph.keys[0]).slots[0, 1:] == -1).all()
