"""Foresight: what a ladder would spend on samples that nobody has seen yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from verifier_ladder.arrays import Floats
from verifier_ladder.budget import TOTAL, Budget, Caps, parse_budget
from verifier_ladder.decision import Situation
from verifier_ladder.forecast import AccountForecast, Forecast, TierForecast
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger.records import Account
from verifier_ladder.limits import needs_limit, notice, without_limit
from verifier_ladder.resource import Resource
from verifier_ladder.scheduler.beliefs import Seen, create_model
from verifier_ladder.scheduler.prices import Prices
from verifier_ladder.scheduler.verifiercosts import VerifierCosts
from verifier_ladder.tier import Tier

if TYPE_CHECKING:
    _Spent = Mapping[tuple[int, Resource], float]

_MOST = 64
"""How many samples stand for all, at most: they are alike, and prices differ a little."""


class _Asked(NamedTuple):
    """What samples of a ladder ask, as shares of all."""

    chosen: Floats
    """Share that asks each tier because that is worth its cost. Shape (tiers,)."""
    drawn: float
    """Share that is drawn for the top tier."""
    prices: Mapping[tuple[int, int], float]
    costs: Floats
    """What asking each tier about a sample takes. Shape (tiers, resources)."""

    @property
    def all(self) -> Floats:
        """Share that asks each tier. Shape (tiers,)."""
        made = self.chosen.copy()
        made[-1] += self.drawn
        return made


def foresee(
    ladder: Ladder,
    samples: int,
    budget: Budget | None = None,
    *,
    accounts: Sequence[Account] | None = None,
    group_size: float = 1.0,
) -> Forecast:
    """Forecast samples that nobody has seen yet, from what is declared.

    Costs are those that verifiers declare, or guesses where they declare none. All samples are
    taken to pass the fast tier, and nothing is known of the target but the ladder's prior: a
    policy chooses better than this once it has learnt. Variance is a share of what it is before.

    Args:
        ladder: The ladder.
        samples: How many samples there will be.
        budget: Caps, as in `Campaign.open`; those left out are the ladder's.
        accounts: Those of a campaign that is open; its caps and what it has spent count then.
        group_size: How many samples a group has in the mean. They share the checks of verifiers
            that compare groups.

    Raises:
        ConfigError: If the budget makes no sense.

    Example:
        >>> import verifier_ladder as vl
        >>> @vl.verifier(tier="world", kind="text", version="1", cost=vl.Cost(money=2.0))
        ... def ask(candidate): ...
        >>> ahead = foresee(vl.Ladder("asking", [ask]), 1000, {"world": {"money": 100}})
        >>> round(ahead.verified, 2), round(ahead.doubled, 2)
        (0.05, 0.1)
        >>> foresee(vl.Ladder("asking", [ask]), 1000).tiers[0].closed[:25]
        'the world tier (ask) woul'
    """
    caps = {**ladder.budget, **parse_budget(budget, ladder.tiers)}
    if accounts is not None:
        caps = {(account.tier, account.resource): account.cap for account in accounts}
    else:
        caps |= dict.fromkeys(without_limit(ladder, caps), 0.0)
    spent = {(account.tier, account.resource): account.spent for account in accounts or ()}
    costs = _declared(ladder, group_size)
    asked = _asked(ladder, samples, caps, spent, costs)
    more = {place: None if cap is None else 2.0 * cap for place, cap in caps.items()}
    verified = float(asked.all[-1])
    doubled = float(_asked(ladder, samples, more, spent, costs).all[-1])
    return Forecast(
        name=ladder.name, samples=0, horizon=samples, is_assumed=False,
        accounts=tuple(_accounts(ladder, samples, caps, spent, asked)),
        verified=verified, doubled=doubled, variance=1.0 - verified,
        doubled_variance=1.0 - doubled, tiers=tuple(_tiers(ladder, samples, caps, asked)),
    )  # fmt: skip


def _declared(ladder: Ladder, group_size: float = 1.0) -> Floats:
    """What asking each tier about a sample takes, as declared. Shape (tiers, resources)."""
    return np.array([
        sum(
            VerifierCosts(v, 0, 0).expected / (group_size if v.scope == "group" else 1.0)
            for v in rung.verifiers
        )
        for rung in ladder.rungs
    ])  # fmt: skip


def _asked(ladder: Ladder, samples: int, caps: Caps, spent: _Spent, declared: Floats) -> _Asked:
    """What is asked, and the prices that make it so."""
    size = max(1, min(samples, _MOST))
    prices = Prices(ladder.policy, ladder.tiers, audit=ladder.audit, horizon=max(samples, 1))
    accounts = [
        Account(tier, resource, cap, spent.get((tier, resource), 0.0), 0.0, 0.0, 0)
        for (tier, resource), cap in caps.items()
    ]
    costs = np.tile(declared, (size, 1, 1))
    prices.observe(_unknown(ladder, size), costs, size, accounts)
    asked, drawn = prices.climbs()
    chosen = asked.mean(axis=0)
    if ladder.tiers[0] is Tier.FAST:
        chosen[0] = 1.0
    return _Asked(chosen, float(drawn.mean()), prices.prices, declared)


def _unknown(ladder: Ladder, size: int) -> Situation:
    """Samples of which nothing is known; a fast tier has let them pass."""
    tiers = len(ladder.tiers)
    nothing = np.full((size, tiers), np.nan)
    beliefs = create_model(ladder).predict(Seen(nothing, nothing, _features(ladder, size)))
    answered = np.zeros((size, tiers), dtype=bool)
    answered[:, 0] = ladder.tiers[0] is Tier.FAST
    return Situation(
        tiers=ladder.tiers, reached=np.where(answered[:, 0], 0, -1), mean=beliefs.mean,
        deviation=beliefs.deviation, explained=np.where(answered, 0.0, beliefs.explained),
        answered=answered, cost=np.zeros((size, tiers)),
        affordable=np.ones((size, tiers), dtype=bool), weight=np.ones(size),
        group=np.arange(size), sign=ladder.target.sign,
        spread=ladder.prior[1] if ladder.prior else float("nan"),
    )  # fmt: skip


def _features(ladder: Ladder, size: int) -> Floats:
    return np.full((size, sum(len(v.features) for v in ladder.verifiers)), np.nan)


def _accounts(
    ladder: Ladder, samples: int, caps: Caps, spent: _Spent, asked: _Asked
) -> Iterator[AccountForecast]:
    """The accounts that have a cap or will have spent.

    Args:
        ladder: The ladder.
        samples: How many samples there will be.
        caps: Its caps.
        spent: What was spent before.
        asked: What they ask.
    """
    per_check = _declared(ladder)
    spend = asked.all[:, None] * asked.costs * samples
    columns = {int(tier): [column] for column, tier in enumerate(ladder.tiers)}
    columns[TOTAL] = list(range(len(ladder.tiers)))
    places = {(t, r) for t, c in columns.items() for r in Resource if t != TOTAL and spend[c, r]}
    for tier, resource in sorted(places | caps.keys()):
        chosen, before = columns.get(tier, []), spent.get((tier, Resource(resource)), 0.0)
        amount = before + float(spend[chosen, resource].sum())
        cap = caps.get((tier, Resource(resource)))
        price = asked.prices.get((tier, resource), 0.0)
        is_short = cap is not None and (price > 0.0 or amount > cap)
        yield AccountForecast(
            tier, Resource(resource), before, cap,
            min(amount, cap or 0.0) if is_short else amount, samples if is_short else None,
            float(per_check[chosen[0], resource]) if len(chosen) == 1 else None, price,
        )  # fmt: skip


def _tiers(ladder: Ladder, samples: int, caps: Caps, asked: _Asked) -> Iterator[TierForecast]:
    """What each tier is asked."""
    amounts = asked.all[:, None] * asked.costs * samples
    is_closed = {place for place, cap in caps.items() if cap == 0.0}
    closed = {
        place[0]: notice(place, name)
        for place, name in needs_limit(ladder).items() if place in is_closed
    }  # fmt: skip
    for column, rung in enumerate(ladder.rungs):
        yield TierForecast(
            rung.tier, tuple(v.name for v in rung.verifiers), samples,
            float(asked.chosen[column]) * samples,
            asked.drawn * samples if rung is ladder.rungs[-1] else 0.0,
            {r.label: float(amounts[column, r]) for r in Resource if amounts[column, r] > 0.0},
            closed.get(int(rung.tier), ""),
        )  # fmt: skip
