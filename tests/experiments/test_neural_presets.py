"""The presets of NEC and D3QN say what the paper's two tables say."""

from typing import Any

import pytest

from memec.agents import D3QNSettings, NECSettings
from memec.errors import MemecError
from memec.experiments.presets import PAPER, settings_for
from memec.explore import Boltzmann, EpsilonGreedy, Mellowmax


def preset(environment: str, agent: str, explore: str | None = None, preset: str = "paper") -> Any:
    kind = "frames" if environment.startswith("ALE") else "vector"
    return settings_for(environment, kind, agent=agent, preset=preset, explore=explore)


@pytest.mark.parametrize("environment", PAPER)
def test_nec_has_the_papers_settings_everywhere(environment: str) -> None:
    run = preset(environment, "nec")
    atari = environment.startswith("ALE")
    agent = run.agent
    assert isinstance(agent, NECSettings)
    assert (agent.n_step, agent.memory_learning_rate, agent.memory.neighbours, agent.memory.delta) == (
        100,
        0.1,
        11,
        1e-3,
    )
    assert (agent.optimiser.name, agent.optimiser.learning_rate) == ("rmsprop", 7.92e-6)
    assert (agent.optimiser.decay, agent.optimiser.epsilon, agent.optimiser.centred) == (0.95, 0.01, False)
    assert (agent.replay_capacity, agent.batch_size, agent.train_every_steps) == (100_000, 32, 4)
    assert (agent.key_size, agent.train_start_steps) == ((128, 50_000) if atari else (64, 1_000))
    assert agent.truncation == "terminal" and agent.discount == 0.99
    assert agent.memory.capacity == PAPER[environment].capacity
    assert agent.explore == Mellowmax(omega=PAPER[environment].omega)
    assert run.training.steps == (3_500_000 if atari else 100_000)
    epsilon = EpsilonGreedy(epsilon_final=0.001 if atari else 0.005, anneal_start_steps=5_000, anneal_end_steps=25_000)
    assert preset(environment, "nec", "epsilon-greedy").agent.explore == epsilon


@pytest.mark.parametrize("environment", PAPER)
def test_d3qn_has_the_papers_settings_everywhere(environment: str) -> None:
    run = preset(environment, "d3qn")
    atari = environment.startswith("ALE")
    agent = run.agent
    assert isinstance(agent, D3QNSettings)
    assert (agent.optimiser.name, agent.optimiser.learning_rate) == ("rmsprop", 2.5e-4)
    assert (agent.optimiser.decay, agent.optimiser.epsilon, agent.optimiser.centred) == (0.95, 0.01, True)
    assert (agent.batch_size, agent.train_every_steps, agent.gradient_norm_limit, agent.reward_clip) == (32, 4, 10, 1)
    sizes = (agent.replay_capacity, agent.train_start_steps, agent.target_update_steps)
    assert sizes == ((1_000_000, 12_500, 1_000) if atari else (100_000, 5_000, 7_500))
    final, end = (0.01, 1_000_000) if atari else (0.005, 50_000)
    assert agent.explore == EpsilonGreedy(epsilon_final=final, anneal_start_steps=1, anneal_end_steps=end)
    assert run.training.steps == (5_000_000 if atari else 100_000)
    assert preset(environment, "d3qn", "mellowmax").agent.explore == Mellowmax(omega=PAPER[environment].omega)


@pytest.mark.parametrize(
    ("agent", "preset_name"), [("mfec", "paper"), ("nec", "paper"), ("d3qn", "paper"), ("mfec", "tuned")]
)
def test_the_stack_goes_on_after_a_lost_life_as_in_the_authors_code(agent: str, preset_name: str) -> None:
    environment = preset("ALE/Qbert-v5", agent, preset=preset_name).environment
    assert environment.no_op_after_life_loss
    assert environment.empty_stack_after_life_loss == (agent == "d3qn" or preset_name == "tuned")


def test_a_strategy_of_ones_own_keeps_the_rest_of_the_tuned_preset() -> None:
    own, tuned = (preset("CartPole-v1", "d3qn", explore, "tuned").agent for explore in ("boltzmann", None))
    assert own.explore == Boltzmann() and own.changed({"explore": tuned.explore}) == tuned
    assert tuned.optimiser.name == "adam" and tuned != preset("CartPole-v1", "d3qn").agent


@pytest.mark.parametrize("agent", ["nec", "d3qn", "mfec"])
def test_the_tuned_presets_are_one_set_of_settings_for_all_vectors(agent: str) -> None:
    names = (*(name for name in PAPER if not name.startswith("ALE")), "LunarLander-v3")
    assert len({preset(name, agent, preset="tuned").agent.model_dump_json() for name in names}) == 1


@pytest.mark.parametrize("explore", ["ucb", "thompson"])
def test_d3qn_refuses_what_needs_uncertainty(explore: str) -> None:
    with pytest.raises(MemecError, match="which d3qn does not have: choose from epsilon-greedy, boltzmann, mellowmax"):
        preset("CartPole-v1", "d3qn", explore)


def test_other_environments_get_general_settings() -> None:
    assert settings_for("LunarLander-v3", "vector", agent="d3qn", explore="mellowmax").agent.explore == Mellowmax()
    assert settings_for("Own-v0", "frames", agent="nec").agent.key_size == 128
