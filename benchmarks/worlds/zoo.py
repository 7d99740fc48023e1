"""What rl-baselines3-zoo sets for DQN and PPO in the league's worlds (DLR-RM/rl-baselines3-zoo, hyperparams).

A CartPole made harder has CartPole's settings, a room of MiniGrid those that the zoo has for all of MiniGrid. Where the
zoo has none, the library's defaults hold: MinAtar, the worlds of few states, our rooms; and MiniGrid for DQN.
"""

from typing import Any

from benchmarks.stable_baselines import TWO_LAYERS, ZOO

LUNARLANDER_DQN = {
    "learning_rate": 6.3e-4, "batch_size": 128, "buffer_size": 50_000, "learning_starts": 0, "gamma": 0.99,
    "target_update_interval": 250, "train_freq": 4, "gradient_steps": -1, "exploration_fraction": 0.12,
    "exploration_final_eps": 0.1, "policy_kwargs": TWO_LAYERS,
}  # fmt: skip
LUNARLANDER_PPO = {
    "n_steps": 1_024, "batch_size": 64, "gae_lambda": 0.98, "gamma": 0.999, "n_epochs": 4, "ent_coef": 0.01
}  # fmt: skip
MOUNTAINCAR_DQN = {
    "learning_rate": 4e-3, "batch_size": 128, "buffer_size": 10_000, "learning_starts": 1_000, "gamma": 0.98,
    "target_update_interval": 600, "train_freq": 16, "gradient_steps": 8, "exploration_fraction": 0.2,
    "exploration_final_eps": 0.07, "policy_kwargs": TWO_LAYERS,
}  # fmt: skip
MOUNTAINCAR_PPO = {"n_steps": 16, "gae_lambda": 0.98, "gamma": 0.99, "n_epochs": 4, "ent_coef": 0.0}
MINIGRID_PPO = {
    "n_steps": 128, "batch_size": 64, "gae_lambda": 0.95, "gamma": 0.99, "n_epochs": 10, "ent_coef": 0.0,
    "learning_rate": 2.5e-4, "clip_range": 0.2,
}  # fmt: skip


def zoo_settings(player: str, world: str) -> dict[str, Any]:
    """Return what the zoo changes of a player's settings in a world; nothing where it has none."""
    family = world.partition("-")[0]
    for baseline in ZOO:
        if baseline.agent == player and baseline.environment.partition("-")[0].lower() == family:
            return _of(baseline.settings, baseline.environments, baseline.normalized)
    if player == "sb3-dqn":
        known = {"lunarlander": LUNARLANDER_DQN, "mountaincar": MOUNTAINCAR_DQN}
        return _of(known[family]) if family in known else {}
    if family == "lunarlander":
        return _of(LUNARLANDER_PPO, environments=16)
    if family == "mountaincar":
        return _of(MOUNTAINCAR_PPO, environments=16, normalized=True)
    if family == "minigrid":
        more = {"n_steps": 512} if world == "minigrid-fourrooms" else {}
        return _of(MINIGRID_PPO | more, environments=8, normalized=True)
    return {}


def _of(options: dict[str, Any], environments: int = 1, normalized: bool = False) -> dict[str, Any]:
    return {"options": options, "environments": environments, "normalized": normalized}
