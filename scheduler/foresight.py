"""Foresight: what a ladder would spend on samples that nobody has seen yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from verifier_ladder.budget import TOTAL, Budget, Caps, parse_budget
from verifier_ladder.decision import Situation
from verifier_ladder.forecast import AccountForecast, Forecast
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger.records import Account
from verifier_ladder.resource import Resource
from verifier_ladder.scheduler.beliefs import Seen, create_model
from verifier_ladder.scheduler.prices import Prices
from verifier_ladder.scheduler.verifiercosts import VerifierCosts
from verifier_ladder.tier import Tier

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_SIZE = 64
"""How many samples stand for all: they are alike, and prices differ a little among them."""


def foresee(ladder: Ladder, samples: int, budget: Budget | None = None) -> Forecast:
    """Forecast a campaign before its first check, from what is declared.

    Costs are those that verifiers declare, or guesses where they declare none. All samples are
    taken to pass the fast tier, and nothing is known of the target but the ladder's prior: a
    policy chooses better than this once it has learnt. Variance is a share of what it is before.

    Args:
        ladder: The ladder.
        samples: How many samples there will be.
        budget: Caps, as in `Campaign.open`; those left out are the ladder's.

    Raises:
        ConfigError: If the budget makes no sense.

    Example:
        >>> import verifier_ladder as vl
        >>> @vl.verifier(tier="world", kind="text", version="1", cost=vl.Cost(money=2.0))
        ... def ask(candidate): ...
        >>> ahead = foresee(vl.Ladder("asking", [ask]), 1000, {"world": {"money": 100}})
        >>> round(ahead.verified, 2), round(ahead.doubled, 2)
        (0.05, 0.1)
    """
    caps = {**ladder.budget, **parse_budget(budget, ladder.tiers)}
    costs = _declared(ladder)
    asked, prices = _asked(ladder, costs, samples, caps)
    more = {place: None if cap is None else 2.0 * cap for place, cap in caps.items()}
    twice, _ = _asked(ladder, costs, samples, more)
    verified, doubled = float(asked[-1]), float(twice[-1])
    return Forecast(
        name=ladder.name, samples=0, horizon=samples, is_assumed=False,
        accounts=tuple(_accounts(ladder, samples, caps, asked, prices)),
        verified=verified, doubled=doubled, variance=1.0 - verified,
        doubled_variance=1.0 - doubled,
    )  # fmt: skip


def _declared(ladder: Ladder) -> Floats:
    """What asking each tier takes, as declared. Shape (tiers, resources)."""
    return np.array([
        sum(VerifierCosts(verifier, 0, 0).expected for verifier in rung.verifiers)
        for rung in ladder.rungs
    ])  # fmt: skip


def _asked(
    ladder: Ladder, costs: Floats, samples: int, caps: Caps
) -> tuple[Floats, dict[tuple[int, int], float]]:
    """Share of the samples that asks each tier, and the prices that make it so."""
    prices = Prices(ladder.policy, ladder.tiers, audit=ladder.audit, horizon=samples)
    accounts = [
        Account(place, resource, cap, 0.0, 0.0, 0.0, 0) for (place, resource), cap in caps.items()
    ]
    prices.observe(_unknown(ladder), np.tile(costs, (_SIZE, 1, 1)), _SIZE, accounts)
    asked = prices.chances().mean(axis=0)
    if ladder.tiers[0] is Tier.FAST:
        asked[0] = 1.0
    return asked, prices.prices


def _unknown(ladder: Ladder) -> Situation:
    """Samples of which nothing is known; a fast tier has let them pass."""
    size, tiers = _SIZE, len(ladder.tiers)
    nothing = np.full((size, tiers), np.nan)
    beliefs = create_model(ladder).predict(Seen(nothing, nothing, _features(ladder)))
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


def _features(ladder: Ladder) -> Floats:
    return np.full((_SIZE, sum(len(v.features) for v in ladder.verifiers)), np.nan)


def _accounts(
    ladder: Ladder,
    samples: int,
    caps: Caps,
    asked: Floats,
    prices: Mapping[tuple[int, int], float],
) -> Iterator[AccountForecast]:
    """The accounts that have a cap or will have spent.

    Args:
        ladder: The ladder.
        samples: How many samples there will be.
        caps: Its caps.
        asked: Share of the samples that ask each tier. Shape (tiers,).
        prices: Prices of the accounts.
    """
    costs = _declared(ladder)
    spend = asked[:, None] * costs * samples
    columns = {int(tier): [column] for column, tier in enumerate(ladder.tiers)}
    columns[TOTAL] = list(range(len(ladder.tiers)))
    places = {(t, r) for t, c in columns.items() for r in Resource if t != TOTAL and spend[c, r]}
    for tier, resource in sorted(places | caps.keys()):
        chosen = columns.get(tier, [])
        amount = float(spend[chosen, resource].sum())
        cap, price = caps.get((tier, resource)), prices.get((tier, resource), 0.0)
        is_short = cap is not None and (price > 0.0 or amount > cap)
        yield AccountForecast(
            tier, Resource(resource), 0.0, cap, min(amount, cap or 0.0) if is_short else amount,
            samples if is_short else None,
            float(costs[chosen[0], resource]) if len(chosen) == 1 else None, price,
        )  # fmt: skip
