"""The league's worlds are good Gymnasium environments, and what they say they are."""

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from benchmarks.worlds.environments import IRRELEVANT, NOISE, SLIPS
from benchmarks.worlds.worlds import CHOSEN_ON, NEVER_LOOKED_AT, WORLDS
from gymnasium.utils.env_checker import check_env

from memec.envs.world import make

NEEDED = {"minatar": "minatar", "minigrid": "minigrid", "lunarlander": "Box2D"}
"""What only the dependency group `worlds` installs."""


def known(name: str) -> Any:
    """Make a world of the league, if what it needs is installed."""
    for beginning, package in NEEDED.items():
        if name.startswith(beginning):
            pytest.importorskip(package)
    return make(WORLDS[name].id).environment


@pytest.mark.parametrize("name", WORLDS)
def test_a_world_obeys_the_environment_checker_and_begins_as_its_seed_says(name: str) -> None:
    environment = known(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about spaces without bounds and the like, which are as they should be
        check_env(environment.unwrapped, skip_render_check=True)
    played = []
    for _ in range(2):
        seen = [environment.reset(seed=7)[0]]
        for step in range(30):
            observation, reward, terminated, truncated, _ = environment.step(step % environment.action_space.n)
            seen += [observation, reward]
            if terminated or truncated:
                break
        played.append(seen)
    assert len(played[0]) == len(played[1])
    assert all(np.array_equal(one, other) for one, other in zip(*played, strict=True))
    environment.close()


def test_a_part_of_the_worlds_is_for_choosing_and_the_never_seen_ones_are_not() -> None:
    assert set(CHOSEN_ON) < set(WORLDS) and set(NEVER_LOOKED_AT) < set(WORLDS)
    assert not set(CHOSEN_ON) & set(NEVER_LOOKED_AT)
    assert len(WORLDS) == 25 and len(CHOSEN_ON) == 4 + (25 - 4) // 2


def played(id: str, steps: int = 2_000) -> tuple[np.ndarray[Any, Any], list[float], list[np.ndarray[Any, Any]]]:
    """Play at random: what was seen after each step, the rewards, and what the cart pole's true state was."""
    world = make(f"benchmarks.worlds:{id}")
    rng = np.random.default_rng(0)
    world.reset(seed=0)
    seen, rewards, states = [], [], []
    for _ in range(steps):
        observation, reward, terminated, truncated = world.step(int(rng.integers(world.actions)))
        seen.append(observation)
        rewards.append(reward)
        states.append(np.array(world.environment.unwrapped.state))
        if terminated or truncated:
            world.reset()
    return np.stack(seen), rewards, states


def test_noise_has_the_deviations_it_says() -> None:
    seen, rewards, states = played("NoisyCartPole-v0")
    noise = seen - np.stack(states)
    assert np.allclose(noise.std(axis=0), NOISE, rtol=0.1) and np.abs(noise.mean(axis=0)).max() < 0.01
    assert set(rewards) == {1.0}


def test_irrelevant_numbers_stand_behind_the_true_ones() -> None:
    seen, _, states = played("IrrelevantCartPole-v0")
    assert np.allclose(seen[:, :4], np.stack(states), atol=1e-6)
    assert seen.shape[1] == 4 + IRRELEVANT and np.allclose(seen[:, 4:].std(axis=0), 1.0, atol=0.1)


def test_rewards_are_shifted_and_scaled() -> None:
    assert set(played("OtherRewardsCartPole-v0", 100)[1]) == {1_100.0} == {WORLDS["cartpole-rewards"].reward_unit}


def test_actions_slip_as_often_as_they_say() -> None:
    environment = gymnasium.make("SlipperyCartPole-v0")
    slipped = 0
    for seed in range(400):
        environment.reset(seed=seed)
        observation = environment.step(1)[0]
        slipped += observation[1] < 0  # half of the slips are the chosen action after all
    assert slipped / 400 == pytest.approx(SLIPS / 2, abs=0.04)


@pytest.mark.parametrize("id", ["CliffWalkingLimited-v0", "CliffWalkingSlipperyLimited-v0"])
def test_a_walk_along_the_cliff_is_cut_off(id: str) -> None:
    environment = gymnasium.make(id)
    environment.reset(seed=0)
    for _ in range(200):
        _, _, terminated, truncated, _ = environment.step(3)  # to the left, against the wall
    assert truncated and not terminated


def test_minatar_shows_booleans_with_minimal_actions_and_minigrid_only_its_picture() -> None:
    assert known("minatar-breakout").observation_space.shape == (10, 10, 4)
    assert known("minatar-breakout").action_space.n == 3
    assert known("minigrid-doorkey").observation_space.shape == (7, 7, 3)
    assert make(WORLDS["minatar-breakout"].id).observation.shape == (400,)
    assert make(WORLDS["minigrid-doorkey"].id).observation.kind == "vector"
