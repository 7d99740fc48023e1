"""Q-learning with a table: what there is to beat where states are few and come again."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.worlds.foreign import ForeignSettings, Watch, chosen_by
from memec.envs.world import make
from memec.train import Seeds
from memec.train.protocol import GreedyPolicy

DEFAULTS = {"discount": 0.99, "step_size_power": 0.3, "epsilon_final": 0.1, "decay": 0.1}
"""A value moves by 1 / visits ** step_size_power towards reward + discount * the best value that follows; epsilon falls
from 1 to epsilon_final over the first `decay` of the steps. Of powers from .2 to .8 and constant steps of .1, decays
from .1 to .8 and final epsilons from .01 to .1, these did best in FrozenLake and Taxi together, with seeds 0 to 2."""


class Table:
    """Values and visits of every action in every state seen so far."""

    def __init__(self, actions: int, options: dict[str, float], rng: np.random.Generator) -> None:
        self.rng = rng
        self._options = options
        self._nothing = np.zeros(actions)
        self._values: dict[bytes, NDArray[np.float64]] = {}
        self._visits: dict[bytes, NDArray[np.int64]] = {}

    def values(self, observation: NDArray[Any]) -> NDArray[np.float64]:
        return self._values.get(observation.tobytes(), self._nothing)

    def best(self, observation: NDArray[Any]) -> int:
        """Return the best action, the first of those that are equally good."""
        return int(np.argmax(self.values(observation)))

    def choose(self, observation: NDArray[Any], epsilon: float) -> int:
        if self.rng.random() < epsilon:
            return int(self.rng.integers(len(self._nothing)))
        values = self.values(observation)
        return int(self.rng.choice(np.flatnonzero(values == values.max())))

    def learn(
        self, observation: NDArray[Any], action: int, reward: float, following: NDArray[Any], terminated: bool
    ) -> None:
        state = observation.tobytes()
        values = self._values.setdefault(state, self._nothing.copy())
        visits = self._visits.setdefault(state, np.zeros(len(values), np.int64))
        visits[action] += 1
        step_size = visits[action] ** -self._options["step_size_power"]
        goal = reward if terminated else reward + self._options["discount"] * float(self.values(following).max())
        values[action] += step_size * (goal - values[action])


def train(settings: ForeignSettings, watch: Watch) -> None:
    """Learn by playing; what a time limit cuts off is no end."""
    seeds = Seeds(settings.seed)
    world = make(settings.environment.id)
    options = DEFAULTS | settings.agent.options
    table = Table(world.actions, options, seeds.generator("agent"))

    def policy() -> GreedyPolicy:
        return chosen_by(table.best)

    exploring_steps = options["decay"] * settings.training.steps
    step = episode = 0
    going_on = True
    while going_on:
        observation, over = world.reset(seeds.number("environment", episode)), False
        episode += 1
        while going_on and not over:
            epsilon = max(options["epsilon_final"], 1.0 - (1.0 - options["epsilon_final"]) * step / exploring_steps)
            action = table.choose(observation, epsilon)
            following, reward, terminated, truncated = world.step(action)
            table.learn(observation, action, reward, following, terminated)
            observation, over = following, terminated or truncated
            step += 1
            going_on = watch(step, policy)
    world.close()
