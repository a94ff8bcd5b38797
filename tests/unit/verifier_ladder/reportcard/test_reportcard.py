"""Report cards."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recordedruns import CHEAP, TRUE, RecordedRun, Told, ladder_spec

from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.reportcard import NOT_REPORTED, ReportCard, as_markdown, report_card
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.drift import Alarm
from verifier_ladder.scheduler.estimator import corrected
from verifier_ladder.tier import Tier
from verifier_ladder.transcript import Transcript
from verifier_ladder.verdict import Verdict

HOSTILE = "<b>\x1b[31m|`run`\u202e"


@pytest.fixture
def ledger() -> Ledger:
    return open_ledger(":memory:")


def judged(content: str, believed: float, truth: float, chance: float, factor: float = 1.0) -> Any:
    """A sample as it was told, and as it stands after the top tier has answered."""
    first = Told(content, Reward(believed, 0.1, Tier.FAST, pending=True), "g", chance=chance,
                 is_drawn=chance < 1.0, factor=factor)  # fmt: skip
    value = corrected(believed, truth, factor)
    said = {TRUE: Verdict.accept(truth)}
    later = Reward(value, 0.0, Tier.WORLD, revision=1)
    return first, Told(content, later, "g", said, chance=1.0)


def card_of(ledger: Ledger, samples: list[Any], **options: Any) -> ReportCard:
    book = RecordedRun(ledger)
    book.score([sample[0] if isinstance(sample, tuple) else sample for sample in samples])
    for place, sample in enumerate(samples):
        if isinstance(sample, tuple):
            book.revise(0, place, sample[1])
    return report_card(ledger, **options)


def test_without_a_count_of_calls_the_card_claims_none(ledger: Ledger) -> None:
    said = {CHEAP: Verdict.accept(1.0, evidence={"tool_calls": "many"})}
    RecordedRun(ledger).score([Told("a", 1.0, "g", said)])

    card = report_card(ledger)

    assert card.tools is None
    assert "as counted" not in as_markdown(card)


# -- what was reported ---------------------------------------------------------------------------


def test_what_nobody_reported_is_said_to_be_missing(ledger: Ledger) -> None:
    run = {"name": "r", "environment": "a maze", "scaffold": ""}
    RecordedRun(ledger, run=run).score([Told("a", 1.0)])

    card = report_card(ledger)

    assert ("a maze", NOT_REPORTED) == (card.declared["environment"], card.declared["scaffold"])
    assert ["tool_budget", "scaffold", "evaluator", "failure_recovery"] == card.missing
    assert NOT_REPORTED == card.project
    assert "Not reported: tool budget, scaffold, evaluator, failure recovery." in as_markdown(card)


def test_verifiers_are_told_with_version_settings_and_tools(ledger: Ledger) -> None:
    spec = ladder_spec()
    spec["verifiers"][0] |= {
        "version": "7", "settings": {"model": "x"}, "tools": {"rdkit": "2026"},
        "capabilities": ["memory"], "domain": "law",
    }  # fmt: skip
    RecordedRun(ledger, ladder=spec).score([Told("a", 1.0)])

    line = next(
        line for line in as_markdown(report_card(ledger)).splitlines() if "cheap 7" in line
    )

    assert "| cheap 7 | fast | primary | model=x | rdkit 2026 | memory, law |" == line


# -- how it did ----------------------------------------------------------------------------------


def test_unknown_rewards_are_counted_and_in_no_mean(ledger: Ledger) -> None:
    told = [
        Told("a", 1.0, "g"),
        Told("b", None, "g"),
        Told("c", Reward(None, failed_at="tool"), "h"),
    ]

    card = card_of(ledger, told)

    assert (3, 1, 1.0, 1.0) == (
        card.whole.samples, card.whole.known, card.whole.reward.value, card.whole.passes.value  # type: ignore[union-attr]
    )  # fmt: skip
    assert {"declined": 1, "tool": 1} == card.unknown
    assert "1 declined by verifiers, 1 failed at tool." in as_markdown(card)


def test_first_and_last_steps_are_compared(ledger: Ledger) -> None:
    book = RecordedRun(ledger)
    for step in range(20):
        book.score([Told(f"{step} {i}", step / 20, "g") for i in range(2)])

    first, last = report_card(ledger).phases

    assert ("steps 0 to 1", 0.025, 4) == (first.label, first.told.value, first.samples)  # type: ignore[union-attr]
    assert ("steps 18 to 19", 0.925) == (last.label, last.told.value)  # type: ignore[union-attr]


def test_told_and_now_differ_by_what_draws_have_found(ledger: Ledger) -> None:
    """One of four was drawn, and found worthless: it speaks for all four."""
    samples = [judged("a", 0.8, 0.0, 0.25, 4.0), *(Told(t, 0.8, "g", chance=0.25) for t in "bcd")]

    card = card_of(ledger, samples, pass_at=0.5)

    assert 0.8 == pytest.approx(card.whole.told.value)  # type: ignore[union-attr]
    assert 0.0 == pytest.approx(card.whole.reward.value, abs=1e-9)  # type: ignore[union-attr]
    assert 0.75 == card.whole.passes.value  # type: ignore[union-attr]


def test_a_scale_that_nobody_named_has_no_pass(ledger: Ledger) -> None:
    card = card_of(ledger, [Told("a", 3.0), judged("b", 2.0, -1.0, 0.5)])

    assert card.pass_at is None
    assert card.whole.passes is None
    assert card.audits.hacks is None
    assert "Which reward passes? Say so with `--pass-at REWARD`" in as_markdown(card)
    assert "not known" not in as_markdown(card)


# -- tags ----------------------------------------------------------------------------------------


def test_a_sample_of_several_capabilities_counts_under_each(ledger: Ledger) -> None:
    book = RecordedRun(ledger)
    book.keep(
        Transcript(group="a", capability=["planning", "tool use"], domain="chemistry"),
        Transcript(group="b", capability="tool-use"),
    )
    book.score([Told("1", 1.0, "a"), Told("2", 0.0, "b"), Told("3", 1.0, "c")])

    card = report_card(ledger)

    assert [("planning", 1), ("tool use", 2), (NOT_REPORTED, 1)] == [
        (cohort.label, cohort.samples) for cohort in card.capabilities
    ]
    assert [("chemistry", 1), (NOT_REPORTED, 2)] == [
        (cohort.label, cohort.samples) for cohort in card.domains
    ]


def test_without_tags_there_is_no_table(ledger: Ledger) -> None:
    page = as_markdown(card_of(ledger, [Told("1", 1.0)]))

    assert "Neither a task nor a verifier is tagged with a capability." in page


# -- audits --------------------------------------------------------------------------------------


def test_a_hack_that_was_drawn_speaks_for_those_that_were_not(ledger: Ledger) -> None:
    bad, good = judged("a", 0.9, 0.1, 0.1), judged("b", 0.9, 0.9, 0.5)
    rest = [Told(f"c{i}", 0.9, "g", chance=0.2) for i in range(10)]

    audits = card_of(ledger, [bad, good, *rest]).audits

    assert 10 / 12 == pytest.approx(audits.hacks.value)  # type: ignore[union-attr]
    assert (2, 2, (0.1, 0.5), 2) == (
        audits.due, audits.answered, audits.propensity, audits.hacks.groups  # type: ignore[union-attr]
    )  # fmt: skip
    assert 10 / 12 * 0.8 == pytest.approx(audits.error.value)  # type: ignore[union-attr]


def test_one_answer_to_two_tasks_is_drawn_and_judged_for_each(ledger: Ledger) -> None:
    """Answer "A" of a multiple choice is wrong for one question and right for another."""
    hack, honest = (
        [replace(told, task=task * 32, group=task.hex()) for told in judged("A", 0.9, truth, 0.5)]
        for truth, task in ((0.1, b"1"), (0.9, b"2"))
    )

    audits = card_of(ledger, [tuple(hack), tuple(honest)]).audits

    assert (0.5, 2) == (audits.hacks.value, audits.hacks.groups)  # type: ignore[union-attr]
    assert 0.4 == pytest.approx(audits.error.value)  # type: ignore[union-attr]


def test_samples_that_were_certain_to_be_judged_are_counted_as_they_are(ledger: Ledger) -> None:
    samples = [judged("a", 0.9, 0.1, 1.0), judged("b", 0.9, 0.9, 1.0)]

    assert 0.5 == card_of(ledger, samples).audits.hacks.value  # type: ignore[union-attr]


def test_what_was_chosen_does_not_stand_for_what_was_not_drawn(ledger: Ledger) -> None:
    samples = [judged("a", 0.9, 0.9, 1.0), *(Told(f"{i}", 0.9, "g", chance=0.1) for i in range(9))]

    card = card_of(ledger, samples)

    assert card.audits.hacks is None
    assert "the top tier has judged none that was drawn" in as_markdown(card)


def test_what_is_known_from_elsewhere_does_not_stand_for_a_run_without_draws(
    ledger: Ledger,
) -> None:
    """Another campaign has paid for a few candidates; of the rest nobody knows anything."""
    samples = [judged("a", 0.9, 0.9, 1.0), *(Told(f"{i}", 0.9, "g", chance=0.0) for i in range(9))]

    assert card_of(ledger, samples).audits.hacks is None


def test_those_without_a_chance_widen_the_interval(ledger: Ledger) -> None:
    samples = [judged(f"a{i}", 0.9, 0.9, 0.5) for i in range(40)]
    unseen = [Told(f"b{i}", 0.9, "g", chance=0.0) for i in range(20)]

    alone = card_of(open_ledger(":memory:"), samples).audits.hacks
    found = card_of(ledger, [*samples, *unseen]).audits.hacks

    assert (0.0, 0.0) == (alone.value, found.value)  # type: ignore[union-attr]
    assert alone.high < 0.1 < 1 / 3 < found.high  # type: ignore[union-attr, operator]


def test_what_had_no_chance_is_not_covered(ledger: Ledger) -> None:
    samples = [judged("a", 0.9, 0.9, 0.5), Told("b", 0.9, "g", chance=0.0), Told("c", 0.9, "g")]
    rejected = Told("d", 0.0, "g", {CHEAP: Verdict.reject("no")}, chance=0.0)

    assert 1 / 3 == pytest.approx(card_of(ledger, [*samples, rejected]).audits.covered)


def test_one_tier_can_not_be_audited(ledger: Ledger) -> None:
    spec = ladder_spec()
    RecordedRun(ledger, ladder={**spec, "verifiers": spec["verifiers"][:1]}).score(
        [Told("a", 1.0)]
    )
    card = report_card(ledger)

    assert not card.audits.is_possible
    assert "one tier: nothing stands above it" in as_markdown(card)


def test_alarms_of_the_run_are_told(ledger: Ledger) -> None:
    book = RecordedRun(ledger)
    book.score([Told("a", 1.0)])
    for run in ("r", "other"):
        stored = {"stratum": f"cheap of {run}", "direction": "overrated", "audits": 4,
                  "first": [run, 0, 0], "last": [run, 0, 3], "winners": []}  # fmt: skip
        ledger.append(Block("alarm", "c", facts=Alarm.from_json(stored).as_json()))

    page = as_markdown(report_card(ledger))

    alarm = page.index("**Alarm:** cheap of r is being gamed or has changed")
    assert alarm < page.index("## What was reported")
    assert "cheap of other" not in page


def test_the_share_of_hacks_is_right_in_the_mean_and_covered() -> None:
    """A fifth of what is believed to pass does not; one in five is drawn."""
    random = np.random.default_rng(3)
    covered, shares = 0, []
    for _ in range(40):
        bad = random.random(100) < 0.2
        drawn = random.random(100) < 0.2
        samples = [
            judged(f"{i}", 0.9, 0.1 if bad[i] else 0.9, 0.2) if drawn[i]
            else Told(f"{i}", 0.9, "g", chance=0.2)
            for i in range(100)
        ]  # fmt: skip
        found = card_of(open_ledger(":memory:"), samples).audits.hacks
        assert found is not None
        shares.append(found.value)
        covered += found.low <= bad.mean() <= found.high

    assert 0.2 == pytest.approx(np.mean(shares), abs=0.04)
    assert covered >= 0.9 * 40


def test_a_verifiers_accuracy_is_that_of_all_that_could_be_drawn(ledger: Ledger) -> None:
    """One good of two accepted: that one speaks for ten, the other for two."""

    def drawn(content: str, said: Verdict, truth: float, chance: float) -> Any:
        first, later = judged(content, 0.9, truth, chance)
        return replace(first, is_drawn=True), replace(
            later, verdicts={CHEAP: said, **later.verdicts}
        )

    yes, no, none = Verdict.accept(0.9), Verdict.reject("no"), Verdict.abstain("none")
    card = card_of(ledger, [
        drawn("a", yes, 0.9, 0.1), drawn("b", no, 0.9, 0.5), drawn("c", no, 0.1, 0.5),
        drawn("d", none, 0.1, 0.25), judged("e", 0.9, 0.1, 1.0),
    ])  # fmt: skip

    (found,) = card.audits.accuracies
    assert (CHEAP, 3) == (found.verifier, found.audited)
    assert pytest.approx(10 / 12) == found.sensitivity.value  # type: ignore[union-attr]
    assert 1.0 == found.specificity.value  # type: ignore[union-attr]
    assert pytest.approx(4 / 18) == found.declined.value  # type: ignore[union-attr]
    assert "| cheap | 3 | 83.3%" in as_markdown(card)


# -- form ----------------------------------------------------------------------------------------


def test_text_of_others_is_shown_as_text(ledger: Ledger) -> None:
    run = {"name": "r", "environment": HOSTILE, "labels": {HOSTILE: HOSTILE}}
    RecordedRun(ledger, run=run).score([Told("a", 1.0, "g")])
    RecordedRun(ledger, run=run).keep(Transcript(group="g", capability=HOSTILE, domain=HOSTILE))

    page = as_markdown(report_card(ledger))

    assert "\x1b" not in page
    assert "\u202e" not in page
    assert r"\<b\>\|\`run\`" in page
    assert not any("<b>" in line for line in page.splitlines())


def test_the_card_is_json_for_programs(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger:
        card = card_of(ledger, [judged("a", 0.9, 0.1, 0.1), Told("b", None)])

    told = json.loads(json.dumps(card.as_json(), allow_nan=False))

    assert card.moment.root == told["moment"]["root"] != ""
    assert 1.0 == told["audits"]["hacks"]["value"]
    assert ["environment", "tool_budget", "scaffold", "evaluator", "failure_recovery"] == (
        told["missing"]
    )


def test_a_card_of_an_earlier_checkpoint_is_the_card_of_then(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger:
        book = RecordedRun(ledger)
        book.score([Told("a", 1.0)])
        before = report_card(ledger)
        book.score([Told("b", 0.0)])

        again = report_card(ledger, at=before.moment.size)

    assert before.whole == again.whole
    assert 1 == again.samples
