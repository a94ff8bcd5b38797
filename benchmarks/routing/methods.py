"""Methods: every way to reward a learner, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from routing.backend import Backend, Rollouts
from routing.baselines import FixedTier, RandomCorrected, RandomDrop, SmallerGroups
from routing.bayesian import by_botorch, is_installed
from routing.bill import Bill
from routing.campaign import CampaignBackend
from routing.discovery import at_random, by_funnel, by_oracle
from routing.funnels import Funnel, Halving
from routing.onepass import setting_for
from routing.table import Table
from routing.tworule import Knapsack, TwoRule

from verifier_ladder.reward import Estimation

OURS = "verifier-ladder"
UNBIASED = "verifier-ladder, unbiased"
ALL = "truth for all"
_AUDIT = 0.002
"""Share of what is not worth its check that is verified all the same."""


class Order(NamedTuple):
    """What a method is asked to do."""

    table: Table
    share: float
    """What it may spend on the top tier, or on all tiers, as a share of the truth for all."""
    seed: int
    samples: int
    """How many rollouts will come."""

    @property
    def world(self) -> float:
        """What may be spent, in the table's unit."""
        return self.share * self.samples * float(self.table.costs[:, -1].mean())

    @property
    def top(self) -> int:
        """Column of the top tier."""
        return int(self.table.scores.shape[1]) - 1


Make = Callable[[Order], Backend]


def paced(order: Order, account: str, estimator: Estimation = "auto") -> CampaignBackend:
    """The production path with its defaults, few audits, and what may be spent on one account."""
    return CampaignBackend(
        order.table, audit=_AUDIT, estimator=estimator, budget={account: order.world},
        horizon=order.samples,
    )  # fmt: skip


TRAINING: dict[str, Make] = {
    OURS: lambda order: paced(order, order.table.manifest.tiers[-1].tier),
    ALL: lambda order: FixedTier(order.table, order.top),
    "cheap only": lambda order: FixedTier(order.table, order.top - 1),
    "smaller groups": lambda order: SmallerGroups(order.table, order.share, order.seed),
    "random, dropped": lambda order: RandomDrop(order.table, order.share, order.seed),
    "random, corrected": lambda order: RandomCorrected(order.table, order.share, order.seed),
    "funnel": lambda order: Funnel.tuned(order.table, order.seed, quota=order.share),
}
"""For a learner that trains: the budget is a share of the top tier's checks."""

SCORING: dict[str, Make] = {
    OURS: TRAINING[OURS],
    UNBIASED: lambda order: paced(order, order.table.manifest.tiers[-1].tier, "unbiased"),
    "cheap only": TRAINING["cheap only"],
    "random, corrected": TRAINING["random, corrected"],
}
"""For rewards that are compared with the truth, arm by arm."""


FIDELITY: dict[str, Make] = {
    OURS: lambda order: paced(order, "total"),
    ALL: TRAINING[ALL],
    "hindsight knapsack": lambda order: Knapsack(order.table, _price(order)),
    "two rules": lambda order: TwoRule(order.table, _limit(order)),
    "funnel": lambda order: Funnel.tuned(
        order.table, order.seed, budget=order.world / order.samples
    ),
    "random, corrected": lambda order: RandomCorrected(order.table, order.share, order.seed),
    "halving": lambda order: Halving(order.table, 0.5),
    "tier below the top": lambda order: FixedTier(order.table, order.top - 1),
    "second tier": lambda order: FixedTier(order.table, min(1, order.top)),
    "lowest tier": lambda order: FixedTier(order.table, 0),
}
"""For one pass over a table: the budget is a share of what the truth for all costs."""

FREE = {ALL, "halving", "tier below the top", "second tier", "lowest tier", "cheap only"}
"""Methods that cost what they cost, whatever the budget."""


def _limit(order: Order) -> float:
    table = order.table
    return setting_for(table, lambda x: TwoRule(table, x), order.share, order.seed)


def _price(order: Order) -> float:
    table = order.table
    return 1 / setting_for(table, lambda x: Knapsack(table, 1 / x), order.share, order.seed)


def search(order: Order) -> Bill:
    """Find the best rows with a real campaign: all rows in one call, in random order."""
    backend = CampaignBackend(
        order.table, policy={"name": "discovery"}, budget={"total": order.world},
        horizon=order.samples,
    )  # fmt: skip
    rows = np.random.default_rng([order.seed, 4]).permutation(len(order.table))
    try:
        backend.score(Rollouts(rows, np.zeros_like(rows)))
    finally:
        backend.close()
    return backend.bill


SEARCHES: dict[str, Callable[[Order], Bill]] = {
    OURS: search,
    "random": lambda order: at_random(order.table, order.seed),
    "funnel": lambda order: by_funnel(order.table, order.top - 1),
    "oracle": lambda order: by_oracle(order.table),
}
"""For finding the best rows."""
if is_installed():
    SEARCHES["BoTorch"] = lambda order: by_botorch(order.table, order.seed, order.world)
