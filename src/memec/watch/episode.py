"""Playing an episode of a trained agent for people to look at."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memec.agents import Agent
from memec.envs.world import World
from memec.errors import MemecError, environment_failed
from memec.train.protocol import Observation, StateId
from memec.train.seeds import Seeds

Picture = NDArray[np.uint8]


class Seen(NamedTuple):
    """One moment of an episode, before its action is taken; the last one has no action."""

    observation: Observation
    state_id: StateId
    picture: Picture | None
    score: float
    """What was collected until now."""
    action: int | None
    ending: str = ""
    """How the episode ended, at its last moment."""


def play(agent: Agent, world: World, seeds: Seeds, *, exploring: bool, most_steps: int) -> Iterator[Seen]:
    """Play one episode, greedily or as in training, and show every moment of it. The agent learns nothing.

    A greedy episode is the first that an evaluation of this agent with these seeds plays.
    """
    generator = seeds.generator("evaluation", agent.steps, 0)
    policy = agent.greedy_policy()
    score = 0.0
    try:
        observation = world.reset(seeds.number("evaluation", agent.steps, 0))
        for _ in range(most_steps):
            state_id = world.state_id()
            if exploring:
                action = int(agent.choose_actions(observation[None], state_id[None], False, generator)[0])
            else:
                (action,) = policy([observation], state_id[None], [generator.random()])
            yield Seen(observation, state_id, picture_of(world, observation), score, action)
            observation, reward, terminated, truncated = world.step(action)
            score += reward
            if terminated or truncated:
                ending = "terminated" if terminated else "cut off by the time limit"
                break
        else:
            ending = f"shown for {most_steps:,} steps only"
    except MemecError:
        raise
    except Exception as error:  # whatever a user's environment raises
        raise environment_failed(f"raised {type(error).__name__} while it was shown: {error}") from error
    yield Seen(observation, world.state_id(), picture_of(world, observation), score, None, ending)


def picture_of(world: World, observation: Observation) -> Picture | None:
    """Return what the world looks like: as it draws itself, else the frame that was observed, else nothing."""
    if world.environment.render_mode == "rgb_array":
        drawn: Any = world.environment.render()
        if isinstance(drawn, np.ndarray) and drawn.dtype == np.uint8 and drawn.ndim == 3:
            return drawn
    return frame_in(observation) if world.observation.kind == "frames" else None


def frame_in(observation: Observation) -> Picture:
    """Return the newest picture in observed frames, as [height, width] or [height, width, 3]."""
    if observation.ndim == 2 or (observation.ndim == 3 and observation.shape[-1] == 3):
        return observation
    if observation.ndim == 3 and observation.shape[-1] < observation.shape[0]:
        return observation[..., -1]
    return frame_in(observation[-1])
