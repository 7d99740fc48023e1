"""The graph of experiences: its lists against brute force, its values against plain value iteration."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memec.errors import MemecError, NotFiniteError
from memec.graph import Experience, Graph, GraphSettings
from memec.graph.tables import HOPE, VALUE

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
    return graph.remember(Experience(action, here, reward, there, terminal, step), graph.look(here[None]), UNIT).slot


def make_graph(capacity: int = 128, **changes: Any) -> Graph:
    return Graph(GraphSettings(capacity=capacity, neighbours=4, **changes), ACTIONS, SIZE, discount=0.9)


def true_lists(graph: Graph, there: Any) -> list[list[float]]:
    """The squared distances of the nearest entries to where an outcome led, per action."""
    lists = []
    for action in range(ACTIONS):
        start = action * graph.settings.capacity
        keys = graph.keys[start : start + graph.entries.sizes[action]]
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
    arrays = graph.arrays()
    for row in range(0, len(arrays["near"]), every):
        if not arrays["terminal"][row]:
            for action, expected in enumerate(true_lists(graph, arrays["next_observations"][row])):
                there = arrays["near"][row, action] >= 0
                np.testing.assert_allclose(arrays["distances"][row, action][there], expected, rtol=1e-5, atol=1e-6)


def test_a_full_table_lets_the_nearest_entry_make_room() -> None:
    graph = make_graph(capacity=64)
    walk(graph, 1_000, np.random.default_rng(0))
    assert graph.entries.sizes.tolist() == [64, 64, 64]
    here = np.full((1, SIZE), 0.25, np.float32)
    nearest = graph.look(here).slots[0, 1, 0]
    assert remember(graph, 1, here[0], 1.0, here[0], terminal=True) == nearest
    assert graph.look(here).slots[0, 1, 0] == nearest and graph.look(here).squared_distances[0, 1, 0] == 0.0


def test_a_known_state_keeps_its_place_and_is_worth_the_mean_of_what_came_of_it() -> None:
    graph = make_graph()
    state = np.ones(SIZE, np.float32)
    slots = {remember(graph, 0, state, reward, state, terminal=True) for reward in (1.0, 5.0, 3.0)}
    assert len(slots) == len(graph) == 1
    assert graph.returns[slots.pop()] == 3.0


def test_values_are_those_of_value_iteration_where_every_state_is_known() -> None:
    """On a grid whose every state was tried with every action, the kernel has nothing to guess."""
    random, graph = np.random.default_rng(1), make_graph(doubt=0.0, slope_numbers=0)
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
    arrays = graph.arrays()
    for row, after in enumerate(arrays["next_observations"]):
        there = after * np.array([0.1, 7.0], np.float32)
        keys = graph.observations[: graph.entries.sizes[0]] * np.array([0.1, 7.0], np.float32)
        expected = np.sort(((keys - there) ** 2).sum(axis=1))[:4]
        np.testing.assert_allclose(arrays["distances"][row, 0], expected, rtol=1e-4)


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
    graph = make_graph(slope_numbers=0)
    walk(graph, 100, np.random.default_rng(7))
    graph.saw_returns(best=10.0, worst=-10.0)
    graph.sweep(graph.newest_first())
    used = graph.used()
    assert (graph.entries.values[used, HOPE] >= graph.entries.values[used, VALUE] - 1e-9).all()


def test_what_is_recalled_is_what_is_behind_a_value_that_nobody_doubts() -> None:
    graph = make_graph(doubt=0.0, slope_numbers=0)
    walk(graph, 200, np.random.default_rng(8))
    graph.saw_returns(best=100.0, worst=-100.0)
    for key in (graph.keys[0], np.full(SIZE, 0.3, np.float32)):
        recall = graph.recall(key)
        np.testing.assert_allclose(recall.values, graph.judge(graph.look(key[None])).values[0], rtol=1e-6)
        np.testing.assert_allclose(graph.weights(recall).sum(axis=-1), 1.0)
    assert graph.recall(graph.keys[0]).exact[0] and (graph.recall(graph.keys[0]).slots[0, 1:] == -1).all()


Model = dict[tuple[Any, ...], dict[tuple[Any, ...], list[float]]]
"""Of each state and action, the rewards by where it led and whether it ended there."""


def walk_beside_a_model(graph: Graph, steps: int, seed: int, side: int) -> Model:
    """Walk on a small grid where chance decides where an action leads."""
    random, model = np.random.default_rng(seed), Model()
    for step in range(steps):
        action, terminal = int(random.integers(ACTIONS)), bool(random.random() < 0.2)
        here, there = random.integers(side, size=(2, SIZE)).astype(np.float32)
        reward = float(random.integers(3))
        remember(graph, action, here, reward, there, terminal, step + 1)
        outcomes = model.setdefault((action, *here), {})
        outcomes.setdefault((*there, terminal), []).append(reward)
    return model


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**31), st.integers(1, 400), st.integers(2, 4))
def test_an_entry_counts_all_its_outcomes_and_keeps_their_mean_rewards(seed: int, steps: int, side: int) -> None:
    graph = make_graph(capacity=400)
    model = walk_beside_a_model(graph, steps, seed, side)
    assert len(graph) == len(model)
    for slot in graph.used():
        rows = graph.outcomes_of(np.array([slot])).rows
        expected = model[slot // 400, *graph.observations[slot]]
        found = {(*graph.outcomes.observations[row], bool(graph.outcomes.terminal[row])): row for row in rows}
        assert found.keys() == expected.keys() and len(found) == len(rows)
        for outcome, row in found.items():
            assert graph.outcomes.counts[row] == len(expected[outcome])
            assert graph.outcomes.rewards[row] == pytest.approx(np.mean(expected[outcome]))
        assert graph.entries.visits[slot] == sum(map(len, expected.values()))


def test_values_are_those_of_value_iteration_over_what_chance_did() -> None:
    graph, side = make_graph(capacity=400, doubt=0.0, pseudo=0.0, slope_numbers=0), 3
    model = walk_beside_a_model(graph, 3_000, seed=2, side=side)
    graph.saw_returns(best=100.0, worst=-100.0)
    for _ in range(300):
        graph.sweep(graph.newest_first())
    values = dict.fromkeys(model, 0.0)
    for _ in range(300):
        best = {(x, y): max(values[a, x, y] for a in range(ACTIONS)) for x in range(side) for y in range(side)}
        for tried, outcomes in model.items():
            came = [
                reward + (0.0 if terminal else 0.9 * best[x, y])
                for (x, y, terminal), rewards in outcomes.items()
                for reward in rewards
            ]
            values[tried] = float(np.mean(came))
    for (action, *state), value in values.items():
        opinion = graph.judge(graph.look(np.array([state], np.float32)))
        assert opinion.values[0, action] == pytest.approx(value, abs=1e-5)
        assert opinion.hopes[0, action] == pytest.approx(value, abs=1e-5)


def test_a_repeat_is_told_from_what_is_new_and_shows_what_a_search_would() -> None:
    graph, here, there = make_graph(), np.zeros(SIZE, np.float32), np.ones(SIZE, np.float32)
    experience = Experience(0, here, 1.0, there, False, 1)
    assert graph.remember(experience, graph.look(here[None]), UNIT).new
    walk(graph, 100, np.random.default_rng(9))
    again = graph.remember(experience._replace(step=102), graph.look(here[None]), UNIT)
    elsewhere = graph.remember(experience._replace(after=here), graph.look(here[None]), UNIT)
    assert not again.new and elsewhere.new and again.slot == elsewhere.slot
    np.testing.assert_array_equal(again.there.slots, graph.look(there[None]).slots)
    np.testing.assert_array_equal(again.there.squared_distances, graph.look(there[None]).squared_distances)


def test_the_share_of_chance_is_that_of_repeats_that_led_elsewhere() -> None:
    graph, here, there = make_graph(), np.zeros(SIZE, np.float32), np.ones(SIZE, np.float32)
    for after in (here, there, there, here, here):
        remember(graph, 0, here, 0.0, after)
    assert graph.chance == 0.5


def test_where_chance_rules_hope_lasts_longer_than_where_it_does_not() -> None:
    hopes = []
    for ends in ((0.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 1.0)):
        graph, here = make_graph(), np.zeros(SIZE, np.float32)
        graph.saw_returns(best=10.0, worst=0.0)
        for at in (*ends, *ends):
            remember(graph, 0, here, 0.0, np.full(SIZE, at, np.float32), terminal=True)
        hopes.append(graph.judge(graph.look(here[None])).hopes[0, 0])
    assert hopes[0] == 0.0 < hopes[1] < 10.0


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**31), st.integers(4, 12), st.integers(1, 5))
def test_however_many_outcomes_come_there_is_room_for_every_entry(seed: int, capacity: int, kinds: int) -> None:
    graph = make_graph(capacity=capacity, outcomes=kinds)
    walk_beside_a_model(graph, 400, seed, side=5)
    rows, lengths, _ = graph.outcomes_of(graph.used())
    assert len(set(rows.tolist())) == len(rows) <= 1.5 * ACTIONS * capacity
    assert lengths.min() >= 1 and lengths.max() <= kinds
    np.testing.assert_array_equal(
        graph.entries.visits[graph.used()], np.add.reduceat(graph.outcomes.counts[rows], np.cumsum(lengths) - lengths)
    )


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**31), st.sampled_from([0, 6]))
def test_in_a_full_table_every_list_tells_how_far_its_entries_are_now(seed: int, grid: int) -> None:
    graph = make_graph(capacity=24)
    walk(graph, 500, np.random.default_rng(seed), grid)
    arrays = graph.arrays()
    for near, distances, after, terminal in zip(
        arrays["near"], arrays["distances"], arrays["next_observations"], arrays["terminal"], strict=True
    ):
        if not terminal:
            there = ((graph.keys[near] - after) ** 2).sum(axis=-1)
            np.testing.assert_allclose(distances, there, rtol=1e-5, atol=1e-6)
            assert (np.diff(distances) >= 0).all()
            assert all(len(set(row)) == len(row) for row in near.tolist())


def test_a_restored_graph_goes_on_identically_where_chance_rules_and_tables_are_full() -> None:
    first, second = (make_graph(capacity=8, outcomes=3) for _ in range(2))
    walk_beside_a_model(first, 500, seed=0, side=4)
    second.restore({name: array.copy() for name, array in first.arrays().items()}, UNIT)
    for graph in (first, second):
        walk_beside_a_model(graph, 300, seed=1, side=4)
        graph.sweep(graph.newest_first())
    for name, array in first.arrays().items():
        np.testing.assert_array_equal(array, second.arrays()[name], err_msg=name)
