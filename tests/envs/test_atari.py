"""Atari is played by the protocol of DQN, repeatably, and can be continued anywhere."""

from collections.abc import Iterator

import ale_py
import cv2
import numpy as np
import pytest
from ale_py import roms
from gymnasium.utils.env_checker import check_env

from memec.envs.atari import Atari
from memec.errors import MemecError

PAPER_GAMES = {
    "ALE/Pong-v5": "pong",
    "ALE/SpaceInvaders-v5": "space_invaders",
    "ALE/Qbert-v5": "qbert",
    "ALE/Bowling-v5": "bowling",
    "ALE/MsPacman-v5": "ms_pacman",
}


def play(game: Atari, steps: int, seed: int) -> Iterator[tuple[bytes, bytes, float, bool, bool, int]]:
    """Random play, over as many episodes as it takes: what was seen, the console's memory, rewards and ends."""
    choices = np.random.default_rng(seed)
    for _ in range(steps):
        frames, reward, terminated, truncated, info = game.step(int(choices.integers(game.action_space.n)))
        yield frames.tobytes(), game.ram().tobytes(), reward, terminated, truncated, info["lives"]
        if terminated or truncated:
            frames, info = game.reset()
            yield frames.tobytes(), game.ram().tobytes(), 0.0, False, False, info["lives"]


def play_to_the_end(game: Atari, seed: int) -> tuple[bool, dict]:
    """Random play until the episode ends: whether it was terminated, and the last info."""
    choices = np.random.default_rng(seed)
    while True:
        _, _, terminated, truncated, info = game.step(int(choices.integers(game.action_space.n)))
        if terminated or truncated:
            return terminated, info


@pytest.mark.parametrize("id", PAPER_GAMES)
def test_a_step_is_four_frames_and_shows_the_maximum_of_the_last_two(id: str) -> None:
    emulator = ale_py.ALEInterface()
    emulator.setFloat("repeat_action_probability", 0.0)
    emulator.loadROM(roms.get_rom_path(PAPER_GAMES[id]))
    emulator.reset_game()
    emulator.act(0)
    actions = emulator.getMinimalActionSet()

    def small(screen: np.ndarray) -> np.ndarray:
        return cv2.resize(screen, (84, 84), interpolation=cv2.INTER_AREA)

    game = Atari(id, most_no_ops=1)
    assert game.action_space.n == len(actions)
    observation, _ = game.reset(seed=0)
    pictures = [np.zeros((84, 84), np.uint8)] * 3 + [small(emulator.getScreenGrayscale())]
    assert np.array_equal(observation, pictures)
    choices = np.random.default_rng(0)
    for _ in range(60):
        action = int(choices.integers(len(actions)))
        reward, screens = 0, []
        for _ in range(4):
            reward += emulator.act(actions[action])
            screens.append(emulator.getScreenGrayscale())
        pictures = [*pictures[1:], small(np.maximum(screens[2], screens[3]))]
        observation, given_reward, *_ = game.step(action)
        assert observation.shape == (4, 84, 84) and observation.dtype == np.uint8
        assert np.array_equal(observation, pictures)
        assert given_reward == reward
        assert np.array_equal(game.ram(), emulator.getRAM())


def test_a_new_game_begins_with_one_to_thirty_frames_of_nothing() -> None:
    game = Atari("ALE/Pong-v5")
    begun_at = [game.reset(seed=seed)[1]["frame"] for seed in range(60)]
    assert min(begun_at) >= 1 and max(begun_at) <= 30
    assert len(set(begun_at)) > 15


def test_rewards_are_not_clipped() -> None:
    game = Atari("ALE/Qbert-v5")
    game.reset(seed=0)
    assert max(reward for _, _, reward, *_ in play(game, 200, seed=0)) >= 25


@pytest.mark.parametrize("id", ["ALE/SpaceInvaders-v5", "ALE/Qbert-v5", "ALE/MsPacman-v5"])
def test_in_training_a_lost_life_ends_the_episode_while_the_game_goes_on(id: str) -> None:
    game = Atari(id, life_loss_ends_episode=True)
    _, begun = game.reset(seed=1)
    lives = begun["lives"]
    for episode in range(20):
        terminated, lost = play_to_the_end(game, seed=episode)
        assert terminated
        stack, continued = game.reset()
        assert not stack[:3].any() and stack[3].any()
        if lost["game_over"]:
            break
        assert lost["lives"] < lives
        assert continued["lives"] == lost["lives"]
        assert continued["frame"] == lost["frame"] + 1  # one no-op
        lives = lost["lives"]
    assert lost["game_over"]
    assert episode >= 1  # more than one life was played
    assert continued["lives"] == begun["lives"] and continued["frame"] <= 30


@pytest.mark.parametrize("no_op", [True, False])
@pytest.mark.parametrize("empty_stack", [True, False])
def test_after_a_lost_life_the_game_goes_on_as_told(no_op: bool, empty_stack: bool) -> None:
    game = Atari(
        "ALE/Qbert-v5",
        life_loss_ends_episode=True,
        no_op_after_life_loss=no_op,
        empty_stack_after_life_loss=empty_stack,
    )
    whole_games = Atari("ALE/Qbert-v5")
    seen, _ = game.reset(seed=1)
    whole_games.reset(seed=1)
    terminated = False
    actions = np.random.default_rng(0)
    while not terminated:
        action = int(actions.integers(6))
        seen, _, terminated, _, lost = game.step(action)
        same, *_ = whole_games.step(action)
    assert not lost["game_over"] and np.array_equal(seen, same)
    stack, info = game.reset()
    assert info["frame"] == lost["frame"] + no_op
    before = seen[1:] if no_op else seen[:3]  # a no-op shows one frame more
    assert np.array_equal(stack[:3], np.zeros_like(before) if empty_stack else before)
    assert no_op or np.array_equal(stack[3], seen[3])
    if not no_op and not empty_stack:  # then training sees what evaluation does, on and on
        for action in [1, 2, 3, 4, 5] * 3:
            assert np.array_equal(game.step(action)[0], whole_games.step(action)[0])


@pytest.mark.parametrize("id", ["ALE/SpaceInvaders-v5", "ALE/Qbert-v5", "ALE/MsPacman-v5"])
def test_evaluation_plays_whole_games(id: str) -> None:
    game = Atari(id)
    _, begun = game.reset(seed=1)
    terminated, ended = play_to_the_end(game, seed=0)
    assert terminated and ended["game_over"] and ended["lives"] == 0 < begun["lives"]


def test_a_new_game_can_be_forced_after_a_lost_life() -> None:
    game = Atari("ALE/Qbert-v5", life_loss_ends_episode=True)
    _, begun = game.reset(seed=1)
    play_to_the_end(game, seed=0)
    _, info = game.reset(options={"new_game": True})
    assert info["lives"] == begun["lives"] and info["frame"] <= 30


def test_a_reset_in_the_middle_of_a_life_begins_a_new_game() -> None:
    game = Atari("ALE/Qbert-v5", life_loss_ends_episode=True)
    game.reset(seed=1)
    for _ in range(20):
        game.step(0)
    assert game.reset()[1]["frame"] <= 30


@pytest.mark.parametrize("sticky_actions", [0.0, 0.25])
@pytest.mark.parametrize("id", ["ALE/Qbert-v5", "ALE/Assault-v5"])  # Assault's own reset remembers the last game
def test_the_same_seed_and_actions_give_the_same_game_whatever_was_played_before(
    id: str, sticky_actions: float
) -> None:
    game = Atari(id, life_loss_ends_episode=True, sticky_actions=sticky_actions)
    game.reset(seed=5)
    first = list(play(game, 120, seed=0))
    game.reset()
    list(play(game, 150, seed=1))
    game.reset(seed=5)
    assert list(play(game, 120, seed=0)) == first
    other = Atari(id, life_loss_ends_episode=True, sticky_actions=sticky_actions)
    other.reset(seed=5)
    assert list(play(other, 120, seed=0)) == first


def test_different_seeds_give_different_games() -> None:
    game = Atari("ALE/Pong-v5", most_no_ops=1, sticky_actions=0.25)
    games = []
    for seed in (0, 1):
        game.reset(seed=seed)
        games.append(list(play(game, 60, seed=0)))
    assert games[0] != games[1]


def test_sticky_actions_repeat_the_previous_action_as_often_as_told(monkeypatch: pytest.MonkeyPatch) -> None:
    game = Atari("ALE/Pong-v5", sticky_actions=0.25)
    game.reset(seed=0)
    pressed: list[int] = []

    class Recorder:
        def __init__(self, emulator: ale_py.ALEInterface) -> None:
            self.emulator = emulator

        def act(self, button: int) -> int:
            pressed.append(button)
            return self.emulator.act(button)

        def __getattr__(self, name: str) -> object:
            return getattr(self.emulator, name)

    monkeypatch.setattr(game, "_emulator", Recorder(game._emulator))
    wanted = []
    for step in range(400):
        game.step(step % 2)
        wanted += [game._actions[step % 2]] * 4
    # A new action comes late at a step's first frame with probability 1/4, and still at its second with 1/16.
    late = [pressed[frame] != wanted[frame] for frame in range(4, 1600, 4)]
    assert 0.15 < np.mean(late) < 0.35
    later = [pressed[frame] != wanted[frame] for frame in range(5, 1600, 4)]
    assert 0.02 < np.mean(later) < 0.12


def test_a_game_is_truncated_at_its_frame_limit() -> None:
    game = Atari("ALE/Bowling-v5", frame_limit=200)
    _, begun = game.reset(seed=0)
    terminated, ended = play_to_the_end(game, seed=0)
    assert not terminated and ended["game_over"]
    assert 200 <= ended["frame"] < 204
    assert game.reset()[1]["frame"] <= 30 and begun["frame"] <= 30


def test_the_limit_is_half_an_hour_of_play_unless_told_otherwise() -> None:
    assert Atari("ALE/Pong-v5").frame_limit == 108_000 == 30 * 60 * 60


def test_handing_out_observations_does_not_let_anyone_change_the_stack() -> None:
    game = Atari("ALE/Pong-v5")
    observation, _ = game.reset(seed=0)
    kept = observation.copy()
    observation[:] = 7
    assert np.array_equal(game.step(0)[0][2], kept[3])


def test_gymnasium_finds_nothing_to_complain_about() -> None:
    check_env(Atari("ALE/Pong-v5", render_mode="rgb_array"), skip_render_check=True)


def test_the_picture_is_the_colour_screen() -> None:
    game = Atari("ALE/MsPacman-v5", render_mode="rgb_array")
    game.reset(seed=0)
    screen = game.render()
    assert screen.shape == (210, 160, 3) and screen.dtype == np.uint8 and screen.std() > 10
    assert Atari("ALE/MsPacman-v5").render() is None


def test_the_emulator_is_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    Atari("ALE/Pong-v5").reset(seed=0)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("id", ["ALE/Breakout-v5", "ALE/Qbert-v5", "ALE/Bowling-v5"])
def test_games_that_wait_for_the_fire_button_offer_it(id: str) -> None:
    assert ale_py.Action.FIRE.value in Atari(id)._actions


@pytest.mark.parametrize(
    ("id", "options", "sentence"),
    [
        ("ALE/Pongo-v5", {}, "did you mean 'ALE/Pong-v5'"),
        ("CartPole-v1", {}, "Unknown Atari game 'CartPole-v1'"),
        ("ALE/Pong-v5", {"render_mode": "human"}, "choose rgb_array"),
        ("ALE/Pong-v5", {"most_no_ops": 0}, "at least one frame of no-op"),
        ("ALE/Pong-v5", {"sticky_actions": 1.5}, "probability below 1, not 1.5"),
    ],
)
def test_a_wrong_setting_is_answered_with_a_right_one(id: str, options: dict, sentence: str) -> None:
    with pytest.raises(MemecError, match=sentence):
        Atari(id, **options)


@pytest.mark.parametrize("action", [-1, 6])
def test_an_action_that_does_not_exist_is_refused(action: int) -> None:
    game = Atari("ALE/Pong-v5")
    game.reset(seed=0)
    with pytest.raises(MemecError, match="actions 0 to 5"):
        game.step(action)
