"""The verdict on the paper: explicit criteria, judged only when there is enough to judge by."""

from pathlib import Path

import numpy as np
import pytest

from memec.report.claims import CLAIMS, Judged, judged
from memec.report.evidence import Evidence
from memec.report.runs import Curve, curves_of, find_runs
from memec.report.tables import atari_table, comparisons_table, overall_table, scores_table
from memec.report.verdict import verdict_page

REPOSITORY = Path(__file__).parents[2]
STRATEGIES = ("epsilon-greedy", "boltzmann", "mellowmax", "ucb", "thompson")


def curve(environment: str, agent: str, strategy: str, finals: list[float], budget: int = 100_000) -> Curve:
    steps = np.linspace(budget / 200, budget, 200).astype(np.int64)
    scores = np.repeat(np.array(finals, np.float64)[:, None], 200, axis=1)
    return Curve(environment, agent, strategy, strategy, budget, tuple(range(len(finals))), steps, scores)


def verdict(claims: list[Judged], text: str) -> str:
    (claim,) = [claim for claim in claims if text in claim.said]
    return claim.verdict


def test_without_runs_every_claim_is_not_yet_run() -> None:
    claims = judged(Evidence([]))
    assert len(claims) == len(CLAIMS) > 40
    assert {claim.verdict for claim in claims} == {"not yet run"}
    assert "0 are confirmed, 0 are not confirmed" in verdict_page([])


def test_a_clear_order_is_confirmed_and_its_opposite_is_not() -> None:
    heights = {"mellowmax": -120.0, "boltzmann": -200.0, "epsilon-greedy": -300.0, "ucb": -400.0, "thompson": -500.0}
    curves = [curve("Acrobot-v1", "mfec", name, [height + i for i in range(5)]) for name, height in heights.items()] + [
        curve("Acrobot-v1", "nec", name, [-500 - height + i for i in range(5)]) for name, height in heights.items()
    ]
    claims = judged(Evidence(curves))
    for text in ("Mellowmax ends highest", "Mellowmax learns fastest", "Boltzmann is next best", "UCB performs poorly"):
        assert verdict(claims, f"{text} on Acrobot (MFEC)") == "confirmed"
        assert verdict(claims, f"{text} on Acrobot (NEC)") == "not confirmed"
    assert verdict(claims, "Boltzmann has high variance over seeds on Acrobot (MFEC)") == "not confirmed"
    assert verdict(claims, "Thompson sampling performs worst (MFEC)") == "not yet run"  # the rooms are missing


def test_seeds_that_overlap_confirm_nothing() -> None:
    finals = {name: [-100.0 - 10 * i, -300, -500, -200, -400] for i, name in enumerate(STRATEGIES)}
    claims = judged(Evidence(curve("Acrobot-v1", "mfec", name, values) for name, values in finals.items()))
    assert verdict(claims, "Mellowmax ends highest on Acrobot (MFEC)") == "not confirmed"
    assert verdict(claims, "Boltzmann has high variance over seeds on Acrobot (MFEC)") == "confirmed"


@pytest.mark.parametrize(("solving", "expected"), [(10, "confirmed"), (9, "confirmed"), (8, "not confirmed")])
def test_solving_means_nine_seeds_in_ten(solving: int, expected: str) -> None:
    finals = [1.0] * solving + [0.0] * (10 - solving)
    claims = judged(Evidence([curve("memec/OpenRoom-v0", "mfec", "epsilon-greedy", finals)]))
    assert verdict(claims, "MFEC with epsilon-greedy solves OpenRoom") == expected


def test_too_few_seeds_or_steps_are_not_judged() -> None:
    few = curve("memec/OpenRoom-v0", "mfec", "epsilon-greedy", [1.0] * 4)
    short = curve("memec/OpenRoom-v0", "mfec", "epsilon-greedy", [1.0] * 10, budget=50_000)
    for given in (few, short):
        claims = judged(Evidence([given]))
        assert verdict(claims, "MFEC with epsilon-greedy solves OpenRoom") == "not yet run"


def test_the_baseline_is_compared_at_the_budget_of_the_agent_beside_it() -> None:
    late = curve("ALE/Qbert-v5", "d3qn", "epsilon-greedy", [100.0, 110, 120], budget=5_000_000)
    late.scores[:, late.steps > 3_500_000] = 9_000.0
    curves = [late]
    for agent, budget in (("mfec", 5_000_000), ("nec", 3_500_000)):
        curves += [curve("ALE/Qbert-v5", agent, "mellowmax", [5_000.0, 5_100, 5_200], budget=budget)]
    claims = judged(Evidence(curves))
    assert verdict(claims, "Q*bert, NEC's half: mellowmax (5654 ± 483) above D3QN") == "confirmed"
    assert verdict(claims, "Q*bert, MFEC's half: mellowmax (11610 ± 898) above D3QN") == "not confirmed"


def test_the_page_in_the_docs_is_what_the_committed_results_give() -> None:
    results = REPOSITORY / "results"
    runs = find_runs(results).runs if results.is_dir() else []
    page = verdict_page(runs, Path("reproduction") if runs else None)
    assert (REPOSITORY / "docs" / "reproduction.md").read_text() == page, "make it again with the command it names"
    for picture in (line.partition("](")[2].rstrip(")") for line in page.splitlines() if line.startswith("![")):
        assert (REPOSITORY / "docs" / picture).is_file()


def test_runs_with_other_settings_are_never_averaged_together() -> None:
    from memec.report.runs import Run

    def run(seed: int, omega: float) -> Run:
        explore = {"name": "mellowmax", "omega": omega}
        content = {
            "environment": {"id": "CartPole-v1"}, "agent": {"name": "mfec", "explore": explore},
            "training": {"steps": 1_000}, "checkpoint": {"every_steps": seed}, "seed": seed,
        }  # fmt: skip
        steps = np.array([500, 1_000])
        return Run(content, "paper", steps, np.array([1.0, 2.0]) * seed, "mellowmax", "", {})

    curves = curves_of([run(0, 5.0), run(1, 5.0), run(1, 5.0), run(2, 7.0)])
    assert [(curve.label, curve.seeds) for curve in curves] == [
        ("mellowmax omega=5.0", (0, 1)),
        ("mellowmax omega=7.0", (2,)),
    ]


def test_the_tables_have_every_comparison_and_the_papers_numbers_beside_ours() -> None:
    curves = [curve(name, "mfec", "mellowmax", [1.0, 0.5]) for name in ("memec/OpenRoom-v0", "memec/FourRoom-v0")]
    curves += [curve("memec/FourRoom-v0", "mfec", "ucb", [0.0, 0.2])]
    curves += [curve("ALE/Pong-v5", "mfec", "mellowmax", [9.0], budget=1_000_000)]
    assert "| FourRoom | MFEC | mellowmax | ucb | 1 [1, 1] |" in comparisons_table(curves).markdown()
    assert "| 2 of the small | MFEC | mellowmax | 4 | 0.75" in overall_table(curves).markdown()
    pong = "| Pong | MFEC | mellowmax | 7 ± 4 | 5,000,000 | 9 | 1 | 1,000,000 |"
    assert pong in atari_table(curves).markdown()
    assert "OpenRoom,MFEC,mellowmax,2," in scores_table(curves).csv()
