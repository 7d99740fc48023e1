"""What the agents with a network share: how often it is trained, on what device, and what is told about it."""

from abc import abstractmethod
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from memec.agents.agent import Agent, Env, Shapes
from memec.agents.exploring import ExploringSettings
from memec.agents.optimiser import OptimiserSettings
from memec.errors import MemecError, NotFiniteError
from memec.memory.limits import refuse_if_too_large
from memec.train.protocol import Observation

if TYPE_CHECKING:
    from memec.embed.networks import Network

BYTES_PER_PARAMETER = 4 * 8
"""Three networks at most, a gradient each, and two averages of the optimiser."""


class NeuralSettings(ExploringSettings):
    """The settings of every agent with a network."""

    discount: float = Field(0.99, ge=0.0, le=1.0)
    """How much a reward one step later is worth (gamma)."""
    hidden_size: PositiveInt = 64
    """The width of the hidden layers over vectors; frames get the convolutions of DQN."""
    optimiser: OptimiserSettings = OptimiserSettings()
    replay_capacity: PositiveInt = 100_000
    """How many observations are kept to learn from again (Atari: single frames)."""
    batch_size: PositiveInt = 32
    train_start_steps: NonNegativeInt = 1_000
    """Steps before the network is trained for the first time."""
    train_every_steps: PositiveInt = 4
    """Steps between two updates of the network."""
    device: str = Field("cpu", pattern=r"^(cpu|cuda(:\d+)?|mps)$")
    """Where the network is: cpu, cuda or mps. The memory and the replay stay in main memory."""
    threads: int = Field(1, ge=1, le=1_024)
    """Threads of the network's arithmetic on the CPU; with one, runs side by side do not fight."""

    @model_validator(mode="after")
    def _replay_holds_a_batch(self) -> Self:
        if self.replay_capacity < self.batch_size:
            raise ValueError(
                f"replay_capacity={self.replay_capacity} is smaller than batch_size={self.batch_size}: "
                "no batch could ever be drawn"
            )
        return self


class NeuralAgent(Agent):
    """An agent whose network is trained every few steps."""

    settings: NeuralSettings

    def __init__(self, env: Env, settings: NeuralSettings | None, changes: dict[str, Any], seed: int) -> None:
        super().__init__(env, settings, changes, seed)
        self._means = Means()

    @classmethod
    @abstractmethod
    def network_of(cls, settings: Any, shape: tuple[int, ...], actions: int, seed: int, device: str) -> "Network":
        """Make the network that these settings mean; on the device "meta" it takes no room."""

    @classmethod
    def make_network(cls, settings: NeuralSettings, shape: tuple[int, ...], actions: int, seed: int) -> "Network":
        """Make the network, unless the machine could never hold it."""
        count = cls.network_of(settings, shape, actions, seed, "meta").parameters.numel()
        refuse_if_too_large(BYTES_PER_PARAMETER * count, f"A network of {count:,} parameters", "hidden_size")
        return cls.network_of(settings, shape, actions, seed, settings.device)

    @classmethod
    def check_claims(cls, settings: Any, about: dict[str, Any], shapes: Shapes) -> None:
        """Raise an error where a file's settings mean another network than the file holds."""
        shape = tuple(int(size) for size in about["observation"][1])
        count = cls.network_of(settings, shape, int(about["actions"]), 0, "meta").parameters.numel()
        if shapes.get("network.parameters") != (count,):
            raise MemecError(f"The saved network does not fit: its settings mean one of {count:,} parameters.")

    def check_budget(self, steps: int) -> None:
        """Say so if the network would not be trained within so many steps."""
        start = self.settings.train_start_steps
        if steps < start + self.settings.train_every_steps:
            raise MemecError(
                f"Training of the network starts after {start:,} steps and the run has {steps:,}: nothing would be "
                "learned; ask for more --steps or --set a smaller train_start_steps."
            )

    def diagnostics(self) -> dict[str, float]:
        """Return the mean, since the last call, of what tells how the network is doing; empty before training."""
        return self._means.take()

    def _training_is_due(self, experienced: int) -> bool:
        settings, step = self.settings, self.decisions.count
        return step > settings.train_start_steps and step % settings.train_every_steps == 0 and experienced > 0

    def _refuse_if_diverged(self, loss: float, *gradients: float) -> None:
        """Stop before a step that would ruin the network; each of `gradients` sums up some of them."""
        if not np.isfinite([loss, *gradients]).all():
            what = "gradient" if np.isfinite(loss) else "loss"
            raise MemecError(
                f"The {what} became NaN or infinite at step {self.decisions.count}; the network was left as it was "
                "before that step: try a smaller optimiser.learning_rate."
            )

    def _explained(self, error: NotFiniteError, observation: Observation) -> MemecError:
        """Tell a network that went wrong from an environment that did."""
        if not np.isfinite(observation).all():
            return error
        return MemecError(
            f"The network's output became NaN or infinite at step {self.decisions.count}: "
            "try a smaller optimiser.learning_rate."
        )


class Means:
    """Running means by name."""

    def __init__(self) -> None:
        self._sums: defaultdict[str, float] = defaultdict(float)
        self._count = 0

    def add(self, **values: float) -> None:
        """Take in one value of each."""
        self._count += 1
        for name, value in values.items():
            self._sums[name] += value

    def take(self) -> dict[str, float]:
        """Return the means, and begin anew."""
        means = {name: total / self._count for name, total in self._sums.items()}
        self._sums.clear()
        self._count = 0
        return means
