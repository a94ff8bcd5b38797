"""Foresight looks ahead from what a ladder declares."""

from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.budget import TOTAL
from verifier_ladder.cost import Cost
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.resource import Resource
from verifier_ladder.scheduler.foresight import foresee
from verifier_ladder.scheduler.policies.valueofinformation import ValueOfInformation
from verifier_ladder.tier import Tier


def verifier(name: str, tier: str, cost: Cost) -> vl.Verifier:
    @vl.verifier(name=name, tier=tier, version="1", cost=cost)
    def answer(candidate: Any) -> float:
        return float(len(candidate.content))

    return answer


def ladder(**more: Any) -> vl.Ladder:
    verifiers = [
        verifier("quick", "fast", Cost(0.001)), verifier("dear", "world", Cost(10.0, money=2.0))
    ]  # fmt: skip
    return vl.Ladder("ahead", verifiers, policy=ValueOfInformation(), **more)


def test_without_a_limit_everything_is_asked() -> None:
    made = foresee(ladder(), 1000, {"world": "unlimited"})

    assert (1.0, 0.0) == (made.verified, made.variance)
    assert {(0, 0): 1.0, (3, 0): 10_000.0, (3, 2): 2000.0} == {
        (a.tier, int(a.resource)): pytest.approx(a.expected) for a in made.accounts if a.expected
    }


def test_a_tier_that_spends_money_is_not_asked_before_somebody_says_how_much() -> None:
    fast, world = foresee(ladder(), 1000).tiers

    assert (1000.0, "") == (fast.chosen, fast.closed)
    assert world.chosen + world.drawn == pytest.approx(0.0, abs=1.0)
    assert 'budget={"world": {"money": 60}}' in world.closed
    assert "unlimited" in world.closed


@pytest.mark.parametrize("samples", [0, 1, 5, 50, 2000])
def test_the_plan_knows_the_number_of_samples_and_keeps_within_the_cap(samples: int) -> None:
    _, world = foresee(ladder(), samples, {"world": {"money": 20}}).tiers

    assert samples == world.samples
    assert world.chosen + world.drawn == pytest.approx(min(samples, 10), abs=1.0)
    assert world.amounts.get("money", 0.0) <= 20.0 * 1.1


def test_the_tightest_cap_is_spent_and_the_others_last() -> None:
    budget: dict[str, Any] = {"world": {"money": 100, "seconds": "10 h"}, "total": "10 h"}

    made = foresee(ladder(), 1000, budget)

    accounts = {(a.tier, a.resource): a for a in made.accounts}
    money = accounts[Tier.WORLD, Resource.MONEY]
    assert money.expected == pytest.approx(100.0, rel=0.03)
    assert (1000, 50.0) == (money.binds_at, money.doubled)
    assert made.verified == pytest.approx(0.05, rel=0.03)
    assert made.doubled == pytest.approx(0.1, rel=0.03)
    for place in ((TOTAL, Resource.CPU_SECONDS), (Tier.WORLD, Resource.CPU_SECONDS)):
        assert accounts[place].binds_at is None


def test_the_ladders_own_budget_holds() -> None:
    made = foresee(ladder(budget={"world": {"money": 20}}), 1000)

    assert made.verified == pytest.approx(0.01, rel=0.03)


def test_a_prior_and_undeclared_costs_are_fine() -> None:
    bare = [verifier("a", "simulation", Cost()), verifier("b", "high_fidelity", Cost())]

    made = foresee(vl.Ladder("bare", bare, prior=(0.0, 1.0)), 10, {"total": "1 s"})

    assert made.verified is not None
    assert 0.0 <= made.verified <= 1.0


def test_the_samples_of_a_group_share_a_check_of_who_compares_them() -> None:
    cost = Cost(10.0, money=2.0)
    judge = FunctionVerifier(len, name="j", version="1", tier="world", scope="group", cost=cost)
    compared = vl.Ladder("compared", [verifier("quick", "fast", Cost(0.001)), judge])
    made = foresee(compared, 1000, {"world": {"money": 1000}}, group_size=8.0)
    short = foresee(compared, 1000, {"world": {"money": 50}}, group_size=8.0)

    world = made.tiers[1]
    assert world.chosen + world.drawn == pytest.approx(1000.0)
    assert world.amounts["money"] == pytest.approx(250.0)
    (account,) = [a for a in made.accounts if (a.tier, a.resource) == (3, Resource.MONEY)]
    assert (account.per_check, account.binds_at) == (2.0, None)
    assert short.verified == pytest.approx(0.2, abs=0.01)
