"""Two versions of a verifier are compared on what both have looked at."""

import pytest
from histories import cost

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.memory import MemoryLedger
from verifier_ladder.ledger.records import Block
from verifier_ladder.summary.versions import compare_versions
from verifier_ladder.testing.records import CAMPAIGN, candidate_row, key, verdict_row
from verifier_ladder.verdict import Verdict


def tell(ledger: Ledger, version: str, **said: Verdict) -> None:
    rows = [
        verdict_row(word, verdict, version=version, check_key=key(f"{word} {version}"))
        for word, verdict in said.items()
    ]
    ledger.append(Block("score", CAMPAIGN, [candidate_row(word) for word in said], rows))


@pytest.fixture
def ledger() -> Ledger:
    """Version 2 halves the scores, rejects the largest, fails on one, and knows another."""
    made = MemoryLedger()
    scores = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0, "e": 5.0}
    tell(made, "1", **{word: cost(Verdict.accept(s), 2.0) for word, s in scores.items()})
    tell(
        made, "2", a=Verdict.accept(0.5), b=Verdict.accept(1.0), c=Verdict.accept(1.5),
        d=Verdict.reject("too large"), e=Verdict.abstain("crashed", failed_at="engine"),
        f=Verdict.accept(9.0),
    )  # fmt: skip
    return made


def test_what_both_have_answered_is_compared(ledger: Ledger) -> None:
    report = compare_versions(ledger, "length", "1", "2")

    assert (4, (1, 1)) == (report.compared, report.only)
    assert (1, 0.25) == (report.flips, report.flip_rate)
    assert {("accept", "accept"): 3, ("accept", "reject"): 1} == dict(report.outcomes)
    assert (-1.0, 0.0) == (report.mean_change, report.swapped)
    assert 1.0 == pytest.approx(report.correlation)
    assert (2.0, None) == report.seconds


def test_flips_are_named_first_and_then_the_largest_changes(ledger: Ledger) -> None:
    report = compare_versions(ledger, "length", "1", "2", largest=3)

    assert ["d", "c", "b"] == [change.content for change in report.largest]
    assert ("accept", "reject") == report.largest[0].outcomes


def test_a_score_that_is_there_in_one_version_only_has_changed(ledger: Ledger) -> None:
    tell(ledger, "1", d=Verdict.reject("too large", score=1.0))

    report = compare_versions(ledger, "length", "1", "2", largest=1)

    assert [("d", 1.0, None)] == [(c.content, c.before, c.after) for c in report.largest]


def test_a_later_answer_counts(ledger: Ledger) -> None:
    tell(ledger, "2", d=Verdict.accept(2.0))

    assert 0 == compare_versions(ledger, "length", "1", "2").flips


def test_the_report_is_json(ledger: Ledger) -> None:
    told = compare_versions(ledger, "length", "1", "2").as_json()

    assert {"before": "accept", "after": "reject", "candidates": 1} in told["outcomes"]
    assert 1 == told["flips"]


@pytest.mark.parametrize("version", ["0", "3"])
def test_a_version_without_answers_says_so(ledger: Ledger, version: str) -> None:
    with pytest.raises(ConfigError, match=f"no answers of length {version}"):
        compare_versions(ledger, "length", "1", version)


def test_a_case_that_was_only_opened_is_no_answer(ledger: Ledger) -> None:
    tell(ledger, "2", a=Verdict.abstain("asked", evidence={"waiting": True}))

    report = compare_versions(ledger, "length", "1", "2")

    assert {("accept", "accept"): 3, ("accept", "reject"): 1} == dict(report.outcomes)
