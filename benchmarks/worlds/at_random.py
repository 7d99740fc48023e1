"""Random play: what every score is to be compared with."""

from collections.abc import Sequence
from typing import Any

from benchmarks.worlds.foreign import ForeignSettings, Watch
from memec.envs.world import make


def train(settings: ForeignSettings, watch: Watch) -> None:
    """Learn nothing, and be looked at once."""
    world = make(settings.environment.id)
    actions = world.actions
    world.close()

    def policy(observations: Sequence[Any], state_ids: object, luck: Sequence[float]) -> list[int]:
        return [int(number * actions) for number in luck]

    step = settings.training.evaluate_every_steps
    while watch(step, lambda: policy):
        step += settings.training.evaluate_every_steps
