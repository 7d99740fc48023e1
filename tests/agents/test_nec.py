"""NEC as users meet it, and what is its own: n-step returns, keys that learn, values that follow gradients."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete

from memec import (
    NEC,
    MemecError,
)
from memec.agents import NECSettings
from memec.agents.returns import n_step_returns
from memec.envs.world import make
from tests.agents.common import BY_MEMORY, assert_same, contents, each_strategy

WORLDS = ["memec/OpenRoom-v0", "memec/FourRoom-v0", "CartPole-v1", "Acrobot-v1"]
ORIGIN = np.array([0.01, 0.0, 0.02, 0.0], np.float32)


def agent_for(world: Any, explore: Any = None, seed: int = 0, **changes: Any) -> NEC:
    """Trains early and quickly, so that short tests see it learn."""
    quick: dict[str, Any] = {"train_start_steps": 100, "optimiser": {"learning_rate": 1e-3}}
    return NEC(world, explore=explore, seed=seed, **(quick | changes))


@each_strategy(BY_MEMORY)
@pytest.mark.parametrize("world", WORLDS)
def test_every_strategy_learns_in_every_small_world(world: str, explore: Any) -> None:
    agent = agent_for(world, explore).learn(700)
    diagnostics = agent.diagnostics()
    for name in ("loss", "key_norm", "neighbour_distance", "effective_neighbours"):
        assert np.isfinite(diagnostics[name]), name
    assert len(agent.memory) > 0
    assert "loss" not in agent.diagnostics()  # they are means since the last call


def test_the_same_seed_gives_the_same_agent_and_another_seed_another() -> None:
    first, again, other = (contents(agent_for("CartPole-v1", seed=seed).learn(800)) for seed in (3, 3, 4))
    assert_same(first, again)
    assert not np.array_equal(first["network.parameters"], other["network.parameters"])


def test_evaluating_looking_and_predicting_do_not_change_training() -> None:
    plain, watched = agent_for("CartPole-v1"), agent_for("CartPole-v1")
    plain.learn(400).learn(400)
    watched.learn(400, evaluate_every=100, evaluation_episodes=2)
    watched.predict(ORIGIN, deterministic=False)
    watched.predict(np.stack([ORIGIN] * 3))
    watched.recall(ORIGIN)
    watched.learn(400, evaluate_every=100, evaluation_episodes=2)
    assert_same(contents(plain), contents(watched))


@each_strategy(BY_MEMORY)
def test_a_loaded_agent_behaves_identically(explore: Any, tmp_path: Path) -> None:
    agent = agent_for("CartPole-v1", explore).learn(600)
    agent.save(tmp_path / "agent.safetensors")
    loaded = NEC.load(tmp_path / "agent.safetensors")
    assert loaded.settings == agent.settings and loaded.steps == agent.steps
    observations = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    for deterministic in (True, False):
        ours, theirs = (each.predict(observations, deterministic=deterministic)[0] for each in (agent, loaded))
        np.testing.assert_array_equal(ours, theirs)
    assert [m.value for m in loaded.recall(ORIGIN)] == [m.value for m in agent.recall(ORIGIN)]
    loaded.learn(300)
    assert loaded.steps == 900


def test_a_run_taken_up_again_goes_on_identically(tmp_path: Path) -> None:
    whole = agent_for("CartPole-v1").learn(1_200, run=tmp_path / "whole")
    agent_for("CartPole-v1").learn(700, run=tmp_path / "parts")
    parts = agent_for("CartPole-v1").learn(1_200, resume=tmp_path / "parts")
    assert_same(contents(whole), contents(parts))


def test_returns_reach_n_steps_and_then_trust_the_recorded_value() -> None:
    rewards, values = [1.0, 2.0, 4.0, 8.0], [10.0, 20.0, 30.0, 40.0]
    np.testing.assert_allclose(
        n_step_returns(rewards, values, 0.5, 2), [1 + 1 + 0.25 * 30, 2 + 2 + 0.25 * 40, 4 + 4, 8]
    )
    np.testing.assert_allclose(n_step_returns(rewards, values, 0.5, 9), [4.0, 6.0, 8.0, 8.0])
    np.testing.assert_allclose(n_step_returns(rewards, values, 0.5, 9, 16.0), [5.0, 8.0, 12.0, 16.0])


class Corridor(gymnasium.Env[Any, Any]):
    """One action, a reward of 1 a step, `length` steps; a time limit or a wall at the end."""

    observation_space = Box(0, 1_000, (1,), np.float32)
    action_space = Discrete(1)

    def __init__(self, length: int, truncates: bool = False) -> None:
        self.length, self.truncates = length, truncates

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        self.at = 0
        return np.array([0.0], np.float32), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.at += 1
        over = self.at == self.length
        return np.array([self.at], np.float32), 1.0, over and not self.truncates, over and self.truncates, {}


@pytest.mark.parametrize("length", [5, 12, 40])
def test_a_first_episode_is_remembered_by_its_n_step_returns(length: int) -> None:
    """Nothing was known when acting, so that every bootstrap is 0: each return adds up at most n rewards."""
    agent = NEC(Corridor(length), discount=1.0, n_step=4, memory={"capacity": 50}).learn(length)
    left = length - np.arange(length)
    recorded = agent.memory.returns[:length]
    # Long episodes are written in parts, and what was written is a value to bootstrap from.
    np.testing.assert_allclose(recorded[:4], np.minimum(left, 4)[:4])
    np.testing.assert_allclose(recorded[-1], 1.0)
    if length <= 8:
        np.testing.assert_allclose(recorded, np.minimum(left, 4))
    batch = agent.replay.sample(500, np.random.default_rng(0))
    assert set(batch.observations[:, 0]) == set(range(length))
    np.testing.assert_allclose(batch.returns, recorded[batch.observations[:, 0].astype(int)])


def test_a_known_state_moves_towards_its_new_return_by_alpha() -> None:
    agent = NEC(Corridor(3), discount=1.0, memory_learning_rate=0.25, memory={"capacity": 50}).learn(3)
    agent.memory.returns[:3] = [0.0, 10.0, 20.0]
    agent.learn(3)
    np.testing.assert_allclose(agent.memory.returns[:3], [0.75, 8.0, 15.25])
    assert agent.memory.sizes.tolist() == [3]


def test_a_time_limit_is_an_end_or_worth_what_the_memory_says() -> None:
    ends, goes_on = (
        NEC(Corridor(3, truncates=True), discount=1.0, truncation=truncation, memory={"capacity": 50}).learn(3)
        for truncation in ("terminal", "bootstrap")
    )
    assert ends.memory.returns[:3].tolist() == goes_on.memory.returns[:3].tolist() == [3.0, 2.0, 1.0]
    for agent in (ends, goes_on):
        agent.learn(3)
    np.testing.assert_allclose(ends.memory.returns[:3], [3.0, 2.0, 1.0])
    assert (goes_on.memory.returns[:3] > [3.0, 2.0, 1.0]).all()


def test_returns_that_were_cut_off_can_be_discarded() -> None:
    def agent_in(world: Any) -> NEC:
        return NEC(world, discount=1.0, truncation="discard", n_step=4, memory={"capacity": 50})

    cut_off = agent_in(Corridor(7, truncates=True)).learn(7)
    assert cut_off.memory.returns[:4].tolist() == [4.0, 4.0, 4.0, 0.0] and cut_off.memory.sizes.tolist() == [3]
    assert len(agent_in(Corridor(3, truncates=True)).learn(9).memory) == 0
    assert agent_in(Corridor(7)).learn(7).memory.sizes.tolist() == [7]


def test_it_fits_a_small_batch_to_near_zero_loss() -> None:
    agent = NEC("CartPole-v1", settings=NECSettings(), optimiser={"learning_rate": 0.01})
    random = np.random.default_rng(0)
    remembered = random.normal(size=(64, 4)).astype(np.float32)
    actions, state_ids = np.arange(64) % 2, random.integers(1, 2**60, (64, 2)).astype(np.uint64)
    agent.memory.write(actions, agent.network(remembered), random.normal(size=64), state_ids)
    for action in actions[:32].tolist():
        agent.replay.append(random.normal(size=4).astype(np.float32), action, random.normal())
    losses = []
    for _ in range(1_000):
        agent._train()
        losses.append(agent.diagnostics()["loss"])
    assert np.mean(losses[:5]) > 0.5 and np.mean(losses[-20:]) < 0.005


def test_training_moves_network_keys_and_values() -> None:
    agent = agent_for("CartPole-v1", train_start_steps=400).learn(400)
    before = contents(agent)
    agent._train()
    after = contents(agent)
    for name in ("network.parameters", "memory.keys", "memory.returns"):
        moved = (before[name] != after[name]).mean()
        assert moved > 0.0, name
    assert (before["memory.state_ids"] == after["memory.state_ids"]).all()
    touched = (before["memory.keys"] != after["memory.keys"]).any(axis=1).sum()
    assert touched <= 32 * 11


def test_recall_shows_the_memories_behind_each_value() -> None:
    for memories in agent_for("CartPole-v1").learn(600).recall(ORIGIN):
        assert len(memories) == 50 and not memories.exact
        assert memories.value == pytest.approx(float(memories.weights @ memories.returns))
        assert (np.diff(memories.distances) >= 0).all()


@pytest.mark.parametrize(
    "space", [Box(0, 255, (4, 40, 40), np.uint8), Discrete(7), Dict(a=Discrete(3), b=Box(0, 1, (2,), np.float32))]
)
def test_any_observation_space_can_be_learned_saved_and_predicted(space: Any, tmp_path: Path) -> None:
    class Own(Corridor):
        observation_space = space
        action_space = Discrete(3, start=5)

        def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
            super().reset()
            return space.sample(), {}

        def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            return space.sample(), *super().step(action)[1:]

    space.seed(0)
    agent = agent_for(Own(20), memory={"capacity": 50}, train_start_steps=50, replay_capacity=64).learn(150)
    assert agent.diagnostics()
    observation = space.sample()
    assert 5 <= agent.predict(observation)[0] < 8
    agent.save(tmp_path / "own")
    loaded = NEC.load(tmp_path / "own", env=Own(20))
    assert [m.value for m in loaded.recall(observation)] == [m.value for m in agent.recall(observation)]


def test_it_trains_on_an_atari_game() -> None:
    agent = NEC(
        "ALE/Pong-v5", train_start_steps=0, memory={"capacity": 500}, replay_capacity=500, n_step=20, key_size=32
    )
    agent.learn(120)
    assert agent.diagnostics()["loss"] >= 0.0 and len(agent.replay) > 32


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"replay_capacity": 31}, "smaller than batch_size=32"),
        ({"optimiser": {"learning_rate": -1}}, "optimiser.learning_rate cannot be -1"),
        ({"optimiser": {"learningrate": 1}}, "did you mean 'learning_rate'"),
        ({"keysize": 5}, "did you mean 'key_size'"),
        ({"device": "gpu"}, "device cannot be 'gpu'"),
        ({"n_step": 0}, "n_step cannot be 0"),
    ],
)
def test_bad_settings_get_one_clear_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(MemecError, match=sentence) as error:
        NEC("CartPole-v1", **options)
    assert "\n" not in str(error.value)


def test_a_loss_that_becomes_nan_stops_with_the_step_and_leaves_the_agent_whole() -> None:
    agent = agent_for("CartPole-v1").learn(400)
    batches = agent.replay.sample
    agent.replay.sample = lambda *given: batches(*given)._replace(returns=np.full(32, np.nan))  # type: ignore[method-assign]
    before = contents(agent)
    with pytest.raises(MemecError, match=r"loss became NaN or infinite at step 404"):
        agent.learn(100)
    after = contents(agent)
    for name in ("network.parameters", "optimiser.squares", "memory.optimiser.squares"):
        np.testing.assert_array_equal(before[name], after[name])
    assert np.isfinite(after["memory.keys"]).all()


def test_a_network_that_overflows_is_not_blamed_on_the_environment() -> None:
    agent = agent_for("CartPole-v1").learn(50)
    agent.network.parameters.fill_(3e38)
    with (
        pytest.raises(MemecError, match="network's output became NaN or infinite at step 51"),
        np.errstate(all="ignore"),
    ):
        agent.learn(5)


def test_a_budget_that_ends_before_training_starts_is_refused() -> None:
    agent = agent_for("CartPole-v1", train_start_steps=500)
    with pytest.raises(MemecError, match="nothing would be learned"):
        agent.check_budget(500)
    agent.check_budget(600)


def test_no_torch_is_needed_to_name_the_agents() -> None:
    import subprocess
    import sys

    script = "import sys, memec.experiments.presets as p; p.settings_for('CartPole-v1', 'vector', agent='nec')\n"
    script += "from memec import NEC, D3QN\nassert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_world_given_is_used_as_it_is() -> None:
    world = make("CartPole-v1")
    assert agent_for(world).learn(50).world is world
