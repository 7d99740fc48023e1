"""What VPEC costs, against MFEC with the paper's settings."""

from benchmarks.measure import Row, at_most, median_ratio, progress
from benchmarks.steps import paper_agent
from memec import VPEC

FILLED, STEPS = 40_000, 4_000
TARGET = 3.0


def rows() -> list[Row]:
    return [_against_mfec(env) for env in ("CartPole-v1", "Acrobot-v1")]


def _against_mfec(env: str) -> Row:
    progress(f"training step of vpec in {env}")
    ours, theirs = VPEC(env, seed=0).learn(FILLED), paper_agent(env).learn(FILLED)
    ratio, mine, others = median_ratio(lambda: ours.learn(STEPS), lambda: theirs.learn(STEPS))
    note = f"{mine / STEPS * 1e6:.0f} us a step with {len(ours.graph):,} entries, MFEC {others / STEPS * 1e6:.0f} us"
    return at_most(f"training step of VPEC / of MFEC with the paper's settings, {env}", ratio, TARGET, note)
