"""Costs are those declared at first, and those measured later."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.resource import Resource
from verifier_ladder.scheduler.costs import CostLessons, CostModel
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.verifiercosts import predictors
from verifier_ladder.verdict import Verdict

CPU, GPU, MONEY, MINUTES = Resource


class Sized(vl.Verifier):
    """Declares a cost that depends on the candidate."""

    name, version, tier = "sized", "1", "high_fidelity"
    cost = Cost(8.0)

    def expected_cost(self, candidate: Candidate) -> Cost:
        return Cost(float(len(candidate.content)))


class Open(vl.Verifier):
    """Waits for the world."""

    name, version, tier, waits = "open", "1", "world", True
    cost = Cost(person_minutes=5.0)


def verifier(name: str, tier: str, cost: Cost | None = None, **more: Any) -> vl.Verifier:
    @vl.verifier(name=name, tier=tier, version="1", cost=cost or Cost(), **more)
    def answer(candidate: Candidate) -> float:
        return float(len(candidate.content))

    return answer


def model(*verifiers: vl.Verifier) -> CostModel:
    return CostModel(vl.Ladder("costs", verifiers))


def standing(said: Mapping[str, Cost | None] | None = None, text: str = "x" * 64) -> Standing:
    made = Standing("text", bytes(32), text)
    made.expected = {Sized.name: Cost(float(len(text))).amounts}
    for name, cost in (said or {}).items():
        made.verdicts[name] = replace(Verdict.accept(1.0), cost=cost)
    return made


def stopped(costs: CostModel, seconds: float, text: str = "x" * 64, times: int = 1) -> None:
    said = Verdict.abstain("spent what was reserved", failed_at="budget")
    one = standing(text=text)
    one.verdicts["dear"] = replace(said, cost=Cost(seconds))
    costs.learn(costs.lessons("dear", [one] * times))


def teach(costs: CostModel, name: str, took: Cost, times: int = 200, text: str = "x" * 64) -> None:
    costs.learn(costs.lessons(name, [standing({name: took}, text)] * times))


FAST, DEAR = verifier("fast", "fast", Cost(1e-4)), verifier("dear", "world", Cost(60.0, money=2.0))


def test_at_first_the_declared_cost_is_expected() -> None:
    made = model(FAST, DEAR).predict([standing()] * 2)

    assert made.shape == (2, 2, 4)
    assert made[0, 0] == pytest.approx(FAST.cost.amounts)
    assert made[1, 1] == pytest.approx(DEAR.cost.amounts)


def test_a_declared_cost_may_depend_on_the_candidate() -> None:
    made = model(Sized()).predict([standing(text="x" * n) for n in (10, 300)])

    assert made[:, 0, CPU] == pytest.approx([10.0, 300.0])


def test_a_tier_costs_what_its_open_verifiers_do() -> None:
    gate = verifier("gate", "fast", Cost(0.5), role="gate")
    made = model(gate, FAST).predict([standing(), standing({"gate": Cost(0.5)})])

    assert made[:, 0, CPU] == pytest.approx([0.5001, 0.0001])


def test_an_undeclared_time_is_guessed_and_soon_known() -> None:
    costs = model(FAST, verifier("mystery", "simulation"))
    assert 0.0 < costs.predict([standing()])[0, 1, CPU] < 10.0

    teach(costs, "mystery", Cost(300.0), times=10)

    assert costs.predict([standing()])[0, 1, CPU] == pytest.approx(300.0, rel=0.6)


def test_measured_times_take_over() -> None:
    costs = model(FAST, DEAR)

    teach(costs, "dear", Cost(6.0, money=2.0))

    assert costs.predict([standing()])[0, 1] == pytest.approx([6.0, 0, 2.0, 0], rel=0.1)


def test_size_and_lower_tiers_foretell_times() -> None:
    costs, draws = model(FAST, verifier("middle", "simulation"), DEAR), np.random.default_rng(0)
    errors = []
    for _ in range(300):
        size, hard = int(np.exp(draws.normal(4.0, 1.0))) + 1, draws.normal(0.0, 0.6)
        middle, dear = 0.01 * size * np.exp(hard), 0.5 * size**1.5 * np.exp(1.5 * hard)
        one = standing({"middle": Cost(middle)}, "x" * size)
        errors.append(abs(np.log(costs.predict([one])[0, 2, CPU] / dear)))
        one.verdicts["dear"] = replace(Verdict.accept(1.0), cost=Cost(dear))
        for name in ("middle", "dear"):
            costs.learn(costs.lessons(name, [one]))

    assert np.mean(errors[-100:]) < 0.1 < np.mean(errors[:5])


def test_numbers_that_lower_verifiers_offer_foretell_times() -> None:
    costs = model(verifier("fast", "fast", Cost(1e-4), features=["rings"]), DEAR)
    for rings in [0, 1, 2, 3] * 60:
        one = standing({"fast": Cost(1e-4), "dear": Cost(10.0 * (1 + rings), money=2.0)})
        one.verdicts["fast"] = replace(one.verdicts["fast"], evidence={"rings": rings})
        costs.learn(costs.lessons("dear", [one]))

    def asked(evidence: Mapping[str, Any]) -> float:
        one = standing({"fast": Cost(1e-4)})
        one.verdicts["fast"] = replace(one.verdicts["fast"], evidence=evidence)
        return float(costs.predict([one])[0, 1, CPU])

    assert asked({"rings": 3}) == pytest.approx(40.0, rel=0.1)
    assert asked({"rings": 0}) == pytest.approx(10.0, rel=0.1)
    assert all(np.isfinite(asked({"rings": odd})) for odd in (None, "3", True, float("nan")))


def test_a_tier_is_expected_to_be_as_slow_as_the_one_below() -> None:
    middle = verifier("middle", "simulation", Cost(1.0), same_quantity=True)
    costs = model(FAST, middle, DEAR)

    usual, slow = costs.predict([standing({"middle": Cost(s)}) for s in (1.0, 5.0)])

    assert usual[2, CPU] == pytest.approx(60.0)
    assert slow[2, CPU] == pytest.approx(300.0)


@pytest.mark.parametrize("took", [0.0, 1e-9, 1e6])
def test_a_tier_of_another_kind_does_not_foretell_how_slow_those_above_are(took: float) -> None:
    costs = model(FAST, verifier("guess", "simulation"), DEAR)

    made = costs.predict([standing({"fast": Cost(took), "guess": Cost(took)})])

    assert made[0, 2, CPU] == pytest.approx(60.0)


def test_what_is_unlike_all_that_was_checked_is_expected_to_take_more_than_it_is_likely_to() -> (
    None
):
    costs = model(FAST, DEAR)
    teach(costs, "dear", Cost(6.0, money=2.0), times=20)

    usual, strange = costs.predict([standing(), standing(text="x" * 10**6)])[:, 1, CPU]

    assert usual == pytest.approx(6.0, rel=0.3)
    assert 2 * usual < strange < 100 * usual


def test_times_bend_upwards_where_the_work_outgrows_what_each_check_costs() -> None:
    costs = model(verifier("fast", "fast", Cost(1e-4), features=["atoms"]), DEAR)

    def asked(atoms: int, took: float | None = None) -> Standing:
        said = {} if took is None else {"dear": Cost(took, money=2.0)}
        one = standing({"fast": Cost(1e-4), **said})
        one.verdicts["fast"] = replace(one.verdicts["fast"], evidence={"atoms": atoms})
        return one

    def truth(atoms: int) -> float:
        return 5.0 + 1e-5 * atoms**3

    for atoms in [3, 10, 30, 100, 300] * 40:
        costs.learn(costs.lessons("dear", [asked(atoms, truth(atoms))]))

    made = costs.predict([asked(atoms) for atoms in (3, 300, 600)])[:, 1, CPU]
    assert made[:2] == pytest.approx([truth(3), truth(300)], rel=0.5)
    assert made[2] > 3 * made[1]


@given(st.lists(st.floats(-40, 40) | st.just(np.nan), min_size=4, max_size=4))
def test_predictors_are_finite_whatever_is_known(numbers: list[float]) -> None:
    row = np.array([numbers])

    made = predictors(np.zeros(1), row[:, :2], row[:, :2], row[:, 2:])

    assert (1, 3 + 2 * 4 + 2) == made.shape
    assert np.isfinite(made).all()


def test_money_is_expected_in_the_mean_ratio_of_what_was_paid() -> None:
    costs = model(FAST, DEAR)

    for paid in [0.0, 3.0] * 100:  # Half of the calls are answered for nothing.
        teach(costs, "dear", Cost(60.0, money=paid), times=1)

    assert costs.predict([standing()])[0, 1, MONEY] == pytest.approx(1.5, rel=0.05)


def test_what_nobody_declared_is_expected_once_it_was_measured() -> None:
    costs = model(FAST, DEAR)
    assert costs.predict([standing()])[0, 1, MINUTES] == 0.0

    teach(costs, "dear", Cost(60.0, money=2.0, person_minutes=4.0))

    assert costs.predict([standing()])[0, 1, MINUTES] == pytest.approx(4.0)


def test_accelerator_time_grows_with_size_too() -> None:
    costs = model(verifier("net", "simulation", Cost(gpu_seconds=1.0)))
    for size in [10, 100, 1000] * 60:
        teach(costs, "net", Cost(0.1, gpu_seconds=0.01 * size), 1, "x" * size)

    made = costs.predict([standing(text="x" * n) for n in (10, 1000)])

    assert made[:, 0, GPU] == pytest.approx([0.1, 10.0], rel=0.1)


def test_a_case_of_the_world_takes_no_cpu_time() -> None:
    costs = model(FAST, Open())

    teach(costs, "open", Cost(person_minutes=10.0))

    assert costs.predict([standing()])[0, 1] == pytest.approx([0, 0, 0, 10.0], rel=0.05)


@pytest.mark.parametrize(
    "said",
    [{}, {"dear": None}],
    ids=["not asked", "cost unknown"],
)
def test_what_has_no_measured_cost_teaches_nothing(said: Mapping[str, Cost | None]) -> None:
    costs = model(FAST, DEAR)
    before = costs.snapshot()

    costs.learn(costs.lessons("dear", [standing(said)]))

    assert before == costs.snapshot()


def test_an_outage_teaches_nothing() -> None:
    costs, one = model(FAST, DEAR), standing()
    outage = Verdict.abstain("no network", failed_at="tool")
    one.verdicts["dear"] = replace(outage, cost=Cost(0.01))

    assert len(costs.lessons("dear", [one]).measured) == 0


@pytest.mark.parametrize("took", [Cost(), Cost(9e9, 9e9, 9e9, 9e9)], ids=["nothing", "all"])
def test_absurd_costs_are_survived(took: Cost) -> None:
    costs = model(FAST, DEAR)

    teach(costs, "dear", took, times=50)

    made = costs.predict([standing()])
    assert np.isfinite(made).all()
    assert (made >= 0.0).all()


def test_the_expected_cost_of_one_check_is_that_of_its_tier() -> None:
    costs = model(FAST, DEAR)
    teach(costs, "dear", Cost(6.0, money=2.5))

    one, other = costs.expected([DEAR, FAST], [standing(), standing()])

    assert one.amounts == pytest.approx(costs.predict([standing()])[0, 1].tolist())
    assert other.amounts == pytest.approx(FAST.cost.amounts)


def test_what_its_budget_stopped_would_have_taken_more() -> None:
    costs = model(FAST, DEAR)
    teach(costs, "dear", Cost(60.0), times=20)
    before = costs.predict([standing()])[0, 1, CPU]

    stopped(costs, 300.0)

    assert costs.predict([standing()])[0, 1, CPU] > 1.05 * before


@given(st.floats(0, 1e9))
def test_what_was_stopped_early_makes_nothing_cheaper(seconds: float) -> None:
    costs = model(FAST, DEAR)
    teach(costs, "dear", Cost(60.0), times=20)
    before = costs.predict([standing()])[0, 1, CPU]

    stopped(costs, seconds)

    assert costs.predict([standing()])[0, 1, CPU] >= 0.99 * before


def test_what_was_refused_in_no_time_makes_nothing_cheaper() -> None:
    costs = model(FAST, DEAR)
    teach(costs, "dear", Cost(60.0), times=20)
    before = costs.predict([standing()])
    refused = standing(text="x" * 900)
    refused.verdicts["dear"] = replace(Verdict.abstain("too large"), cost=Cost(1e-4))

    costs.learn(costs.lessons("dear", [refused] * 20))

    assert (before == costs.predict([standing()])).all()


COSTS = st.builds(Cost, st.floats(0, 1e6), st.floats(0, 10), st.floats(0, 10), st.floats(0, 10))


@settings(max_examples=30)
@given(
    took=st.lists(st.tuples(COSTS, st.integers(0, 500), st.booleans()), max_size=12),
    cut=st.integers(0, 12),
)
def test_a_snapshot_and_the_lessons_since_give_the_same_predictions(
    took: list[tuple[Cost, int, bool]], cut: int
) -> None:
    costs, again = model(FAST, DEAR), model(FAST, DEAR)
    kept: dict[str, Any] = costs.snapshot()
    written: list[str] = []
    for number, (cost, size, is_stopped) in enumerate(took):
        if number == cut:
            kept, written = costs.snapshot(), []
        one = standing({"dear": cost}, "x" * size)
        if is_stopped:
            said = Verdict.abstain("spent what was reserved", failed_at="budget")
            one.verdicts["dear"] = replace(said, cost=cost)
        lessons = costs.lessons("dear", [one])
        costs.learn(lessons)
        written.append(json.dumps(lessons.as_json()))
    again.restore(json.loads(json.dumps(kept)))
    for line in written:
        again.learn(CostLessons.from_json(json.loads(line)))

    rows = [standing(text="x" * size) for size in (0, 10, 1000)]
    assert again.predict(rows) == pytest.approx(costs.predict(rows), rel=1e-9)


def test_another_version_starts_from_what_it_declares() -> None:
    costs = model(FAST, DEAR)
    teach(costs, "dear", Cost(6.0, money=2.0))
    newer = verifier("dear", "world", Cost(60.0, money=2.0))
    newer.version = "2"
    again = model(FAST, newer)

    again.restore(costs.snapshot())

    assert again.predict([standing()])[0, 1, CPU] == pytest.approx(60.0)


def test_what_was_learnt_below_other_tiers_teaches_nothing() -> None:
    costs = model(FAST, DEAR)
    teach(costs, "dear", Cost(6.0, money=2.0))
    again = model(FAST, verifier("middle", "simulation", Cost(1.0)), DEAR)

    again.restore(costs.snapshot())
    again.learn(costs.lessons("dear", [standing({"dear": Cost(6.0)})]))

    assert again.predict([standing()])[0, 2, CPU] == pytest.approx(60.0)


def test_a_verifier_that_is_gone_teaches_nothing() -> None:
    costs = model(FAST, DEAR)
    lessons = costs.lessons("dear", [standing({"dear": Cost(6.0)})])

    model(FAST).learn(lessons)


def test_no_candidates_cost_nothing() -> None:
    assert model(FAST, DEAR).predict([]).shape == (0, 2, 4)


def test_a_tier_takes_what_is_declared_and_what_was_measured() -> None:
    costs = model(FAST, DEAR)
    assert costs.takes.tolist() == [[True, False, False, False], [True, False, True, False]]

    teach(costs, "dear", Cost(1.0, person_minutes=1.0), times=1)

    assert costs.takes[1].tolist() == [True, False, True, True]
    assert model(Open()).takes.tolist() == [[False, False, False, True]]


def test_replicates_cost_so_many_times_as_much_until_they_have_ended() -> None:
    judge = verifier("judge", "simulation", Cost(2.0, money=0.5), replicates=4)
    costs, some = model(verifier("cheap", "fast"), judge), standing()

    assert [8.0, 2.0] == costs.predict([some])[0, 1, [CPU, MONEY]].tolist()
    for number in range(3):
        some.hear(judge, number, replace(Verdict.accept(1.0), cost=Cost(3.0)))
    assert [2.0, 0.5] == costs.predict([some])[0, 1, [CPU, MONEY]].tolist()
    assert [Cost(2.0, money=0.5)] == costs.expected([judge], [some])


def test_what_replicates_took_together_is_learnt_once_all_have_ended() -> None:
    judge = verifier("judge", "simulation", Cost(2.0), replicates=2)
    costs, some = model(judge), standing()
    some.hear(judge, 0, replace(Verdict.accept(1.0), cost=Cost(3.0)))
    assert 0 == len(costs.lessons("judge", [some]).measured)

    some.hear(judge, 1, replace(Verdict.accept(1.0), cost=Cost(5.0)))

    assert [[8.0]] == costs.lessons("judge", [some]).measured[:, [CPU]].tolist()
