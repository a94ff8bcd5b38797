"""A file or batch that comes in a few calls spends its cap as one call does."""

from hashlib import sha256

import pytest

import verifier_ladder as vl
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
