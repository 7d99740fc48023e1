"""What the training loop sees of an environment: canonical observations, actions 0 to n-1, and the id of each state."""

import re
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import Any, NoReturn, cast

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from memec.envs.modules import import_module_of
from memec.envs.observation import fit_observation
from memec.envs.recorded import EnvironmentSettings, recorded, recorded_options, wrapped
from memec.envs.registration import register
from memec.envs.rooms import FourRoom, OpenRoom
from memec.envs.state_id import state_id, state_ids, vector_id
from memec.errors import MemecError, NotFiniteError, from_extra, one_line

ATARI_PREFIX = "ALE/"
ATARI_SETTINGS = {"sticky_actions", "no_op_after_life_loss", "empty_stack_after_life_loss"}
IMPORTING = ("GymV21Environment", "GymV26Environment")
"""Gymnasium's environments, of any version, that import a module which their arguments name."""
LARGEST_REWARD = 1e100
"""Sums and squares of larger ones would not stay finite."""
Step = tuple[NDArray[Any], float, bool, bool]
"""What came of an action: the new observation, the reward, whether terminated, whether truncated."""
FORMS = {
    "step": "observation, reward, terminated, truncated and info (five values, where the older Gym had four)",
    "reset": "observation and info (two values, where the older Gym had one)",
}
"""What an environment's methods must return."""


class World:
    """An environment made fit for an agent; `make` builds one."""

    __slots__ = (
        "_fit",
        "_has_lives",
        "_mask_told",
        "_moves",
        "_observed",
        "_ram",
        "actions",
        "environment",
        "first_action",
        "game_over",
        "id",
        "is_random",
        "is_vector",
        "observation",
        "recorded",
    )

    def __init__(
        self,
        environment: gymnasium.Env[Any, Any],
        id: str,
        made_from: EnvironmentSettings | None = None,
        *,
        training: bool = True,
    ) -> None:
        space = _space(environment, "action_space", id)
        if not isinstance(space, Discrete):
            raise MemecError(f"memec chooses among numbered actions (Discrete), but {id} has the action space {space}.")
        self.environment = environment
        self.id = id
        self.recorded = made_from or recorded(environment, id)
        """What it can be made again from."""
        self.actions = int(space.n)
        self.first_action = int(space.start)
        self.is_random = type(environment) not in (OpenRoom, FourRoom)
        """Whether a seed may make a difference. It never does in the rooms, where seeding takes as long as 40 steps."""
        # Numbers of the space's own type, as its samples are: Gymnasium checks them more quickly than an int.
        number = space.dtype.type if self.is_random else int
        self._moves = [number(self.first_action + action) for action in range(self.actions)]
        self.observation = fit_observation(_space(environment, "observation_space", id))
        self._fit = self.observation.__call__  # a method is called more quickly than an object
        self._mask_told = not training  # once is enough
        self.game_over = True
        """Whether the last episode ended with its game: False when only a life was lost."""
        self._observed: NDArray[Any] | None = None
        self._ram = _ram_reader(environment)
        self._has_lives = _is_atari(environment.unwrapped)
        self.is_vector = self._ram is None and self.observation.kind != "frames"
        """Whether a state is its observation, and that a vector."""

    def reset(self, seed: int | None = None) -> NDArray[Any]:
        """Begin an episode; a seed begins it the same way every time."""
        try:
            raw, info = self.environment.reset(seed=seed)
        except (TypeError, ValueError) as error:
            self._say_which_form(error, "reset")
        self._warn_of_a_mask(info)
        observed = self._observed = self.observation(raw)
        return observed

    def step(self, action: int) -> Step:
        """Take an action from 0 to n-1: the new observation, the reward, whether terminated, whether truncated."""
        try:
            raw, reward, terminated, truncated, info = self.environment.step(self._moves[action])
        except (TypeError, ValueError) as error:
            self._say_which_form(error, "step")
        try:
            reward = float(reward)
        except (TypeError, ValueError):
            raise MemecError(f"{self.id} gave the reward {reward!r}: a reward must be one plain number.") from None
        if not -LARGEST_REWARD <= reward <= LARGEST_REWARD:
            raise NotFiniteError(
                f"{self.id} gave the reward {reward}: rewards must be finite numbers, of at most {LARGEST_REWARD:g}."
            )
        if terminated or truncated:
            self._warn_of_a_mask(info)
            self.game_over = info["game_over"] if self._has_lives else True
        observed = self._observed = self._fit(raw)
        return observed, reward, bool(terminated), bool(truncated)

    def state_id(self) -> NDArray[np.uint64]:
        """The 128-bit id of the current state: of an Atari game's memory, of any other world's observation."""
        if self._observed is not None and self.is_vector:
            return vector_id(self._observed)
        return state_id(self._state())

    def state_ids(self, observations: NDArray[Any]) -> NDArray[np.uint64] | None:
        """The ids of states known by their observations; None where a state is more than that (Atari's memory)."""
        return state_ids(observations) if self._ram is None else None

    @staticmethod
    def state_ids_of(worlds: "Sequence[World]") -> NDArray[np.uint64]:
        """The ids of the states that worlds of one kind are in, one below the other."""
        return state_ids([world._state() for world in worlds])

    @property
    def is_emulator(self) -> bool:
        """Whether this is an Atari game."""
        return self._ram is not None

    def _state(self) -> NDArray[Any]:
        if self._ram is not None:
            return self._ram()
        if self._observed is None:
            raise MemecError(f"{self.id} has no state before its first reset.")
        return self._observed

    def _warn_of_a_mask(self, info: Any) -> None:
        if not self._mask_told and isinstance(info, dict) and "action_mask" in info:
            self._mask_told = True
            warnings.warn(
                f"{self.id} says which actions are possible (info['action_mask']), which is not looked at: "
                "any action may be chosen.",
                stacklevel=2,
            )

    def _say_which_form(self, error: Exception, method: str) -> NoReturn:
        """Raise a sentence where a method did not return what Gymnasium's does; other errors as they are."""
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = "" if place is None else str(place.tb_frame.f_globals.get("__name__"))
        # the environment's own mistakes are raised in its own module
        if "unpack" in str(error) and where.partition(".")[0] in ("memec", "gymnasium"):
            raise MemecError(f"the {method} of {self.id} must return {FORMS[method]}.") from None
        raise error

    def close(self) -> None:
        """Release what the environment holds."""
        self.environment.close()


def make(
    env: str | EnvSpec | gymnasium.Env[Any, Any],
    *,
    training: bool = True,
    render_mode: str | None = None,
    **env_options: Any,
) -> World:
    """Make the world of an environment or its Gymnasium id (also `module:Id`).

    `ALE/...` ids give the Atari game by the protocol of DQN, in which a lost life ends an episode while `training`;
    what else can be set there is said by `memec.envs.atari.Atari`. An environment object is used as it is. Other
    options go to the environment's constructor.
    """
    if isinstance(env, gymnasium.Env):
        if render_mode is not None or env_options:
            raise MemecError("An environment object is used as it is: give options with an environment's id instead.")
        return World(env, env.spec.id if env.spec is not None else type(env.unwrapped).__name__, training=training)
    if isinstance(env, EnvSpec):
        try:
            return World(gymnasium.make(env), env.id, training=training)
        except (ValueError, TypeError, gymnasium.error.Error) as error:
            raise MemecError(f"{env.id} cannot be made again from its spec: {one_line(error)}.") from error
    if not isinstance(env, str):
        raise MemecError(f"An environment is a Gymnasium environment or its id, not {type(env).__name__}.")
    options = env_options if render_mode is None else {"render_mode": render_mode, **env_options}
    name = import_module_of(env)
    if name.startswith(ATARI_PREFIX):
        environment = _make_atari(name, training, options)
    elif foreign := set(ATARI_SETTINGS).intersection(options):
        settings = " and ".join(sorted(foreign))
        raise MemecError(f"Only Atari games ({ATARI_PREFIX}...) have the setting {settings}, and {env} is none.")
    else:
        environment = _make_registered(name, options)
    return _world(environment, recorded_options(env, options), training)


def make_again(settings: EnvironmentSettings, *, training: bool, render_mode: str | None = None) -> World:
    """Make a recorded environment.

    A record may come from anybody: nothing is imported that it names but the module of its id, which the caller has to
    have looked at.
    """
    if settings.lost is not None:
        raise MemecError(f"{settings.id} cannot be made again from its record: {settings.lost}.")
    if settings.id.startswith(IMPORTING):
        raise MemecError(f"{settings.id} cannot be made again from its record: it imports what its arguments name.")
    as_registered = settings.max_episode_steps is None and not settings.wrappers and settings.protocol == "dqn"
    if as_registered:
        return make(settings.id, training=training, render_mode=render_mode, **settings.options())
    options = settings.options() | {"max_episode_steps": settings.max_episode_steps}
    if render_mode is not None:
        options["render_mode"] = render_mode
    return _world(_make_registered(import_module_of(settings.id), options), settings, training)


def _world(environment: gymnasium.Env[Any, Any], made_from: EnvironmentSettings, training: bool) -> World:
    try:
        return World(wrapped(environment, made_from), made_from.id, made_from, training=training)
    except MemecError:
        environment.close()
        raise


def _make_atari(id: str, training: bool, options: dict[str, Any]) -> gymnasium.Env[Any, Any]:
    # The emulator takes time to import, which the other worlds need not wait for.
    from memec.envs.atari import Atari

    if id not in gymnasium.registry:
        raise _unknown_environment(id)
    settings = {"life_loss_ends_episode": training, **options}
    try:
        return Atari(id, **settings)
    except TypeError as error:
        raise MemecError(f"{id} cannot be made with the options {options}: {error}.") from error


def _make_registered(id: str, options: dict[str, Any]) -> gymnasium.Env[Any, Any]:
    register()
    if id.startswith(ATARI_PREFIX):
        with from_extra("atari", "An Atari game"):
            import ale_py  # noqa: F401  (it registers the Atari games)
    # Gymnasium itself finds the latest version of an id without one.
    if id not in gymnasium.registry and re.search(r"-v\d+$", id):
        raise _unknown_environment(id)
    try:
        return gymnasium.make(id, disable_env_checker=True, **options)
    except gymnasium.error.UnregisteredEnv as error:
        raise _unknown_environment(id) from error
    except (gymnasium.error.DependencyNotInstalled, ImportError) as error:
        raise MemecError(f"{id} needs a package that is not installed: {one_line(error)}.") from error
    except gymnasium.error.Error as error:
        raise MemecError(f"{id!r} cannot be made: {one_line(error)}.") from error
    except TypeError as error:
        if not options:
            raise
        raise MemecError(f"{id} cannot be made with the options {options}: {one_line(error)}.") from error


def _unknown_environment(id: str) -> MemecError:
    """Name the registered id nearest to an unknown one, whether or not its namespace was written."""
    with suppress(ModuleNotFoundError):  # it registers the Atari games, which may be what was meant
        import ale_py  # noqa: F401

    # The Atari ids without a namespace are the old ones, which do not follow the protocol.
    ids = [
        spec.id
        for spec in gymnasium.registry.values()
        if spec.namespace is not None or spec.entry_point != "ale_py.env:AtariEnv"
    ]
    by_spelling = {known.rpartition("/")[2].lower(): known for known in ids} | {known.lower(): known for known in ids}
    nearest = get_close_matches(id.lower(), by_spelling, n=1, cutoff=0.5)
    if nearest:
        return MemecError(f"Unknown environment {id!r}: did you mean {by_spelling[nearest[0]]!r}?")
    return MemecError(f"Unknown environment {id!r}: nothing of a similar name is registered with Gymnasium.")


def _space(environment: gymnasium.Env[Any, Any], which: str, id: str) -> gymnasium.Space[Any]:
    space = getattr(environment, which, None)
    if not isinstance(space, gymnasium.Space):
        raise MemecError(f"{id} has no {which}: an environment must say which there are, as a space of Gymnasium.")
    return space


def _is_atari(environment: object) -> bool:
    """Whether this is our own Atari environment, found without importing the emulator for everything else."""
    module = sys.modules.get("memec.envs.atari")
    return module is not None and isinstance(environment, module.Atari)


def _ram_reader(environment: gymnasium.Env[Any, Any]) -> Callable[[], NDArray[np.uint8]] | None:
    game: Any = environment.unwrapped
    if _is_atari(game):
        return cast("Callable[[], NDArray[np.uint8]]", game.ram)
    emulator = sys.modules.get("ale_py")
    if emulator is not None and isinstance(game, emulator.AtariEnv):
        return cast("Callable[[], NDArray[np.uint8]]", game.ale.getRAM)
    return None
