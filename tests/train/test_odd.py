"""Odd but honest environments take bounded time and memory, or are refused in a sentence.

`python -m tests.train.test_odd` plays an episode of a million steps and says what it took.
"""

import resource
import time
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from memec.agents import AGENTS, D3QN, MFEC, VPEC
from memec.errors import MemecError
from tests.every_agent import SMALL


class Odd(gymnasium.Env[Any, Any]):
    """A clock that shows its time as a place in a long array, which it uses again and again."""

    def __init__(self, size: int = 4, actions: int = 2, length: int = 20, *, both: bool = False) -> None:
        self.observation_space = spaces.Box(-1, 1, (size,), np.float32)
        self.action_space = spaces.Discrete(actions)
        self._length = length
        self._both = both
        self._shown = np.zeros(size, np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._time = 0
        return self._show(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._time += 1
        over = self._time >= self._length
        return self._show(), float(action % 3), over, over and self._both, {}

    def _show(self) -> Any:
        self._shown[:] = 0
        self._shown[self._time % len(self._shown)] = 1
        return self._shown


@pytest.mark.parametrize("agent", ["mfec", "vpec"])
@pytest.mark.parametrize("odd", [{"size": 100_000}, {"actions": 1_000}])
def test_many_numbers_and_many_actions_are_lived_with(agent: str, odd: dict[str, int]) -> None:
    made = AGENTS[agent](Odd(**odd), memory={"capacity": 20})  # type: ignore[call-arg, arg-type]
    assert made.learn(60).steps == 60
    assert 0 <= int(made.predict(np.zeros(odd.get("size", 4), np.float32))[0]) < odd.get("actions", 2)


@pytest.mark.parametrize("odd", [{"size": 100_000}, {"actions": 1_000}])
def test_a_memory_that_no_machine_has_is_refused_with_what_would_do(odd: dict[str, int]) -> None:
    with pytest.raises(MemecError, match=r"set a smaller memory\.capacity"):
        VPEC(Odd(**odd), memory={"capacity": 1_000_000})  # type: ignore[arg-type]


def test_of_both_flags_the_end_is_believed() -> None:
    """An episode that ended and was cut off at once ended: nothing comes after it."""
    settings = {"memory": {"capacity": 100}, "explore": "greedy"}
    returns = [MFEC(Odd(both=both), **settings).learn(100).arrays() for both in (False, True)]  # type: ignore[arg-type]
    assert all(np.array_equal(returns[0][name], returns[1][name]) for name in returns[0])
    replay = D3QN(Odd(both=True), **SMALL["d3qn"]).learn(45).experience().journals()["steps"]  # type: ignore[arg-type]
    assert list(np.flatnonzero(replay.columns["terminated"][:45])) == [19, 39] and replay.end == 45


def main() -> None:
    """Let an episode last for a million steps."""
    for agent in ("mfec", "vpec"):
        made = AGENTS[agent](Odd(length=1_000_000), memory={"capacity": 10_000})  # type: ignore[call-arg, arg-type]
        began = time.process_time()
        made.learn(1_000_010)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{agent}: {time.process_time() - began:.0f} s for a million steps, at most {most:,} MB", flush=True)


if __name__ == "__main__":
    main()
