"""What can be set for each agent, and what an environment gets of which only the kind of observation is known."""

from typing import ClassVar, Literal, Self

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt, model_validator

from memec.agents.exploring import ExploringSettings
from memec.agents.optimiser import OptimiserSettings
from memec.agents.returns import Truncation
from memec.embed import AnyEmbedSettings, EmbedSettings
from memec.errors import MemecError
from memec.explore import EpsilonGreedy, ExploreSettings, Mellowmax, MellowmaxAuto, Need
from memec.explore.optimism import Optimism
from memec.graph import GraphSettings
from memec.memory import MemorySettings


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


class MFECSettings(ExploringSettings):
    """Everything that makes an MFEC agent."""

    offers: ClassVar[tuple[Need, ...]] = ("values", "memory")
    name: Literal["mfec"] = "mfec"
    discount: float = Field(0.99, ge=0.0, le=1.0)
    """How much a reward one step later is worth (gamma)."""
    memory: MemorySettings = MemorySettings()
    explore: ExploreSettings = Mellowmax()
    embed: AnyEmbedSettings = EmbedSettings()
    truncation: Truncation = "terminal"
    """What the return of an episode cut off by a time limit is taken for."""

    @classmethod
    def suiting(cls, kind: str) -> "MFECSettings":
        """Return settings for an environment of which only the kind of observation is known."""
        return MFEC_OVER_FRAMES if kind == "frames" else MFEC_OVER_NUMBERS


# Measured on the four small domains of the paper: see docs/better-than-the-paper.md.
MFEC_OVER_NUMBERS = MFECSettings(
    memory=MemorySettings(kernel="mean"),
    explore=MellowmaxAuto(),
    embed=EmbedSettings(scaled=True),
    truncation="average",
)
# Epsilon-greedy was ahead of mellowmax in all five games of the paper after a million steps: docs/reproduction.md.
MFEC_OVER_FRAMES = MFECSettings(memory=MemorySettings(capacity=100_000), explore=EpsilonGreedy())


class NECSettings(NeuralSettings):
    """Everything that makes a NEC agent."""

    offers: ClassVar[tuple[Need, ...]] = ("values", "memory")
    name: Literal["nec"] = "nec"
    memory: MemorySettings = MemorySettings(search="exact")
    explore: ExploreSettings = Mellowmax()
    key_size: PositiveInt = 64
    n_step: PositiveInt = 100
    """How many rewards a return adds up before it trusts the value the memory gave (n)."""
    memory_learning_rate: float = Field(0.1, gt=0.0, le=1.0)
    """How far the stored value of a known state moves towards a new return (alpha)."""
    truncation: Truncation = "terminal"
    """What the returns that an episode's time limit cut off are taken for; `discard` leaves out the last n steps."""

    @classmethod
    def suiting(cls, kind: str) -> "NECSettings":
        """Return settings for an environment of which only the kind of observation is known."""
        return NEC_OVER_FRAMES if kind == "frames" else NEC_OVER_NUMBERS


# Measured on Acrobot within 100,000 steps: docs/neural-agents.md. A return is one sample, and entries hardly move at
# this learning rate, so that it takes many neighbours of about the same weight to tell actions apart; and a value
# recorded while little was known is a bad one to go on with, the worse the sooner a return does.
NEC_OVER_NUMBERS = NECSettings(
    memory=MemorySettings(neighbours=50, delta=0.1, search="exact"),
    n_step=200,
    truncation="discard-or-average",
)
NEC_OVER_FRAMES = NECSettings(
    memory=MemorySettings(capacity=100_000),
    explore=Mellowmax(omega=40.0),
    key_size=128,
    train_start_steps=50_000,
)


class D3QNSettings(NeuralSettings):
    """Everything that makes a D3QN agent.

    Time limits are no ends, in every preset: the targets bootstrap through them, and no setting changes that.
    """

    name: Literal["d3qn"] = "d3qn"
    explore: ExploreSettings = EpsilonGreedy(anneal_start_steps=1, anneal_end_steps=50_000)
    optimiser: OptimiserSettings = OptimiserSettings(learning_rate=2.5e-4, centred=True)
    train_start_steps: int = 5_000
    """Steps before the network is trained for the first time."""
    target_update_steps: PositiveInt = 7_500
    """Steps between two copies of the network into the target network."""
    reward_clip: NonNegativeFloat = 1.0
    """Rewards are cut to this size in either direction; 0 leaves them as they are."""
    loss: Literal["huber", "squared"] = "huber"
    """The error of a value: its square, or beyond 1 only its size, as in DQN."""
    loss_over_batch: Literal["sum", "mean"] = "sum"
    """How errors add up. RMSprop's epsilon is tuned to DQN's sum; a mean makes gradients a batch size smaller."""
    gradient_norm_limit: NonNegativeFloat = 10.0
    """Longer gradients are shortened to this length; 0 leaves them as they are."""
    weight_averaging: NonNegativeFloat = 0.0
    """Who is not learning acts by an average of the network's weights in which those after update t count about t to
    this power; with 0 by the newest."""

    @classmethod
    def suiting(cls, kind: str) -> "D3QNSettings":
        """Return settings for an environment of which only the kind of observation is known."""
        return D3QN_OVER_FRAMES if kind == "frames" else D3QN_OVER_NUMBERS


# Measured on CartPole and Acrobot within 100,000 steps: docs/neural-agents.md. The squared error and gradients of any
# length matter most: failures are rare and far off the estimate, and to hold such errors back is to overestimate.
D3QN_OVER_NUMBERS = D3QNSettings(
    explore=EpsilonGreedy(epsilon_final=0.05, anneal_start_steps=1, anneal_end_steps=10_000),
    optimiser=OptimiserSettings(name="adam", learning_rate=2e-3, decay=0.999, epsilon=1e-8, centred=False),
    batch_size=128,
    train_start_steps=1_000,
    train_every_steps=2,
    target_update_steps=200,
    reward_clip=0.0,
    loss="squared",
    loss_over_batch="mean",
    gradient_norm_limit=0.0,
    weight_averaging=9.0,
)
D3QN_OVER_FRAMES = D3QNSettings(
    explore=EpsilonGreedy(epsilon_final=0.01, anneal_start_steps=1, anneal_end_steps=1_000_000),
    replay_capacity=1_000_000,
    train_start_steps=12_500,
    target_update_steps=1_000,
)


class VPECSettings(ExploringSettings):
    """Everything that makes a VPEC agent."""

    offers: ClassVar[tuple[Need, ...]] = ("values", "hopes")
    name: Literal["vpec"] = "vpec"
    discount: float = Field(0.99, ge=0.0, lt=1.0)
    """How much a reward one step later is worth (gamma)."""
    scaled: bool = True
    """Whether each number of an observation is divided by its running standard deviation."""
    memory: GraphSettings = GraphSettings()
    explore: ExploreSettings = Optimism()

    @classmethod
    def suiting(cls, kind: str) -> "VPECSettings":
        """Return settings for an environment of which only the kind of observation is known."""
        if kind == "frames":
            raise MemecError("vpec compares observations number by number, which pictures are not made for: use mfec.")
        return VPECSettings()
