"""What the fast tier spends of a budget that it shares: dearer tiers make room for it."""

from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.budget import TOTAL
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.memory import MemoryLedger
from verifier_ladder.ledger.records import Account
from verifier_ladder.resource import Resource
from verifier_ladder.scheduler.policies.alltiers import AllTiers

_NAMES = count()


def priced_ladder(cheap: float, dear: float, batch: int = 256) -> vl.Ladder:
    """A fast tier and one above it, each taking so much money for every candidate."""

    @vl.verifier(
        name="cheap", tier="fast", kind="text", version="1", isolation="inline",
        cost=Cost(money=cheap), batch_size=batch,
    )  # fmt: skip
    def quick(candidate: Candidate) -> vl.Verdict:
        if str(candidate.content).startswith("bad"):
            return vl.Verdict.reject("it is bad")
        return vl.Verdict.accept(float(len(candidate.content)))

    @vl.verifier(
        name="dear", tier="simulation", kind="text", version="1", isolation="inline",
        cost=Cost(money=dear),
    )  # fmt: skip
    def slow(candidate: Candidate) -> float:
        return float(len(candidate.content))

    return vl.Ladder("shared", [quick, slow], policy=AllTiers())


def total(campaign: vl.Campaign) -> Account:
    (found,) = [
        a for a in campaign.ledger.accounts(campaign.name)
        if (a.tier, a.resource) == (TOTAL, Resource.MONEY)
    ]  # fmt: skip
    return found


def of_tier(campaign: vl.Campaign, tier: int) -> float:
    accounts = campaign.ledger.accounts(campaign.name)
    return sum(a.spent for a in accounts if (a.tier, a.resource) == (tier, Resource.MONEY))


def texts(call: int, size: int) -> list[str]:
    return [f"call {call}, sample {number}" for number in range(size)]


def test_many_cheap_checks_do_not_take_a_total_past_its_cap() -> None:
    budget = {"total": {"money": 10.0}}
    with vl.Campaign.open(
        "many", ladder=priced_ladder(0.003, 1.0), budget=budget, horizon=400, workers=1
    ) as campaign:
        for call in range(4):
            campaign.score(texts(call, 100))
            campaign.drain("300 s")
        assert total(campaign).spent <= 10.0
        assert of_tier(campaign, 0) == pytest.approx(1.2)
        assert of_tier(campaign, 1) == 8.0


def test_what_was_kept_back_is_spent_once_nobody_follows() -> None:
    budget = {"total": {"money": 10.0}}
    with vl.Campaign.open(
        "rest", ladder=priced_ladder(0.5, 1.0), budget=budget, workers=1
    ) as campaign:
        campaign.score(texts(0, 8))
        campaign.drain("300 s")
        assert (of_tier(campaign, 0), of_tier(campaign, 1)) == (4.0, 5.0)
        assert total(campaign).kept == 0.0


def test_what_is_kept_back_for_announced_samples_stays_kept_until_they_come() -> None:
    budget = {"total": {"money": 12.0}}
    with vl.Campaign.open(
        "announced", ladder=priced_ladder(0.5, 1.0), budget=budget, workers=1
    ) as campaign:
        campaign.score(texts(0, 8), more=8)
        campaign.drain("300 s")
        assert total(campaign).kept >= 4.0

        campaign.score(texts(1, 8), more=0)
        campaign.drain("300 s")
        assert of_tier(campaign, 0) == 8.0
        assert total(campaign).kept == 0.0
        assert 11.0 <= total(campaign).spent <= 12.0


def test_nothing_is_kept_back_for_samples_that_were_rejected() -> None:
    with vl.Campaign.open(
        "rejects", ladder=priced_ladder(0.5, 1.0), budget={"total": {"money": 20.0}}, horizon=12,
        workers=1,
    ) as campaign:  # fmt: skip
        for number in range(11):
            campaign.score([f"bad {number}"])
        campaign.score(["good"])
        assert total(campaign).kept == 0.0


def test_a_restart_knows_what_the_fast_tier_takes(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger:
        for call in range(3):
            with vl.Campaign.open(
                "again", ladder=priced_ladder(0.1, 1.0), ledger=ledger, horizon=30,
                budget={"total": {"money": 6.0}}, workers=1,
            ) as campaign:  # fmt: skip
                campaign.score(texts(call, 10))
                campaign.drain("300 s")
                assert total(campaign).spent <= 6.0
        assert of_tier(campaign, 0) == pytest.approx(3.0)


def test_a_fast_tier_that_alone_passes_the_cap_is_not_held_back() -> None:
    budget = {"total": {"money": 1.0}}
    with vl.Campaign.open(
        "alone", ladder=priced_ladder(0.5, 0.1), budget=budget, horizon=8, workers=1
    ) as campaign:
        rewards = [*campaign.score(texts(0, 4)), *campaign.score(texts(1, 4))]
        campaign.drain("300 s")
        assert [r.value is not None for r in rewards] == [True] * 8
        assert (of_tier(campaign, 0), of_tier(campaign, 1)) == (4.0, 0.0)


def test_nothing_is_kept_back_without_a_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(MemoryLedger, "keep", lambda *given: told.append(given))
    budget = {"simulation": {"money": 3.0}}
    with vl.Campaign.open(
        "free", ladder=priced_ladder(0.5, 1.0), budget=budget, workers=1
    ) as campaign:
        campaign.score(texts(0, 4))
        campaign.drain("300 s")
        assert told == []


@settings(max_examples=25, deadline=None)
@given(
    cheap=st.integers(1, 500), dear=st.integers(1, 5000), cap=st.integers(0, 20_000),
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=5), batch=st.integers(1, 64),
    knows=st.sampled_from(["horizon", "more"]), drains=st.booleans(),
)  # fmt: skip
def test_no_cap_is_passed_that_the_fast_tier_alone_would_not_pass(
    *, cheap: int, dear: int, cap: int, sizes: list[int], batch: int, knows: str, drains: bool
) -> None:  # fmt: skip
    ladder = priced_ladder(cheap / 1000, dear / 1000, batch)
    left = sum(sizes)
    with vl.Campaign.open(
        f"drawn {next(_NAMES)}", ladder=ladder, budget={"total": {"money": cap / 1000}},
        horizon=left if knows == "horizon" else None, workers=1,
    ) as campaign:  # fmt: skip
        for call, size in enumerate(sizes):
            left -= size
            campaign.score(texts(call, size), more=left)
            if drains and knows == "horizon":
                campaign.drain("300 s")
        campaign.drain("300 s")
        alone = cheap * sum(sizes) / 1000
        assert of_tier(campaign, 0) == pytest.approx(alone)
        assert total(campaign).spent <= max(cap / 1000, alone) + 1e-9
