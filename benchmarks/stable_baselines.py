"""`python -m benchmarks.stable_baselines`: DQN and PPO of Stable-Baselines3, looked at exactly as VPEC is.

Settings and budgets are those of rl-baselines3-zoo for each environment. Every 500 steps the greedy policy plays 10
episodes, by memec's own evaluation: the same starts as VPEC's with the same seed, and unnormalised scores. A run ends
with its budget, or as soon as its steps to the score are known: at the fifth evaluation in a row that reaches it.
Schedules run over the whole budget all the same.

A finished run is recorded at once and never done again; an interrupted one is redone.
"""

import argparse
import platform
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measure import progress
from benchmarks.own_targets.baselines import PRESET, SCORES
from memec.envs.world import World, make
from memec.errors import MemecError
from memec.experiments.better import FIRST_HELD_OUT_SEED
from memec.experiments.pace import in_words
from memec.report.stats import steps_to_reach
from memec.train import Evaluation, Seeds, TrainingSettings, evaluating
from memec.train.lock import alone_with
from memec.train.results import add_run, read_record

EVALUATIONS = {"evaluate_every_steps": 500, "evaluation_episodes": 10}
VERSIONS_OF = ("memec", "stable-baselines3", "gymnasium", "numpy", "torch")
Evaluations = list[tuple[int, float]]


class Baseline(NamedTuple):
    """An algorithm in an environment, as the zoo sets it (DLR-RM/rl-baselines3-zoo, hyperparams)."""

    algorithm: str
    strategy: str
    environment: str
    steps: int
    settings: dict[str, Any]
    environments: int = 1
    normalized: bool = False
    """Whether observations and rewards are divided by their running deviation while training."""

    @property
    def agent(self) -> str:
        """Return its name among the results, which have agents called DQN of their own."""
        return f"sb3-{self.algorithm}"

    @property
    def curve(self) -> str:
        """Return the name of its curve in runs.json."""
        return f"{PRESET}/{self.environment.partition('-')[0].lower()}/{self.agent}-{self.strategy}"

    @property
    def training(self) -> TrainingSettings:
        """Return how long it trains and how often it is looked at."""
        return TrainingSettings(steps=self.steps, **EVALUATIONS)

    def resolved(self) -> dict[str, Any]:
        """Return all settings as they are recorded."""
        agent = {"name": self.agent, "explore": {"name": self.strategy}, **self.settings}
        return {
            "environment": {"id": self.environment},
            "agent": agent | {"environments": self.environments, "normalized": self.normalized},
            "training": self.training.model_dump(mode="json") | {"until_score": SCORES[self.environment]},
        }


TWO_LAYERS = {"net_arch": [256, 256]}
ZOO = (
    Baseline(
        "dqn", "epsilon-greedy", "CartPole-v1", 50_000,
        {
            "learning_rate": 2.3e-3, "batch_size": 64, "buffer_size": 100_000, "learning_starts": 1_000, "gamma": 0.99,
            "target_update_interval": 10, "train_freq": 256, "gradient_steps": 128, "exploration_fraction": 0.16,
            "exploration_final_eps": 0.04, "policy_kwargs": TWO_LAYERS,
        },
    ),
    Baseline(
        "ppo", "sampling", "CartPole-v1", 100_000,
        {
            "n_steps": 32, "batch_size": 256, "gae_lambda": 0.8, "gamma": 0.98, "n_epochs": 20, "ent_coef": 0.0,
            "learning_rate": "lin_0.001", "clip_range": "lin_0.2",
        },
        environments=8,
    ),
    Baseline(
        "dqn", "epsilon-greedy", "Acrobot-v1", 100_000,
        {
            "learning_rate": 6.3e-4, "batch_size": 128, "buffer_size": 50_000, "learning_starts": 0, "gamma": 0.99,
            "target_update_interval": 250, "train_freq": 4, "gradient_steps": -1, "exploration_fraction": 0.12,
            "exploration_final_eps": 0.1, "policy_kwargs": TWO_LAYERS,
        },
    ),
    Baseline(
        "ppo", "sampling", "Acrobot-v1", 1_000_000,
        {"n_steps": 256, "gae_lambda": 0.94, "gamma": 0.99, "n_epochs": 4, "ent_coef": 0.0},
        environments=16, normalized=True,
    ),
)  # fmt: skip


class Policy:
    """The greedy policy of a model, as memec's evaluation asks for one."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._normalized = model.get_vec_normalize_env()

    def greedy_policy(self) -> Callable[..., list[int]]:
        return self._best_actions

    def _best_actions(self, observations: Sequence[Any], state_ids: object, luck: object) -> list[int]:
        batch = np.stack(observations)
        if self._normalized is not None:  # by the statistics of training, which stay as they are
            batch = self._normalized.normalize_obs(batch)
        actions, _ = self._model.predict(batch, deterministic=True)
        return [int(action) for action in actions]


class Watch:
    """Evaluates a model as it trains, and tells it when to stop."""

    def __init__(self, baseline: Baseline, seed: int, worlds: Sequence[World]) -> None:
        self.evaluations: Evaluations = []
        self._baseline = baseline
        self._seeds = Seeds(seed)
        self._worlds = worlds

    def __call__(self, variables: dict[str, Any], _: dict[str, Any]) -> bool:
        """Return whether to go on; Stable-Baselines3 calls it with its local variables after every step.

        Several environments step at once, so an evaluation may be made up to 15 steps after the one it stands for.
        """
        model = variables["self"]
        settings = self._baseline.training
        step = (len(self.evaluations) + 1) * settings.evaluate_every_steps
        if step > settings.steps:
            return False
        if model.num_timesteps < step:
            return True
        playing = evaluating(Policy(model), self._worlds, settings, self._seeds, step)  # type: ignore[arg-type]
        self.evaluations.append((step, round(_result_of(playing).mean_score, 4)))
        return self.reached is None

    @property
    def reached(self) -> int | None:
        """The steps it took to reach the score, by the rule of every report; None as long as that is open."""
        steps, scores = (np.array(column) for column in zip(*self.evaluations, strict=True))
        return steps_to_reach(steps, scores, SCORES[self._baseline.environment])


def train(baseline: Baseline, seed: int) -> Watch:
    """Train one model, with one thread, and return what was seen of it."""
    try:
        import stable_baselines3
        import torch
        from stable_baselines3.common.env_util import make_vec_env
        from stable_baselines3.common.vec_env import VecNormalize
    except ImportError as error:
        raise MemecError(f"This comparison needs {error.name}: pip install --editable '.[baselines]'.") from None
    torch.set_num_threads(1)
    environment = make_vec_env(baseline.environment, n_envs=baseline.environments, seed=seed)
    if baseline.normalized:
        environment = VecNormalize(environment, gamma=baseline.settings["gamma"])
    worlds = [make(baseline.environment, training=False) for _ in range(EVALUATIONS["evaluation_episodes"])]
    watch = Watch(baseline, seed, worlds)
    algorithm = getattr(stable_baselines3, baseline.algorithm.upper())
    settings = {name: scheduled(value) for name, value in baseline.settings.items()}
    algorithm("MlpPolicy", environment, seed=seed, device="cpu", **settings).learn(baseline.steps, callback=watch)
    for world in worlds:
        world.close()
    environment.close()
    return watch


class Record:
    """The folder of results, in the form that `memec report` reads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def has(self, baseline: Baseline, seed: int) -> bool:
        """Tell whether a run is recorded; under other settings, that is an error."""
        curve = read_record(self.folder)["curves"].get(baseline.curve)
        if curve is None:
            return False
        if curve["settings"] != baseline.resolved():
            raise MemecError(f"{self.folder} holds {baseline.curve} with other settings: use another --out folder.")
        return str(seed) in curve["runs"]

    def add(self, baseline: Baseline, seed: int, evaluations: Evaluations, about: dict[str, Any]) -> None:
        """Record a run, whole or not at all: it counts once it stands in runs.json, which is written last."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with alone_with(self.folder):
            content = read_record(self.folder)
            curve = content["curves"].setdefault(baseline.curve, {"settings": baseline.resolved(), "runs": {}})
            runs = curve["runs"] | {str(seed): about}
            curve["runs"] = dict(sorted(runs.items(), key=lambda item: int(item[0])))
            content["curves"] = dict(sorted(content["curves"].items()))
            key = (baseline.environment, baseline.agent, baseline.strategy, PRESET, seed)
            add_run(self.folder, key, evaluations, content)


def compare(baselines: Sequence[Baseline], seeds: Sequence[int], record: Record, command: str) -> None:
    """Do all runs that are not recorded yet, all of one seed before the next."""
    wanted = [(baseline, seed) for seed in seeds for baseline in baselines if not record.has(baseline, seed)]
    took: dict[str, list[float]] = {}
    for place, (baseline, seed) in enumerate(wanted):
        started = time.perf_counter()
        watch = train(baseline, seed)
        seconds = time.perf_counter() - started
        versions = {"python": platform.python_version()} | {name: version(name) for name in VERSIONS_OF}
        about = {
            "status": "finished" if watch.reached is None else "reached", "command": command,
            "seconds": round(seconds, 1), "ended": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions,
        }  # fmt: skip
        record.add(baseline, seed, watch.evaluations, about)
        took.setdefault(baseline.curve, []).append(seconds)
        score = SCORES[baseline.environment]
        said = f"never reached {score:g}" if watch.reached is None else f"reached {score:g} at step {watch.reached:,}"
        left = seconds_left([later.curve for later, _ in wanted[place + 1 :]], took)
        when = f"{len(wanted) - place - 1} runs left, about {in_words(left)}"
        progress(f"{baseline.curve}, seed {seed}: {said}, in {in_words(seconds)}; {when}")


def seconds_left(curves: Sequence[str], took: dict[str, list[float]]) -> float:
    """Return how long runs of these curves will take, by those that are done: of the same curve where there are any."""
    everything = [seconds for curve in took.values() for seconds in curve]
    return sum(float(np.mean(took.get(curve, everything))) for curve in curves)


def scheduled(value: Any) -> Any:
    """Turn the zoo's `lin_X` into what falls from X to 0 over the budget."""
    if not isinstance(value, str):
        return value
    first = float(value.removeprefix("lin_"))
    return lambda remaining: first * remaining


def _result_of(playing: Any) -> Evaluation:
    while True:
        try:
            next(playing)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stable_baselines", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="seeds from 100 on")
    parser.add_argument("--out", type=Path, default=Path("results/beyond/baselines"), help="the folder of results")
    parser.add_argument("--algorithms", nargs="+", choices=("dqn", "ppo"), default=["dqn", "ppo"], help="only these")
    asked = parser.parse_args()
    command = f"{parser.prog} --seeds {asked.seeds} --out {asked.out}"
    wanted = [baseline for baseline in ZOO if baseline.algorithm in asked.algorithms]
    try:
        compare(wanted, range(FIRST_HELD_OUT_SEED, FIRST_HELD_OUT_SEED + asked.seeds), Record(asked.out), command)
    except MemecError as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()
