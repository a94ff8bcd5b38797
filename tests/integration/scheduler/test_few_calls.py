"""A file or batch that comes in a few calls spends its cap as one call does."""

from hashlib import sha256

import pytest

import verifier_ladder as vl
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.resource import Resource
from verifier_ladder.tier import Tier


def number(text: object, salt: str) -> float:
    """Between 0 and 1, and another one for each text."""
    return int(sha256(f"{text} {salt}".encode()).hexdigest()[:8], 16) / 2**32


@vl.verifier(name="cheap", version="1", tier="simulation", isolation="inline")
def cheap(candidate: vl.Candidate) -> float:
    return 10.0 * number(candidate.content, "a")


@vl.verifier(
    name="dear", version="1", tier="high_fidelity", isolation="inline", cost=vl.Cost(seconds=5.0)
)
def dear(candidate: vl.Candidate) -> vl.Verdict:
    score = 10.0 * number(candidate.content, "a") + number(candidate.content, "b")
    return vl.Verdict.accept(score, cost=vl.Cost(seconds=5.0))


@pytest.mark.parametrize(
    ("calls", "samples", "cap"), [(5, 500, 300.0), (2, 200, 240.0), (1, 100, 240.0)]
)
def test_the_cap_of_a_tier_is_spent_when_the_last_call_is_known(
    calls: int, samples: int, cap: float
) -> None:
    size = samples // calls
    budget = {"high_fidelity": f"{cap} s"}
    with vl.Campaign.open("few", ladder=vl.Ladder("l", [cheap, dear]), budget=budget) as campaign:
        for call in range(calls):
            texts = [f"c{call * size + place}" for place in range(size)]
            campaign.score(texts, more=samples - (call + 1) * size)
            campaign.drain("300 s")
        accounts = campaign.ledger.accounts("few")
        place = (Tier.HIGH_FIDELITY, Resource.CPU_SECONDS)
        spent = next(a.spent for a in accounts if (a.tier, a.resource) == place)
    assert 0.9 * cap <= spent <= cap


@vl.verifier(name="middle", version="1", tier="simulation", isolation="inline",
             cost=vl.Cost(money=0.1))  # fmt: skip
def middle(candidate: vl.Candidate) -> vl.Verdict:
    return vl.Verdict.accept(number(candidate.content, "b"), cost=vl.Cost(money=0.1))


@vl.verifier(name="top", version="1", tier="high_fidelity", isolation="inline",
             cost=vl.Cost(money=1.0))  # fmt: skip
def top(candidate: vl.Candidate) -> vl.Verdict:
    return vl.Verdict.accept(number(candidate.content, "b"), cost=vl.Cost(money=1.0))


@vl.verifier(name="first", version="1", isolation="inline")
def first(candidate: vl.Candidate) -> float:
    return 2.0 + number(candidate.content, "b") + number(candidate.content, "a")


def test_waiting_between_calls_leaves_those_that_follow_their_share() -> None:
    """What was announced comes, whoever waits meanwhile for the climbs to end."""
    calls, size = 20, 12
    ladder = vl.Ladder("l", [first, middle, top], audit=0.15)
    budget = {"simulation": {"money": 12}, "high_fidelity": {"money": 48}}
    asked = []
    with vl.Campaign.open("many", ladder=ladder, budget=budget) as campaign:
        for call in range(calls):
            texts = [f"c{call} {place}" for place in range(size)]
            campaign.score(texts, more=(calls - call - 1) * size)
            assert campaign.drain("300 s")
            counts = campaign.ledger.counts("many").get(Tier.HIGH_FIDELITY, {})
            asked.append(counts.get(CheckState.DONE, 0))

    assert asked[-1] >= 40
    assert 0.25 <= asked[calls // 2] / asked[-1] <= 0.75
