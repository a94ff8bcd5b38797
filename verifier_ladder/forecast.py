"""Forecasts: what a campaign will spend until its horizon, and what twice the budget would buy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

from verifier_ladder.budget import place_label
from verifier_ladder.horizon import horizon_of
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Account, Block, CampaignRow
from verifier_ladder.resource import Resource
from verifier_ladder.status import campaign_status, recorded_campaign, tiers_of
from verifier_ladder.tier import Tier

_RECENT = 1000
"""How many of the newest entries tell what the policy does at present."""


Chance = tuple[float, float | None]
"""Probability that the top tier verifies a sample, and the reward's variance if it is known."""
Shares = tuple[float | None, float | None, float | None, float | None]
"""Verified share and variance left: share now, with twice the budget, and variance likewise."""


class AccountForecast(NamedTuple):
    """One account: where it stands, and where it will."""

    tier: int
    """The tier, or `budget.TOTAL` for all tiers."""
    resource: Resource
    spent: float
    cap: float | None
    expected: float | None
    """Estimate of what will have been spent at the horizon; None while nothing is known."""
    binds_at: int | None
    """Estimate of the sample at which the cap is reached; None if it is not before the horizon.
    """
    per_check: float | None
    """Mean of what a check took; None while there was none."""
    price: float = 0.0
    """What a unit of it is worth at present; 0 if the budget pays for everything."""

    @property
    def doubled(self) -> float | None:
        """How many more checks twice the cap would pay for; None if that is not known."""
        if self.cap is None or not self.per_check or self.binds_at is None:
            return None
        return self.cap / self.per_check

    def as_json(self) -> dict[str, Any]:
        """The forecast of the account as JSON; tier and resource by label."""
        place = {"tier": place_label(self.tier), "resource": self.resource.label}
        return {**self._asdict(), **place, "doubled": self.doubled}


class TierForecast(NamedTuple):
    """One tier: how many samples ask it, and what that takes."""

    tier: Tier
    verifiers: tuple[str, ...]
    samples: int
    """Of how many."""
    chosen: float
    """Estimate of how many ask it because that is worth its cost."""
    drawn: float = 0.0
    """Estimate of how many more are drawn for it at random."""
    amounts: Mapping[str, float] = {}
    """Estimate of what that takes, by resource."""
    closed: str = ""
    """Why nobody is asked, if that is so."""

    def as_json(self) -> dict[str, Any]:
        """The tier's forecast as JSON; the tier by label."""
        more = {"tier": self.tier.label, "amounts": dict(self.amounts)}
        return {**self._asdict(), **more, "verifiers": list(self.verifiers)}


@dataclass(frozen=True, slots=True)
class Forecast:
    """An estimate, from what was spent and decided so far or, before that, from declarations."""

    name: str
    samples: int
    """How many there were so far."""
    horizon: int
    """How many there will have been."""
    is_assumed: bool
    """Whether nobody said how many there will be."""
    accounts: tuple[AccountForecast, ...]
    verified: float | None
    """Share of the samples that the top tier verifies; None while nothing was decided."""
    doubled: float | None
    """The same share with twice the budget, each sample's chance doubled."""
    variance: float | None
    """Mean variance of the rewards that is left: what the top tier has not made certain."""
    doubled_variance: float | None
    tiers: tuple[TierForecast, ...] = ()
    """What each tier will have been asked at the horizon."""

    def as_json(self) -> dict[str, Any]:
        """The forecast as JSON."""
        made = {name: getattr(self, name) for name in self.__slots__}
        accounts = [account.as_json() for account in self.accounts]
        return {**made, "accounts": accounts, "tiers": [tier.as_json() for tier in self.tiers]}


def forecast(ledger: Ledger, name: str, samples: int | None = None) -> Forecast:
    """Look ahead from what the ledger tells; nothing needs to be running.

    It takes samples to come to be like those so far. A check at work or open in the world counts,
    with what is set aside for it. An account with a price is paced: it is
    expected to be spent at the horizon.

    Args:
        ledger: The ledger.
        name: The campaign.
        samples: How many samples there will have been in all; by default its horizon, and
            without one those that came so far.

    Raises:
        ConfigError: If the ledger holds no campaign of this name.
    """
    row = recorded_campaign(ledger, name)
    came = ledger.count_samples(name)
    planned = samples or horizon_of(ledger, name)
    chances, prices, group_size = _decided(ledger, name)
    horizon = max(planned or 0, came)
    known = ledger.accounts(name)
    accounts = tuple(account_forecast(account, came, horizon, prices) for account in known)
    pairs = list(zip(known, accounts, strict=True))
    at_work = {t.tier: t.running + t.waiting for t in campaign_status(ledger, name).tiers}
    asking = _per_sample(row, group_size)
    tiers = tuple(_tiers(asking, pairs, came, horizon, at_work))
    shares = _paid(twice(chances), tiers, accounts)
    return Forecast(name, came, horizon, planned is None, accounts, *shares, tiers)


def _paid(
    shares: Shares, tiers: Sequence[TierForecast], accounts: Sequence[AccountForecast]
) -> Shares:
    """The shares as far as the top tier's caps pay for them.

    Where they pay for less than was decided so far, nothing is known of the variance left.
    """
    if not tiers or shares[0] is None or shares[1] is None:
        return shares
    top = tiers[-1]
    binds = any(a.tier == top.tier and a.binds_at is not None for a in accounts)
    paid = top.chosen / top.samples if binds and top.samples else shares[0]
    if paid >= shares[0]:
        return shares
    return paid, min(shares[1], 2.0 * paid), None, None


def _per_sample(row: CampaignRow, group_size: float) -> dict[Tier, dict[str, float]]:
    """How many checks each verifier of each tier has for a sample that asks it."""
    made: dict[Tier, dict[str, float]] = {tier: {} for tier in tiers_of(row)}
    for verifier in row.ladder["verifiers"]:
        share = group_size if verifier.get("scope") == "group" else 1.0
        made[Tier.parse(verifier["tier"])][verifier["name"]] = 1.0 / share
    return made


def _tiers(
    asking: Mapping[Tier, Mapping[str, float]],
    accounts: Sequence[tuple[Account, AccountForecast]],
    came: int,
    horizon: int,
    at_work: Mapping[Tier, int],
) -> Iterator[TierForecast]:
    """What each tier will have been asked, if all goes on as it went."""
    for tier, per_sample in asking.items():
        mine = [pair for pair in accounts if pair[0].tier == tier]
        asked = max((a.checks for a, _ in mine), default=0) + at_work[tier]
        bound = [
            _checks(a, at_work[tier]) * there.expected / _committed(a)
            for a, there in mine if there.binds_at is not None and there.expected and _committed(a)
        ]  # fmt: skip
        checks = min([asked * horizon / came if came else 0.0, *bound])
        yield TierForecast(
            tier, tuple(per_sample), horizon,
            min(float(horizon), checks / sum(per_sample.values())),
            amounts={there.resource.label: there.expected for _, there in mine if there.expected},
        )  # fmt: skip


def _committed(account: Account) -> float:
    """What was spent, and what is set aside for checks at work."""
    return account.spent + account.reserved


def _checks(account: Account, at_work: int) -> int:
    """How many checks that is for."""
    return account.checks + (at_work if account.reserved else 0)


def account_forecast(
    account: Account, samples: int, horizon: int, prices: Mapping[str, float]
) -> AccountForecast:
    """Where one account will stand.

    Args:
        account: The account.
        samples: How many samples there were so far.
        horizon: How many there will have been.
        prices: Present prices, by `tier.resource`.
    """
    price = prices.get(f"{place_label(account.tier)}.{account.resource.label}", 0.0)
    expected = _committed(account) / samples * horizon if samples else None
    binds_at = None
    if account.cap is not None and expected is not None and (price > 0 or expected > account.cap):
        is_early = not price > 0 and expected > 0
        binds_at = int(horizon * account.cap / expected) if is_early else horizon
        expected = account.cap
    return AccountForecast(
        account.tier, account.resource, account.spent, account.cap, expected, binds_at,
        account.settled / account.checks if account.checks else None, price,
    )  # fmt: skip


def twice(chances: list[Chance]) -> Shares:
    """Verified share and variance left, each as it is and with every chance doubled.

    A sample that is not verified keeps its variance, so (1 − p)·s² is left in the mean.
    """
    if not chances:
        return None, None, None, None
    now = sum(p for p, _ in chances) / len(chances)
    then = sum(min(1.0, 2.0 * p) for p, _ in chances) / len(chances)
    known = [(p, variance) for p, variance in chances if variance is not None]
    if not known:
        return now, then, None, None
    left = sum((1.0 - p) * s2 for p, s2 in known) / len(known)
    rest = sum((1.0 - min(1.0, 2.0 * p)) * s2 for p, s2 in known) / len(known)
    return now, then, left, rest


def _decided(ledger: Ledger, name: str) -> tuple[list[Chance], Mapping[str, float], float]:
    """What was decided lately where climbs ended, the newest prices, and the size of groups."""
    chances: dict[tuple[str, int, int], Chance] = {}
    prices: Mapping[str, float] = {}
    groups: dict[tuple[str, int, str], set[int]] = {}
    for entry in ledger.entries(after=max(0, ledger.newest() - _RECENT), campaign=name):
        if entry.kind in {"score", "revision"}:
            block = ledger.read(entry)
            for group, position in _members(block):
                groups.setdefault(group, set()).add(position)
            for sample, chance in _chances(block):
                chances.setdefault(sample, chance)  # The answer is told later, and is no chance.
            for columns in block.decisions:
                prices = columns.prices or prices
    compared = [len(members) for members in groups.values() if len(members) > 1]
    group_size = sum(compared) / len(compared) if compared else 1.0
    return list(chances.values()), prices, group_size


def _members(block: Block) -> Iterator[tuple[tuple[str, int, str], int]]:
    """The groups of a block's samples, and their positions."""
    samples = block.samples
    if samples is None or not samples.groups:
        return
    for group, position in zip(samples.groups, samples.positions, strict=True):
        if group:
            yield (samples.run, samples.step, group), position


def _chances(block: Block) -> Iterator[tuple[tuple[str, int, int], Chance]]:
    """The chances of samples whose climb has ended one way or the other."""
    samples = block.samples
    if samples is None:
        return
    for columns in block.decisions:
        for place, chance in zip(columns.sample, columns.propensity, strict=True):
            if isfinite(chance):
                spread = block.rewards[place].uncertainty
                known = None if spread is None else spread * spread
                yield (samples.run, samples.step, samples.positions[place]), (chance, known)
