"""A judge's confusion matrix is known from random audits; a real server plays one that errs."""

from collections.abc import Sequence
from math import sqrt
from typing import Any

import pytest
from fakejudge import FakeJudge

import verifier_ladder as vl
from verifier_ladder.candidate import Candidate
from verifier_ladder.reportcard import ReportCard, as_markdown, report_card
from verifier_ladder.reportcard.card import AccuracyEntry
from verifier_ladder.scheduler.policies.thresholds import Thresholds
from verifier_ladder.tiers.simulation.judge import Judge
from verifier_ladder.verdict import Verdict

TASK = {"prompt": "What is 17 + 25?"}
SENSITIVITY, SPECIFICITY = 0.85, 0.7
NEVER = Thresholds(thresholds={"high_fidelity": 1e9})
"""Only what is drawn climbs."""


class People(vl.Verifier):
    """Know whether a sum is right; they are asked anew for each seed."""

    name, version, tier, kind, isolation = "people", "1", "high_fidelity", "text", "inline"

    def __init__(self, seed: int) -> None:
        super().__init__(seed=seed)

    def verify(self, candidates: Sequence[Candidate]) -> list[Verdict]:
        return [
            Verdict.accept(1.0) if str(each.content).endswith("42")
            else Verdict.reject("wrong", score=0.0, feedback="Add it up again.")
            for each in candidates
        ]  # fmt: skip


def outputs(fake: FakeJudge, count: int) -> list[Candidate]:
    """As many right ones as wrong ones, of which the judge takes some for the other."""
    right = [f"{n}: 42" for n in range(count // 2)]
    wrong = [f"{n}: 43" for n in range(count // 2)]
    lost, fooled = (round((1 - share) * count / 2) for share in (SENSITIVITY, SPECIFICITY))
    fake.mistaken = {*right[:lost], *wrong[:fooled]}
    return [Candidate("text", text, task=TASK) for text in right + wrong]


def card_of(
    ledger: Any, fake: FakeJudge, samples: Sequence[Candidate], audit: float, seed: int = 0
) -> ReportCard:
    judge = Judge(
        model="fake", url=fake.url, least=5.0, timeout=300.0, concurrency=16, canaries=[]
    )
    ladder = vl.Ladder("audited", [judge, People(seed)], policy=NEVER, audit=audit)
    name = f"seed {seed}"
    spec = {**ladder.as_json(), "seed": seed.to_bytes(16, "big").hex()}
    ledger.open_campaign(name, spec, ladder.digest)
    with vl.Campaign.open(name, ladder=ladder, ledger=ledger, run=name, workers=1) as campaign:
        campaign.score(samples, deadline="5 min")
        campaign.drain("5 min")
    return report_card(ledger, name, pass_at=0.5)


def is_recovered(found: AccuracyEntry) -> bool:
    """Whether both shares are within two standard errors of those that are true."""
    pairs = (found.sensitivity, SENSITIVITY), (found.specificity, SPECIFICITY)
    return all(
        share is not None and abs(share.value - true) <= 2 * sqrt(true * (1 - true) / share.groups)
        for share, true in pairs
    )


def test_a_judges_errors_are_told_by_what_was_drawn(fake: FakeJudge) -> None:
    with vl.open_ledger(":memory:") as ledger:
        card = card_of(ledger, fake, outputs(fake, 120), 0.5)

    (found,) = card.audits.accuracies
    assert ("judge", card.audits.answered) == (found.verifier, found.audited)
    assert 30 < found.audited < 90
    assert found.sensitivity is not None
    assert found.sensitivity.low is not None
    assert found.sensitivity.low < SENSITIVITY
    assert found.declined is not None
    assert 0.0 == found.declined.value
    assert "| judge | " in as_markdown(card)


@pytest.mark.slow
def test_a_confusion_matrix_is_recovered_by_two_hundred_audits(fake: FakeJudge) -> None:
    counts, recovered = [], 0
    with vl.open_ledger(":memory:") as ledger:
        samples = outputs(fake, 1000)
        for seed in range(100):
            (found,) = card_of(ledger, fake, samples, 0.2, seed).audits.accuracies
            counts.append(found.audited)
            recovered += is_recovered(found)

    assert 1000 == len(fake.asked)
    assert 195 < sum(counts) / 100 < 205
    assert recovered >= 90
