"""Prices make a budget last until its horizon, and no longer."""

import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifier_ladder.budget import TOTAL
from verifier_ladder.cost import Cost
from verifier_ladder.decision import Action, Decisions, Situation
from verifier_ladder.ledger.records import Account
from verifier_ladder.resource import Resource
from verifier_ladder.scheduler.policies.discovery import Discovery
from verifier_ladder.scheduler.policies.thresholds import Thresholds
from verifier_ladder.scheduler.policies.valueofinformation import ValueOfInformation
from verifier_ladder.scheduler.prices import AUDITS, Prices
from verifier_ladder.testing.records import check_row
from verifier_ladder.testing.situations import situation
from verifier_ladder.tier import Tier

TIERS = (Tier.FAST, Tier.SIMULATION, Tier.WORLD)
CPU, MONEY = Resource.CPU_SECONDS, Resource.MONEY
USUAL = np.array([1e-4, 1.0, 60.0])
NOTHING = np.zeros((3, 4))


def account(cap: float | None, spent: float = 0.0, place: int = 3, what: Any = CPU) -> Account:
    return Account(place, what, cap, spent, 0.0, 0.0, 0)


def cpu(costs: Any, size: int = 1) -> np.ndarray[Any, np.dtype[np.float64]]:
    made = np.zeros((size, 3, 4))
    made[:, :, 0] = costs
    return made


@dataclass
class Campaign:
    """A campaign of candidates with two tiers above the fast one, which are paid from one cap."""

    share: float
    place: int = 3
    samples: int = 4096
    batch: int = 128
    spread: float = 0.8
    alike: bool = False
    shared: float = 0.0
    """Share of the checks that turn out to cost nothing."""
    drift: float = 1.0
    seed: int = 0
    spent: np.ndarray[Any, np.dtype[np.float64]] = field(default_factory=NOTHING.copy)
    way: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.draws = np.random.default_rng(self.seed)
        self.policy = ValueOfInformation()
        self.prices = Prices(self.policy, TIERS, horizon=self.samples)
        mean = USUAL * np.exp(self.spread**2 / 2)
        whole = mean[1:].sum() if self.place == TOTAL else mean[2]
        self.cap = self.share * self.samples * whole

    @property
    def used(self) -> float:
        """What the capped account has spent."""
        return float(self.spent[:, 0].sum() if self.place == TOTAL else self.spent[2, 0])

    def run(self) -> float:
        """Spend; gives the share of the cap that was used."""
        for begun in range(0, self.samples, self.batch):
            shape = (self.batch, 3)
            costs = cpu(USUAL * np.exp(self.draws.normal(0.0, self.spread, shape)), self.batch)
            costs[:, 2] *= self.drift ** (begun / self.samples)
            rows = situation(
                self.draws.normal(size=self.batch), 1.0 if self.alike else self._deviations(),
                tiers=TIERS, group=np.arange(self.batch) // 8, spread=1.0,
            )  # fmt: skip
            again = self._step(rows, costs, self.batch)
            if len(again):
                known = situation(
                    rows.mean[again], 0.7 * rows.deviation[again], tiers=TIERS, spread=1.0,
                    group=rows.group[again], answered=[True, True, False],
                )  # fmt: skip
                self._step(known, costs[again], 0)
            self.way.append(self.used / self.cap)
        return self.way[-1]

    def _deviations(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.exp(self.draws.normal(0.0, 0.5, self.batch))

    def _step(self, rows: Situation, costs: Any, samples: int) -> Any:
        """Decide and pay; gives the rows that climb to the middle tier."""
        now = [account(self.cap, self.used, self.place)]
        rows.cost = self.prices.observe(rows, costs, samples, now)
        rows.affordable = self.prices.affordable(costs)
        rows.unevenness = self.prices.unevenness
        decisions = self.policy.decide(rows)
        chance = np.maximum(decisions.verify, self.prices.floor) * rows.affordable[:, 2]
        drawn = (decisions.action == Action.STOP) & (self.draws.random(len(rows)) < chance)
        climbs = decisions.action == Action.ESCALATE
        for column, asked in ((2, drawn | (climbs & (decisions.to == 2))), (1, climbs & ~drawn)):
            for row in np.flatnonzero(asked & ((column == 2) | (decisions.to == 1))):
                self._pay(column, costs[row, column])
        return np.flatnonzero(climbs & (decisions.to == 1))

    def _pay(self, column: int, cost: Any) -> None:
        if self.draws.random() < self.shared:
            return
        key = self.draws.bytes(8)
        self.prices.commit(key, column, cost.tolist())
        self.prices.settle(key)
        if (self.place != TOTAL and column != 2) or self.used + cost[0] <= self.cap:
            self.spent[column] += cost


@pytest.mark.parametrize(
    "campaign",
    [
        Campaign(0.1), Campaign(0.03), Campaign(0.5), Campaign(0.1, place=TOTAL, samples=8192),
        Campaign(0.1, batch=16, samples=2048), Campaign(0.1, batch=1024),
        Campaign(0.1, shared=0.5),
        Campaign(0.1, drift=4.0), Campaign(0.1, drift=0.25),
        Campaign(0.1, spread=0.0, alike=True), Campaign(0.1, spread=0.0, alike=True, place=TOTAL),
    ],
    ids=str,
)  # fmt: skip
def test_a_budget_is_spent_within_one_per_cent_at_the_horizon(campaign: Campaign) -> None:
    assert 0.99 <= campaign.run() <= 1.0


@pytest.mark.parametrize("campaign", [Campaign(0.1), Campaign(0.1, place=TOTAL)], ids=str)
def test_it_is_spent_evenly(campaign: Campaign) -> None:
    campaign.run()
    line = np.arange(1, len(campaign.way) + 1) / len(campaign.way)

    assert np.abs(np.array(campaign.way) - line).max() < 0.12


def test_what_is_affordable_in_all_has_no_price() -> None:
    campaign = Campaign(3.0)
    campaign.run()

    assert {(3, 0): 0.0} == campaign.prices.prices
    assert campaign.way[-1] == pytest.approx(1 / 3, rel=0.1)  # All was asked, and it was enough.


def test_without_caps_nothing_has_a_price() -> None:
    prices = Prices(ValueOfInformation(), TIERS)
    rows = situation([0.0, 1.0], tiers=TIERS)

    made = prices.observe(rows, cpu(USUAL, 2), 2, [account(None)])

    assert not made.any()
    assert prices.affordable(cpu(USUAL, 2)).all()


def test_a_total_and_a_tier_are_priced_together() -> None:
    prices = Prices(ValueOfInformation(), TIERS, horizon=1000)
    rows = situation(np.zeros(64), tiers=TIERS, group=np.arange(64) // 8)
    costs = cpu(USUAL, 64)
    costs[:, 2, MONEY] = 2.0

    prices.observe(rows, costs, 64, [account(600.0, place=TOTAL), account(4.0, what=MONEY)])

    rates = prices.rates
    assert rates[0, CPU] == rates[1, CPU] == rates[2, CPU] > 0.0
    assert rates[2, MONEY] > 0.0 == rates[1, MONEY]


def test_a_policy_that_does_not_look_at_prices_gets_them_all_the_same() -> None:
    prices = Prices(Thresholds(), TIERS, horizon=1000)
    rows = situation(np.zeros(64), tiers=TIERS)

    made = prices.observe(rows, cpu(USUAL, 64), 64, [account(60.0)])

    assert np.isfinite(made).all()


def test_a_search_begins_where_a_top_check_costs_three_deviations() -> None:
    prices = Prices(Discovery(), TIERS)
    rows = situation([0.0, 1.0], tiers=TIERS)

    made = prices.observe(rows, cpu(USUAL, 2), 2, [account(600.0)])

    assert made[:, 2] == pytest.approx([3.0, 3.0], rel=0.11)
    assert prices.ease()
    assert prices.observe(rows, cpu(USUAL, 2), 0, [account(600.0)])[:, 2] == pytest.approx(
        [1.5, 1.5], rel=0.11
    )


@pytest.mark.parametrize("dear", [1e-300, 1e12, 1e200, 1e300, float("inf")])
def test_a_search_ends_however_dear_a_check_is(dear: float) -> None:
    class Counted(ValueOfInformation):
        asked = 0

        def decide(self, situation: Situation) -> Decisions:
            self.asked += 1
            assert self.asked < 5_000
            return super().decide(situation)

    prices = Prices(Counted(), TIERS, horizon=64)
    costs = cpu([1e-4, 1.0, dear], 2)

    with np.errstate(all="ignore"), suppress(OverflowError):  # an error is an end too
        prices.observe(situation([0.0, 1.0], tiers=TIERS), costs, 2, [account(3600.0)])

    assert prices.has_caps


def test_prices_that_are_nothing_cannot_be_eased() -> None:
    assert not Prices(ValueOfInformation(), TIERS).ease()


def test_checks_at_work_are_spent_already() -> None:
    prices = Prices(ValueOfInformation(), TIERS)
    rows, costs = situation([0.0], tiers=TIERS), cpu(USUAL)
    for _ in range(2):
        prices.commit(b"check", 2, costs[0, 2].tolist())

    prices.observe(rows, costs, 1, [account(100.0)])
    assert prices.affordable(costs).tolist() == [[True, True, False]]

    prices.settle(b"check")
    prices.settle(b"check")
    prices.observe(rows, costs, 1, [account(100.0)])
    assert prices.affordable(costs).all()


def test_a_check_that_can_never_be_paid_is_not_spent() -> None:
    one, other = (Prices(ValueOfInformation(), TIERS, horizon=100) for _ in range(2))
    rows, costs = situation([0.0], tiers=TIERS), cpu(USUAL)
    one.commit(b"parked", 2, [500.0, 0.0, 0.0, 0.0])

    made, expected = (p.observe(rows, costs, 1, [account(100.0)]) for p in (one, other))

    assert expected.tolist() == made.tolist()
    assert one.affordable(costs).all()


def test_each_row_is_affordable_by_its_own_cost() -> None:
    prices = Prices(ValueOfInformation(), TIERS)
    costs = np.concatenate([cpu(USUAL), cpu([1e-4, 1.0, 200.0])])

    prices.observe(situation([0.0, 1.0], tiers=TIERS), costs, 2, [account(100.0)])

    assert [True, False] == prices.affordable(costs)[:, 2].tolist()


@pytest.mark.parametrize("seed", range(3))
def test_a_few_dear_rows_do_not_swing_the_price(seed: int) -> None:
    """Costs over four orders of magnitude: half of what all would take lies in a few rows."""
    campaign = Campaign(0.08, spread=2.5, seed=seed)
    campaign.run()

    steps = np.diff([0.0, *campaign.way])
    assert 0.9 <= campaign.way[-1] <= 1.0
    assert steps.max() < 0.2


@given(st.floats(0.0, 4.0))
def test_unevenness_is_the_variance_of_the_logarithm_of_costs(spread: float) -> None:
    prices = Prices(ValueOfInformation(), TIERS, horizon=1000)
    costs = cpu(USUAL, 64)
    costs[::2, 2, CPU] *= np.exp(2.0 * spread)

    assert 0.0 == prices.unevenness
    prices.observe(situation(np.zeros(64), tiers=TIERS), costs, 64, [account(6.0)])

    assert prices.unevenness == pytest.approx(spread**2, rel=0.1, abs=0.01)


def test_after_a_restart_it_goes_on_where_it_was() -> None:
    again = Campaign(0.1, samples=1024)
    check = check_row("a", tier=3, reserve=Cost(60.0))
    again.prices.take_up(1000, [check, check])

    rows, costs = situation([0.0], tiers=TIERS), cpu(USUAL)
    again.prices.observe(rows, costs, 1, [account(100.0)])

    assert not again.prices.affordable(costs)[0, 2]  # 60 of the 100 are spoken for.
    assert again.prices.floor == pytest.approx(AUDITS * 40.0 / (24 * 60.0), rel=0.11)


def test_what_costs_nothing_is_affordable_whatever_was_overspent() -> None:
    prices = Prices(ValueOfInformation(), TIERS)
    rows, costs = situation([0.0], tiers=TIERS), cpu([1.0, 1.0, 0.0])

    prices.observe(rows, costs, 1, [account(1.0, 5.0, TOTAL)])

    assert prices.affordable(costs).tolist() == [[False, False, True]]


@pytest.mark.parametrize(
    ("audit", "cap", "expected"),
    [(None, None, AUDITS), (0.05, None, 0.05), (0.0, 100.0, 0.0), (None, 6e4, AUDITS),
     (None, 6000.0, 0.015), (0.05, 6000.0, 0.015), (0.01, 6000.0, 0.01), (0.05, 0.0, 0.0)],
)  # fmt: skip
def test_audits_take_their_share_of_the_budget_at_most(
    audit: float | None, cap: float | None, expected: float
) -> None:
    prices = Prices(ValueOfInformation(), TIERS, audit=audit, horizon=1000)

    prices.observe(situation([0.0], tiers=TIERS), cpu(USUAL), 1, [account(cap)])

    assert prices.floor == pytest.approx(expected, rel=0.11)


def test_a_campaign_without_a_horizon_keeps_something_for_later() -> None:
    campaign = Campaign(0.1)
    campaign.prices.horizon = None

    assert 0.5 < campaign.run() < 0.95


def test_prices_are_a_pure_function_of_what_was_observed() -> None:
    one, two = Campaign(0.1, samples=1024), Campaign(0.1, samples=1024)
    one.run(), two.run()

    assert one.prices.snapshot() == two.prices.snapshot()


def test_a_snapshot_goes_on_as_if_nothing_had_happened() -> None:
    campaign = Campaign(0.1, samples=1024)
    campaign.run()
    again = Prices(ValueOfInformation(), TIERS, horizon=1024)
    again.restore(json.loads(json.dumps(campaign.prices.snapshot())))
    rows = situation(np.arange(300.0), tiers=TIERS, group=np.arange(300) // 8)

    made = [p.observe(rows, cpu(USUAL, 300), 0, [account(50.0)]) for p in (campaign.prices, again)]

    assert (made[0] == made[1]).all()
    assert campaign.prices.prices == again.prices


@settings(max_examples=60)
@given(
    sizes=st.lists(st.integers(0, 40), max_size=4),
    costs=st.tuples(*[st.sampled_from([0.0, 1e-9, 1.0, 1e9])] * 3),
    caps=st.lists(
        st.tuples(st.sampled_from([TOTAL, 0, 1, 3]), st.sampled_from([0.0, 1e-6, 10.0, 1e12])),
        unique_by=lambda cap: cap[0],
    ),
    deviation=st.sampled_from([0.0, 1.0, float("nan"), 1e300]),
    spent=st.sampled_from([0.0, 5.0]),
)  # fmt: skip
def test_prices_are_numbers_whatever_comes(
    sizes: list[int], costs: Any, caps: Any, deviation: float, spent: float
) -> None:
    prices = Prices(ValueOfInformation(), TIERS, horizon=50)
    accounts = [account(cap, spent, place) for place, cap in caps]
    for size in sizes:
        rows = situation(np.zeros(size), deviation, tiers=TIERS)
        made = prices.observe(rows, cpu(costs, size), size, accounts)
        assert made.shape == (size, 3)
        assert np.isfinite(made).all()
        assert (made >= 0.0).all()
        assert 0.0 <= prices.floor <= 1.0


def test_a_row_that_can_never_be_paid_takes_nothing_from_the_others() -> None:
    prices = Prices(ValueOfInformation(), TIERS)
    prices.balance([account(10.0)])
    costs = np.zeros((3, 4))
    costs[:, CPU] = [1.0, 2.0, 100.0]

    share = prices.shares(costs, NOTHING, 0.25)

    assert [1 / 9.5, 2 / 9.5, np.inf] == pytest.approx(share.tolist())


def test_what_is_reserved_at_the_least_is_not_given_to_the_last_row() -> None:
    prices = Prices(ValueOfInformation(), TIERS)
    prices.balance([account(10.0)])
    costs, least = np.zeros((3, 4)), np.zeros(4)
    costs[:, CPU], least[CPU] = 0.5, 2.0

    assert [0.5 / 8.5] * 3 == pytest.approx(prices.shares(costs, NOTHING, 0.25, least).tolist())
    least[CPU] = 11.0
    assert np.isinf(prices.shares(costs, NOTHING, 0.25, least)).all()


def test_what_the_top_tier_was_promised_is_kept_until_the_cheaper_check_has_ended() -> None:
    prices, costs = Prices(ValueOfInformation(), TIERS), np.zeros((1, 4))
    costs[:, CPU] = 2.0
    prices.commit(b"middle", 1, [1.0, 0.0, 0.0, 0.0])
    prices.promise(b"middle", [6.0, 0.0, 0.0, 0.0])

    prices.balance([account(10.0)])
    assert prices.shares(costs, NOTHING, 0.0).tolist() == [2.0 / 4.0]
    prices.settle(b"middle")
    prices.balance([account(10.0)])
    assert prices.shares(costs, NOTHING, 0.0).tolist() == [2.0 / 10.0]
