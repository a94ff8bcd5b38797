"""A forecast goes on as it went so far, up to the caps."""

import json
from math import nan

import pytest

from verifier_ladder.budget import TOTAL
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError
from verifier_ladder.forecast import Chance, forecast, twice
from verifier_ladder.horizon import plan
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import Block, Charged, DecisionColumns
from verifier_ladder.resource import Resource
from verifier_ladder.reward import Reward
from verifier_ladder.testing.records import NOW, check_row, claim, enqueue, samples
from verifier_ladder.tier import Tier

CPU, MONEY = Resource.CPU_SECONDS, Resource.MONEY
LADDER = {"name": "l", "verifiers": [{"name": "v", "version": "1", "tier": "simulation"}]}


def decided(
    chances: list[float], deviations: list[float | None], *, first: int = 0, price: float = 0.0,
    kind: str = "score",
) -> Block:  # fmt: skip
    """One call whose samples stop with these chances of being verified."""
    size = len(chances)
    columns = DecisionColumns(
        "p 1", range(size), [0] * size, [-1] * size, [0] * size, ["enough"], [0.0] * size,
        [1.0] * size, chances, None, [0.0] * size,
        prices={"simulation.money": price} if price else {},
    )  # fmt: skip
    rewards = [Reward(0.5, deviation) for deviation in deviations]
    words = [f"w{first + number}" for number in range(size)]
    return Block(
        kind, "try", samples=samples(words, first=first), decisions=[columns], rewards=rewards
    )


@pytest.fixture
def ledger() -> Ledger:
    """Four samples, which took eight cpu-seconds and four units of money together."""
    made = open_ledger(None)
    made.open_campaign("try", LADDER, b"0" * 32)
    block = decided([0.1, 0.1, 0.6, nan], [1.0, 1.0, 2.0, 1.0])
    made.append(block, charges={Charged(1): (Cost(8.0, money=4.0), 2)})
    return made


def test_spend_goes_on_as_it_went(ledger: Ledger) -> None:
    plan(ledger, "try", 400)

    made = forecast(ledger, "try")

    assert (4, 400, False) == (made.samples, made.horizon, made.is_assumed)
    assert {(CPU, 800.0), (MONEY, 400.0)} == {(a.resource, a.expected) for a in made.accounts}
    assert [4.0, 2.0] == [a.per_check for a in made.accounts]
    assert [None, None] == [a.binds_at for a in made.accounts]


def test_open_cases_count_with_what_is_set_aside_for_them() -> None:
    store, minutes = open_ledger(None), Resource.PERSON_MINUTES
    store.open_campaign("try", LADDER, b"0" * 32)
    store.set_caps("try", {(1, minutes): 60.0})
    store.append(decided([1.0] * 4, [1.0] * 4))
    for number in range(4):
        enqueue(
            store, check_row(f"case {number}", campaign="try", reserve=Cost(person_minutes=5.0))
        )
    store.wait(claim(store), deadline=None, now=NOW)

    same, more = forecast(store, "try"), forecast(store, "try", 400)

    (account,) = [a for a in more.accounts if a.resource is minutes]
    assert (0.0, 60.0, 12) == (account.spent, account.expected, account.binds_at)
    assert ([4.0], [12.0]) == ([t.chosen for t in same.tiers], [t.chosen for t in more.tiers])


def test_without_a_plan_no_more_samples_are_expected_than_came(ledger: Ledger) -> None:
    made = forecast(ledger, "try")

    assert (4, True) == (made.horizon, made.is_assumed)


def test_whoever_asks_may_say_how_many_samples_there_will_be(ledger: Ledger) -> None:
    made = forecast(ledger, "try", 400)

    assert (400, False) == (made.horizon, made.is_assumed)
    assert [(Tier.SIMULATION, 200.0)] == [
        (t.tier, t.chosen) for t in made.tiers if t.tier is Tier.SIMULATION
    ]


def test_a_cap_binds_when_it_is_reached(ledger: Ledger) -> None:
    plan(ledger, "try", 400)
    ledger.set_caps("try", {(1, MONEY): 100.0, (TOTAL, CPU): 1e6})

    total, _, money = forecast(ledger, "try").accounts

    assert (100.0, 100) == (money.expected, money.binds_at)
    assert money.doubled == 50.0
    assert (800.0, None, None) == (total.expected, total.binds_at, total.doubled)


def test_the_top_tier_verifies_what_its_tightest_cap_pays_for(ledger: Ledger) -> None:
    plan(ledger, "try", 400)
    ledger.set_caps("try", {(1, MONEY): 100.0})

    made = forecast(ledger, "try")

    assert [50.0] == [tier.chosen for tier in made.tiers]
    assert (0.125, 0.25) == (made.verified, made.doubled)


def test_a_tier_of_two_verifiers_is_asked_of_candidates_and_not_of_checks() -> None:
    verifiers = [{**LADDER["verifiers"][0], "name": name} for name in "vw"]  # type: ignore[dict-item]
    ledger = open_ledger(None)
    ledger.open_campaign("try", {**LADDER, "verifiers": verifiers}, b"0" * 32)
    charges = {Charged(1): (Cost(8.0), 8)}
    ledger.append(decided([0.1, 0.1, 0.6, nan], [1.0, 1.0, 2.0, 1.0]), charges=charges)

    assert [4.0] == [tier.chosen for tier in forecast(ledger, "try").tiers]


def test_an_account_with_a_price_is_paced_to_the_horizon(ledger: Ledger) -> None:
    plan(ledger, "try", 400)
    ledger.set_caps("try", {(1, MONEY): 500.0})
    ledger.append(decided([0.1], [1.0], first=4, price=0.25))

    *_, money = forecast(ledger, "try").accounts

    assert (500.0, 400, 0.25) == (money.expected, money.binds_at, money.price)


def test_the_policys_chances_tell_what_is_verified_and_what_is_left(ledger: Ledger) -> None:
    made = forecast(ledger, "try")

    assert made.verified == pytest.approx(0.8 / 3)
    assert made.doubled == pytest.approx(1.4 / 3)
    assert made.variance == pytest.approx((0.9 + 0.9 + 0.4 * 4) / 3)
    assert made.doubled_variance == pytest.approx((0.8 + 0.8) / 3)


def test_an_answer_is_no_second_chance(ledger: Ledger) -> None:
    before = forecast(ledger, "try")
    ledger.append(decided([1.0], [0.0], first=2, kind="revision"))

    assert before.verified == forecast(ledger, "try").verified


def test_nothing_is_foretold_from_nothing() -> None:
    ledger = open_ledger(None)
    ledger.open_campaign("try", LADDER, b"0" * 32)
    ledger.set_caps("try", {(1, CPU): 10.0})

    made = forecast(ledger, "try")

    assert (None, None) == (made.verified, made.variance)
    assert [(None, None)] == [(a.expected, a.doubled) for a in made.accounts]


@pytest.mark.parametrize(
    ("chances", "expected"),
    [
        ([], (None, None, None, None)),
        ([(0.5, None)], (0.5, 1.0, None, None)),
        ([(0.25, 4.0)], (0.25, 0.5, 3.0, 2.0)),
    ],
)
def test_twice_the_chances(
    chances: list[Chance], expected: tuple[float | None, float | None, float | None, float | None]
) -> None:
    assert expected == twice(chances)


def test_a_forecast_is_json(ledger: Ledger) -> None:
    made = json.loads(json.dumps(forecast(ledger, "try").as_json()))

    assert ["cpu_seconds", "money"] == [a["resource"] for a in made["accounts"]]
    assert {"simulation"} == {a["tier"] for a in made["accounts"]}


def test_an_unknown_campaign_gets_the_known_ones(ledger: Ledger) -> None:
    with pytest.raises(ConfigError, match="no campaign 'tyr'; it holds try"):
        forecast(ledger, "tyr")
