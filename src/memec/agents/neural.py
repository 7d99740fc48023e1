"""What the agents with a network share: how often it is trained, on what device, and what is told about it."""

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from memec.agents.agent import Agent, Env, Shapes
from memec.agents.settings import NeuralSettings
from memec.errors import MemecError, NotFiniteError
from memec.memory.limits import refuse_if_too_large
from memec.train.protocol import Observation

if TYPE_CHECKING:
    from memec.embed.networks import Network

BYTES_PER_PARAMETER = 4 * 8
"""Three networks at most, a gradient each, and two averages of the optimiser."""


class NeuralAgent(Agent):
    """An agent whose network is trained every few steps."""

    settings: NeuralSettings

    def __init__(self, env: Env, **given: Any) -> None:
        super().__init__(env, **given)
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


class NetworkKeys:
    """The keys that a network makes, with those of many observations at once."""

    keeps_observations = False

    def __init__(self, network: "Network") -> None:
        self.network = network

    def __call__(self, observation: Observation) -> NDArray[np.float32]:
        """Return the key of one observation."""
        key: NDArray[np.float32] = self.network(observation[None])[0]
        return key

    def batch(self, observations: NDArray[Any]) -> NDArray[np.float32]:
        """Return the keys of several observations, one per row."""
        return self.network(observations)

    def stream(self) -> Callable[[Sequence[Observation]], NDArray[np.float32]]:
        """Return what makes keys of observations that follow others; a network does not know what came before."""
        return lambda observations: self.network(np.stack(observations))

    def observed(self, key: NDArray[np.float32]) -> NDArray[Any]:
        """No key tells what was observed."""
        raise MemecError("A learned key does not tell what was observed.")


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
