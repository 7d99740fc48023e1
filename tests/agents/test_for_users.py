"""What a user meets of an agent: how it prints, what it lists, how it is evaluated and moved."""

from pathlib import Path

import gymnasium
import numpy as np
import pytest

import memec
from memec import D3QN, MFEC, VPEC, MemecError
from memec.train import Event
from tests.command import Memec


def test_an_agent_prints_as_what_it_is() -> None:
    agent = MFEC("memec/OpenRoom-v0", explore="ucb", seed=3)
    assert repr(agent) == "<MFEC('memec/OpenRoom-v0', explore='ucb', seed=3): 0 steps, 0 memories>"
    agent.learn(300)
    assert "300 steps" in repr(agent) and "0 memories" not in repr(agent)
    assert "memories" not in repr(D3QN("CartPole-v1"))
    listed = [name for name in dir(agent) if not name.startswith("_")]
    assert {"learn", "predict", "recall", "evaluate", "save", "settings"} <= set(listed) and "restore" not in listed
    assert all(hasattr(agent, name) for name in listed)


def test_evaluating_changes_nothing_and_the_seed_decides() -> None:
    agent = VPEC("CartPole-v1").learn(500)
    twin = VPEC("CartPole-v1").learn(500)
    first, again, other = agent.evaluate(3), agent.evaluate(3), agent.evaluate(3, seed=9)
    assert first._replace(seconds=0.0) == again._replace(seconds=0.0) != other._replace(seconds=0.0)
    assert first.episodes == 3 and first.step == 500
    for one in (agent, twin):
        one.learn(200)
    assert np.array_equal(agent.graph.returns, twin.graph.returns)


def test_an_agent_moves_to_another_environment_of_the_same_kind() -> None:
    agent = MFEC("FrozenLake-v1", env_kwargs={"is_slippery": False}).learn(200)
    agent.set_env(gymnasium.make("FrozenLake-v1", is_slippery=True))
    agent.learn(100)
    assert agent.steps == 300 and agent.world.environment.spec.kwargs["is_slippery"] is True
    with pytest.raises(MemecError, match="other actions or observations"):
        agent.set_env("CartPole-v1")
    with pytest.raises(MemecError, match="is used as it is"):
        MFEC(gymnasium.make("FrozenLake-v1"), env_kwargs={"is_slippery": False})


def test_every_callback_hears_every_event_and_any_may_stop() -> None:
    heard: list[list[Event]] = [[], []]

    def stops(event: Event) -> bool:
        heard[0].append(event)
        return not (isinstance(event, memec.Episode) and len(heard[0]) >= 3)

    agent = MFEC("memec/OpenRoom-v0").learn(5_000, callback=[stops, heard[1].append], evaluate_every=100)
    assert heard[0] == heard[1] and agent.steps < 5_000
    assert any(isinstance(event, memec.Evaluation) for event in heard[0])


def test_who_has_no_memories_says_so() -> None:
    with pytest.raises(MemecError, match="d3qn has no memories"):
        D3QN("CartPole-v1").recall(np.zeros(4, np.float32))


def test_a_saved_agent_is_evaluated_from_its_file(memec: Memec) -> None:
    agent = VPEC("FrozenLake-v1", env_kwargs={"is_slippery": False}).learn(1_000)
    agent.save("lake.safetensors")
    told = memec("evaluate", "lake.safetensors", "--episodes", 2)
    assert told.status == 0 and "score 1 " in told.out, told
    assert memec("evaluate", "lake.safetensors", "--embed", "numpy:abs").status == 2
    Path("junk.safetensors").write_bytes(b"junk")
    assert memec("evaluate", "junk.safetensors").status == 2
