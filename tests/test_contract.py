"""What every agent keeps to, memec's own and others alike."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import memec as package
from memec.agents import AGENTS
from memec.errors import MemecError
from memec.train import Episode, Evaluation, RunFolder
from memec.train.checkpoint import CheckpointSettings
from tests.agents.common import assert_same, contents
from tests.every_agent import EVERY, agent
from tests.train.torture import compare

every_agent = pytest.mark.parametrize("name", EVERY)
OFTEN = CheckpointSettings(every_steps=40)
TORTURE = Path(__file__).with_name("train") / "torture.py"


def episodes(trained: Any, steps: int, **options: Any) -> list[Any]:
    seen: list[Any] = []
    trained.learn(steps, callback=lambda event: seen.append(event) if isinstance(event, Episode) else None, **options)
    return seen


@every_agent
def test_the_same_seed_gives_the_same_run_and_another_another(name: str) -> None:
    one, same, other = agent(name, seed=5), agent(name, seed=5), agent(name, seed=6)
    first = episodes(one, 300)
    assert first and first == episodes(same, 300) != episodes(other, 300)
    assert_same(contents(one), contents(same))


@every_agent
def test_evaluation_changes_nothing(name: str) -> None:
    looked_at, left_alone = agent(name), agent(name)
    assert episodes(looked_at, 300, evaluate_every=37, evaluation_episodes=2) == episodes(left_alone, 300)
    assert_same(contents(looked_at), contents(left_alone))


@every_agent
def test_to_be_asked_changes_nothing(name: str) -> None:
    asked, left_alone = agent(name).learn(200), agent(name).learn(200)
    rng = np.random.default_rng(0)
    for observation in rng.normal(size=(5, 4)).astype(np.float32):
        asked.predict(observation)
        asked.predict(observation, deterministic=False)
        asked.think(observation, asked.world.state_ids(observation[None])[0])
        asked.diagnostics()
    assert_same(contents(asked), contents(left_alone))
    assert episodes(asked, 200) == episodes(left_alone, 200)


def think(trained: Any, observation: Any) -> Any:
    return trained.think(observation, trained.world.state_ids(observation[None])[0])[0].mean


@every_agent
def test_a_saved_agent_comes_back_as_it_was(name: str, tmp_path: Path) -> None:
    trained = agent(name).learn(250)
    trained.save(tmp_path / "agent")
    trained.give_up_episode()  # as loading does
    again = AGENTS[name].load(tmp_path / "agent")
    assert_same(contents(again), contents(trained))
    observations = np.random.default_rng(1).normal(size=(20, 4)).astype(np.float32)
    values = [[think(each, one) for one in observations] for each in (trained, again)]
    np.testing.assert_array_equal(*values)
    assert type(package.load(tmp_path / "agent")) is AGENTS[name]


@every_agent
def test_a_run_stopped_anywhere_goes_on_exactly(name: str, tmp_path: Path) -> None:
    looks: dict[str, Any] = {"evaluate_every": 100, "evaluation_episodes": 2}
    agent(name).learn(400, run=tmp_path / "whole", **looks)
    agent(name).learn(400, run=tmp_path / "parts", **looks, checkpoint=OFTEN, callback=lambda event: event.step < 120)
    record = json.loads((tmp_path / "parts" / "run.json").read_text())
    assert (record["status"], record["reason"]) == ("interrupted", "stopped by its caller")
    for stop in (170, 260):
        agent(name).learn(
            400, resume=tmp_path / "parts", checkpoint=OFTEN, callback=lambda event, stop=stop: event.step < stop
        )
    agent(name).learn(400, resume=tmp_path / "parts")
    compare(tmp_path / "whole", tmp_path / "parts")
    assert RunFolder.open(tmp_path / "parts").record()["status"] == "finished"


@every_agent
def test_a_snapshot_does_not_change_while_training_goes_on(name: str) -> None:
    """It is written beside the training."""
    trained = agent(name).learn(200)
    arrays, about = trained.snapshot()
    rows = {part: journal.rows(journal.first, journal.end) for part, journal in trained.experience().journals().items()}
    copies = {key: array.copy() for key, array in arrays.items()}
    said, copied = json.dumps(about), json.dumps({part: str(columns) for part, columns in rows.items()})
    trained.learn(100)
    assert all(np.array_equal(array, copies[key]) for key, array in arrays.items())
    assert json.dumps(about) == said
    assert json.dumps({part: str(columns) for part, columns in rows.items()}) == copied


@every_agent
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"discount": 1.5}, "discount cannot be 1.5"),
        ({"explore": "melowmax"}, "did you mean 'mellowmax'"),
        ({"explore": {"name": "boltzmann", "temperature": -1}}, "explore.temperature cannot be -1"),
    ],
)
def test_a_bad_setting_is_one_sentence(name: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(MemecError, match=said) as refused:
        agent(name, **options)
    assert "\n" not in str(refused.value)


@every_agent
def test_another_seed_or_environment_is_not_gone_on_with(name: str, tmp_path: Path) -> None:
    agent(name).learn(100, run=tmp_path / "run")
    for other in (agent(name, seed=4), agent(name, env="Acrobot-v1")):
        with pytest.raises(MemecError, match="another seed or environment"):
            other.learn(200, resume=tmp_path / "run")


@every_agent
def test_it_is_evaluated_and_reports_how_it_goes(name: str) -> None:
    looks: list[Evaluation] = []
    trained = agent(name).learn(
        200,
        evaluate_every=100,
        evaluation_episodes=3,
        callback=lambda event: looks.append(event) if isinstance(event, Evaluation) else None,
    )
    assert [(look.step, look.episodes) for look in looks] == [(100, 3), (200, 3)]
    assert all(isinstance(value, float) for value in trained.diagnostics().values())


@every_agent
def test_a_run_that_is_killed_and_resumed_is_the_undisturbed_one(name: str, tmp_path: Path) -> None:
    """Its long form is `make torture`."""
    options = ["--length", "0.5", "--kills", "2", "--every", "20", "--anew", "0", "--folder", str(tmp_path)]
    result = subprocess.run([sys.executable, TORTURE, "--agents", name, *options], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("identical\n") == (3 if name == "vpec" else 4)
