"""What every agent offers: `learn`, `predict`, `save` and `load`, as users know them from Stable-Baselines3."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self
from zlib import crc32

import gymnasium
import numpy as np
from numpy.typing import NDArray

from memec.agents import for_users
from memec.agents.exploring import Decisions, ExploringSettings
from memec.agents.file import FORMAT, environment_of, made_from, refuse_other_formats, refuse_other_parts
from memec.agents.file import Part as Part
from memec.agents.for_users import (
    Callback,
    evaluated,
    evaluation_worlds_of,
    settings_to_go_on_with,
    together,
    world_to_go_on_in,
)
from memec.agents.lanes import SideBySide, arrays_of, restore_lanes
from memec.agents.lookups import LookUps
from memec.agents.memories import Memories, Thought
from memec.agents.pictures import NoPictures, Pictures
from memec.envs.lanes import Engine, world_and_lanes
from memec.envs.recorded import EnvironmentSettings
from memec.envs.world import World, make_again
from memec.errors import MemecError, NotFiniteError, saying_what_is_wrong
from memec.explore import AnyStrategy, Belief, Strategy, in_use, taken_up
from memec.train.checkpoint import CheckpointSettings
from memec.train.events import Evaluation, Event
from memec.train.files import Arrays, part_of, read_arrays, write_arrays
from memec.train.journal import Experience, Nothing
from memec.train.lanes import Lockstep
from memec.train.loop import Loop, TrainingSettings
from memec.train.protocol import AskStateId, GreedyPolicy, Observation, StateId
from memec.train.run_folder import RunFolder
from memec.train.seeds import Seeds
from memec.train.training import begin_run, carry_out

Shapes = Mapping[str, tuple[int, ...]]
Env = str | gymnasium.Env[Any, Any] | gymnasium.vector.VectorEnv[Any, Any, Any] | World


class Agent(SideBySide, ABC):
    """An agent in its world. What it is made of is its `settings`; what it has learned is its `arrays()`."""

    name: ClassVar[str]
    settings_type: ClassVar[type[ExploringSettings]]
    settings: ExploringSettings
    pictures: Pictures | NoPictures = NoPictures()
    """Pictures of memories, where some are kept for people to look at."""

    def __init__(
        self,
        env: Env,
        *,
        explore: AnyStrategy | str | None = None,
        seed: int = 0,
        environments: int = 1,
        engine: Engine = "auto",
        settings: Any = None,
        env_kwargs: Mapping[str, Any] | None = None,
        **changes: Any,
    ) -> None:
        """Take the settings that suit the environment's kind of observation, unless others are given, with changes.

        `env_kwargs` are what the environment of an id is made with. With `environments`, or in a vector environment,
        the agent plays in several side by side; `engine` says where.
        """
        self.world, worlds = world_and_lanes(env, environments, engine, env_kwargs or {})
        self.environments = 1 if worlds is None else len(worlds.worlds)
        self._owns_world = isinstance(env, str)
        described, strategy = taken_up(explore)
        general = settings or self.settings_type.suiting(self.world.observation.kind)
        self.settings = general.changed(changes | {"explore": described})
        self.seed = seed
        self.seeds = Seeds(seed)
        self.explore: Strategy = strategy or in_use(self.settings.explore)
        self.settings.refuse_unless_offered(self.explore.name, self.explore.needs)
        # A stream for each strategy: with a shared one, the same seed makes strategies err together. Only the two kinds
        # of mellowmax share one, because what is asked of them is the difference that omega makes.
        stream = f"{self.name} {self.explore.name.removesuffix('-auto')}"
        self.generator = self.seeds.generator("agent", crc32(stream.encode()))
        self.decisions = Decisions(self.explore, self.generator)
        self.refuse_unless_ready()
        self.lookups = LookUps(self.decisions, self.beliefs)
        self._prediction_generator = self.seeds.generator("prediction")
        several = worlds and Lockstep(self, worlds, self.seeds, engine)
        self._loop = several or Loop(self, self.world, self.seeds)

    # --- what an algorithm fills in ---------------------------------------------------------------------------------

    @abstractmethod
    def act(self, observation: Observation, state_id: AskStateId) -> int:
        """Choose an action to learn from."""

    @abstractmethod
    def observe(self, reward: float, observation: Observation, terminated: bool, truncated: bool) -> None:
        """Take in what the last action led to."""

    @abstractmethod
    def abandon_episode(self) -> None:
        """Forget the episode under way: it will not be finished."""

    @abstractmethod
    def beliefs(self, observations: NDArray[Any], state_ids: NDArray[np.uint64] | None) -> Iterable[Belief]:
        """Return what to choose by in each of these states, without a trace in the agent."""

    @abstractmethod
    def parts(self) -> Mapping[str, Part]:
        """Return all that learns, and the episode under way, by names that tell them apart in a file."""

    def experience(self) -> Experience:
        """Return what is learned from again and again, where there is such a thing: a replay of gigabytes, maybe.

        `save` leaves it out; exactly the same training goes on only with it.
        """
        return Nothing()

    @classmethod
    def check_claims(cls, settings: Any, about: dict[str, Any], shapes: Shapes) -> None:
        """Raise an error where a file's settings claim more than it holds, before anything of that size is made."""
        del settings, about, shapes  # most agents make nothing large before they are restored

    def check_budget(self, steps: int) -> None:
        """Raise an error if nothing could be learned within so many steps in all."""
        if steps < 1:
            raise MemecError(f"Nothing can be learned in {steps} steps.")

    def diagnostics(self) -> dict[str, float]:
        """Return what tells how learning goes, as means since the last call: at least what its strategy shows."""
        return self.decisions.diagnostics([])

    # --- what follows from that ------------------------------------------------------------------------------------

    def greedy_policy(self) -> GreedyPolicy:
        """Return a policy that acts as well as the agent can and changes nothing in it."""
        return self.lookups.greedy_policy()

    def think(self, observation: Observation, state_id: StateId) -> Thought:
        """Return what stands behind a choice here, without a trace in the agent."""
        return self.lookups.think(observation, state_id)

    def choose_actions(
        self,
        observations: NDArray[Any],
        state_ids: NDArray[np.uint64] | None,
        deterministic: bool,
        generator: np.random.Generator,
    ) -> NDArray[np.int64]:
        """Choose for a batch of observations, without learning from it."""
        return self.decisions.choose_each(self.beliefs(observations, state_ids), deterministic, generator)

    def arrays(self) -> Arrays:
        """Return everything learned."""
        parts = self.parts().items()
        named = {f"{part}.{name}": array for part, own in parts for name, array in own.arrays().items()}
        return self.decisions.arrays() | named | arrays_of(self.lanes)

    def restore(self, arrays: Arrays) -> None:
        """Take over what another agent with the same settings learned."""
        self.decisions.restore(arrays)
        for name, part in self.parts().items():
            part.restore(part_of(arrays, f"{name}."))
        restore_lanes(self.lanes, arrays)

    # --- what users call --------------------------------------------------------------------------------------------

    @property
    def steps(self) -> int:
        """How many steps the agent has learned from."""
        return self._loop.step

    def learn(
        self,
        steps: int,
        *,
        progress: bool = False,
        evaluate_every: int = 0,
        evaluation_episodes: int = 10,
        evaluation_env: Env | None = None,
        callback: Callback | Sequence[Callback] | None = None,
        run: str | Path | None = None,
        resume: str | Path | None = None,
        checkpoint: CheckpointSettings | None = None,
    ) -> Self:
        """Train for so many more steps.

        With `evaluate_every`, the greedy policy is tried out every so many steps in an environment of its own.
        `callback`, one or several, gets every event (`memec.Episode`, `Evaluation`, and `Tick`, which comes by the
        clock); training stops early when it returns False. `run` names a new folder to record the
        run in, with checkpoints. `resume` names a run to go on with, exactly where it stopped, until it has `steps`
        steps in all; the agent must have the settings and the seed of that run, and it is evaluated as before.
        Of a recorded run, Ctrl-C and SIGTERM write a checkpoint and end the call early; `steps` tells how far it came.
        """
        if steps < 1:
            raise MemecError(f"To learn takes at least one step; {steps} were asked for.")
        if run is not None and resume is not None:
            raise MemecError("A run is either new (run=...) or gone on with (resume=...), not both.")
        checkpoint = checkpoint or CheckpointSettings()
        folder = None
        if resume is not None:
            folder = RunFolder.open(Path(resume))
            training = settings_to_go_on_with(folder, steps, evaluate_every, self.environments)
        else:
            if not self._owns_world:
                self.give_up_episode()  # somebody else may have moved their environment meanwhile
            training = TrainingSettings.read(
                {
                    "steps": self.steps + steps,
                    "evaluate_every_steps": evaluate_every,
                    "evaluation_episodes": evaluation_episodes,
                    "environments": self.environments,
                }
            )
        evaluation_worlds = (
            evaluation_worlds_of(self.world, evaluation_env, training) if training.evaluate_every_steps else []
        )
        if run is not None:
            folder = begin_run(Path(run), self, training, checkpoint, preset="own")
        carry_out(
            self,
            training,
            evaluation_worlds,
            folder=folder,
            checkpoint=checkpoint,
            take_up=resume is not None,
            progress=progress,
            callback=together(callback),
        )
        return self

    def evaluate(self, episodes: int = 10, *, env: Env | None = None, seed: int | None = None) -> Evaluation:
        """Play whole greedy episodes in fresh environments like its own, or in `env`. Changes nothing.

        The same seed (default: the agent's) gives the same episodes.
        """
        return evaluated(self, episodes, env, seed)

    def set_env(self, env: Env) -> None:
        """Go on in another environment with the same observations and actions; the episode under way is dropped."""
        world = world_to_go_on_in(self, env)
        self.give_up_episode()
        told = self._loop.snapshot()[1]
        self.world, self._owns_world, self._loop = world, isinstance(env, str), Loop(self, world, self.seeds)
        self._loop.skip_to(told)

    def __repr__(self) -> str:
        memories = "" if (kept := self.lookups.remembering) is None else f", {len(kept):,} memories"
        told = f"{type(self).__name__}({self.world.id!r}, explore={self.explore.name!r}, seed={self.seed})"
        return f"<{told}: {self.steps:,} steps{memories}>"

    def __dir__(self) -> list[str]:
        return sorted({*for_users.NAMES, *(name for name in super().__dir__() if name.startswith("__"))})

    def train(
        self, settings: TrainingSettings, evaluation_worlds: Sequence[World] = (), tick_every_steps: int = 0
    ) -> Generator[Event]:
        """Train until `settings.steps` in all and yield what happens: the loop itself, for own readers."""
        return self._loop.run(settings, evaluation_worlds, tick_every_steps)

    def give_up_episode(self) -> None:
        """Drop the episode under way: training goes on with a new one."""
        self._loop.abandon_episode()

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        *,
        state_id: NDArray[np.uint64] | None = None,
    ) -> tuple[Any, Any]:
        """Return the action for one observation, or an array of actions for a batch, and `state` as it came.

        Observations are those of the environment. Without `deterministic` the agent explores as it does in training.
        Where a state is more than its observation (Atari's RAM), `state_id` tells the memory which state this is;
        without it the state is judged by its neighbours.
        """
        fit = self.world.observation
        single = not fit.is_batch(observation)
        observations = fit(observation)[None] if single else fit.batch(observation)
        if not len(observations):
            return np.empty(0, np.int64), state
        if state_id is None:
            ids = self.world.state_ids(observations)
        else:
            ids = np.ascontiguousarray(state_id, np.uint64).reshape(-1, 2)
            if len(ids) != len(observations):
                raise MemecError(f"{len(observations)} observations need as many state ids; {len(ids)} came.")
        try:
            actions = self.choose_actions(observations, ids, deterministic, self._prediction_generator)
        except NotFiniteError:
            raise NotFiniteError("The observation holds NaN or infinity.") from None
        actions = actions + self.world.first_action
        return (actions[0] if single else actions), state

    def recall(self, observation: Any, *, state_id: StateId | None = None) -> list[Memories]:
        """Return, for every action, the memories behind its value. Changes nothing."""
        if self.lookups.remembering is None:
            raise MemecError(f"{self.name} has no memories to recall: mfec, nec and vpec have.")
        fitted = self.world.observation(observation)
        if state_id is None and (ids := self.world.state_ids(fitted[None])) is not None:
            state_id = ids[0]
        return self.lookups.think(fitted, state_id).memories

    def save(self, path: str | Path) -> None:
        """Write the whole agent, memory included, to one safetensors file."""
        path = Path(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_arrays(path, self.arrays(), self._about())
        except OSError as error:
            raise MemecError(f"The agent cannot be saved to {path}: {error.strerror or error}.") from None

    @classmethod
    def load(cls, path: str | Path, env: Env | None = None, **parts: Any) -> Self:
        """Return the agent that `save` wrote, with identical behaviour.

        Its environment is made again as it was recorded unless `env` gives one; an id that names a module is never
        followed, and where it cannot be made again it has to be given. Nor are `parts` followed that are none of
        memec's, such as `explore` or `embed`: they must be passed again. Without its strategy an agent acts but does
        not explore.
        """
        path = Path(path)
        arrays, about = read_arrays(path)
        made_again = env is None
        if env is None:
            env = make_again(environment_of(about, path), training=True)
        with saying_what_is_wrong(path):
            refuse_other_formats(about, path)
            if about.get("agent") != cls.name:
                raise MemecError(f"{path} holds a {about.get('agent')!r} agent, not {cls.name!r}.")
            settings = cls.settings_type.read(about["settings"])
            cls.check_claims(settings, about, {name: array.shape for name, array in arrays.items()})
            agent = cls.from_settings(env, settings, seed=int(about["seed"]), **parts)
            refuse_other_parts(agent.settings, settings, path)
            agent._take_over(arrays, about, path)
            agent._loop.skip_to(about["loop"])
            agent.abandon_episode()
        agent._owns_world |= made_again
        return agent

    def snapshot(self) -> tuple[Arrays, dict[str, Any]]:
        """Return everything needed to go on exactly, the episode under way included, in arrays of its own."""
        loop, _ = self._loop.snapshot()
        return self.arrays() | {f"loop.{name}": array for name, array in loop.items()}, self._about()

    def restore_snapshot(self, arrays: Arrays, about: dict[str, Any], source: Path) -> None:
        """Go on from a snapshot of an agent with the same settings and seed."""
        with saying_what_is_wrong(source):
            refuse_other_formats(about, source)
            made = made_from(about)
            same = [about["agent"], about["seed"]] == [self.name, self.seed]
            if made.lost is None:  # else whoever goes on says which environment it was
                own = self.world.recorded if "made_from" in about else EnvironmentSettings(id=self.world.id)
                same &= made == own
            # a setting that the file does not know yet is as it was then
            settings = self.settings_type.read(about["settings"]) if same else self.settings
            refuse_other_parts(self.settings, settings, source)
            if not same or settings != self.settings:
                raise MemecError(f"{source} belongs to an agent with other settings, another seed or environment.")
            self._take_over(arrays, about, source)
            self._loop.restore(part_of(arrays, "loop."), about["loop"])

    def _about(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "agent": self.name,
            "environment": self.world.id,
            "made_from": self.world.recorded.model_dump(mode="json"),
            "settings": self._plain_settings(),
            "seed": self.seed,
            "actions": self.world.actions,
            "observation": [self.world.observation.kind, list(self.world.observation.shape)],
            "generator": self.generator.bit_generator.state,
            "loop": self._loop.snapshot()[1],
        }

    def _plain_settings(self) -> dict[str, Any]:
        return self.settings.model_dump(mode="json")

    def _take_over(self, arrays: Arrays, about: dict[str, Any], source: Path) -> None:
        fit = self.world.observation
        if [about["actions"], about["observation"]] != [self.world.actions, [fit.kind, list(fit.shape)]]:
            raise MemecError(f"{source} was trained in an environment with other actions or observations.")
        self.restore(arrays)
        self.generator.bit_generator.state = about["generator"]

    @classmethod
    def from_settings(cls, env: Env, settings: Any, *, seed: int = 0, **parts: Any) -> Self:
        """Make the agent from its settings, as the command line does; parts that are none of memec's must be passed."""
        return cls(env, settings=settings, seed=seed, **parts)
