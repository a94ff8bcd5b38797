"""Where a campaign stands, read from a ledger in which nothing runs."""

import json

import pytest

from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError
from verifier_ladder.keys import digest
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import (
    Block,
    Charged,
    CheckRow,
    CheckState,
    Completion,
    Request,
)
from verifier_ladder.resource import Resource
from verifier_ladder.status import TierStatus, campaign_status
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Outcome, Verdict

NOW = 1000.0
SPEC = {
    "verifiers": [
        {"name": "cheap", "tier": "fast"}, {"name": "relax", "tier": "simulation"},
        {"name": "dft", "tier": "high_fidelity"}, {"name": "gate", "tier": "fast"},
    ]
}  # fmt: skip


@pytest.fixture
def ledger() -> Ledger:
    """One campaign, which asked for five checks of the simulation tier."""
    made = open_ledger(None)
    made.open_campaign("try", SPEC, digest(SPEC))
    made.open_campaign("other", SPEC, digest(SPEC))
    made.set_caps("try", {(int(Tier.SIMULATION), Resource.CPU_SECONDS): 6.0})
    made.append(
        Block("score", "try"), enqueue=[asked(i) for i in range(5)],
        charges={Charged(0): (Cost(0.5), 9)},
    )  # fmt: skip
    return made


def asked(number: int) -> tuple[CheckRow, list[Request]]:
    key = digest(number)
    check = CheckRow(
        key, key, "try", "relax", "1", int(Tier.SIMULATION), CheckState.QUEUED,
        priority=float(-number), reserve=Cost(2.0),
        payload={"kind": "text", "content": str(number)},
    )  # fmt: skip
    return check, [Request(key, "try", "run", 0, number, key, {})]


def ended(ledger: Ledger, verdict: Verdict) -> Completion:
    (claim,) = ledger.claim(owner="w", lease=60.0, limit=1, now=NOW)
    cost = Cost(seconds=1.5)
    known = Verdict(verdict.outcome, verdict.score, failed_at=verdict.failed_at, cost=cost)
    return Completion(claim, known, claim.check.content_key)


def simulation(ledger: Ledger) -> TierStatus:
    return campaign_status(ledger, "try").tiers[1]


def test_every_tier_of_the_ladder_is_told_once_from_cheap_to_dear(ledger: Ledger) -> None:
    tiers = [status.tier for status in campaign_status(ledger, "try").tiers]

    assert [Tier.FAST, Tier.SIMULATION, Tier.HIGH_FIDELITY] == tiers


def test_the_fast_tier_counts_what_was_charged(ledger: Ledger) -> None:
    fast = campaign_status(ledger, "try").tiers[0]

    assert (9, 0.5, None) == (fast.done, fast.settled, fast.cap)


def test_checks_that_nobody_works_on_are_queued(ledger: Ledger) -> None:
    status = simulation(ledger)

    assert (5, 0, 0, 6.0) == (status.queued, status.running, status.parked, status.cap)


def test_running_finished_dead_and_parked_checks_are_told_apart(ledger: Ledger) -> None:
    ledger.complete([ended(ledger, Verdict(Outcome.ACCEPT, 1.0))], now=NOW)
    ledger.fail([ended(ledger, Verdict.abstain("x", failed_at="tool"))], retry_at=None, now=NOW)
    ledger.claim(owner="w", lease=60.0, limit=4, now=NOW)

    status = simulation(ledger)

    assert (1, 1, 1) == (status.done, status.dead, status.running)
    assert (0, 2) == (status.queued, status.parked)
    assert (1.5, 1.5, 2.0) == (status.settled, status.failed, status.reserved)


def test_open_cases_wait_and_expire(ledger: Ledger) -> None:
    ledger.wait(ledger.claim(owner="w", lease=60.0, limit=2, now=NOW), deadline=NOW + 1, now=NOW)
    assert 2 == simulation(ledger).waiting

    ledger.reap(now=NOW + 2)

    assert (0, 2) == (simulation(ledger).waiting, simulation(ledger).expired)


def test_another_campaign_has_its_own_status(ledger: Ledger) -> None:
    status = campaign_status(ledger, "other").tiers[1]

    assert (0, None, 0.0) == (status.queued, status.cap, status.settled)


def test_a_status_is_json(ledger: Ledger) -> None:
    spec = json.loads(json.dumps(campaign_status(ledger, "try").as_json()))

    assert "try" == spec["name"]
    assert ["fast", "simulation", "high_fidelity"] == [tier["tier"] for tier in spec["tiers"]]


def test_an_unknown_campaign_gets_the_known_ones(ledger: Ledger) -> None:
    with pytest.raises(ConfigError, match="no campaign 'tyr'; it holds try, other"):
        campaign_status(ledger, "tyr")


def test_an_empty_ledger_holds_none() -> None:
    with pytest.raises(ConfigError, match="it holds none"):
        campaign_status(open_ledger(None), "try")
