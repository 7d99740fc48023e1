"""How much of what happens is luck, and what a single experience counts for then."""

from typing import Any

import numpy as np
import pytest

from memec.graph import Experience, Graph, GraphSettings
from memec.graph.tables import TEMPERED

UNIT = np.ones(2, np.float32)


def drift(noise: float, steps: int = 600, **changes: Any) -> Graph:
    """Go round and round: a smooth move without chance, and noise of so many typical steps."""
    random = np.random.default_rng(0)
    graph = Graph(GraphSettings(capacity=1_000, neighbours=8, doubt=0.0, **changes), 1, 2, 0.9)
    graph.measure(0.01)
    graph.saw_returns(best=10.0, worst=-10.0)
    here = np.array([1.0, 0.0], np.float32)
    turn = np.array([[np.cos(0.1), -np.sin(0.1)], [np.sin(0.1), np.cos(0.1)]], np.float32)
    for step in range(steps):
        there = (turn @ here + 0.1 * noise * random.normal(size=2)).astype(np.float32)
        there /= max(1.0, np.linalg.norm(there) / 1.2)
        graph.remember(
            Experience(0, here, float(random.normal()), there, False, step + 1), graph.look(here[None]), UNIT
        )
        here = there
    graph.sweep(graph.newest_first())
    return graph


def test_moments_nearby_go_on_alike_unless_chance_is_in_it() -> None:
    assert drift(0.0).straying == 0.0
    assert 0.0 < drift(0.3).straying < drift(1.0).straying


@pytest.mark.parametrize(("noise", "slope_numbers"), [(0.0, 16), (0.3, 0)])
def test_without_chance_or_without_a_slope_a_known_state_speaks_for_itself(noise: float, slope_numbers: int) -> None:
    graph = drift(noise, slope_numbers=slope_numbers)
    used = graph.used()
    opinion = graph.judge(graph.look(graph.keys[used]))
    assert not graph.lucky
    np.testing.assert_array_equal(opinion.values[:, 0], graph.returns[used])
    np.testing.assert_array_equal(opinion.tempered, opinion.values)


def test_where_chance_rules_a_single_experience_is_tempered_by_its_neighbours() -> None:
    graph = drift(0.3)
    used = graph.used()
    view = graph.look(graph.keys[used])
    own, values = graph.entries.values[used, TEMPERED], graph.judge(view).tempered[:, 0]
    around = graph.entries.values[view.slots[:, 0], TEMPERED]
    assert graph.lucky and (values != own).mean() > 0.9
    np.testing.assert_array_equal(graph.judge(view).values[:, 0], graph.returns[used])
    assert (values >= around.min(axis=1) - 1e-9).all() and (values <= around.max(axis=1) + 1e-9).all()
    assert np.abs(values - around.mean(axis=1)).mean() < np.abs(own - around.mean(axis=1)).mean()


def test_the_more_often_it_was_experienced_the_more_a_state_speaks_for_itself() -> None:
    away = []
    for times in (1, 5, 50):
        graph = drift(0.3)
        slot, step = graph.used()[300], 1_000
        state, [came] = graph.observations[slot].copy(), graph.told(slot)
        again = Experience(0, state, came.reward, came.observation, False, step)
        for _ in range(times):
            graph.remember(again, graph.look(state[None]), UNIT)
        value = graph.judge(graph.look(graph.keys[slot][None])).tempered[0, 0]
        away.append(abs(value - graph.entries.values[slot, TEMPERED]))
    assert away[0] > away[1] > away[2]
