"""The worlds that nobody else registers: CartPole made harder, and foreign ones as memec's users would meet them."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

Vector = NDArray[np.float32]

NOISE = (0.05, 0.1, 0.01, 0.1)
"""Standard deviations, about a tenth of what position, speed, angle and turning speed are in good play."""
SLIPS = 0.15
IRRELEVANT = 8
REWARD_SHIFT, REWARD_SCALE = 10.0, 100.0
GAMES = ("Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders")
ROOMS = ("Empty-8x8", "DoorKey-6x6", "FourRooms", "Unlock")
CLIFF = "gymnasium.envs.toy_text.cliffwalking:CliffWalkingEnv"


class NoisyObservations(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Adds Gaussian noise to every number that is observed."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.observation_space = Box(-np.inf, np.inf, env.observation_space.shape, np.float32)

    def observation(self, observation: Vector) -> Vector:
        noise = self.np_random.normal(scale=NOISE)
        return (observation + noise).astype(np.float32)


class SlipperyActions(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Takes a random action instead of the chosen one now and then."""

    def step(self, action: Any) -> Any:
        if self.np_random.random() < SLIPS:
            action = self.np_random.integers(self.action_space.n)
        return self.env.step(action)


class IrrelevantNumbers(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Puts numbers behind the observation that say nothing: drawn anew from a standard normal in every step."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        there = env.observation_space
        nothing = np.full(IRRELEVANT, np.inf, np.float32)
        self.observation_space = Box(np.append(there.low, -nothing), np.append(there.high, nothing), dtype=np.float32)

    def observation(self, observation: Vector) -> Vector:
        return np.append(observation, self.np_random.normal(size=IRRELEVANT)).astype(np.float32)


class MinAtar(gymnasium.Env[Any, Any]):
    """A game of MinAtar as its own `v1` environments are: minimal actions, a tenth of them sticky, growing difficulty.

    Theirs do not begin the same way twice with the same seed: the last action before a reset lives on.
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, game: str, render_mode: None = None) -> None:
        from minatar import Environment

        self.render_mode = render_mode
        self._game = Environment(game)
        self._actions = self._game.minimal_action_set()
        self.action_space = Discrete(len(self._actions))
        self.observation_space = Box(0, 1, self._game.state_shape(), np.bool_)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        if seed is not None:
            self._game.seed(seed)
        self._game.last_action = 0
        self._game.reset()
        return self._game.state(), {}

    def step(self, action: Any) -> Any:
        reward, terminated = self._game.act(self._actions[action])
        return self._game.state(), float(reward), bool(terminated), False, {}


def noisy_cartpole(**options: Any) -> Any:
    return NoisyObservations(CartPoleEnv(**options))


def slippery_cartpole(**options: Any) -> Any:
    return SlipperyActions(CartPoleEnv(**options))


def irrelevant_cartpole(**options: Any) -> Any:
    return IrrelevantNumbers(CartPoleEnv(**options))


def other_rewards_cartpole(**options: Any) -> Any:
    cartpole = CartPoleEnv(**options)
    return gymnasium.wrappers.TransformReward(cartpole, lambda reward: REWARD_SCALE * (reward + REWARD_SHIFT))


def minigrid(room: str, **options: Any) -> Any:
    """Return a room of MiniGrid of which the 7x7x3 picture is seen, and neither direction nor mission."""
    import minigrid  # noqa: F401  (it registers the rooms)
    from minigrid.wrappers import ImgObsWrapper

    return ImgObsWrapper(gymnasium.make(f"MiniGrid-{room}-v0", disable_env_checker=True, **options).unwrapped)


def register() -> None:
    """Register all of them; doing it again changes nothing."""
    for name in ("Noisy", "Slippery", "Irrelevant", "OtherRewards"):
        factory = {"OtherRewards": "other_rewards"}.get(name, name.lower())
        _register(f"{name}CartPole-v0", f"{factory}_cartpole", 500)
    for name, slips in (("CliffWalkingLimited-v0", False), ("CliffWalkingSlipperyLimited-v0", True)):
        _register(name, CLIFF, 200, is_slippery=slips)  # without a limit, one who never arrives walks for ever
    for game in GAMES:
        spelled = "space_invaders" if game == "SpaceInvaders" else game.lower()
        _register(f"MinAtar-{game}-v1", "MinAtar", 5_000, game=spelled)
    for room in ROOMS:
        _register(f"MiniGridImage-{room}-v0", "minigrid", None, room=room)


def _register(id: str, entry_point: str, limit: int | None, **options: Any) -> None:
    if id not in gymnasium.registry:
        place = entry_point if ":" in entry_point else f"{__name__}:{entry_point}"
        gymnasium.register(id, entry_point=place, max_episode_steps=limit, kwargs=options)
