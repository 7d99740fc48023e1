"""What VPEC and MFEC's tuned settings cost, against MFEC with the paper's."""

from benchmarks.measure import Row, at_most, median_ratio, progress
from benchmarks.steps import paper_agent
from memec import MFEC, VPEC

FILLED, STEPS = 40_000, 4_000
TARGET = 3.0
TUNED_TARGET = 1.3


def rows() -> list[Row]:
    environments = ("CartPole-v1", "Acrobot-v1")
    return [*map(_against_mfec, environments), *map(_tuned_against_paper, environments)]


def _tuned_against_paper(env: str) -> Row:
    progress(f"training step of tuned mfec in {env}")
    ours, theirs = MFEC(env, seed=0).learn(FILLED), paper_agent(env).learn(FILLED)
    ratio, mine, others = median_ratio(lambda: ours.learn(STEPS), lambda: theirs.learn(STEPS))
    note = f"{mine / STEPS * 1e6:.0f} us a step, {others / STEPS * 1e6:.0f} us with the paper's"
    return at_most(f"training step of MFEC, tuned / with the paper's settings, {env}", ratio, TUNED_TARGET, note)


def _against_mfec(env: str) -> Row:
    progress(f"training step of vpec in {env}")
    ours, theirs = VPEC(env, seed=0).learn(FILLED), paper_agent(env).learn(FILLED)
    ratio, mine, others = median_ratio(lambda: ours.learn(STEPS), lambda: theirs.learn(STEPS))
    note = f"{mine / STEPS * 1e6:.0f} us a step with {len(ours.graph):,} entries, MFEC {others / STEPS * 1e6:.0f} us"
    return at_most(f"training step of VPEC / of MFEC with the paper's settings, {env}", ratio, TARGET, note)
