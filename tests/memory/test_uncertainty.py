"""The Gaussian process behind UCB and Thompson against its textbook formula."""

import numpy as np
import pytest
from numpy.typing import NDArray

from memec.memory import Memory, MemorySettings


def state_ids(count: int) -> NDArray[np.uint64]:
    return np.arange(2 * count, dtype=np.uint64).reshape(count, 2)


def filled(keys: NDArray[np.float32], delta: float = 1e-3, neighbours: int = 11) -> Memory:
    memory = Memory(MemorySettings(capacity=100, neighbours=neighbours, delta=delta), 1, keys.shape[1])
    memory.write(0, keys, np.zeros(len(keys)), state_ids(len(keys)))
    return memory


def textbook_std(keys: NDArray[np.float64], query: NDArray[np.float64], delta: float) -> float:
    def kernel(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
        return 1.0 / (((a[:, None] - b[None]) ** 2).sum(-1) + delta)

    cross = kernel(query[None], keys)[0]
    noisy = kernel(keys, keys) + 1e-6 / delta * np.eye(len(keys))
    return float(np.sqrt(1.0 / delta - cross @ np.linalg.solve(noisy, cross)))


@pytest.mark.parametrize("delta", [1e-3, 0.1, 5.0])
@pytest.mark.parametrize("count", [1, 3, 11])
def test_std_is_the_posterior_of_the_papers_kernel(delta: float, count: int) -> None:
    random = np.random.default_rng(count)
    keys, query = random.normal(size=(count, 3)).astype(np.float32), random.normal(size=3).astype(np.float32)
    memory = filled(keys, delta)
    expected = textbook_std(keys.astype(float), query.astype(float), delta)
    assert memory.std(query, memory.peek(query))[0] == pytest.approx(expected, rel=1e-4)


def test_std_of_a_known_state_is_zero_and_of_nothing_is_the_prior() -> None:
    keys = np.zeros((2, 2), np.float32)
    memory = filled(keys)
    assert memory.std(keys[0], memory.peek(keys[0], state_ids(2)[1]))[0] == 0.0
    empty = Memory(MemorySettings(capacity=11), 1, 2)
    assert empty.std(keys[0], empty.peek(keys[0]))[0] == pytest.approx(np.sqrt(1000))


def test_equal_neighbours_and_exact_matches_do_not_break_it() -> None:
    """The authors' code raises on a singular matrix here."""
    keys = np.zeros((11, 2), np.float32)
    memory = filled(keys)
    std = memory.std(keys[0], memory.peek(keys[0]))[0]
    assert np.isfinite(std) and std < 1.0


def test_std_grows_with_the_distance() -> None:
    random = np.random.default_rng(0)
    memory = filled(random.normal(size=(20, 2)).astype(np.float32), delta=1.0)
    stds = [memory.std(q, memory.peek(q))[0] for q in np.array([[0, 0], [4, 0], [16, 0]], np.float32)]
    assert stds == sorted(stds) and stds[0] < 0.5 * stds[2]


@pytest.mark.parametrize("count", [1, 3, 11])
def test_the_released_posterior_has_unsquared_distances_noise_and_a_mean(count: int) -> None:
    random = np.random.default_rng(count)
    keys, query = random.normal(size=(count, 3)).astype(np.float32), random.normal(size=3).astype(np.float32)
    keys[0] = query  # known states are judged like any others
    memory = Memory(MemorySettings(capacity=100, delta=1e-3), 1, 3)
    returns = random.normal(size=count)
    memory.write(0, keys, returns, state_ids(count))

    def kernel(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
        return 1.0 / (np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1)) + 1e-3)

    there, here = keys.astype(float), query.astype(float)
    cross, noisy = kernel(here[None], there)[0], kernel(there, there) + np.eye(count)
    mean, std = memory.released_posterior(memory.peek(query))
    assert mean[0] == pytest.approx(cross @ np.linalg.solve(noisy, returns), rel=1e-4)
    assert std[0] == pytest.approx(np.sqrt(1e3 - cross @ np.linalg.solve(noisy, cross)), rel=1e-3)


def test_the_released_posterior_of_nothing_is_the_prior() -> None:
    memory = Memory(MemorySettings(capacity=11), 2, 2)
    mean, std = memory.released_posterior(memory.peek(np.zeros(2, np.float32)))
    assert mean.tolist() == [0.0, 0.0] and std.tolist() == pytest.approx([np.sqrt(1000)] * 2)
