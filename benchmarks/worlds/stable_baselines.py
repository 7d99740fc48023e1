"""DQN and PPO of Stable-Baselines3 as players of the league."""

from typing import Any

import gymnasium
import numpy as np
import stable_baselines3
import torch
from gymnasium.spaces import Box, Discrete
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

from benchmarks.stable_baselines import Policy, scheduled
from benchmarks.worlds.foreign import ForeignSettings, Watch
from memec.envs.world import World, make

ALGORITHMS = {"sb3-dqn": stable_baselines3.DQN, "sb3-ppo": stable_baselines3.PPO}


class Seen(gymnasium.Env[Any, Any]):
    """A world, seen as memec's agents see it: every observation a vector."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.observation_space = Box(-np.inf, np.inf, world.observation.shape, np.float32)
        self.action_space = Discrete(world.actions)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return self._world.reset(seed), {}

    def step(self, action: Any) -> Any:
        return *self._world.step(int(action)), {}

    def close(self) -> None:
        self._world.close()


def train(settings: ForeignSettings, watch: Watch) -> None:
    """Train a model of the player's settings with one thread; `lin_X` among them falls from X to 0 over the budget."""
    torch.set_num_threads(1)
    player, seed = settings.agent, settings.seed
    environment = make_vec_env(lambda: Seen(make(settings.environment.id)), n_envs=player.environments, seed=seed)
    if player.normalized:
        environment = VecNormalize(environment, gamma=player.options.get("gamma", 0.99))
    options = {name: scheduled(value) for name, value in player.options.items()}
    if player.name == "sb3-dqn":  # room for more steps than there will be would only be memory
        options["buffer_size"] = min(options.get("buffer_size", 1_000_000), settings.training.steps)
    model = ALGORITHMS[player.name]("MlpPolicy", environment, seed=seed, device="cpu", **options)

    def go_on(variables: dict[str, Any], _: dict[str, Any]) -> bool:
        return watch(model.num_timesteps, lambda: Policy(model).greedy_policy())  # type: ignore[return-value, arg-type]

    model.learn(settings.training.steps, callback=go_on)
    environment.close()
