"""An agent that learns at the end of an episode says so where none ends."""

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest

from memec import MFEC, VPEC
from memec.train import TrainingSettings, endless


class Endless(gymnasium.Env[Any, Any]):
    """Goes on for so many steps, or for ever."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, length: float = np.inf) -> None:
        self._length = length
        self._steps = 0

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        self._steps = 0
        return np.zeros(2, np.float32), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        return np.zeros(2, np.float32), 1.0, self._steps >= self._length, False, {}


def said(agent: Any, steps: int) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        list(agent.train(TrainingSettings(steps=steps, evaluate_every_steps=0), (), 50))
    return [str(warning.message) for warning in caught]


def test_an_episode_that_does_not_end_is_told_once_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endless, "LONG_EPISODE", 200)
    (sentence,) = said(MFEC(Endless()), 600)
    assert "has not ended for 200 steps, and mfec learns only when it does" in sentence


@pytest.mark.parametrize(
    ("agent", "length", "steps", "sentences"),
    [
        (MFEC, np.inf, 1_000, 1),
        (MFEC, np.inf, 900, 0),  # tried out
        (MFEC, 300, 1_100, 0),
        (VPEC, np.inf, 1_000, 0),  # learns at every step
    ],
)
def test_a_run_in_which_no_episode_ended_is_told_at_its_end(
    agent: Any, length: float, steps: int, sentences: int
) -> None:
    assert len(said(agent(Endless(length)), steps)) == sentences


def test_an_action_mask_is_told_once_however_often_it_is_evaluated() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MFEC("Taxi-v4").learn(300, evaluate_every=100, evaluation_episodes=2)
    assert len(caught) == 1 and "info['action_mask']" in str(caught[0].message)


def test_an_action_mask_that_is_not_looked_at_is_told_once() -> None:
    class Masked(Endless):
        def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
            return super().reset()[0], {"action_mask": np.ones(2, np.int8)}

    sentences = said(MFEC(Masked(length=10)), 100)
    assert len(sentences) == 1 and "Masked says which actions are possible (info['action_mask'])" in sentences[0]
