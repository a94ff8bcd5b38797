"""The first candidate of all: it fails before any other has passed, and is compared later."""

import os
from collections.abc import Callable

import pytest

import verifier_ladder as vl


def strict(candidate: vl.Candidate) -> float:
    """Fails at what it does not expect."""
    if candidate.content == "die":
        os._exit(1)
    if candidate.content == "throw":
        raise ValueError("bad luck")
    return 1.0


def outage(candidate: vl.Candidate) -> float:
    if candidate.content == "throw":
        raise RuntimeError("the service is away")
    return 1.0


def campaign_of(
    function: Callable[[vl.Candidate], float], tier: str = "fast", isolation: str = "process"
) -> vl.Campaign:
    """Its verifier is asked about one candidate after the other, by one worker."""
    verifier = vl.verifier(
        name=function.__name__, version="1", tier=tier, isolation=isolation, batch_size=1,
        cost=vl.Cost(seconds=0.01), timeout=5.0,
    )(function)  # fmt: skip
    return vl.Campaign.open("first", ladder=vl.Ladder("l", [verifier]), workers=1)


@pytest.mark.parametrize("deed", ["die", "throw"])
def test_the_first_of_a_call_is_compared_with_those_that_come_after_it(deed: str) -> None:
    with campaign_of(strict) as campaign:
        first, second = campaign.score([deed, "fine"], deadline=300)
        entries = [campaign.ledger.read(entry) for entry in campaign.ledger.entries(kind="score")]

    assert (0.0, None) == (first.value, first.failed_at)
    assert second.value == 1.0
    attempts = [(row.verdict.is_answer, row.attempt) for row in entries[0].verdicts]
    assert attempts == [(False, 1), (True, 1), (True, 2)]


def test_what_may_be_an_outage_is_not_asked_about_again() -> None:
    with campaign_of(outage) as campaign:
        first, second = campaign.score(["throw", "fine"], deadline=300)
        entries = [campaign.ledger.read(entry) for entry in campaign.ledger.entries(kind="score")]

    assert (None, "verifier", 1.0) == (first.value, first.failed_at, second.value)
    assert 2 == len(entries[0].verdicts)


def test_a_trusted_verifier_compares_with_candidates_of_earlier_calls() -> None:
    with campaign_of(strict, isolation="inline") as campaign:
        campaign.score(["fine"], deadline=300)
        (reward,) = campaign.score(["throw"], deadline=300)

    assert (0.0, None) == (reward.value, reward.failed_at)


@pytest.mark.parametrize("deed", ["die", "throw"])
def test_the_first_of_a_dear_tier_is_tried_again_when_another_has_passed(deed: str) -> None:
    with campaign_of(strict, tier="simulation") as campaign:
        campaign.score([deed, "fine"], deadline=0)
        campaign.drain()
        rewards = {r.position: r.reward for r in campaign.revisions()}

    assert (0.0, None) == (rewards[0].value, rewards[0].failed_at)


def test_the_first_of_a_trusted_verifiers_batch_is_compared_with_the_others() -> None:
    verifier = vl.verifier(name="trusted", version="1", isolation="inline")(strict)
    with vl.Campaign.open("first", ladder=vl.Ladder("l", [verifier])) as campaign:
        first, second = campaign.score(["throw", "fine"], deadline=300)

    assert (0.0, None, 1.0) == (first.value, first.failed_at, second.value)


class Trusted(vl.Canonicaliser):
    """Brings text to capitals in the learner's process."""

    kind, name, inline = "text", "trusted", True

    def canonicalise(self, content: str | bytes) -> str:
        return str(content).upper().encode().decode()


def test_content_at_which_a_trusted_canonicaliser_fails_is_rejected() -> None:
    verifier = vl.verifier(name="any", version="1", isolation="inline")(lambda _: 1.0)
    ladder = vl.Ladder("l", [verifier], canonicaliser=Trusted())
    with vl.Campaign.open("first", ladder=ladder) as campaign:
        first, second = campaign.score(["\ud800", "fine"], deadline=300)

    assert (0.0, None, 1.0) == (first.value, first.failed_at, second.value)
