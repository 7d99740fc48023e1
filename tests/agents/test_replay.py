"""The replays against a list of whole observations."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from memec.agents import D3QN
from memec.agents.replay import Observations, ReturnReplay, TransitionReplay
from memec.envs.world import make
from memec.errors import MemecError

FRAME = (5, 6)


def stacks(kind: str, episodes: list[int]) -> list[np.ndarray]:
    """Episodes of stacked frames, begun as DQN does (zeros), as Gymnasium does (repeated), or not stacks at all."""
    random = np.random.default_rng(0)
    seen: list[np.ndarray] = []
    for length in episodes:
        first = random.integers(0, 2, FRAME, np.uint8)  # few distinct values: frames repeat, and some are black
        stack = np.zeros((4, *FRAME), np.uint8) if kind == "zeros" else np.stack([first] * 4)
        stack[-1] = first
        for _ in range(length):
            seen.append(stack.copy())
            stack[:-1] = stack[1:]
            stack[-1] = random.integers(0, 200, FRAME, np.uint8) if random.random() < 0.8 else 0
            if kind == "unrelated":
                stack = random.integers(0, 200, stack.shape, np.uint8)
    return seen


@pytest.mark.parametrize("kind", ["zeros", "repeated", "unrelated"])
@pytest.mark.parametrize("capacity", [7, 40, 1_000])
def test_stacks_come_out_as_they_went_in(kind: str, capacity: int) -> None:
    ring = Observations(capacity, (4, *FRAME), np.uint8)
    seen = stacks(kind, [1, 2, 30, 9, 50])
    for count, stack in enumerate(seen, start=1):
        ring.append(stack)
        numbers = np.arange(ring.first, ring.end)
        assert ring.end == count and 0 < len(numbers) <= capacity
        np.testing.assert_array_equal(ring.take(numbers), np.stack(seen)[numbers])
    if kind != "unrelated":
        assert len(ring) == min(capacity, len(seen))


def test_each_frame_is_stored_once() -> None:
    ring = Observations(100, (4, *FRAME), np.uint8)
    for stack in stacks("zeros", [30, 30, 30]):
        ring.append(stack)
    assert ring._pieces.nbytes == (100 + 3) * 30
    assert ring._frames_end <= 90


@pytest.mark.parametrize(("shape", "dtype"), [((3,), np.float32), ((36, 40, 3), np.uint8), ((40, 40), np.uint8)])
def test_other_observations_come_out_as_they_went_in(shape: tuple[int, ...], dtype: Any) -> None:
    random = np.random.default_rng(0)
    seen = (100 * random.random((30, *shape))).astype(dtype)
    ring = Observations(12, shape, dtype)
    for observation in seen:
        ring.append(observation)
    np.testing.assert_array_equal(ring.take(np.arange(18, 30)), seen[18:])


def test_a_game_of_lives_is_replayed_exactly() -> None:
    world = make("ALE/Breakout-v5")
    random = np.random.default_rng(0)
    ring = Observations(200, world.observation.shape, np.uint8)
    observation = world.reset(seed=1)
    seen = []
    lives_lost = 0
    for _ in range(320):
        ring.append(observation)
        seen.append(observation)
        observation, _, terminated, truncated = world.step(int(random.integers(world.actions)))
        if terminated or truncated:
            lives_lost += 1
            observation = world.reset()
    assert lives_lost > 2
    numbers = np.arange(ring.first, ring.end)
    assert len(numbers) == 200
    np.testing.assert_array_equal(ring.take(numbers), np.stack(seen)[numbers])


def test_returns_are_sampled_with_their_states_and_actions() -> None:
    replay = ReturnReplay(20, (1,), np.float32, 3)
    for number in range(50):
        replay.append(np.array([number], np.float32), number % 3, 10.0 * number)
    batch = replay.sample(500, np.random.default_rng(0))
    assert set(batch.observations[:, 0]) == set(range(30, 50))
    np.testing.assert_array_equal(batch.returns, 10.0 * batch.observations[:, 0])
    np.testing.assert_array_equal(batch.actions, batch.observations[:, 0] % 3)


def walk(replay: TransitionReplay, episodes: list[tuple[int, str]]) -> None:
    """Episodes of numbered states; the reward is the number of the state it led to."""
    number = 0
    for length, end in episodes:
        for step in range(length):
            replay.begin(np.array([number], np.float32), number % 3)
            number += 1
            last = step == length - 1
            replay.complete(float(number), last and end == "terminated")
        if end == "truncated":
            replay.cut_off(np.array([number], np.float32))
        if end == "abandoned":
            replay.abandon()
        number += 100


def test_transitions_lead_where_they_led() -> None:
    replay = TransitionReplay(1_000, (1,), np.float32, 3)
    walk(replay, [(3, "terminated"), (4, "truncated"), (5, "abandoned"), (1, "truncated"), (2, "terminated")])
    batch = replay.sample(2_000, np.random.default_rng(0))
    states, following = batch.observations[:, 0], batch.next_observations[:, 0]
    np.testing.assert_array_equal(batch.rewards, states + 1)
    np.testing.assert_array_equal(batch.actions, states % 3)
    np.testing.assert_array_equal(following[~batch.terminated], states[~batch.terminated] + 1)
    assert set(states[batch.terminated]) == {2.0}  # the newest is not followed by anything yet
    # The last step of a truncated episode has a next state, that of an abandoned one has none.
    assert set(states) == {0, 1, 2, 103, 104, 105, 106, 207, 208, 209, 210, 312, 413}


def test_a_full_replay_forgets_the_oldest_transitions() -> None:
    replay = TransitionReplay(10, (1,), np.float32, 3)
    walk(replay, [(40, "truncated")])
    states = replay.sample(500, np.random.default_rng(0)).observations[:, 0]
    assert set(states) == set(range(31, 40))


def test_steps_to_learn_from_are_counted_as_they_come_and_go() -> None:
    rng = np.random.default_rng(0)
    for stacked in (False, True):
        shape = (4, 5, 5) if stacked else (1,)
        replay = TransitionReplay(12, shape, np.uint8 if stacked else np.float32, 3)
        for number in range(200):
            walk_one(replay, rng.integers(0, 255, shape), int(rng.integers(3)), rng.choice(["", "cut", "abandon"]))
            position = replay.position()
            counted = len(replay)
            replay.resume(position)  # counts anew
            assert counted == len(replay) < 12, number


def walk_one(replay: TransitionReplay, observation: Any, action: int, end: str) -> None:
    replay.begin(observation, action)
    replay.complete(1.0, False)
    if end == "cut":
        replay.cut_off(observation)
    elif end == "abandon":
        replay.abandon()


def test_an_agent_whose_episodes_are_always_given_up_finds_nothing_to_learn_and_goes_on() -> None:
    settings = {"train_start_steps": 2, "train_every_steps": 1, "batch_size": 2, "replay_capacity": 10}
    agent = D3QN(gymnasium.make("CartPole-v1"), **settings)  # type: ignore[arg-type]
    for _ in range(6):
        agent.learn(1)
    assert agent.steps == 6


@pytest.mark.parametrize("replay", [ReturnReplay(5, (1,), np.float32, 3), TransitionReplay(5, (1,), np.float32, 3)])
@pytest.mark.parametrize("action", [3, -2, 30_000])
def test_saved_steps_with_actions_that_there_are_not_are_refused(replay: Any, action: int) -> None:
    journal = replay.journals()["steps"]
    rows = {name: np.zeros((4, *column.shape[1:]), column.dtype) for name, column in journal.columns.items()}
    rows["action"][2] = action
    journal.restore(0, rows)
    with pytest.raises(MemecError, match="other actions"):
        replay.resume({"range": np.array([0, 4, 0])})


@pytest.mark.parametrize("kind", ["frames", "vector"])
def test_a_replay_put_back_goes_on_identically(kind: str) -> None:
    shape, dtype = ((4, *FRAME), np.uint8) if kind == "frames" else ((3,), np.float32)
    original, copy = TransitionReplay(25, shape, dtype, 3), TransitionReplay(25, shape, dtype, 3)
    observations = stacks("zeros", [30, 9, 20])
    if kind == "vector":
        observations = list(np.random.default_rng(0).random((59, 3)).astype(np.float32))
    for number, observation in enumerate(observations[:45]):
        original.begin(observation, number % 3)
        original.complete(float(number), number in (29, 38))
    for name, journal in original.journals().items():
        copy.journals()[name].restore(journal.first, journal.rows(journal.first, journal.end))
    copy.resume(original.position())
    for replay in (original, copy):
        for number, observation in enumerate(observations[45:]):
            replay.begin(observation, number % 3)
            replay.complete(float(number), False)
    samples = [replay.sample(200, np.random.default_rng(3)) for replay in (original, copy)]
    for left, right in zip(*samples, strict=True):
        np.testing.assert_array_equal(left, right)


def test_a_replay_that_cannot_fit_is_refused_with_its_size() -> None:
    with pytest.raises(MemecError, match=r"replay of .* needs [\d,.]+ GB"):
        TransitionReplay(10**9, (4, 84, 84), np.uint8, 3)
