"""The memory explorer, without a browser: its numbers are the agent's own."""

import io
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.watch.conftest import Train

from memec import MFEC
from memec.agents import NEC
from memec.agents.memories import Memories
from memec.envs.rooms import FOUR_ROOM
from memec.errors import MemecError
from memec.experiments.presets import settings_for
from memec.experiments.run import evaluate_run
from memec.experiments.run import run as run_experiment
from memec.train import RunFolder
from memec.watch.explorer import HOW_TO_KEEP, Explorer
from memec.watch.live import live
from memec.watch.trained import load_trained
from memec.watch.video import record_video


def assert_same(shown: dict[str, Any], memories: Memories) -> None:
    assert shown["value"] == memories.value and shown["exact"] == memories.exact
    for name in ("distances", "weights", "returns", "steps"):
        assert shown[name] == getattr(memories, name).tolist()


def test_what_is_shown_is_what_recall_says(cart_run: Path) -> None:
    explorer = Explorer(cart_run)
    agent = load_trained(cart_run).agent
    assert isinstance(agent, MFEC)
    shown = explorer.moment(3, False, 4)
    observation = np.array(shown["observation"], np.float32)
    for action, memories in enumerate(agent.recall(observation)):
        assert_same(shown["memories"][action], memories)
        assert shown["values"][action] == memories.value


def test_the_strategy_is_shown_as_it_would_choose(cart_run: Path) -> None:
    explorer = Explorer(cart_run)
    shown = explorer.moment(0, False, 2)
    belief = np.array(shown["values"]) + np.array(shown["std"])
    assert shown["policy"] == [float(action == belief.argmax()) for action in range(2)]
    assert sum(shown["policy"]) == pytest.approx(1.0)


def test_a_greedy_episode_takes_the_best_action_and_ends_as_evaluated(room_run: Path) -> None:
    explorer = Explorer(room_run)
    played = explorer.episode(3, False)
    assert played["scores"][-1] == evaluate_run(room_run, 1).mean_score == 1.0
    assert played["actions"] == ["north", "east", "south", "west"] and played["chosen"][-1] is None
    for number, action in enumerate(played["chosen"][:-1]):
        values = explorer.moment(3, False, number)["values"]
        assert values[action] == max(values)


def test_exploring_differs_from_greedy_and_both_are_the_same_again(room_run: Path) -> None:
    first, second = (Explorer(room_run) for _ in range(2))
    for exploring in (False, True):
        assert first.episode(5, exploring) == second.episode(5, exploring)
    assert first.episode(5, False)["chosen"] != first.episode(5, True)["chosen"]


def test_a_moment_outside_the_episode_is_refused(room_run: Path) -> None:
    with pytest.raises(MemecError, match="moments 0 to"):
        Explorer(room_run).moment(0, False, 5_000)


def test_the_map_of_a_room_has_every_cell_with_the_values_of_the_agent(room_run: Path) -> None:
    explorer = Explorer(room_run)
    cells = explorer.map()["cells"]
    assert len(cells) == sum(row.count(".") for row in FOUR_ROOM)
    agent = explorer.agent
    assert isinstance(agent, MFEC)
    for cell in cells:
        memories = agent.recall(np.array([cell["x"], cell["y"]], np.float32))
        assert cell["values"] == [one.value for one in memories]
        assert cell["known"] == [one.exact for one in memories]
        assert all(cell["values"][best] == max(cell["values"]) for best in cell["best"])


def test_the_map_of_other_worlds_is_a_plane_in_which_the_moment_has_its_place(cart_run: Path) -> None:
    explorer = Explorer(cart_run)
    points = explorer.map()
    assert len(points["x"]) == min(3_000, points["entries"]) and 0.0 < points["explained"] <= 1.0
    assert explorer.moment(0, False, 0)["place"] is not None


def test_memories_of_rooms_and_carts_are_drawn_from_their_keys(room_run: Path, cart_run: Path) -> None:
    for run in (room_run, cart_run):
        explorer = Explorer(run)
        assert explorer.episode(0, False)["note"] == ""
        found = explorer.moment(0, False, 1)["memories"][0]
        assert all(found["pictures"])
        file = explorer.memory_picture(found["slots"][0])
        assert file is not None and max(Image.open(io.BytesIO(file)).size) <= 168


def test_kept_frames_are_what_was_seen_and_others_are_asked_for(pong_runs: dict[bool, Path]) -> None:
    kept, not_kept = Explorer(pong_runs[True]), Explorer(pong_runs[False])
    assert kept.episode(0, False)["note"] == "" and not_kept.episode(0, False)["note"] == HOW_TO_KEEP
    first, second = (explorer.moment(0, False, 3) for explorer in (kept, not_kept))
    assert first["values"] == second["values"]
    assert any(any(one["pictures"]) for one in first["memories"])
    assert not any(any(one["pictures"]) for one in second["memories"])
    slot = next(
        slot for one in first["memories"] for slot, there in zip(one["slots"], one["pictures"], strict=True) if there
    )
    file = kept.memory_picture(slot)
    assert file is not None and Image.open(io.BytesIO(file)).size == (84, 84)
    assert not_kept.memory_picture(slot) is None and kept.memory_picture(10**9) is None


@pytest.mark.parametrize("agent", ["nec", "d3qn"])
def test_agents_with_networks_are_shown_too(train: Any, agent: str) -> None:
    run = train("CartPole-v1", "vector", 400, agent=agent, train_start_steps=100)
    explorer = Explorer(run)
    assert explorer.episode(0, False)["note"] != ""
    shown = explorer.moment(0, False, 0)
    assert len(shown["values"]) == 2 and sum(shown["policy"]) == pytest.approx(1.0)
    if isinstance(explorer.agent, NEC):
        recalled = explorer.agent.recall(np.array(shown["observation"], np.float32))
        for mine, memories in zip(shown["memories"], recalled, strict=True):
            assert_same(mine, memories)
    else:
        assert shown["memories"] == [] and explorer.map() == {"kind": "none"}


def test_a_world_that_cannot_be_drawn_is_shown_by_its_numbers_and_not_filmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain_world.py").write_text(
        "import gymnasium, numpy\n"
        "class Plain(gymnasium.Env):\n"
        "    action_space = gymnasium.spaces.Discrete(2, start=3)\n"
        "    observation_space = gymnasium.spaces.Dict({'where': gymnasium.spaces.Discrete(5)})\n"
        "    def reset(self, *, seed=None, options=None):\n"
        "        self.at = 0\n"
        "        return {'where': 0}, {}\n"
        "    def step(self, action):\n"
        "        self.at += 1\n"
        "        return {'where': self.at}, float(action), self.at == 4, False, {}\n"
        "gymnasium.register('Plain-v0', Plain)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    env = "plain_world:Plain-v0"
    training = {"steps": 200, "evaluate_every_steps": 0}
    run_experiment(
        settings_for(env, "discrete", changes={"training": training}), tmp_path / "run", preset="own", progress=False
    )
    explorer = Explorer(tmp_path / "run", env)
    played = explorer.episode(0, False)
    assert played["actions"] == ["action 3", "action 4"] and played["scores"][-1] == 16.0
    assert not played["drawn"] and "cannot be drawn" in played["note"]
    assert explorer.moment(0, False, 1)["observation"] == [0.0, 1.0, 0.0, 0.0, 0.0]
    assert explorer.moment_picture(0, False, 1) is None and explorer.map()["kind"] == "points"
    with pytest.raises(MemecError, match="cannot be filmed"):
        record_video(tmp_path / "run", tmp_path / "film.mp4", env=env)
    assert not (tmp_path / "film.mp4").exists()


def test_looking_locks_nothing_and_changes_no_byte(room_run: Path) -> None:
    def digests() -> dict[Path, str]:
        return {file: sha256(file.read_bytes()).hexdigest() for file in room_run.rglob("*") if file.is_file()}

    with RunFolder.open(room_run).only_writer():  # as a training process holds it
        before = digests()
        explorer = Explorer(room_run)
        explorer.episode(0, False)
        explorer.moment(0, False, 0)
        explorer.map()
        live(room_run)
        assert digests() == before


def copy_of(run: Path, folder: Path) -> Path:
    folder.mkdir()
    for name in ("run.json", "episodes.csv", "evaluations.csv", "diary.jsonl"):
        (folder / name).write_bytes((run / name).read_bytes())
    return folder


def test_a_run_without_evaluations_or_checkpoints_yet_is_shown_as_far_as_it_is(room_run: Path, tmp_path: Path) -> None:
    run = copy_of(room_run, tmp_path / "run")
    for name in ("episodes.csv", "evaluations.csv"):
        (run / name).write_text((run / name).read_text().splitlines()[0] + "\n")
    (run / "diary.jsonl").unlink()
    shown = live(run)
    assert shown["evaluation"] is None and shown["score"] is None and shown["checkpoint"] is None
    assert shown["step"] == 0 and shown["speed"] is None
    with pytest.raises(MemecError, match="no checkpoint"):
        Explorer(run)


def test_lines_cut_in_half_are_passed_over(room_run: Path, tmp_path: Path) -> None:
    run = copy_of(room_run, tmp_path / "run")
    whole = live(run)
    for name, half in (("episodes.csv", "6100,1"), ("evaluations.csv", "6500,2,1.0,0."), ("diary.jsonl", '{"step": 9')):
        with (run / name).open("a") as file:
            file.write(half)
    assert live(run) == whole


def test_a_module_named_by_a_run_is_imported_only_if_the_user_names_it(
    room_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = copy_of(room_run, tmp_path / "run")
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    record = json.loads((run / "run.json").read_text())
    record.pop("digest", None)
    record["settings"]["environment"]["id"] = "evil:Env-v0"
    (run / "run.json").write_text(json.dumps(record))
    assert live(run)["environment"] == "evil:Env-v0"
    with pytest.raises(MemecError, match="--env evil:Env-v0"):
        Explorer(run)


def test_what_came_of_a_memory_is_shown_with_how_often(train: Train) -> None:
    run = train("FrozenLake-v1", "discrete", 2_000, agent="vpec")
    shown = Explorer(run).moment(0, False, 0)["memories"]
    for action, memories in enumerate(load_trained(run).agent.recall(0)):
        assert shown[action]["outcomes"] == [
            [(one.count, one.reward, one.terminated) for one in came] for came in memories.outcomes
        ]
    assert max(len(came) for one in shown for came in one["outcomes"]) > 1
