"""Vector environments as worlds side by side: Gymnasium's, whichever way they reset, and Stable-Baselines3's."""

import sys
from collections.abc import Sequence
from copy import copy
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.spaces import Dict, Tuple
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from numpy.typing import NDArray

from memec.envs.recorded import EnvironmentSettings, recorded
from memec.envs.world import Step, World
from memec.errors import MemecError

Observation = NDArray[Any]
OF_VECTORS = {"num_envs", "vectorization_mode", "vector_kwargs"}
"""What a spec may hold that is of no single environment."""


def is_vector(env: object) -> bool:
    """Whether this is a vector environment."""
    return isinstance(env, VectorEnv) or _is_vec_env(env)


def _is_vec_env(env: object) -> bool:
    """Whether it is one of Stable-Baselines3's, found without importing that for everything else."""
    module = sys.modules.get("stable_baselines3.common.vec_env.base_vec_env")
    return module is not None and isinstance(env, module.VecEnv)


class Told(gymnasium.Env[Any, Any]):
    """An environment that is told what came of its action: by a vector environment that steps several at once."""

    def __init__(self, observation_space: Any, action_space: Any, spec: Any) -> None:
        self.observation_space = observation_space
        self.action_space = action_space
        self.spec = spec
        self.began: tuple[Any, dict[str, Any]] | None = None
        self.came: tuple[Any, Any, Any, Any, dict[str, Any]] | None = None

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Return how an episode began."""
        assert self.began is not None
        return self.began

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Return what came of an action."""
        assert self.came is not None
        return self.came


class VectorWorlds:
    """The environments of a vector environment.

    Those that reset themselves begin their games as they like: only the first has the seed it is given. And none can be
    left where it is while another goes on, so that no game can be played again up to where it was.
    """

    repeats = False

    def __init__(self, env: Any) -> None:
        self._env: _Gymnasium | _StableBaselines = _StableBaselines(env) if _is_vec_env(env) else _Gymnasium(env)
        self.mode = self._env.mode
        spec, lost = self._env.spec()
        name = spec.id if spec is not None else type(env.unwrapped).__name__
        self.lanes = [Told(self._env.observation_space, self._env.action_space, spec) for _ in range(self._env.count)]
        record = recorded(self.lanes[0], name) if lost is None else EnvironmentSettings(id=name, lost=lost)
        self.worlds: Sequence[World] = [World(lane, name, record) for lane in self.lanes]
        self._beginning = [False] * len(self.lanes)

    def begin(self, seeds: Sequence[int | None]) -> list[Observation]:
        """Begin a game in every one of them."""
        self._beginning = [False] * len(self.lanes)
        observations, info = self._env.reset(list(seeds), None)
        return [self._began(lane, observations, info) for lane in range(len(self.lanes))]

    def reset(self, lane: int, seed: int | None, *, new_game: bool = True) -> Observation | None:
        """Begin an episode in one where one is over, if it did not do so itself."""
        if self.mode == "next step":
            self._beginning[lane] = True
            return None
        if self.mode == "disabled":
            mask = np.zeros(len(self.lanes), np.bool_)
            mask[lane] = True
            seeds = [seed if masked else None for masked in mask]
            return self._began(lane, *self._env.reset(seeds, mask))
        return self.worlds[lane].reset()

    def step(self, actions: Sequence[int | None]) -> list[Step | None]:
        """Take an action in each; where one is over that resets itself only now, its next one begins."""
        first = self.worlds[0].first_action
        moves = np.array([first + (action or 0) for action in actions], self._env.action_space.dtype)
        observations, rewards, terminated, truncated, info = self._env.step(moves)
        steps: list[Step | None] = []
        for lane, action in enumerate(actions):
            told = self.lanes[lane]
            own = self._env.info(info, lane)
            seen = self._env.observation(observations, lane)
            if self._beginning[lane]:
                self._beginning[lane] = False
                steps.append((self._began(lane, observations, info), 0.0, False, False))
                continue
            over = terminated[lane] or truncated[lane]
            if over and self.mode == "same step":
                told.began = seen, own
                seen = self._env.final_observation(info, lane)
            told.came = seen, rewards[lane], terminated[lane], truncated[lane], own
            steps.append(self.worlds[lane].step(action or 0))
        return steps

    def _began(self, lane: int, observations: Any, info: Any) -> Observation:
        self.lanes[lane].began = self._env.observation(observations, lane), self._env.info(info, lane)
        return self.worlds[lane].reset()


MONITOR = "stable_baselines3.common.monitor:Monitor"
"""A wrapper of Stable-Baselines3 that changes nothing."""
Mode = Literal["next step", "same step", "disabled"]
MODES: dict[AutoresetMode, Mode] = {
    AutoresetMode.NEXT_STEP: "next step",
    AutoresetMode.SAME_STEP: "same step",
    AutoresetMode.DISABLED: "disabled",
}


class _Gymnasium:
    """How Gymnasium's vector environments are talked to."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        mode = env.metadata.get("autoreset_mode")
        if mode not in MODES:
            raise MemecError(
                f"{type(env.unwrapped).__name__} does not say how it begins anew (metadata['autoreset_mode']): "
                "it must be one of gymnasium.vector.AutoresetMode."
            )
        self.mode = MODES[mode]
        self.count = env.num_envs
        self.observation_space = env.single_observation_space
        self.action_space: Any = env.single_action_space
        self._env = env

    def spec(self) -> tuple[Any, str | None]:
        """Return what a single one of them can be made again from, or why none can."""
        env: Any = self._env
        spec = copy(env.spec)
        if spec is not None:
            spec.kwargs = {name: value for name, value in spec.kwargs.items() if name not in OF_VECTORS}
        if hasattr(env, "get_attr"):
            spec = env.get_attr("spec")[0]
        if spec is None:
            return None, "it is a vector environment without a spec"
        if env.unwrapped is not env:
            return spec, "it is a vector environment with wrappers of its own"
        return spec, None

    def reset(self, seeds: list[int | None], mask: NDArray[np.bool_] | None) -> tuple[Any, Any]:
        seed: Any = next((one for one in seeds if one is not None), None)
        if seed is not None and isinstance(self._env.unwrapped, SyncVectorEnv | AsyncVectorEnv):
            seed = seeds  # others take one number for all of them
        return self._env.reset(seed=seed, options=None if mask is None else {"reset_mask": mask})

    def step(self, moves: NDArray[Any]) -> Any:
        return self._env.step(moves)

    def observation(self, observations: Any, lane: int) -> Any:
        return _of_lane(self.observation_space, observations, lane)

    def final_observation(self, info: Any, lane: int) -> Any:
        return info["final_obs"][lane]

    def info(self, info: Any, lane: int) -> dict[str, Any]:
        return {"action_mask": None} if "action_mask" in info else {}


class _StableBaselines:
    """How Stable-Baselines3's are talked to: they reset themselves in the same step."""

    mode: Mode = "same step"

    def __init__(self, env: Any) -> None:
        self.count = env.num_envs
        self.observation_space = env.observation_space
        self.action_space = env.action_space
        self._env = env

    def spec(self) -> tuple[Any, str | None]:
        """Return what a single one of them can be made again from, or why none can."""
        spec = self._env.get_attr("spec", 0)[0]
        if spec is None:
            return None, "it is a vector environment without a spec"
        if self._env.unwrapped is not self._env:
            return spec, "it is a vector environment with wrappers of its own"
        spec = copy(spec)
        spec.additional_wrappers = tuple(one for one in spec.additional_wrappers if one.entry_point != MONITOR)
        return spec, None

    def reset(self, seeds: list[int | None], mask: NDArray[np.bool_] | None) -> tuple[Any, Any]:
        if seeds[0] is not None:
            self._env.seed(seeds[0])
        return self._env.reset(), {}

    def step(self, moves: NDArray[Any]) -> Any:
        observations, rewards, over, info = self._env.step(moves)
        truncated = np.array([one.get("TimeLimit.truncated", False) for one in info], np.bool_)
        return observations, rewards, over & ~truncated, over & truncated, info

    def observation(self, observations: Any, lane: int) -> Any:
        return _of_lane(self.observation_space, observations, lane)

    def final_observation(self, info: Any, lane: int) -> Any:
        return info[lane]["terminal_observation"]

    def info(self, info: Any, lane: int) -> dict[str, Any]:
        return {}


def _of_lane(space: gymnasium.Space[Any], observations: Any, lane: int) -> Any:
    """Return the observation of one environment among those of all."""
    if isinstance(space, Dict):
        return {name: _of_lane(part, observations[name], lane) for name, part in space.spaces.items()}
    if isinstance(space, Tuple):
        return tuple(_of_lane(part, observations[at], lane) for at, part in enumerate(space.spaces))
    return observations[lane]
