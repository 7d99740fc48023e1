"""Numbers in an agent's file that nothing comes to are refused when it is loaded, not found out while it learns."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memec.agents import AGENTS
from memec.errors import MemecError
from memec.train.files import Arrays, read_arrays, write_arrays

NETWORK = {"train_start_steps": 20, "replay_capacity": 40, "batch_size": 4, "hidden_size": 2}
ADAM = {"optimiser": {"name": "adam"}}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "mfec": ("mfec", {"memory": {"capacity": 30}}),
    "mfec, scaled": ("mfec", {"memory": {"capacity": 30}, "embed": {"scaled": True}}),
    "mfec, projected": ("mfec", {"memory": {"capacity": 30}, "embed": {"kind": "projection", "key_size": 3}}),
    "mfec, calibrated": ("mfec", {"memory": {"capacity": 30}, "explore": "ucb-calibrated"}),
    "mfec, automatic": ("mfec", {"memory": {"capacity": 30}, "explore": "mellowmax-auto"}),
    "nec": ("nec", NETWORK | {"memory": {"capacity": 30, "neighbours": 11}, "key_size": 2, "n_step": 90}),
    "nec, adam": ("nec", NETWORK | ADAM | {"memory": {"capacity": 30, "neighbours": 11}, "key_size": 2}),
    "vpec": ("vpec", {"memory": {"capacity": 40}}),
    "d3qn": ("d3qn", NETWORK),
    "d3qn, adam": ("d3qn", NETWORK | ADAM),
}
COUNTED = ("insight.numbers", "insight.spread")
"""Begin with a count."""
DISTANCES = ("insight.latest", "insight.waiting")
"""Where nothing was near, a distance is infinite."""


@pytest.fixture(scope="module", params=KINDS)
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Arrays, Any, Path]:
    """The agent's name, what its file holds in the middle of an episode, and a place for a changed one."""
    name, settings = KINDS[request.param]
    file = tmp_path_factory.mktemp("saved") / "agent"
    AGENTS[name]("CartPole-v1", **settings).learn(80).save(file)  # type: ignore[call-arg, arg-type]
    return name, *read_arrays(file), file.with_name("changed")


def with_number(arrays: Arrays, name: str, place: int, number: float) -> Arrays:
    changed = arrays[name].copy()
    changed.reshape(-1)[place] = number
    return arrays | {name: changed}


def test_nan_and_infinity_are_refused_when_an_agent_is_loaded(saved: tuple[str, Arrays, Any, Path]) -> None:
    name, arrays, about, file = saved
    for part, array in arrays.items():
        for number in (np.nan, np.inf):
            if array.dtype.kind != "f" or not array.size or (part in DISTANCES and number == np.inf):
                continue
            write_arrays(file, with_number(arrays, part, array.size // 2, number), about)
            with pytest.raises(MemecError, match="does not fit"):
                AGENTS[name].load(file, env="CartPole-v1")


def test_a_count_below_zero_is_refused_or_does_no_harm(saved: tuple[str, Arrays, Any, Path]) -> None:
    name, arrays, about, file = saved
    for part, array in arrays.items():
        for number in (-1, -(2**62), 2**62 - 1, 2**62):
            if (array.dtype != np.int64 and part not in COUNTED) or not array.size:
                continue
            write_arrays(file, with_number(arrays, part, 0, number), about)
            try:
                agent = AGENTS[name].load(file, env="CartPole-v1")
            except MemecError as error:
                assert "\n" not in str(error)
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                agent.learn(40).save(file)


@pytest.mark.parametrize(
    ("part", "number"),
    [("count", -1), ("count", 2**62), ("scale", 0.0), ("scale", np.nan), ("squares", -1.0), ("step_squares", np.inf)],
)
def test_a_scale_that_no_observations_have_is_refused(part: str, number: float, tmp_path: Path) -> None:
    agent = AGENTS["vpec"]("CartPole-v1", memory={"capacity": 40}).learn(60)  # type: ignore[call-arg, arg-type]
    agent.save(tmp_path / "agent")
    arrays, about = read_arrays(tmp_path / "agent")
    write_arrays(tmp_path / "changed", with_number(arrays, f"scale.{part}", 0, number), about)
    with pytest.raises(MemecError, match="does not fit"):
        AGENTS["vpec"].load(tmp_path / "changed", env="CartPole-v1")
