"""What a summary says about campaigns whose numbers are known beforehand."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from histories import (
    DFT,
    ESTIMATE,
    GATE,
    MEASURED,
    UNIT,
    XTB,
    History,
    Item,
    cost,
    ladder_spec,
)

from verifier_ladder.analysis.overview import overview
from verifier_ladder.cost import Cost
from verifier_ladder.decision import Action
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.memory import MemoryLedger
from verifier_ladder.ledger.records import Block, CheckState, Entry
from verifier_ladder.resource import Resource
from verifier_ladder.reward import Reward
from verifier_ladder.summary import TierSummary, summarise
from verifier_ladder.summary.terminal import everything_text, news
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict


def accept(score: float, seconds: float, uncertainty: float = 1.0) -> Verdict:
    return cost(Verdict.accept(score, uncertainty=uncertainty, unit=UNIT), seconds)


def passing(smiles: str, estimate: float, raw: str | None = None) -> Item:
    verdicts = {GATE: cost(Verdict.accept(), 0.25), ESTIMATE: accept(estimate, 0.75)}
    reward = Reward(-estimate / 10, 0.2, Tier.FAST, pending=True)
    return Item(
        raw or smiles, smiles, verdicts, reward, estimate, 2.0, Action.ESCALATE,
        Tier.SIMULATION, 1,
    )  # fmt: skip


def with_verdict(item: Item, verifier: str, verdict: Verdict, reward: Reward, mean: float) -> Item:
    verdicts = {**item.verdicts, verifier: verdict}
    return replace(item, verdicts=verdicts, reward=reward, mean=mean, deviation=1.0)


WATER, ETHANOL, BENZENE = passing("O", -6.0), passing("CCO", -5.0), passing("c1ccccc1", -1.0)
BROKEN = Item("C1CC", Verdict.reject("can't read 'C1CC'"), {}, Reward(0.0, 0.0, Tier.FAST))
BROKEN_TOO = Item("CC(", Verdict.reject("can't read 'CC('"), {}, Reward(0.0, 0.0, Tier.FAST))
CHARGED = Item(
    "[C+9]", "[C+9]", {GATE: cost(Verdict.reject("charge +9 is too large"), 0.25)},
    Reward(0.0, 0.0, Tier.FAST),
)  # fmt: skip


def tier(ledger: Ledger, which: Tier, campaign: str = "try") -> TierSummary:
    return next(t for t in summarise(ledger, campaign).tiers if t.tier is which)


@pytest.fixture
def ledger() -> Ledger:
    return open_ledger(None)


@pytest.fixture
def history(ledger: Ledger) -> History:
    return History(ledger)


def test_an_unknown_campaign_is_named_with_those_that_exist(history: History) -> None:
    with pytest.raises(ConfigError, match=r"no campaign 'other'.*try"):
        summarise(history.ledger, "other")


def test_a_campaign_without_samples_is_all_zeros(history: History) -> None:
    summary = summarise(history.ledger, "try")

    assert (summary.samples, summary.candidates, summary.spent) == (0, 0, 0.0)
    assert summary.rewards.mean is None
    assert summary.everything == {}
    assert [t.asked for t in summary.tiers] == [0, 0, 0, 0]


def test_the_fast_tier_counts_distinct_candidates_by_outcome(history: History) -> None:
    history.score([WATER, ETHANOL, BENZENE, BROKEN, CHARGED])

    fast = tier(history.ledger, Tier.FAST)

    assert (fast.asked, fast.accepted, fast.rejected, fast.failed) == (5, 3, 2, 0)
    assert fast.checks == 7


def test_a_duplicate_is_one_candidate_and_one_reused_answer(history: History) -> None:
    history.score([ETHANOL, replace(ETHANOL, raw="OCC"), ETHANOL])

    summary = summarise(history.ledger, "try")

    assert (summary.samples, summary.candidates, summary.duplicates) == (3, 1, 2)
    assert summary.respellings == 1
    assert summary.tiers[0].reused == 2
    assert summary.best[0].samples == 3


def test_the_same_content_with_another_task_is_another_candidate(history: History) -> None:
    history.score([replace(WATER, task=b"a" * 32), replace(WATER, task=b"b" * 32)])

    assert summarise(history.ledger, "try").candidates == 2


def test_rejects_are_grouped_by_reason_without_what_they_quote(history: History) -> None:
    history.score([BROKEN, BROKEN_TOO, CHARGED])

    reasons = summarise(history.ledger, "try").rejects

    assert [(r.text, r.count) for r in reasons] == [
        ("can't read '…'", 2), ("charge +9 is too large", 1)
    ]  # fmt: skip
    assert reasons[0].examples == ("C1CC", "CC(")
    assert reasons[1].verifier == GATE


def test_scores_whose_squares_are_no_numbers_are_summed_up(history: History) -> None:
    sizes = [-1e200, 1e200, 1e300, 3.0, 2.0, 1.0, 0.0, -1.0]
    history.score([
        replace(passing(f"C{n}", size), verdicts={
            GATE: Verdict.accept(), ESTIMATE: accept(size, 0.1), MEASURED: accept(float(n), 0.1),
        }) for n, size in enumerate(sizes)
    ])  # fmt: skip
    (agreement,) = summarise(history.ledger, "try").agreement

    assert agreement.count == len(sizes)
    assert agreement.correlation == pytest.approx(1 - 6 * 110 / (8 * 63))


def test_an_alarm_that_can_not_be_read_is_told_and_hides_nothing_else(history: History) -> None:
    history.score([WATER])
    entry = history.ledger.append(Block("alarm", "try", facts={"stratum": 7}))
    summary = summarise(history.ledger, "try")

    assert summary.samples == 1
    assert summary.alarms == overview(history.ledger, "try").totals.alarms
    assert f"entry {entry} is an alarm and can't be read" in summary.alarms[0]


def test_a_failure_is_no_reject_and_no_answer(history: History) -> None:
    history.score([WATER])
    failed = cost(Verdict.abstain("SCF did not converge", failed_at="tool"), 3.0)
    history.check(WATER, XTB, failed)

    summary = summarise(history.ledger, "try")

    assert summary.rejects == ()
    (failure,) = summary.failures
    assert (failure.boundary, failure.attempts, failure.seconds) == ("tool", 1, 3.0)
    assert failure.examples == ("O",)
    assert summary.tiers[1].answered == 0
    assert summary.tiers[1].mean_seconds is None


def test_an_answer_after_a_failed_attempt_counts_as_the_answer(history: History) -> None:
    history.score([WATER])
    history.check(WATER, XTB, cost(Verdict.abstain("killed", failed_at="engine"), 1.0))
    history.check(WATER, XTB, accept(-5.5, 2.0))

    simulation = tier(history.ledger, Tier.SIMULATION)

    assert (simulation.accepted, simulation.failed) == (1, 0)
    assert simulation.mean_seconds == 2.0


def test_a_considered_abstention_is_told_apart_from_a_failure(history: History) -> None:
    history.score([WATER])
    history.check(WATER, DFT, cost(Verdict.abstain("more than 12 heavy atoms"), 0.0))

    summary = summarise(history.ledger, "try")

    assert summary.failures == ()
    assert [r.text for r in summary.abstentions] == ["more than 12 heavy atoms"]
    assert summary.tiers[2].abstained == 1


def test_climbing_everything_is_mean_cost_times_acceptable_candidates(history: History) -> None:
    history.score([WATER, ETHANOL, BENZENE, CHARGED])
    for item in (WATER, ETHANOL):
        history.check(item, XTB, accept(-5.0, 4.0))
    history.check(WATER, DFT, accept(-6.2, 30.0))

    summary = summarise(history.ledger, "try")

    # Fast: 3 × 1 s and one gate of 0.25 s over four candidates that answered.
    seconds = [tier.everything[Resource.CPU_SECONDS] for tier in summary.tiers]
    assert seconds == pytest.approx([3 * 3.25 / 4, 3 * 4.0, 3 * 30.0, 0.0])
    assert summary.everything == {Resource.CPU_SECONDS: pytest.approx(3 * 3.25 / 4 + 12 + 90)}


def test_what_is_at_work_counts_in_the_cost_of_climbing_everything(history: History) -> None:
    """As where a table answers for nothing, and people are asked for the rest."""
    history.score([WATER, ETHANOL, BENZENE])
    history.check(WATER, MEASURED, accept(-6.3, 0.0))
    history.enqueue(ETHANOL, MEASURED, CheckState.WAITING)

    world = tier(history.ledger, Tier.WORLD)

    assert world.reserved > 0.0
    found = world.everything[Resource.CPU_SECONDS]
    assert found == pytest.approx(3 * (0.0 + world.reserved) / 2)


def test_what_is_declared_stands_in_for_a_tier_that_only_declined(ledger: Ledger) -> None:
    ladder = ladder_spec()
    ladder["verifiers"][-2]["cost"] = {"seconds": 60.0}
    history = History(ledger, "try", ladder)
    history.score([WATER, ETHANOL, BENZENE])
    history.check(WATER, XTB, accept(-5.0, 4.0))
    history.check(WATER, DFT, cost(Verdict.abstain("more than 12 heavy atoms"), 2e-4))

    summary = summarise(ledger, "try")

    assert summary.tiers[2].everything[Resource.CPU_SECONDS] == pytest.approx(3 * 60.0)


def test_people_and_money_are_estimated_each_by_itself(ledger: Ledger) -> None:
    ladder = ladder_spec()
    ladder["verifiers"][-1]["cost"] = {"person_minutes": 5.0}
    history = History(ledger, "try", ladder)
    history.score([WATER, ETHANOL, BENZENE])
    for item in (WATER, ETHANOL):
        history.check(item, XTB, replace(accept(-5.0, 1.0), cost=Cost(seconds=1.0, money=0.02)))
    history.check(WATER, DFT, accept(-6.2, 30.0))

    everything = summarise(ledger, "try").everything

    assert everything[Resource.PERSON_MINUTES] == pytest.approx(3 * 5.0)
    assert everything[Resource.MONEY] == pytest.approx(3 * 0.02)


def test_nothing_is_said_of_climbing_everything_where_no_less_was_spent(history: History) -> None:
    history.score([WATER])
    history.check(WATER, XTB, accept(-5.0, 4.0))
    history.check(WATER, DFT, accept(-6.2, 30.0))

    summary = summarise(history.ledger, "try")

    assert summary.everything == {}
    assert "" == everything_text(summary)


def test_the_estimate_is_unknown_while_a_tier_has_measured_nothing(history: History) -> None:
    history.score([WATER])

    assert Resource.CPU_SECONDS not in summarise(history.ledger, "try").everything


def test_a_revision_replaces_the_reward_of_its_samples(history: History) -> None:
    history.score([WATER, BENZENE])
    revised = with_verdict(WATER, XTB, accept(-4.0, 1.0), Reward(0.4, 0.1, Tier.SIMULATION), -4.0)
    history.check(WATER, XTB, revised.verdicts[XTB])
    history.revise(0, 0, revised)

    summary = summarise(history.ledger, "try")

    assert summary.samples == 2
    assert summary.rewards.mean == pytest.approx((0.4 + 0.1) / 2)
    assert summary.rewards.revised == 1
    assert summary.best[0].reached is Tier.SIMULATION
    assert not summary.best[0].pending


def test_a_correction_of_one_sample_leaves_its_candidate_s_other_samples_alone(
    history: History,
) -> None:
    """A correction by 1/p stands for all samples that were not drawn, so it counts once."""
    history.score([WATER, BENZENE, WATER])
    history.score([WATER])
    history.check(WATER, XTB, accept(-4.0, 1.0))
    corrected = with_verdict(
        WATER, XTB, accept(-4.0, 1.0), Reward(-1.4, 0.1, Tier.SIMULATION), -4.0
    )
    history.revise(0, 2, corrected)
    later = with_verdict(WATER, XTB, accept(-4.0, 1.0), Reward(-1.0, 0.1, Tier.SIMULATION), -4.0)
    history.revise(0, 2, later)

    summary = summarise(history.ledger, "try")

    assert summary.rewards.mean == pytest.approx((0.6 + 0.1 - 1.0 + 0.6) / 4)
    assert summary.curve[-1].mean == summary.rewards.mean


def test_an_unknown_reward_is_counted_apart_and_not_as_zero(history: History) -> None:
    silent = Item("C", "C", {GATE: Verdict.accept()}, Reward(None))
    history.score([WATER, silent])

    rewards = summarise(history.ledger, "try").rewards

    assert (rewards.count, rewards.unknown) == (2, 1)
    assert rewards.mean == pytest.approx(0.6)


def test_the_prediction_is_what_was_believed_before_the_world_answered(history: History) -> None:
    history.score([WATER])
    simulated = with_verdict(
        WATER, XTB, accept(-5.5, 1.0), Reward(0.5, 0.1, Tier.SIMULATION), -5.4
    )
    history.revise(0, 0, simulated)
    told = accept(-6.3, 0.0, uncertainty=0.2)
    history.check(WATER, MEASURED, told)
    history.revise(
        0, 0, with_verdict(simulated, MEASURED, told, Reward(0.63, 0.0, Tier.WORLD), -6.3)
    )

    (best,) = summarise(history.ledger, "try").best

    assert (best.mean, best.deviation) == (-5.4, 1.0)
    assert best.measured is not None
    assert (best.measured.value, best.measured.uncertainty) == (-6.3, 0.2)
    assert best.reached is Tier.WORLD


def test_a_corrected_reward_ranks_nothing(history: History) -> None:
    """Of one-sample estimates the largest is the one whose belief was furthest from the truth."""
    corrected = {"O": Reward(1.9, 0.1, Tier.WORLD), "CCO": Reward(-0.8, 0.1, Tier.WORLD)}
    told = {"O": -5.1, "CCO": -13.4}
    items = [WATER, ETHANOL, passing("CCC", -9.0)]
    history.score(items)
    for place, item in enumerate(items[:2]):
        verdict = accept(told[item.raw], 0.0, uncertainty=0.2)
        history.check(item, MEASURED, verdict)
        history.revise(0, place, with_verdict(
            item, MEASURED, verdict, corrected[item.raw], float("nan")
        ))  # fmt: skip

    summary = summarise(history.ledger, "try")

    assert [("CCO", -13.4), ("CCC", -9.0), ("O", -5.1)] == [
        (c.content, c.known) for c in summary.best
    ]
    assert [-0.8, 0.9, 1.9] == [c.reward for c in summary.best]
    assert 1.0 == summary.rewards.best == summary.curve[-1].best


def test_what_a_verifier_said_outranks_before_the_learner_hears_of_it(history: History) -> None:
    history.score([WATER, ETHANOL])
    history.check(ETHANOL, MEASURED, accept(-13.0, 0.0))

    best = summarise(history.ledger, "try").best

    assert [("CCO", -13.0), ("O", -6.0)] == [(c.content, c.known) for c in best]


def test_the_best_are_ordered_by_what_is_known_and_hold_no_rejects(history: History) -> None:
    history.score([BENZENE, BROKEN, WATER, CHARGED, ETHANOL])

    best = summarise(history.ledger, "try", best=2).best

    assert [c.content for c in best] == ["O", "CCO"]
    assert best[0].scores[Tier.FAST].value == -6.0


def test_verdicts_of_another_campaign_are_borrowed_at_no_cost(ledger: Ledger) -> None:
    first = History(ledger, "first")
    first.score([WATER, BROKEN])
    second = History(ledger, "second")
    known = replace(WATER, cached=(GATE, ESTIMATE))
    second.score([known])

    summary = summarise(ledger, "second")

    assert summary.spent == 0.0
    assert (summary.tiers[0].accepted, summary.tiers[0].reused) == (1, 1)
    assert summary.best[0].scores[Tier.FAST].value == -6.0
    assert (summary.runs[0].checks, summary.runs[0].reused) == (0, 2)


class Torn(MemoryLedger):
    """A ledger of which all parts of one entry are lost."""

    lost = 0

    def entries(self, **wanted: Any) -> Iterator[Entry]:
        for entry in super().entries(**wanted):
            head, _, _ = entry.body.partition(b"\n")
            yield entry._replace(body=head if entry.id == self.lost else entry.body)


def test_what_holds_no_verdict_of_another_campaign_is_not_read() -> None:
    ledger = Torn()
    first, second = History(ledger, "first"), History(ledger, "second")
    first.score([WATER])
    first.score([replace(WATER, cached=(GATE, ESTIMATE))])
    ledger.lost = ledger.newest()
    second.score([measured(-3.0, first)[1]])

    assert summarise(ledger, "second").best[0].scores[Tier.FAST].value == -6.0


def test_what_was_kept_of_a_call_before_its_samples_is_theirs(history: History) -> None:
    """As of a large call, and of one that was broken off and made again."""
    rows = [history._row(WATER, name, verdict) for name, verdict in WATER.verdicts.items()]
    history.ledger.append(Block("score", "try", [history._candidate(BROKEN)], rows))
    assert history._is_new(BROKEN.raw)
    history.score([replace(WATER, cached=(GATE, ESTIMATE)), BROKEN])

    fast = tier(history.ledger, Tier.FAST)

    assert (fast.asked, fast.accepted, fast.rejected, fast.reused) == (2, 1, 1, 0)


def test_an_answer_to_a_task_is_not_that_to_the_same_text_without_one(history: History) -> None:
    asked = replace(WATER, task=b"a" * 32)
    history.score([WATER, asked])
    history.check(asked, XTB, accept(-5.0, 1.0))
    history.revise(0, 1, with_verdict(asked, XTB, accept(-5.0, 1.0), Reward(0.5), -5.0))

    best = summarise(history.ledger, "try").best

    assert {(c.reward, Tier.SIMULATION in c.scores) for c in best} == {(0.5, True), (0.6, False)}
    assert tier(history.ledger, Tier.SIMULATION).accepted == 1


def measured(score: float, history: History) -> tuple[Block, Item]:
    """The answer of the world as an entry of another kind, and who rests on it."""
    said = accept(score, 0.0)
    item = replace(
        WATER, verdicts={**WATER.verdicts, MEASURED: said}, cached=(GATE, ESTIMATE, MEASURED)
    )
    return Block("review", history.name, verdicts=[history._row(item, MEASURED, said)]), item


def test_a_borrowed_answer_is_told_as_it_was_corrected(ledger: Ledger) -> None:
    first, second = History(ledger, "first"), History(ledger, "second")
    first.score([WATER])
    first.check(WATER, MEASURED, accept(-3.0, 0.0))
    second.score([measured(-3.0, first)[1]])
    ledger.append(measured(-6.5, first)[0])

    assert summarise(ledger, "second").best[0].known == -6.5


def test_an_imported_answer_is_told_as_it_was_corrected(history: History) -> None:
    old, item = measured(-3.0, history)
    history.ledger.append(replace(old, kind="import"))
    history.score([replace(item, cached=(MEASURED,))])
    history.ledger.append(measured(-6.5, history)[0])

    assert summarise(history.ledger, "try").best[0].known == -6.5


def test_open_cases_are_listed_and_count_as_asked(history: History) -> None:
    history.score([WATER])
    history.enqueue(WATER, MEASURED, CheckState.WAITING)

    summary = summarise(history.ledger, "try")

    world = summary.tiers[-1]
    assert (world.asked, world.waiting, world.answered) == (1, 1, 0)
    assert [(c.content, c.verifier) for c in summary.cases] == [("O", MEASURED)]


def test_a_text_that_is_recorded_again_is_no_other_spelling(history: History) -> None:
    for _ in range(2):
        history.seen.clear()
        history.score([replace(ETHANOL, verdicts={})])

    summary = summarise(history.ledger, "try")

    assert (summary.duplicates, summary.respellings) == (1, 0)


def test_who_won_and_who_waits_for_budget_are_told(history: History) -> None:
    history.score([WATER, ETHANOL])
    history.check(ETHANOL, MEASURED, accept(-5.0, 0.0))
    history.ledger.set_caps("try", {(int(Tier.HIGH_FIDELITY), Resource.CPU_SECONDS): 1.0})
    history.enqueue(WATER, DFT, CheckState.QUEUED)

    summary = summarise(history.ledger, "try")

    won, waits = news(summary)
    assert won == f"Best measured: CCO, −5.0 ± 1.0 {UNIT}."
    assert news(summary, {"CCO": "ethanol"})[0] == won.replace("CCO", "ethanol")
    assert waits == (
        "The high fidelity tier has too little budget left for another check: "
        "1 candidate waits for a larger one."
    )
    assert {"CCO": False, "O": True} == {one.content: one.parked for one in summary.best}


def test_the_versions_of_a_surrogate_are_told_as_they_were_reviewed_last(
    history: History,
) -> None:
    old, new = ({"name": name * 32, "labels": n} for name, n in (("ab", 64), ("cd", 128)))
    refs = [ref | {"weights.npy": "00", "trained.npy": "00"} for ref in (old, new)]
    for reviews in ({}, {"ab" * 32: [33.2, 0.412, 0.08], "cd" * 32: [0.0, None, None]}):
        facts = {"labels": 130, "trained": 128, "speaks": refs[0], "shadow": refs[1]}
        history.ledger.append(Block("surrogate", "try", facts=facts | {"reviews": reviews}))

    summary = summarise(history.ledger, "try")

    speaks, shadow = news(summary)
    assert speaks == (
        "Surrogate: version abababababab of 64 labels speaks (41% ± 8% of the variance gained, "
        "by 33 held-out labels)."
    )
    assert shadow == (
        "Surrogate: version cdcdcdcdcdcd of 128 labels is in shadow (too few held-out labels tell "
        "yet)."
    )
    assert summary.as_json()["surrogate"]["versions"][0]["gain"] == 0.412


def test_a_surrogate_of_which_no_version_was_trained_says_so(history: History) -> None:
    facts: dict[str, object] = {
        "labels": 64, "trained": 0, "speaks": None, "shadow": None, "reviews": {},
    }  # fmt: skip
    history.ledger.append(Block("surrogate", "try", facts=facts))

    (told,) = news(summarise(history.ledger, "try"))

    assert told == "Surrogate: no version was trained at 64 labels."


def test_what_the_budget_can_not_pay_is_parked(history: History) -> None:
    history.score([WATER])
    history.ledger.set_caps("try", {(int(Tier.HIGH_FIDELITY), Resource.CPU_SECONDS): 1.0})
    history.enqueue(WATER, DFT, CheckState.QUEUED)

    dear = tier(history.ledger, Tier.HIGH_FIDELITY)

    assert (dear.parked, dear.queued, dear.cap) == (1, 0, 1.0)


def test_the_spend_is_that_of_the_accounts(history: History) -> None:
    history.score([WATER, BROKEN])

    assert summarise(history.ledger, "try").spent == pytest.approx(1.0)


def test_the_curve_ends_at_what_was_spent_with_the_present_best(history: History) -> None:
    history.score([WATER, BENZENE])
    history.check(WATER, XTB, accept(-5.0, 5.0))

    curve = summarise(history.ledger, "try").curve

    assert curve[-1].seconds == pytest.approx(7.0)
    assert curve[-1].best == pytest.approx(8 / 14)
    assert curve[-1].mean == pytest.approx((0.6 + 0.1) / 2)


def test_a_ladder_of_one_tier_needs_no_other(ledger: Ledger) -> None:
    history = History(ledger, "short", ladder_spec((ESTIMATE,)))
    item = replace(WATER, verdicts={ESTIMATE: WATER.verdicts[ESTIMATE]})
    history.score([item])

    summary = summarise(ledger, "short")

    assert [t.tier for t in summary.tiers] == [Tier.FAST]
    assert summary.tiers[0].everything[Resource.CPU_SECONDS] == pytest.approx(0.75)


def test_the_summary_is_json_even_with_a_lone_surrogate(history: History) -> None:
    history.score([Item("C\ud800", Verdict.reject("not text"), {}, Reward(0.0, 0.0, Tier.FAST))])

    made = json.loads(json.dumps(summarise(history.ledger, "try").as_json()).encode())

    assert made["tiers"][0]["tier"] == "fast"
    assert made["tiers"][0]["rejected"] == 1
    assert made["duplicates"] == 0
