"""Several environments side by side: as exact as one."""

import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from memec import MFEC, VPEC, make
from memec.agents import AGENTS
from memec.envs.lanes import InProcess, Pace, engine_for
from memec.envs.workers import InWorkers
from memec.errors import MemecError
from memec.train import Episode, Evaluation, RunFolder
from memec.train.checkpoint import CheckpointSettings
from tests.agents.common import assert_same, contents
from tests.command import Memec
from tests.every_agent import EVERY, agent
from tests.train.torture import compare

every_agent = pytest.mark.parametrize("name", EVERY)
OFTEN = CheckpointSettings(every_steps=40)


def episodes(trained: Any, steps: int, **options: Any) -> list[Any]:
    seen: list[Any] = []
    trained.learn(steps, callback=lambda event: seen.append(event) if isinstance(event, Episode) else None, **options)
    return seen


@every_agent
def test_the_same_seed_and_number_give_the_same_run(name: str) -> None:
    one, same, other = (agent(name, environments=count) for count in (3, 3, 2))
    first = episodes(one, 300)
    assert first and first == episodes(same, 300) != episodes(other, 300)
    assert_same(contents(one), contents(same))


@every_agent
def test_evaluation_changes_nothing(name: str) -> None:
    looked_at, left_alone = agent(name, environments=3), agent(name, environments=3)
    assert episodes(looked_at, 300, evaluate_every=37, evaluation_episodes=2) == episodes(left_alone, 300)
    assert_same(contents(looked_at), contents(left_alone))


@every_agent
def test_a_run_stopped_anywhere_goes_on_exactly(name: str, tmp_path: Path) -> None:
    looks: dict[str, Any] = {"evaluate_every": 100, "evaluation_episodes": 2}
    three = partial(agent, name, environments=3)
    three().learn(400, run=tmp_path / "whole", **looks)
    three().learn(400, run=tmp_path / "parts", **looks, checkpoint=OFTEN, callback=lambda event: event.step < 120)
    three().learn(400, resume=tmp_path / "parts", checkpoint=OFTEN, callback=lambda event: event.step < 260)
    three().learn(400, resume=tmp_path / "parts")
    compare(tmp_path / "whole", tmp_path / "parts")
    assert RunFolder.open(tmp_path / "parts").record()["settings"]["training"]["environments"] == 3


@pytest.mark.parametrize("explore", ["ucb-calibrated", "mellowmax-auto"])
def test_what_a_strategy_waits_for_is_kept_for_each_environment(explore: str, tmp_path: Path) -> None:
    three = partial(agent, "mfec", environments=3, explore=explore)
    three().learn(400, run=tmp_path / "whole")
    three().learn(400, run=tmp_path / "parts", checkpoint=OFTEN, callback=lambda event: event.step < 150)
    three().learn(400, resume=tmp_path / "parts")
    compare(tmp_path / "whole", tmp_path / "parts")


def test_a_round_in_which_several_episodes_end_loses_none_of_them(tmp_path: Path) -> None:
    """The rooms end after 100 steps: three at once. A reader that leaves at the first has not seen the others."""
    three = partial(VPEC, "memec/FourRoom-v0", seed=1, environments=3, memory={"capacity": 64})
    three().learn(900, run=tmp_path / "whole")
    three().learn(900, run=tmp_path / "parts", callback=lambda event: not isinstance(event, Episode))
    for _ in range(2):
        three().learn(900, resume=tmp_path / "parts", callback=lambda event: not isinstance(event, Episode))
    three().learn(900, resume=tmp_path / "parts")
    compare(tmp_path / "whole", tmp_path / "parts")


def test_steps_and_what_is_due_at_them_are_counted_in_all_environments() -> None:
    seen: list[Any] = []
    trained = agent("mfec", environments=3)
    trained.learn(100, evaluate_every=50, evaluation_episodes=1, callback=seen.append)
    assert trained.steps == 102 == trained.decisions.count
    assert [event.step for event in seen if isinstance(event, Evaluation)] == [51, 102]


def test_a_killed_run_goes_on_exactly(tmp_path: Path) -> None:
    three = partial(agent, "mfec", environments=3)
    three().learn(3_000, run=tmp_path / "whole")
    child = os.fork()
    if child == 0:
        three().learn(3_000, run=tmp_path / "killed", checkpoint=OFTEN)
        os._exit(0)
    checkpoints = tmp_path / "killed" / "checkpoint"
    while len(list(checkpoints.glob("step-*.safetensors"))) < 2:
        pass
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert three().learn(3_000, resume=tmp_path / "killed").steps == 3_000
    compare(tmp_path / "whole", tmp_path / "killed")


def test_a_vector_environment_that_is_reset_by_us_gives_the_same_episodes() -> None:
    make = partial(gymnasium.make, "CartPole-v1")
    for kind in (SyncVectorEnv, AsyncVectorEnv):
        env = kind([make] * 3, autoreset_mode=AutoresetMode.DISABLED)
        theirs, ours = agent("mfec", env=env), agent("mfec", environments=3)
        assert episodes(theirs, 300) == episodes(ours, 300)
        assert_same(contents(theirs), contents(ours))
        env.close()


def test_in_threads_the_run_is_the_same() -> None:
    here, elsewhere = (agent("mfec", environments=3, engine=engine) for engine in ("process", "threads"))
    assert episodes(here, 300) == episodes(elsewhere, 300)
    assert_same(contents(here), contents(elsewhere))


def test_workers_take_over_games_under_way_and_one_that_dies_is_replaced(monkeypatch: Any) -> None:
    monkeypatch.setattr("memec.train.lanes.TIMED_SECONDS", 0.0)  # after the first round
    monkeypatch.setattr("memec.train.lanes.engine_for", lambda worlds, pace: ("workers", "elsewhere"))
    here, elsewhere = agent("mfec", environments=3, engine="process"), agent("mfec", environments=3)
    assert episodes(here, 200) == episodes(elsewhere, 200)
    worlds = elsewhere._loop._worlds
    assert isinstance(worlds, InWorkers)
    os.kill(worlds.processes[0], signal.SIGKILL)
    assert episodes(here, 100) == episodes(elsewhere, 100)
    assert_same(contents(here), contents(elsewhere))
    worlds.close()


@pytest.mark.parametrize(
    ("pace", "engine"),
    [
        (Pace(steps=100, seconds=0.002, processor_seconds=0.002), "process"),
        (Pace(steps=100, seconds=0.5, processor_seconds=0.01, waits=100), "threads"),
        (Pace(steps=100, seconds=0.5, processor_seconds=0.5), "workers"),
        (Pace(steps=100, seconds=0.5, processor_seconds=0.1), "workers"),  # others are at work on this machine
        (Pace(steps=100, seconds=0.5, processor_seconds=0.002), "process"),
    ],
)
def test_where_environments_are_played_follows_from_what_their_first_steps_took(
    pace: Pace, engine: str, monkeypatch: Any
) -> None:
    monkeypatch.setattr("memec.envs.lanes.processors", lambda: 4)
    chosen, why = engine_for(InProcess([make("CartPole-v1"), make("CartPole-v1")]), pace)
    assert chosen == engine
    assert why.startswith("in ")


def test_a_vector_environment_begins_new_games_when_a_run_goes_on(tmp_path: Path) -> None:
    theirs = [SyncVectorEnv([Corridor] * 2, autoreset_mode=mode) for mode in AutoresetMode]
    for at, env in enumerate(theirs):
        run = tmp_path / str(at)
        agent("mfec", env=env).learn(101, run=run)
        again = agent("mfec", env=env)
        with pytest.warns(UserWarning, match="those under way are given up"):
            again.learn(200, resume=run)
        assert again.steps >= 200


class Corridor(gymnasium.Env[Any, Any]):
    """Begins the same way every time: whoever resets it, with whatever seed, gets the same episode."""

    observation_space = gymnasium.spaces.Box(-9.0, 9.0, (1,))
    action_space = gymnasium.spaces.Discrete(2, start=1)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.at, self.steps = 0, 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.at += 1 if action == 2 else -1
        self.steps += 1
        return np.array([self.at], np.float32), float(self.at), abs(self.at) > 3, self.steps >= 12, {}


def scores(env: Any, **options: Any) -> tuple[list[Any], dict[str, Any]]:
    trained = MFEC(env, seed=1, explore="boltzmann", truncation="bootstrap", **options)
    found = [(episode.score, episode.length) for episode in episodes(trained, 400)]
    return found, contents(trained)


def test_each_way_of_resetting_gives_the_same_episodes() -> None:
    by_mode = {mode: scores(SyncVectorEnv([Corridor] * 2, autoreset_mode=mode)) for mode in AutoresetMode}
    ours, learned = by_mode[AutoresetMode.DISABLED]
    assert len(ours) > 20
    assert by_mode[AutoresetMode.SAME_STEP][0] == ours
    assert_same(by_mode[AutoresetMode.SAME_STEP][1], learned)
    later, _ = by_mode[AutoresetMode.NEXT_STEP]
    assert later[:2] == ours[:2]  # then its rounds are no longer those of the others
    assert {length for _, length in later} <= set(range(4, 13))


def test_environments_of_stable_baselines_are_taken(tmp_path: Path) -> None:
    env_util = pytest.importorskip("stable_baselines3.common.env_util")
    theirs = agent("mfec", env=env_util.make_vec_env("CartPole-v1", n_envs=3, seed=0))
    assert len(episodes(theirs, 300, evaluate_every=150, evaluation_episodes=1)) > 3
    corridors = env_util.make_vec_env(Corridor, n_envs=2)
    theirs_too, learned = scores(corridors)
    ours, ours_learned = scores(SyncVectorEnv([Corridor] * 2, autoreset_mode=AutoresetMode.DISABLED))
    assert theirs_too == ours
    assert_same(learned, ours_learned)


def test_a_vector_environment_of_its_own_kind_is_taken_and_saved(tmp_path: Path) -> None:
    trained = agent("vpec", env=gymnasium.make_vec("CartPole-v1", num_envs=4))
    assert (trained.environments, len(episodes(trained, 300)) > 3) == (4, True)
    trained.save(tmp_path / "agent")
    again = AGENTS["vpec"].load(tmp_path / "agent")
    observations = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    np.testing.assert_array_equal(trained.predict(observations)[0], again.predict(observations)[0])


class Observing:
    """A strategy that takes what it observes for one episode."""

    def choose(self, belief: Any, step: int, rng: Any) -> int:
        return 0

    def observe(self, reward: float, over: bool) -> None:
        pass


@pytest.mark.parametrize(
    ("name", "env", "options", "said"),
    [
        ("mfec", "CartPole-v1", {"environments": 0}, "environments=0"),
        ("mfec", "CartPole-v1", {"environments": 2, "memory": {"keep_frames": 5}}, "leave keep_frames out"),
        ("mfec", "CartPole-v1", {"environments": 2, "explore": Observing()}, "observes one episode at a time"),
        ("mfec", "CartPole-v1", {"environments": 2, "engine": "worker"}, "did you mean 'workers'"),
        ("mfec", Corridor(), {"environments": 2}, "pass a vector environment"),
        ("mfec", SyncVectorEnv([Corridor] * 2), {"environments": 3}, "holds 2 environments"),
    ],
)
def test_what_takes_one_environment_says_so(name: str, env: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(MemecError, match=said) as refused:
        agent(name, env=env, **options)
    assert "\n" not in str(refused.value)


def test_an_agent_that_has_no_place_for_several_episodes_says_so(monkeypatch: Any) -> None:
    monkeypatch.delattr(AGENTS["monte-carlo"], "beside")
    with pytest.raises(MemecError, match="monte-carlo learns in one environment at a time"):
        agent("monte-carlo", environments=2)


def test_a_run_keeps_its_number_of_environments(tmp_path: Path) -> None:
    agent("mfec", environments=3).learn(60, run=tmp_path / "run")
    with pytest.raises(MemecError, match="plays in 3 environments at once"):
        agent("mfec").learn(120, resume=tmp_path / "run")


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_the_vector_environment_of_the_emulator_is_taken(mode: AutoresetMode) -> None:
    vector_env = pytest.importorskip("ale_py.vector_env")
    env = vector_env.AtariVectorEnv("pong", num_envs=2, max_num_frames_per_episode=80, autoreset_mode=mode, noop_max=0)
    found = episodes(MFEC(env, seed=1, explore="boltzmann", memory={"capacity": 500}), 120)
    assert len(found) >= 4
    assert {episode.length for episode in found} == {found[0].length}
    env.close()


def test_a_run_in_several_environments_can_be_verified(memec: Memec, tmp_path: Path) -> None:
    words = ["--agent", "mfec", "--environments", "3", "--evaluate-every", "100", "--seed", "1"]
    run = tmp_path / "run"
    assert (
        memec("train", "memec/FourRoom-v0", "--steps", "400", *words, "--out", run).status == 0
    )  # 402 in whole rounds
    told = memec("verify", run)
    assert told.status == 0, told.out
    assert "The same" in told.out
    assert memec("train", "--resume", run, "--steps", "500", "--engine", "threads").status == 0
    assert memec("train", "--resume", run, "--environments", "2").status == 2
