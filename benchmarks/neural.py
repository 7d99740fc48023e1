"""What NEC and D3QN cost: a training step against the bare torch work in it, and the share of search."""

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.measure import Row, at_least, at_most, median_ratio, progress, seconds
from benchmarks.recordings import recorded_network_keys
from benchmarks.steps import environment_alone, fill_in_order
from memec.agents import D3QN, NEC
from memec.agents.neural import NeuralAgent
from memec.experiments.presets import settings_for

STEPS = 2_000
# The paper's own code with NEC on Acrobot, and that environment alone, both in microseconds on one machine.
PAPER_ACROBOT_STEP, PAPER_ACROBOT_ENVIRONMENT = 1e6 / 175, 53.0


def agent_for(kind: type[NeuralAgent], env: str, **changes: Any) -> NeuralAgent:
    frames = env.startswith("ALE")
    settings = settings_for(
        env, "frames" if frames else "vector", agent=kind.name, preset="paper", changes={"agent": changes}
    )
    return kind.from_settings(env, settings.agent, seed=0)


def bare_torch(kind: type[NeuralAgent], steps: int) -> Callable[[], None]:
    """One forward pass a step, and every fourth step forward, backward and an optimiser's step for a batch of 32."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    sizes = (4, 64, 64) if kind is NEC else (4, 64, 64, 3)
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    module = nn.Sequential(*layers[:-1])
    optimiser = torch.optim.RMSprop(module.parameters(), lr=1e-5)
    single, batch = torch.zeros(1, 4), torch.zeros(32, 4)

    def work() -> None:
        for step in range(steps):
            with torch.inference_mode():
                module(single)
            if step % 4 == 0:
                optimiser.zero_grad()
                module(batch).square().mean().backward()
                optimiser.step()

    return work


def step_against_torch(kind: type[NeuralAgent], target: float) -> Row:
    progress(f"training step of {kind.name} in CartPole")
    agent = agent_for(kind, "CartPole-v1")
    agent.learn(25_000)  # NEC's tables are full then
    torch_alone, environment = bare_torch(kind, STEPS), environment_alone("CartPole-v1", STEPS)
    torch_alone()
    pairs = []
    for _ in range(7):
        mine, world, theirs = (
            seconds(lambda: agent.learn(STEPS)),
            seconds(environment),
            seconds(torch_alone),
        )
        pairs.append(((mine - world) / theirs, mine, world, theirs))
    ratio, mine, world, theirs = np.median(pairs, axis=0).tolist()
    scale = 1e6 / STEPS
    note = f"{mine * scale:.0f} us a step with {world * scale:.0f} us environment, bare torch {theirs * scale:.0f} us"
    return at_most(f"{kind.name}, CartPole: training step without environment / bare torch work", ratio, target, note)


def acrobot_against_the_paper() -> Row:
    progress("training step of nec in Acrobot")
    agent = agent_for(NEC, "Acrobot-v1")
    agent.learn(40_000)
    ratio, mine, alone = median_ratio(lambda: agent.learn(STEPS), environment_alone("Acrobot-v1", STEPS))
    speed_up = PAPER_ACROBOT_STEP / PAPER_ACROBOT_ENVIRONMENT / ratio
    scale = 1e6 / STEPS
    note = f"{mine * scale:.0f} us a step, {alone * scale:.0f} us the environment"
    return at_least("nec, Acrobot: times as fast as the paper's code, in units of the environment", speed_up, 8.0, note)


def share_of_search(steps: int = 400) -> Row:
    """Of a Pong run with full tables and training on, how much of the time is spent in searching them."""
    progress("share of search of nec in Pong, dictionary full")
    keys = recorded_network_keys("ALE/Pong-v5")
    agent = agent_for(NEC, "ALE/Pong-v5", train_start_steps=6_000)
    assert isinstance(agent, NEC)
    agent.learn(6_000)
    fill_in_order(agent.memory, keys)
    search = agent.memory._search
    nearest, spent = search.nearest, 0.0

    def timed(*given: Any, **options: Any) -> None:
        nonlocal spent
        started = time.perf_counter()
        nearest(*given, **options)
        spent += time.perf_counter() - started

    agent.learn(200)
    search.nearest = timed  # type: ignore[method-assign]
    total = seconds(lambda: agent.learn(steps))
    note = f"{total / steps * 1e3:.1f} ms a step, {spent / steps * 1e3:.2f} ms search"
    note += f", recall {agent.memory.recall_estimate:.3f}"
    return at_most("nec, Pong: share of search, 100,000 entries per action", spent / total, 0.15, note)


def rows() -> list[Row]:
    found = [step_against_torch(NEC, 4.0), step_against_torch(D3QN, 1.5), acrobot_against_the_paper()]
    return [*found, share_of_search()]
