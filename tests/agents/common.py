"""What the tests of all agents share: the strategies, and whether two agents hold the same."""

import numpy as np
import pytest

from memec import (
    UCB,
    Boltzmann,
    EpsilonGreedy,
    Mellowmax,
    MellowmaxAuto,
    Thompson,
    ThompsonCalibrated,
    UCBCalibrated,
)
from memec.agents import Agent
from memec.explore import Exploration

BY_VALUE = [EpsilonGreedy(anneal_start_steps=100, anneal_end_steps=500), Boltzmann(), Mellowmax()]
AS_RELEASED = [kind(gaussian_process="released", ties="first") for kind in (UCB, Thompson)]
BY_MEMORY = [*BY_VALUE, UCB(), Thompson(), *AS_RELEASED, MellowmaxAuto(), UCBCalibrated(), ThompsonCalibrated()]


def each_strategy(strategies: list) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("explore", strategies, ids=_named)


def _named(explore: Exploration) -> str:
    return f"{explore.name}-released" if explore.judges_as_released else explore.name


def contents(agent: Agent) -> dict[str, np.ndarray]:
    return {name: array.copy() for name, array in agent.arrays().items()}


def assert_same(left: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> None:
    assert left.keys() == right.keys()
    for name, array in left.items():
        np.testing.assert_array_equal(array, right[name], err_msg=name)
