"""Samples that a middle tier can't pay for have their chance at the top all the same."""

from math import isnan, nan
from pathlib import Path

import verifier_ladder as vl
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.scheduler.replay import replay
from verifier_ladder.tier import Tier

WRONG = 2.0
"""How much too high the cheap tier is."""
MANY = 240
TEXTS = [str(number) for number in range(MANY)]
DECLARED, TOOK = 0.1, 0.3
"""What the middle tier says that it takes, and what it takes."""
CAPS = {"simulation": {"money": 6}, "high_fidelity": {"money": 120}}


def truth(candidate: vl.Candidate) -> float:
    """Differs from text to text, without a pattern."""
    return int(str(candidate.content)) * 7919 % 101 / 100.0


def ladder() -> vl.Ladder:
    """The middle tier takes three times what it declares, so that some can't be paid."""

    @vl.verifier(name="cheap", version="1", isolation="inline")
    def cheap(candidate: vl.Candidate) -> float:
        return truth(candidate) + WRONG

    @vl.verifier(
        name="middle",
        version="1",
        tier="simulation",
        isolation="inline",
        cost=vl.Cost(money=DECLARED),
    )
    def middle(candidate: vl.Candidate) -> vl.Verdict:
        return vl.Verdict.accept(truth(candidate), cost=vl.Cost(money=TOOK))

    top = vl.verifier(
        name="top", version="1", tier="high_fidelity", isolation="inline", cost=vl.Cost(money=1.0)
    )(truth)
    return vl.Ladder(
        "three", [cheap, middle, top], reward=vl.RewardRule(estimator="unbiased"), audit=0.15
    )


def chances(ledger: Ledger) -> tuple[dict[int, float], set[int]]:
    """The chance that is recorded of each sample, and who was asked about."""
    known: dict[int, float] = {}
    hits = set()
    for entry in ledger.entries(campaign="c"):
        block = ledger.read(entry)
        if block.samples is None:
            continue
        positions = list(block.samples.positions)
        for columns in block.decisions:
            for row, place in enumerate(columns.sample):
                chance = columns.propensity[row]
                if not isnan(chance):
                    known[positions[place]] = chance
                drawn = nan if columns.draw is None else columns.draw[row]
                if chance == 1.0 if isnan(drawn) else drawn < chance:
                    hits.add(positions[place])
    return known, hits


def check_the_end(campaign: vl.Campaign) -> None:
    """All had a chance, all that was drawn is answered, and the rewards are right in the mean."""
    ledger = campaign.ledger
    rewards = campaign.score(TEXTS, step=0)  # Recorded before: as they stand now.
    errors = [
        (reward.value or 0.0) - truth(vl.Candidate("text", text))
        for reward, text in zip(rewards, TEXTS, strict=True)
    ]
    known, hits = chances(ledger)
    accounts = {int(a.tier): a for a in ledger.accounts("c") if a.cap is not None and a.tier > 0}
    answered = ledger.counts("c")[Tier.HIGH_FIDELITY][CheckState.DONE]

    assert MANY == len(known)
    assert all(known.values())
    assert len(hits) == answered
    # Four standard errors; without their draws, parked ones would be wrong by 2 each.
    assert abs(sum(errors)) / MANY < 0.075 * WRONG
    assert all(0.85 * a.cap <= a.spent <= a.cap for a in accounts.values() if a.cap)
    assert not ledger.parked("c")
    (row,) = ledger.campaigns()
    assert replay(ledger, row).differences == []


def test_what_a_middle_tier_can_not_pay_is_drawn_for_the_top() -> None:
    with vl.Campaign.open("c", ladder=ladder(), ledger=None, run="r", budget=CAPS) as campaign:
        campaign.score(TEXTS, step=0)
        assert campaign.drain("300 s")

        check_the_end(campaign)


def test_draws_that_wait_for_a_middle_tier_hold_after_a_restart(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    with vl.Campaign.open("c", ladder=ladder(), ledger=place, run="r", budget=CAPS) as campaign:
        campaign.pause("simulation")
        campaign.pause("high_fidelity")
        campaign.score(TEXTS, step=0)

    with vl.Campaign.open("c", ladder=ladder(), ledger=place, run="r", budget=CAPS) as campaign:
        campaign.resume("high_fidelity")
        campaign.resume("simulation")
        assert campaign.drain("300 s")

        check_the_end(campaign)
