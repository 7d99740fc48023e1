"""The verdict on the paper: five outcomes, by exact tests, judged by settings and not by names."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memec.experiments.presets import preset_of, settings_for
from memec.report.authors import TheirRun, agreement, read_authors
from memec.report.claims import OMEGAS, claims
from memec.report.evidence import Evidence, highest_of_three
from memec.report.judging import OUTCOMES, RELEASED, TEXT, Judged, judged
from memec.report.paper import DOMAINS, SMALL
from memec.report.runs import Curve, Run, curves_of, find_runs, longest
from memec.report.sorting import Sorted, judge, readings_of, sort_runs
from memec.report.tables import atari_table, comparisons_table, overall_table, scores_table
from memec.report.verdict import verdict_page

REPOSITORY = Path(__file__).parents[2]
STRATEGIES = ("epsilon-greedy", "boltzmann", "mellowmax", "ucb", "thompson")
NOTHING = Sorted({TEXT: [], RELEASED: []}, [], [])


def curve(environment: str, agent: str, strategy: str, finals: list[float], budget: int = 100_000) -> Curve:
    steps = np.linspace(budget / 200, budget, 200).astype(np.int64)
    scores = np.repeat(np.array(finals, np.float64)[:, None], 200, axis=1)
    return Curve(environment, agent, strategy, strategy, budget, tuple(range(len(finals))), steps, scores)


def by_text(*curves: Curve) -> list[Judged]:
    return judged(claims(), {TEXT: Evidence(curves)})


def outcome(judgements: list[Judged], text: str) -> str:
    (found,) = [each for each in judgements if text in each.claim.said]
    return found.outcome


def test_without_runs_every_claim_is_not_run() -> None:
    judgements = by_text()
    assert len(judgements) == len(claims()) > 40
    assert {each.outcome for each in judgements} == {"not run at the paper's budget"}
    assert "**0** supported, **0** contradicted" in verdict_page(NOTHING, judge(NOTHING))


def test_a_clear_order_is_supported_and_its_opposite_contradicted() -> None:
    heights = {"mellowmax": -120.0, "boltzmann": -200.0, "epsilon-greedy": -300.0, "ucb": -400.0, "thompson": -500.0}
    curves = [curve("Acrobot-v1", "mfec", name, [height + i for i in range(5)]) for name, height in heights.items()] + [
        curve("Acrobot-v1", "nec", name, [-500 - height + i for i in range(5)]) for name, height in heights.items()
    ]
    judgements = by_text(*curves)
    for text in ('"to higher final rewards"', '"to learn faster"', "the next best", '"UCB performed poorly"'):
        found = [each for each in judgements if text in each.claim.said and "Acrobot" in each.claim.said]
        assert [each.outcome for each in found] == ["supported", "contradicted"], text  # MFEC, NEC
    assert outcome(judgements, '"TS performed extremely badly" (MFEC)') == "not run at the paper's budget"


def test_seeds_that_overlap_decide_nothing_and_say_what_they_could_have() -> None:
    finals = {name: [-100.0 - 10 * i, -300, -500, -200, -400] for i, name in enumerate(STRATEGIES)}
    judgements = by_text(*(curve("Acrobot-v1", "mfec", name, values) for name, values in finals.items()))
    assert outcome(judgements, '"to higher final rewards" (MFEC)') == "undecided"
    (found,) = [each for each in judgements if '"to higher final rewards" (MFEC)' in each.claim.said]
    assert "power at most 0.20" in found.results[0].said


def test_a_claim_on_three_seeds_a_side_takes_complete_separation_and_no_correction() -> None:
    def table(*worse: float) -> str:
        pair = [("mellowmax", [9.0, 8, 7]), ("epsilon-greedy", list(worse))]
        curves = [curve("ALE/Qbert-v5", "mfec", name, values, budget=5_000_000) for name, values in pair]
        return outcome(by_text(*curves), "Q*bert, MFEC's half: mellowmax (11610 ± 898) above epsilon-greedy")

    assert [table(4, 5, 6), table(4, 5, 7.5), table(10, 11, 12)] == ["supported", "undecided", "contradicted"]


@pytest.mark.parametrize(
    ("solving", "expected"),
    [(10, "supported"), (9, "supported"), (8, "undecided"), (2, "undecided"), (0, "contradicted")],
)
def test_solving_means_that_most_seeds_do_by_the_binomial_test(solving: int, expected: str) -> None:
    finals = [1.0] * solving + [0.0] * (10 - solving)
    room = curve("memec/OpenRoom-v0", "mfec", "epsilon-greedy", finals)
    assert outcome(by_text(room), "MFEC with epsilon-greedy solves OpenRoom") == expected


def test_claims_of_one_family_are_corrected_together() -> None:
    room = "memec/FourRoom-v0"
    five = curve(room, "nec", "epsilon-greedy", [0.0] * 5)  # p = .03 alone
    text = 'NEC with epsilon-greedy "still had poor performance'
    assert outcome(by_text(five), text) == "supported"
    others = [
        curve(name, "nec", strategy, [0.5, 0.4, 0.3, 0.2, 0.1])
        for name in ("memec/OpenRoom-v0", room)
        for strategy in STRATEGIES
        if (name, strategy) != (room, "epsilon-greedy")
    ]
    assert outcome(by_text(five, *others), text) == "undecided"  # two more claims about NEC in rooms


def test_where_readings_decide_differently_it_depends_on_the_reading() -> None:
    names = ("CartPole-v1", "Acrobot-v1", "memec/OpenRoom-v0", "memec/FourRoom-v0")
    solved, failed = ([curve(name, "mfec", "thompson", [score] * 10) for name in names] for score in (500.0, -500.0))
    text = '"TS performed extremely badly" (MFEC)'

    def together(one: list[Curve], other: list[Curve]) -> str:
        return outcome(judged(claims(), {TEXT: Evidence(one), RELEASED: Evidence(other)}), text)

    assert together(solved, failed) == "depends on the reading"
    assert together(solved, solved) == together(solved, []) == "contradicted"
    assert together([], failed) == "not run at the paper's budget"


def test_cartpole_is_judged_by_both_bars_and_both_sets_of_five() -> None:
    cartpole = [curve("CartPole-v1", "mfec", strategy, [300.0] * 10) for strategy in STRATEGIES]
    cartpole += [curve("CartPole-v1", "d3qn", "epsilon-greedy", [250.0] * 10)]
    (found,) = [each for each in by_text(*cartpole) if 'solved Cartpole" (MFEC)' in each.claim.said]
    assert [result.outcome for result in found.results] == ["contradicted"] * 2 + ["supported"] * 2
    assert found.outcome == "depends on the reading"


@pytest.mark.parametrize(
    ("effect", "scatter", "expected"),
    [(1.0, 0.01, "supported"), (0.0, 0.05, "undecided"), (0.0, 0.01, "contradicted")],
)
def test_mellowmax_is_sensitive_to_omega_if_that_matters_anywhere(effect: float, scatter: float, expected: str) -> None:
    def search(name: str, omega: float) -> Curve:
        height = DOMAINS[name].lowest + (effect * omega / 20 if name == "memec/OpenRoom-v0" else 0.0)
        return curve(name, "mfec", f"mellowmax omega={omega:g}", [height + scatter * seed for seed in range(5)])

    searches = [search(name, omega) for name in SMALL for omega in OMEGAS]
    text = '"sensitivity to the value of omega" (MFEC)'
    assert outcome(by_text(*searches), text) == expected
    assert outcome(by_text(*searches[:-1]), text) == "not run at the paper's budget"


def test_too_few_seeds_or_steps_are_not_judged() -> None:
    few = curve("memec/OpenRoom-v0", "mfec", "epsilon-greedy", [1.0] * 2)
    short = curve("memec/OpenRoom-v0", "mfec", "epsilon-greedy", [1.0] * 10, budget=50_000)
    for given in (few, short):
        assert outcome(by_text(given), "MFEC with epsilon-greedy solves OpenRoom") == "not run at the paper's budget"


def test_the_baseline_is_compared_at_the_budget_of_the_agent_beside_it() -> None:
    late = curve("ALE/Qbert-v5", "d3qn", "epsilon-greedy", [100.0, 110, 120], budget=5_000_000)
    late.scores[:, late.steps > 3_500_000] = 9_000.0
    curves = [late]
    for agent, budget in (("mfec", 5_000_000), ("nec", 3_500_000)):
        curves += [curve("ALE/Qbert-v5", agent, "mellowmax", [5_000.0, 5_100, 5_200], budget=budget)]
    judgements = by_text(*curves)
    assert outcome(judgements, "Q*bert, NEC's half: mellowmax (5654 ± 483) above D3QN") == "supported"
    assert outcome(judgements, "Q*bert, MFEC's half: mellowmax (11610 ± 898) above D3QN") == "contradicted"


def recorded(*, label: str = "paper", seed: int = 0, steps: int = 100_000, **changes: Any) -> Run:
    """A run of MFEC with epsilon-greedy in OpenRoom as it is recorded, with some settings changed."""
    settings = settings_for("memec/OpenRoom-v0", "vector", preset="paper", explore="epsilon-greedy")
    content = settings.changed({"agent": changes, "training": {"steps": steps}}).model_dump(mode="json")
    every = np.arange(500, steps + 1, 500)
    return Run(content | {"seed": seed}, label, every, np.ones(len(every)), "epsilon-greedy", "", {})


def test_a_run_counts_by_its_settings_and_not_by_its_name() -> None:
    text = "MFEC with epsilon-greedy solves OpenRoom"

    def judge(runs: list[Run]) -> str:
        return outcome(judged(claims(), readings_of(sort_runs(runs, preset_of))), text)

    assert judge([recorded(seed=seed) for seed in range(10)]) == "supported"
    assert judge([recorded(seed=seed, label="mine") for seed in range(10)]) == "supported"
    others: tuple[dict[str, Any], ...] = (
        {"discount": 1.0},
        {"memory": {"search": "approximate"}},
        {"memory": {"neighbours": 3}},
    )
    for change in others:
        assert judge([recorded(seed=seed, **change) for seed in range(10)]) == "not run at the paper's budget", change
    assert judge([recorded(seed=seed, steps=50_000) for seed in range(10)]) == "not run at the paper's budget"


def test_a_run_from_before_a_setting_existed_has_what_was_then_the_only_way() -> None:
    run = recorded()
    del run.settings["environment"]["empty_stack_after_life_loss"], run.settings["agent"]["explore"]["ties"]
    assert preset_of(run.settings) == "paper"
    assert preset_of(run.settings | {"environment": {"id": "nowhere"}}) is None
    released = settings_for("memec/OpenRoom-v0", "vector", preset="released", explore="ucb").model_dump(mode="json")
    assert preset_of(released) == "released"


def test_curves_that_tie_stand_for_nothing_rather_than_for_the_last_of_the_alphabet() -> None:
    one, other = curve("CartPole-v1", "mfec", "ucb", [1.0, 2.0]), curve("CartPole-v1", "mfec", "ucb", [3.0, 4.0])
    assert longest([one, other]) == {}
    more = curve("CartPole-v1", "mfec", "ucb", [3.0, 4.0, 5.0])
    assert longest([one, more, other])[one.subject] is more


def test_three_seeds_show_an_order_as_often_as_there_is_one() -> None:
    high, low = np.array([5.0, 6, 7, 8]), np.array([1.0, 2, 3, 4])
    assert highest_of_three(high, [low]) == 1.0
    assert highest_of_three(low, [high, high]) == 0.0
    assert highest_of_three(low, [low + 0.01, low - 0.01]) == pytest.approx(1 / 3, abs=0.05)


def test_the_authors_runs_agree_with_ours_as_far_as_their_seeds_can_tell() -> None:
    def theirs(*scores: float) -> list[TheirRun]:
        steps = np.arange(500, 100_001, 500)
        return [
            TheirRun("CartPole-v1", "mfec", "ucb", seed, steps, np.full(len(steps), score))
            for seed, score in enumerate(scores)
        ]

    ours = curve("CartPole-v1", "mfec", "ucb", [200.0, 210, 220, 230, 240, 250, 260, 270, 280, 290])
    same, other = agreement(theirs(205, 245, 285), [ours]), agreement(theirs(5, 6, 7), [ours])
    assert same is not None and other is not None
    assert "**In 0 of 1 cells" in same.said() and same.together() > 0.2
    assert "**In 1 of 1 cells" in other.said() and other.together() < 0.02
    assert agreement(theirs(1.0), []) is None


def test_the_page_in_the_docs_is_what_the_committed_results_give() -> None:
    results = REPOSITORY / "results"
    found = sort_runs(find_runs(results).runs, preset_of)
    beside = agreement(read_authors(results), curves_of(found.readings[TEXT]))
    page = verdict_page(found, judge(found), beside, Path("reproduction"))
    assert (REPOSITORY / "docs" / "reproduction.md").read_text() == page, "make it again with the command it names"
    assert all(f"** {outcome}" in page for outcome in OUTCOMES)
    for picture in (line.partition("](")[2].rstrip(")") for line in page.splitlines() if line.startswith("![")):
        assert (REPOSITORY / "docs" / picture).is_file()


def test_runs_with_other_settings_are_never_averaged_together() -> None:
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
    assert "| FourRoom | MFEC | mellowmax | ucb | 1 [0.3856, 1] |" in comparisons_table(curves).markdown()
    assert "| 2 of the small | MFEC | mellowmax | 4 | 0.75" in overall_table(curves).markdown()
    pong = "| Pong | MFEC | mellowmax | 7 ± 4 | 5,000,000 | 9 | 1 | 1,000,000 |"
    assert pong in atari_table(curves).markdown()
    assert "OpenRoom,MFEC,mellowmax,2," in scores_table(curves).csv()
