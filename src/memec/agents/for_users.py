"""What stands behind the methods that users call: where an agent is evaluated, and who hears of its training."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import gymnasium

from memec.envs.world import World, make
from memec.errors import MemecError
from memec.train.evaluation import evaluating, worlds_for_evaluation
from memec.train.events import Evaluation, Event
from memec.train.loop import TrainingSettings
from memec.train.protocol import Learner
from memec.train.run_folder import RunFolder
from memec.train.seeds import Seeds
from memec.train.training import evaluation_worlds_like

NAMES = (
    "diagnostics", "evaluate", "explore", "learn", "load", "name", "predict", "recall", "save", "seed", "set_env",
    "settings", "steps", "train", "world",
)  # fmt: skip
"""What `dir` of an agent shows; the rest is for those who build agents."""
Callback = Callable[[Event], Any]


def together(callback: Callback | Sequence[Callback] | None) -> Callback | None:
    """Return one callback for all: each hears every event, and any may stop the training."""
    if callback is None or callable(callback):
        return callback

    def tell_all(event: Event) -> bool:
        answers = [each(event) for each in callback]
        return all(answer is not False for answer in answers)

    return tell_all


def evaluated(agent: Any, episodes: int, env: Any, seed: int | None) -> Evaluation:
    """Play whole greedy episodes in worlds of their own."""
    protocol = TrainingSettings.read({"steps": max(agent.steps, 1), "evaluation_episodes": episodes})
    worlds = evaluation_worlds_of(agent.world, env, protocol)
    learner: Learner = agent
    game = evaluating(learner, worlds, protocol, Seeds(agent.seed if seed is None else seed), agent.steps)
    while True:
        try:
            next(game)
        except StopIteration as done:
            evaluation: Evaluation = done.value
            return evaluation


def evaluation_worlds_of(world: World, env: Any, settings: TrainingSettings) -> list[World]:
    """Make the worlds to evaluate in: `env`, or others like the agent's own."""
    if isinstance(env, World):
        return [env]
    if isinstance(env, gymnasium.Env):
        return [make(env, training=False)]
    kind, episodes = world.observation.kind, settings.evaluation_episodes
    if env is None and world.recorded.lost is None:
        return evaluation_worlds_like(world.recorded, kind, episodes)
    count = worlds_for_evaluation(kind, episodes)
    if env is not None:
        return [make(env, training=False) for _ in range(count)]
    with suppress(Exception):  # whatever is raised where its spec does not make it again, either
        spec = world.environment.spec
        if spec is not None:
            return [make(spec, training=False) for _ in range(count)]
    raise MemecError(
        "To evaluate in an environment of your own, pass it: evaluation_env=... to learn, env=... to evaluate."
    )


def settings_to_go_on_with(folder: RunFolder, steps: int, evaluate_every: int, environments: int) -> TrainingSettings:
    """Return a run's own settings, but for the number of steps: with others it would not go on exactly."""
    recorded = TrainingSettings.read(folder.record()["settings"].get("training"))
    if evaluate_every not in (0, recorded.evaluate_every_steps):
        raise MemecError(
            f"A resumed run keeps its settings: {folder.path} is evaluated every {recorded.evaluate_every_steps} steps."
        )
    if environments != recorded.environments:
        raise MemecError(
            f"A resumed run keeps its settings: {folder.path} plays in {recorded.environments} environments at once, "
            f"and this agent in {environments}."
        )
    return recorded.changed({"steps": steps})


def world_to_go_on_in(agent: Any, env: Any) -> World:
    """Return the world of another environment that an agent can go on in."""
    if agent.environments > 1:
        raise MemecError("An agent that plays in several environments stays in them: save it, and load it into one.")
    world = env if isinstance(env, World) else make(env)
    here, there = ((each.actions, each.observation.kind, each.observation.shape) for each in (agent.world, world))
    if here != there:
        raise MemecError(f"{world.id} has other actions or observations than {agent.world.id}: make another agent.")
    return world
