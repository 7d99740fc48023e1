"""What VPEC and MFEC's tuned settings cost, against MFEC with the paper's."""

from benchmarks.measure import Row, at_most, median_ratio, progress
from benchmarks.steps import paper_agent
from memec import MFEC, VPEC
from memec.agents import Agent

FILLED, STEPS = 40_000, 4_000
TARGET = 3.0
TUNED_TARGET = 1.3


def rows() -> list[Row]:
    environments = ("CartPole-v1", "Acrobot-v1")
    return [
        *(_against_paper("VPEC", VPEC(env, seed=0), env, TARGET) for env in environments),
        *(_against_paper("tuned MFEC", MFEC(env, seed=0), env, TUNED_TARGET) for env in environments),
    ]


def _against_paper(name: str, ours: Agent, env: str, target: float) -> Row:
    progress(f"training step of {name} in {env}")
    ours.learn(FILLED)
    theirs = paper_agent(env).learn(FILLED)
    ratio, mine, others = median_ratio(lambda: ours.learn(STEPS), lambda: theirs.learn(STEPS))
    note = f"{mine / STEPS * 1e6:.0f} us a step, MFEC {others / STEPS * 1e6:.0f} us"
    return at_most(f"training step of {name} / of MFEC with the paper's settings, {env}", ratio, target, note)
