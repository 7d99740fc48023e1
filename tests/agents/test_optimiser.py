"""Steps of the optimisers, against their formulas and against torch."""

from typing import Any

import numpy as np
import pytest
import torch

from memec.agents.optimiser import CompiledOptimiser, EntryOptimiser, OptimiserSettings, TensorOptimiser

RMSPROP = OptimiserSettings(learning_rate=0.1, decay=0.9, epsilon=0.01)
CENTRED = RMSPROP.changed({"centred": True})
ADAM = OptimiserSettings(name="adam", learning_rate=0.1, decay=0.99, epsilon=1e-8)
every_kind = pytest.mark.parametrize("settings", [RMSPROP, CENTRED, ADAM], ids=["rmsprop", "centred", "adam"])
GRADIENTS = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)


def expected_moves(settings: OptimiserSettings, gradients: Any) -> np.ndarray:
    """Every step, by the formulas as they are printed."""
    square = mean = np.zeros(gradients.shape[1])
    moves = []
    for count, gradient in enumerate(gradients.astype(np.float64), start=1):
        kept = settings.mean_decay if settings.name == "adam" else settings.decay
        square = settings.decay * square + (1 - settings.decay) * gradient**2
        mean = kept * mean + (1 - kept) * gradient
        if settings.name == "adam":
            step = mean / (1 - kept**count) / (np.sqrt(square / (1 - settings.decay**count)) + settings.epsilon)
        else:
            step = gradient / np.sqrt(square - settings.centred * mean**2 + settings.epsilon)
        moves.append(-settings.learning_rate * step)
    return np.array(moves)


either_way = pytest.mark.parametrize("make", [TensorOptimiser, CompiledOptimiser])


@every_kind
@either_way
def test_parameters_and_entries_move_by_the_formula(make: Any, settings: OptimiserSettings) -> None:
    parameters = torch.zeros(4)
    of_parameters, of_entries = make(settings, parameters), EntryOptimiser(settings, 3, 4)
    for gradient, expected in zip(GRADIENTS, expected_moves(settings, GRADIENTS), strict=True):
        before = parameters.clone()
        of_parameters.step(parameters, torch.from_numpy(gradient))
        np.testing.assert_allclose((parameters - before).numpy(), expected, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(of_entries.steps(np.array([1]), gradient[None])[0], expected, rtol=1e-5)


@either_way
def test_adam_is_torchs_adam(make: Any) -> None:
    ours, theirs = torch.zeros(4), torch.zeros(4, requires_grad=True)
    optimiser = torch.optim.Adam([theirs], lr=0.1, betas=(0.9, 0.99), eps=1e-8)
    own = make(ADAM, ours)
    for gradient in GRADIENTS:
        theirs.grad = torch.from_numpy(gradient.copy())
        optimiser.step()
        own.step(ours, torch.from_numpy(gradient))
    np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), rtol=1e-5)


@every_kind
def test_an_entrys_averages_move_only_with_the_entry(settings: OptimiserSettings) -> None:
    busy, alone = EntryOptimiser(settings, 3, 4), EntryOptimiser(settings, 3, 4)
    for gradient in GRADIENTS:
        busy.steps(np.array([0, 2]), np.stack([gradient, 2 * gradient]))
    np.testing.assert_array_equal(
        busy.steps(np.array([1]), GRADIENTS[:1]),
        alone.steps(np.array([1]), GRADIENTS[:1]),
    )


@every_kind
def test_a_slot_starts_afresh_when_another_state_takes_it_and_only_then(settings: OptimiserSettings) -> None:
    optimiser, fresh = EntryOptimiser(settings, 3, 4), EntryOptimiser(settings, 3, 4)
    slots, first_state, other_state = np.array([1]), np.array([[7, 8]], np.uint64), np.array([[7, 9]], np.uint64)
    optimiser.claim(slots, first_state)
    optimiser.steps(slots, GRADIENTS[:1])
    optimiser.claim(slots, first_state)
    assert optimiser.arrays(slots)["squares"].any()
    optimiser.claim(np.array([1, 1]), np.concatenate([other_state, first_state]))  # it went, and came back
    np.testing.assert_array_equal(optimiser.steps(slots, GRADIENTS[:1]), fresh.steps(slots, GRADIENTS[:1]))


@every_kind
@either_way
def test_restored_optimisers_go_on_identically(make: Any, settings: OptimiserSettings) -> None:
    slots, used = np.array([0, 1]), np.arange(2)
    parameters = torch.zeros(4)
    of_parameters, of_entries = make(settings, parameters), EntryOptimiser(settings, 3, 4)
    for gradient in GRADIENTS:
        of_parameters.step(parameters, torch.from_numpy(gradient))
        of_entries.steps(slots, np.stack([gradient, gradient]))
    copy_of_parameters, copy_of_entries = make(settings, parameters), EntryOptimiser(settings, 3, 4)
    copy_of_parameters.restore(of_parameters.arrays())
    copy_of_entries.restore(of_entries.arrays(used), used)
    left, right = parameters.clone(), parameters.clone()
    of_parameters.step(left, torch.from_numpy(GRADIENTS[0]))
    copy_of_parameters.step(right, torch.from_numpy(GRADIENTS[0]))
    assert torch.equal(left, right)
    rows = GRADIENTS[:2]
    np.testing.assert_array_equal(of_entries.steps(slots, rows), copy_of_entries.steps(slots, rows))


def test_an_annealed_rate_falls_in_a_line_and_stays() -> None:
    settings = OptimiserSettings(learning_rate=1.0, learning_rate_final=0.2, anneal_updates=4)
    assert [round(settings.rate(update), 6) for update in (1, 2, 4, 9)] == [0.8, 0.6, 0.2, 0.2]
    optimiser, plain = EntryOptimiser(settings, 1, 4), EntryOptimiser(OptimiserSettings(learning_rate=1.0), 1, 4)
    slots = np.array([0])
    for share in (0.8, 0.6, 0.4, 0.2, 0.2):
        expected = share * plain.steps(slots, GRADIENTS[:1])
        np.testing.assert_allclose(optimiser.steps(slots, GRADIENTS[:1]), expected, rtol=1e-5)
