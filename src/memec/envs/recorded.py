"""What a record says of an environment, so that it can be made again: id, keyword arguments, time limit, wrappers."""

import json
from typing import Any, Literal

import gymnasium
from gymnasium.envs.registration import EnvSpec
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from memec.errors import MemecError
from memec.settings import Settings

REPEATABLE = {
    "AtariPreprocessing", "ClipReward", "DelayObservation", "DiscretizeAction", "DiscretizeObservation",
    "DtypeObservation", "FilterObservation", "FlattenObservation", "FrameStackObservation", "GrayscaleObservation",
    "MaxAndSkipObservation", "RecordEpisodeStatistics", "RepeatAction", "RescaleObservation", "ReshapeObservation",
    "ResizeObservation", "StickyAction", "TimeAwareObservation",
}  # fmt: skip
"""Wrappers of Gymnasium's that are the same when made again (no running mean) and write nothing: a record comes from
anybody."""
NO_TIME_LIMIT = -1


class WrapperSettings(Settings):
    """One of Gymnasium's wrappers."""

    name: str
    kwargs: dict[str, Any] = Field({})


class EnvironmentSettings(Settings):
    """Which world, and how it is set up."""

    id: str
    sticky_actions: float = Field(0.0, ge=0.0, lt=1.0)
    """Atari only: the probability that the emulator repeats the previous action instead."""
    no_op_after_life_loss: bool = True
    """Atari only: whether a game goes on after a lost life with one frame of doing nothing."""
    empty_stack_after_life_loss: bool = True
    """Atari only: whether the stack of frames holds zeros again after a lost life."""
    protocol: Literal["dqn", "gymnasium"] = "dqn"
    """Atari only: whether the game is played by the protocol of DQN or as Gymnasium makes it."""
    kwargs: dict[str, Any] = Field({})
    """What else its constructor is given."""
    max_episode_steps: int | None = Field(None, ge=NO_TIME_LIMIT)
    """Its time limit, as `gymnasium.make` takes it: -1 for none; None: the one it is registered with."""
    wrappers: tuple[WrapperSettings, ...] = ()
    """Gymnasium's wrappers around it, the innermost first."""
    lost: str | None = None
    """Why it cannot be made again from these settings, where it cannot."""

    def options(self) -> dict[str, Any]:
        """Return what the environment is made with, where that is not how any is made."""
        atari = {"sticky_actions", "no_op_after_life_loss", "empty_stack_after_life_loss"}
        return self.model_dump(include=atari, exclude_defaults=True) | self.kwargs

    @model_serializer(mode="wrap")
    def _without_what_most_do_not_have(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Records of environments that are as registered stay comparable with those from before these settings."""
        usual: dict[str, Any] = {
            "protocol": "dqn",
            "kwargs": {},
            "max_episode_steps": None,
            "wrappers": (),
            "lost": None,
        }
        left_out = {name for name, value in usual.items() if getattr(self, name) == value}
        return {name: value for name, value in handler(self).items() if name not in left_out}


def recorded(environment: gymnasium.Env[Any, Any], id: str) -> EnvironmentSettings:
    """Return what an environment object can be made again from, or why it cannot."""
    try:
        spec = environment.spec
    except Exception as error:  # a wrapper whose arguments cannot be copied
        return EnvironmentSettings(id=id, lost=f"its spec raises {type(error).__name__}")
    registered = None if spec is None else gymnasium.registry.get(spec.id)
    if spec is None or registered is None or registered.entry_point != spec.entry_point:
        return EnvironmentSettings(id=id, lost="it was not made by gymnasium.make from a registered id")
    try:
        return EnvironmentSettings(
            id=id,
            protocol="gymnasium" if spec.namespace == "ALE" else "dqn",
            kwargs=_changed_arguments(spec, registered),
            max_episode_steps=_time_limit(spec, registered),
            wrappers=tuple(_wrapper(wrapper) for wrapper in spec.additional_wrappers),
        )
    except MemecError as error:
        return EnvironmentSettings(id=id, lost=str(error))


def recorded_options(id: str, options: dict[str, Any]) -> EnvironmentSettings:
    """Return what an environment can be made again from that was made by its id with these options."""
    named = {name: value for name, value in options.items() if name in EnvironmentSettings.model_fields}
    others = {name: value for name, value in options.items() if name not in named and name != "render_mode"}
    try:
        return EnvironmentSettings(id=id, **named, kwargs=_plain(others, "its keyword arguments are"))
    except MemecError as error:
        return EnvironmentSettings(id=id, lost=str(error))


def wrapped(environment: gymnasium.Env[Any, Any], settings: EnvironmentSettings) -> gymnasium.Env[Any, Any]:
    """Put the recorded wrappers around an environment."""
    for wrapper in settings.wrappers:
        if wrapper.name not in REPEATABLE:
            raise MemecError(f"A record may not name the wrapper {wrapper.name!r}.")
        try:
            environment = getattr(gymnasium.wrappers, wrapper.name)(environment, **wrapper.kwargs)
        except Exception as error:  # whatever arguments from a file make a wrapper raise
            said = f"{type(error).__name__} {' '.join(str(error).split())}"
            raise MemecError(f"The wrapper {wrapper.name} cannot be made with {wrapper.kwargs}: {said}.") from None
    return environment


def _changed_arguments(spec: EnvSpec, registered: EnvSpec) -> dict[str, Any]:
    """Return the arguments that it is not registered with, but for how it is drawn."""
    given = {name: value for name, value in spec.kwargs.items() if name != "render_mode"}
    arguments = {name: _plain(value, f"its argument {name} is") for name, value in given.items()}
    return {
        name: value
        for name, value in arguments.items()
        if name not in registered.kwargs or registered.kwargs[name] != given[name]
    }


def _time_limit(spec: EnvSpec, registered: EnvSpec) -> int | None:
    limit = spec.max_episode_steps
    if limit == registered.max_episode_steps:
        return None
    return NO_TIME_LIMIT if limit is None else limit


def _wrapper(spec: Any) -> WrapperSettings:
    if spec.name not in REPEATABLE or not spec.entry_point.startswith("gymnasium.wrappers."):
        raise MemecError(f"its wrapper {spec.name} is none that can be made again from a record")
    return WrapperSettings(name=spec.name, kwargs=_plain(spec.kwargs, f"the arguments of its wrapper {spec.name} are"))


def _plain(content: Any, what: str) -> Any:
    """Return content as JSON keeps it."""
    try:
        return json.loads(json.dumps(content, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise MemecError(f"{what} no plain data") from None
