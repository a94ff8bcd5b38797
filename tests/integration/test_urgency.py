"""What a learner waits for goes first, on every tier that its samples climb to."""

from time import time

import verifier_ladder as vl
from verifier_ladder.ledger.records import CheckRow
from verifier_ladder.scheduler.policies.alltiers import AllTiers


def length(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


FIRST = vl.verifier(name="quick-u", version="1", isolation="inline")(length)
SECOND = vl.verifier(name="middle-u", version="1", tier="simulation", isolation="inline")(length)
THIRD = vl.verifier(name="dear-u", version="1", tier="high_fidelity", isolation="inline")(length)
LADDER = vl.Ladder("urgency", [FIRST, SECOND, THIRD], policy=AllTiers())


def asked(campaign: vl.Campaign, text: str) -> CheckRow:
    rows = campaign.ledger.checks(campaign="u")
    return max((row for row in rows if row.payload["content"] == text), key=lambda row: row.tier)


def test_a_check_that_a_deadline_waits_for_is_wanted_until_then() -> None:
    with vl.Campaign.open("u", ladder=LADDER, workers=1) as campaign:
        campaign.pause("simulation")
        campaign.score(["a"])
        campaign.score(["bb"], deadline="100 s")
        assert 0.0 == asked(campaign, "a").wanted_until
        assert time() + 50 < asked(campaign, "bb").wanted_until < time() + 150
        campaign.score(["a"], deadline="100 s")
        assert time() + 50 < asked(campaign, "a").wanted_until


def test_what_its_samples_ask_for_next_is_wanted_too() -> None:
    with vl.Campaign.open("u", ladder=LADDER, workers=1) as campaign:
        campaign.pause("high_fidelity")
        campaign.score(["a", "a"], deadline="100 s")
        campaign.drain("300 s")
        check = asked(campaign, "a")
        assert 2 == check.tier
        assert time() + 50 < check.wanted_until
