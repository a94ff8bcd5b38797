"""Budgets of a campaign at work: several resources, paused tiers, who pays, horizons."""

from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.candidate import Candidate
from verifier_ladder.canonicaliser import Canonicaliser
from verifier_ladder.cost import Cost
from verifier_ladder.horizon import horizon_of
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.resource import Resource
from verifier_ladder.scheduler.policies.alltiers import AllTiers
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Outcome

pytestmark = pytest.mark.usefixtures("forked_workers")

MONEY = Resource.MONEY
UNLIMITED: dict[str, Any] = {"simulation": "unlimited"}


@vl.verifier(name="quick-b", tier="fast", kind="text", version="1", isolation="inline")
def quick(candidate: Candidate) -> float:
    return float(len(candidate.content))


@vl.verifier(name="paid-b", tier="simulation", kind="text", version="1", cost=Cost(0.01, money=2))
def paid(candidate: Candidate) -> float:
    return float(len(candidate.content))


@vl.verifier(name="metered-b", tier="simulation", kind="text", version="1", cost=Cost(money=2))
def metered(candidate: Candidate) -> vl.Verdict:
    took = Cost(0.001, money=0.5 * len(candidate.content))
    return vl.Verdict(Outcome.ACCEPT, 1.0, cost=took)


def ladder(top: vl.Verifier = paid) -> vl.Ladder:
    return vl.Ladder("budgets", [quick, top], policy=AllTiers(), budget=UNLIMITED)


def spent(campaign: vl.Campaign, resource: Resource = MONEY) -> float:
    return sum(a.spent for a in campaign.ledger.accounts(campaign.name) if a.resource is resource)


def texts(count: int) -> list[str]:
    return ["a" * (number + 1) for number in range(count)]


def test_what_a_paid_call_declares_is_charged_and_capped() -> None:
    budget = {"simulation": {"money": 7}}
    with vl.Campaign.open("paid", ladder=ladder(), budget=budget, workers=1) as campaign:
        campaign.score(texts(6), deadline="300 s")
        campaign.drain("300 s")
        (status,) = [s for s in campaign.status().tiers if s.tier is Tier.SIMULATION]
        # 2.5 are reserved for each, so that one that takes a little more can be paid.
        assert (6.0, 3, 3) == (spent(campaign), status.done, status.parked)


def test_what_a_verdict_says_it_took_counts() -> None:
    with vl.Campaign.open("metered", ladder=ladder(metered), workers=1) as campaign:
        campaign.score(texts(3), deadline="300 s")
        campaign.drain("300 s")
        assert 0.5 + 1.0 + 1.5 == spent(campaign)


def test_a_paid_first_tier_is_charged_too() -> None:
    @vl.verifier(name="paid-fast", tier="fast", kind="text", version="1", cost=Cost(money=0.5))
    def judge(candidate: Candidate) -> float:
        return float(len(candidate.content))

    with vl.Campaign.open("judged", ladder=vl.Ladder("judged", [judge]), workers=1) as campaign:
        campaign.score(texts(4))
        assert spent(campaign) == 2.0


def test_a_total_caps_all_tiers_together() -> None:
    budget = {"total": {"money": 5}}
    with vl.Campaign.open("total", ladder=ladder(), budget=budget, workers=1) as campaign:
        campaign.score(texts(6), deadline="300 s")
        campaign.drain("300 s")
        assert spent(campaign) - campaign.ledger.accounts("total")[0].spent == 4.0


def test_a_paused_tier_waits_across_restarts(tmp_path: Path) -> None:
    where: dict[str, Any] = {"ladder": ladder(), "ledger": tmp_path / "ledger.db", "workers": 1}
    with vl.Campaign.open("held", **where) as campaign:
        campaign.pause("simulation")
        rewards = campaign.score(texts(3))
        assert campaign.drain("300 s")
        assert all(reward.pending for reward in rewards)
        assert spent(campaign) == 0.0
    with vl.Campaign.open("held", **where) as campaign:
        assert campaign.drain("300 s")
        queued = campaign.ledger.checks(states=[CheckState.QUEUED])
        assert len(queued) == 3
        campaign.resume(Tier.SIMULATION)
        assert campaign.drain("300 s")
        assert spent(campaign) == 6.0


def test_a_tier_that_the_ladder_lacks_cannot_be_paused() -> None:
    with vl.Campaign.open("held", ladder=ladder(), workers=1) as campaign:
        with pytest.raises(vl.ConfigError, match="no tier world; it has fast, simulation"):
            campaign.pause("world")
        with pytest.raises(vl.ConfigError, match="no tier world"):
            campaign.resume("world")


def test_a_campaign_with_money_pays_for_one_without(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger:
        poor = vl.Campaign.open(
            "poor", ladder=ladder(), ledger=ledger, budget={"simulation": {"money": 1}}, workers=1
        )
        rich = vl.Campaign.open("rich", ladder=ladder(), ledger=ledger, workers=1)
        with poor, rich:
            poor.score(texts(3))
            assert poor.drain("300 s")
            rich.score(texts(3), deadline="300 s")
            assert rich.drain("300 s")
            assert (0.0, 6.0) == (spent(poor), spent(rich))
            assert len(list(poor.revisions())) == 3


def test_a_horizon_is_kept(tmp_path: Path) -> None:
    where: dict[str, Any] = {"ladder": ladder(), "ledger": tmp_path / "ledger.db", "workers": 1}
    with vl.Campaign.open("far", horizon=5000, **where):
        pass
    with vl.Campaign.open("far", **where) as campaign:
        assert (5000, 5000) == (horizon_of(campaign.ledger, "far"), campaign.forecast().horizon)


@pytest.mark.parametrize("horizon", [0, "many"])
def test_a_horizon_that_is_no_number_of_samples_is_refused(horizon: Any) -> None:
    with pytest.raises(vl.ConfigError, match=r"horizon=.*whole number of at least 1"):
        vl.Campaign.open("far", ladder=ladder(), horizon=horizon)


@pytest.mark.parametrize("said", ["accept", "reject", "abstain"])
def test_what_a_verdict_says_it_took_is_charged(said: str) -> None:
    words = [] if said == "accept" else ["because"]

    @vl.verifier(kind="text", version="1", isolation="inline", cost=vl.Cost(money=1.0))
    def paid(candidate: vl.Candidate) -> vl.Verdict:
        del candidate
        made: vl.Verdict = getattr(vl.Verdict, said)(*words, cost=vl.Cost(money=0.25))
        return made

    budget = {"fast": {"money": 10.0}}
    with vl.Campaign.open("paid", ladder=vl.Ladder("paid", [paid]), budget=budget) as campaign:
        campaign.score(["a", "b"])
        spent = {a.resource.label: a.spent for a in campaign.ledger.accounts("paid")}

    assert spent["money"] == 0.5


class Second(Canonicaliser):
    """The second time it reads a late text, it waits until another text has been judged."""

    kind, name, timeout = "text", "second", 300.0

    def canonicalise(self, content: str | bytes) -> str | bytes:
        folder = Path(self.settings["folder"])
        if content == "late" and (folder / "read").exists():
            while not (folder / "judged").exists():
                pass
        if content == "late":
            (folder / "read").touch()
        return content


def test_what_is_learnt_after_a_check_was_claimed_does_not_change_its_charge(
    tmp_path: Path,
) -> None:
    @vl.verifier(
        name="raw-b", tier="simulation", kind="text", version="1", reads="raw", cost=Cost(0.1),
        batch_size=1,
    )  # fmt: skip
    def dear(candidate: Candidate) -> vl.Verdict:
        if candidate.content != "late":
            (tmp_path / "judged").touch()
        return vl.Verdict(Outcome.ACCEPT, 1.0, cost=Cost(4.0))

    by = Second(folder=str(tmp_path))
    read = vl.Ladder("raw", [quick, dear], policy=AllTiers(), budget=UNLIMITED, canonicaliser=by)
    with vl.Campaign.open("raw", ladder=read, workers=2) as campaign:
        campaign.score(["late", "soon"], deadline="300 s")
        campaign.drain("300 s")
        assert 8.0 == pytest.approx(spent(campaign, Resource.CPU_SECONDS), abs=0.1)
