"""D3QN as users meet it, and what is its own: its targets, its target network and its treatment of time limits."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from memec import D3QN, UCB, MemecError, Thompson
from memec.agents import D3QNSettings
from memec.agents.replay import TransitionBatch
from memec.train import RunFolder
from memec.train.files import read_arrays, write_arrays
from tests.agents.common import BY_VALUE, assert_same, contents, each_strategy


def agent_for(world: Any, explore: Any = None, seed: int = 0, **changes: Any) -> D3QN:
    """The paper's settings, but trains early and quickly, so that short tests see it learn."""
    quick = {"train_start_steps": 100, "target_update_steps": 150}
    return D3QN(world, explore=explore, seed=seed, settings=D3QNSettings(), **(quick | changes))


@each_strategy(BY_VALUE)
@pytest.mark.parametrize("world", ["memec/OpenRoom-v0", "memec/FourRoom-v0", "CartPole-v1", "Acrobot-v1"])
def test_its_strategies_learn_in_every_small_world(world: str, explore: Any) -> None:
    agent = agent_for(world, explore).learn(700)
    diagnostics = agent.diagnostics()
    assert set(diagnostics) >= {"loss", "value", "gradient_norm"}
    assert all(np.isfinite(value) for value in diagnostics.values())


@pytest.mark.parametrize("explore", [UCB(), Thompson()])
def test_strategies_that_need_uncertainty_are_refused(explore: Any) -> None:
    with pytest.raises(MemecError, match="which d3qn does not have: choose from epsilon-greedy, boltzmann, mellowmax"):
        D3QN("CartPole-v1", explore=explore)


def test_the_same_seed_gives_the_same_agent_and_another_seed_another() -> None:
    first, again, other = (contents(agent_for("CartPole-v1", seed=seed).learn(800)) for seed in (3, 3, 4))
    assert_same(first, again)
    assert not np.array_equal(first["network.parameters"], other["network.parameters"])


def test_evaluating_and_predicting_do_not_change_training() -> None:
    plain, watched = agent_for("CartPole-v1"), agent_for("CartPole-v1")
    plain.learn(400).learn(400)
    watched.learn(400, evaluate_every=100, evaluation_episodes=2)
    watched.predict(np.zeros(4, np.float32), deterministic=False)
    watched.predict(np.zeros((3, 4), np.float32))
    watched.learn(400, evaluate_every=100, evaluation_episodes=2)
    assert_same(contents(plain), contents(watched))


@each_strategy(BY_VALUE)
def test_a_loaded_agent_behaves_identically(explore: Any, tmp_path: Path) -> None:
    agent = agent_for("CartPole-v1", explore, weight_averaging=2.0).learn(600)
    agent.save(tmp_path / "agent.safetensors")
    loaded = D3QN.load(tmp_path / "agent.safetensors")
    assert loaded.settings == agent.settings and loaded.steps == agent.steps
    assert_same(contents(agent), contents(loaded))
    observations = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    for deterministic in (True, False):
        ours, theirs = (each.predict(observations, deterministic=deterministic)[0] for each in (agent, loaded))
        np.testing.assert_array_equal(ours, theirs)
    assert loaded.learn(300).steps == 900


@pytest.mark.parametrize("averaging", [0.0, 2.0])
def test_a_run_taken_up_again_goes_on_identically(averaging: float, tmp_path: Path) -> None:
    def agent() -> D3QN:
        return agent_for("CartPole-v1", weight_averaging=averaging)

    whole = agent().learn(1_200, run=tmp_path / "whole")
    agent().learn(700, run=tmp_path / "parts")
    parts = agent().learn(1_200, resume=tmp_path / "parts")
    assert_same(contents(whole), contents(parts))


def test_a_run_from_before_weights_were_averaged_goes_on_as_it_was(tmp_path: Path) -> None:
    whole = agent_for("CartPole-v1").learn(900, run=tmp_path / "whole")
    agent_for("CartPole-v1").learn(600, run=tmp_path / "old")
    for file in RunFolder.open(tmp_path / "old").checkpoints.files():
        content, about = read_arrays(file)
        assert not any(name.startswith("average.") for name in content)
        assert about["settings"].pop("weight_averaging") == 0.0
        write_arrays(file, content, about)
    assert_same(contents(whole), contents(agent_for("CartPole-v1").learn(900, resume=tmp_path / "old")))


def test_the_newest_weights_count_most_in_the_average() -> None:
    """With a power of 1 the weights after update t count t times."""
    agent = agent_for("CartPole-v1", weight_averaging=1.0).learn(104)
    rows = [agent.network.parameters.numpy().copy()]
    for _ in range(30):
        agent.learn(4)
        rows.append(agent.network.parameters.numpy().copy())
    expected = np.average(np.array(rows, np.float64), axis=0, weights=np.arange(1, len(rows) + 1))
    np.testing.assert_allclose(agent.judge.parameters.numpy(), expected, rtol=1e-4, atol=1e-6)


def test_the_average_decides_where_nothing_is_learned_and_changes_nothing_in_learning() -> None:
    plain, averaged = (agent_for("CartPole-v1", weight_averaging=power).learn(600) for power in (0.0, 2.0))
    np.testing.assert_array_equal(plain.network.parameters, averaged.network.parameters)
    assert_same(contents(plain), {name: contents(averaged)[name] for name in contents(plain)})
    averaged.network.parameters.mul_(-1.0)  # so that the two disagree
    observations = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    by_average, by_newest = (network(observations).argmax(axis=1) for network in (averaged.judge, averaged.network))
    assert (by_average != by_newest).any()
    policy = averaged.greedy_policy()
    assert policy(list(observations), np.zeros((200, 2), np.uint64), np.zeros(200)) == by_average.tolist()
    assert averaged.predict(observations)[0].tolist() == by_average.tolist()
    assert plain.predict(observations)[0].tolist() == plain.network(observations).argmax(axis=1).tolist()
    believed = [averaged.think(each, np.zeros(2, np.uint64)).belief.mean.argmax() for each in observations]
    assert believed == by_average.tolist()


def fixed_batch(agent: D3QN, count: int = 32) -> TransitionBatch:
    random = np.random.default_rng(0)
    return TransitionBatch(
        random.normal(size=(count, 4)).astype(np.float32),
        random.integers(0, agent.world.actions, count),
        random.normal(size=count).astype(np.float32),
        random.normal(size=(count, 4)).astype(np.float32),
        random.random(count) < 0.5,
    )


def only(agent: D3QN, batch: TransitionBatch) -> None:
    agent.replay.sample = lambda *_: batch  # type: ignore[method-assign]


@pytest.mark.parametrize("loss", ["huber", "squared"])
@pytest.mark.parametrize("loss_over_batch", ["sum", "mean"])
def test_a_step_follows_the_gradient_of_the_double_q_error(loss: str, loss_over_batch: str) -> None:
    import torch

    settings = {"gradient_norm_limit": 0.0, "optimiser": {"learning_rate": 1e-3, "centred": False}}
    agent = agent_for("CartPole-v1", loss=loss, loss_over_batch=loss_over_batch, **settings)
    agent.target.parameters.mul_(-0.7)  # so that the two networks disagree
    batch = fixed_batch(agent)
    only(agent, batch)
    module, target = agent.network.module, agent.target.module
    observations, following = (torch.from_numpy(each) for each in (batch.observations, batch.next_observations))
    with torch.no_grad():
        best = module(following).argmax(dim=1)
        value = target(following).gather(1, best[:, None])[:, 0]
        aim = torch.from_numpy(batch.rewards) + 0.99 * torch.where(torch.from_numpy(batch.terminated), 0.0, value)
    values = module(observations).gather(1, torch.from_numpy(batch.actions)[:, None])[:, 0]
    kind = torch.nn.functional.smooth_l1_loss if loss == "huber" else torch.nn.functional.mse_loss
    expected = kind(values, aim, reduction=loss_over_batch) * (1.0 if loss == "huber" else 0.5)
    flat = torch.cat([part.reshape(-1) for part in torch.autograd.grad(expected, list(module.parameters()))])
    before = agent.network.parameters.clone()
    agent._train()
    assert agent.diagnostics()["loss"] == pytest.approx(expected.item(), rel=1e-5)
    move = -1e-3 * flat / torch.sqrt(0.05 * flat**2 + 0.01)
    np.testing.assert_allclose((agent.network.parameters - before).numpy(), move.numpy(), rtol=1e-2, atol=1e-6)


def test_long_gradients_are_shortened_to_the_limit() -> None:
    agent = agent_for("CartPole-v1", gradient_norm_limit=0.5)
    only(agent, fixed_batch(agent))
    agent._train()
    assert agent.diagnostics()["gradient_norm"] > 0.5
    assert float(agent.network.gradients.norm()) == pytest.approx(0.5, rel=1e-5)


def test_it_fits_a_small_batch_to_near_zero_loss() -> None:
    agent = agent_for("CartPole-v1", optimiser={"learning_rate": 1e-3})
    only(agent, fixed_batch(agent)._replace(terminated=np.ones(32, np.bool_)))
    losses = []
    for _ in range(1_500):
        agent._train()
        losses.append(agent.diagnostics()["loss"] / 32)
    assert losses[0] > 0.2 and np.mean(losses[-20:]) < 0.001


def test_the_target_network_follows_only_every_so_many_steps() -> None:
    agent = agent_for("CartPole-v1", target_update_steps=200, train_start_steps=10).learn(199)
    first = contents(agent)
    assert not np.array_equal(first["target.parameters"], first["network.parameters"])
    agent.learn(1)
    copied = contents(agent)
    np.testing.assert_array_equal(copied["target.parameters"], copied["network.parameters"])
    later = contents(agent.learn(100))
    np.testing.assert_array_equal(later["target.parameters"], copied["target.parameters"])


class Forever(gymnasium.Env[Any, Any]):
    """A reward of 1 a step for ever, shown in pieces of ten steps: every state is worth 1 / (1 - discount)."""

    observation_space = Box(0, 1, (1,), np.float32)
    action_space = Discrete(2)

    def __init__(self, reward: float = 1.0) -> None:
        self.reward = reward

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        self.at = 0
        return np.array([0.0], np.float32), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.at += 1
        return np.array([self.at / 10], np.float32), self.reward, False, self.at == 10, {}


def test_it_bootstraps_through_time_limits() -> None:
    agent = agent_for(
        Forever(), discount=0.8, train_start_steps=50, train_every_steps=1, target_update_steps=50,
        optimiser={"learning_rate": 3e-3},
    ).learn(1_500)  # fmt: skip
    values = agent.network(np.linspace(0, 0.9, 10, dtype=np.float32)[:, None])
    np.testing.assert_allclose(values, 5.0, atol=0.6)  # were the limit an end, the last state would be worth 1


@pytest.mark.parametrize(("clip", "expected"), [(1.0, 1.0), (2.5, 2.5), (0.0, 7.0)])
def test_rewards_are_clipped_if_asked(clip: float, expected: float) -> None:
    agent = agent_for(Forever(7.0), reward_clip=clip).learn(60)
    assert set(agent.replay.sample(40, np.random.default_rng(0)).rewards) == {expected}


def test_it_trains_on_an_atari_game() -> None:
    agent = D3QN("ALE/Pong-v5", train_start_steps=40, train_every_steps=20, replay_capacity=200).learn(120)
    assert np.isfinite(agent.diagnostics()["loss"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"replay_capacity": 31}, "smaller than batch_size=128"),
        ({"optimiser": {"name": "sgd"}}, "optimiser.name cannot be 'sgd'"),
        ({"target_update": 5}, "did you mean 'target_update_steps'"),
        ({"memory": {"capacity": 5}}, "Unknown setting 'memory'"),
    ],
)
def test_bad_settings_get_one_clear_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(MemecError, match=sentence) as error:
        D3QN("CartPole-v1", **options)
    assert "\n" not in str(error.value)


def test_a_loss_that_becomes_nan_stops_with_the_step_and_leaves_the_network_whole() -> None:
    agent = agent_for("CartPole-v1", reward_clip=0.0).learn(402)
    agent.replay._rewards[:] = np.nan
    before = contents(agent)
    with pytest.raises(MemecError, match="loss became NaN or infinite at step 404"):
        agent.learn(100)
    for name in ("network.parameters", "optimiser.squares"):
        np.testing.assert_array_equal(before[name], contents(agent)[name])


def test_rates_far_too_high_end_in_a_finite_network_or_a_clear_stop() -> None:
    agent = agent_for("CartPole-v1", optimiser={"learning_rate": 1e30}, gradient_norm_limit=0.0)
    with pytest.raises(MemecError, match=r"at step \d+"), np.errstate(all="ignore"):
        agent.learn(2_000)
