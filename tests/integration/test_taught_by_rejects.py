"""Rejects of the top tier teach what they earn, whether they come with a score or without."""

from collections.abc import Callable
from typing import Any

import pytest

import verifier_ladder as vl

STEPS, SAMPLES = 6, 200


@vl.verifier(tier="fast", version="1", isolation="inline", cost=vl.Cost(seconds=1e-4))
def runs(candidate: vl.Candidate) -> float:
    del candidate
    return 1.0


def hidden_tests(says: Callable[[], vl.Verdict]) -> vl.Verifier:
    """The truth: one program of ten is right."""

    @vl.verifier(
        name="tests", tier="simulation", version="1", isolation="inline", cost=vl.Cost(seconds=1.0)
    )
    def judge(candidate: vl.Candidate) -> vl.Verdict:
        return vl.Verdict.accept(1.0) if str(candidate.content).endswith("7") else says()

    return judge


def believed(rule: vl.RewardRule, says: Callable[[], vl.Verdict]) -> float | None:
    """What a new program is believed to earn once many were tested."""
    ladder = vl.Ladder("code", [runs, hidden_tests(says)], audit=0.2, reward=rule)
    with vl.Campaign.open("code", ladder=ladder, ledger="memory://") as campaign:
        for step in range(STEPS):
            campaign.score([f"{step} {place}" for place in range(SAMPLES)], step=step)
            assert campaign.drain(timeout=60)
        (reward,) = campaign.score(["a new one"], deadline=0.0, evaluation=True)
        return reward.value


@pytest.mark.parametrize(
    ("rule", "says", "earned"),
    [
        (vl.RewardRule(), lambda: vl.Verdict.reject("wrong"), 0.1),
        (vl.RewardRule(), lambda: vl.Verdict.reject("wrong", score=0.0), 0.1),
        (vl.RewardRule(), lambda: vl.Verdict.reject("wrong", score=0.8), 0.1),
        (vl.RewardRule(reject=-1.0), lambda: vl.Verdict.reject("wrong"), -0.8),
        (vl.RewardRule(low=0.0, high=2.0, reject=0.5), lambda: vl.Verdict.reject("no"), 0.5),
        (vl.RewardRule(partial_credit=True), lambda: vl.Verdict.reject("no", score=0.8), 0.82),
    ],
)
def test_a_new_candidate_is_believed_to_earn_what_others_did(
    rule: vl.RewardRule, says: Callable[[], Any], earned: float
) -> None:
    assert believed(rule, says) == pytest.approx(earned, abs=0.15)
