"""Discovery: find the best candidates within a budget, by opening the most promising box next."""

from __future__ import annotations

from dataclasses import replace
from math import isnan
from typing import Any

import numpy as np

from verifier_ladder.arrays import Flags, Floats, Indices
from verifier_ladder.decision import Action, Decisions, Situation
from verifier_ladder.errors import ConfigError
from verifier_ladder.scheduler.policies.index import tier_indices
from verifier_ladder.scheduler.policies.settings import number
from verifier_ladder.scheduler.policies.steps import (
    known_spread,
    open_tiers,
    pick,
)

_REASONS = (
    "there is no tier left to ask",
    "the most promising: the {tier} tier pays as long as nothing better than {limit:.4g} is known",
    "nothing is known of it yet, so it is looked at before others",
    "others come first; the {tier} tier pays as long as nothing better than {limit:.4g} is known",
    "what is known is better than {limit:.4g}, up to which the {tier} tier would pay",
    "the budget of the {tier} tier is spent or reserved",
    "nothing is known of it yet, and others are looked at first",
)
_OVER, _BEST, _UNSEEN, _LATER, _WEAK, _UNPAID, _UNSEEN_LATER = range(7)
_ACTIONS = np.array(
    [Action.STOP, Action.ESCALATE, Action.ESCALATE, *[Action.DEFER] * 4], dtype=np.int64
)
"""What each of the reasons leads to."""
_UNSEEN_RANK = 1e9
"""Ranks samples of which nothing is known before all others, and is still a number."""
_SMALLEST = 1e-9
"""Least deviation of a belief, in units of the target's spread: 0 would divide by zero."""
_CHEAPEST = 1e-6
"""Least cost, in units of the deviation: an index beyond 4.8 deviations finds nothing more."""


class Discovery:
    """Asks the tier of the few samples with the largest reservation index, one after the other.

    The index of a sample is the target value up to which it pays to look at it: for each tier
    between, the index of asking it first and the top tier only if that still looks good; and that
    of asking the top tier at once. The largest says what to ask. A sample is asked while its
    index is better than the value that an improvement must pass; all others are deferred, and
    decided anew whenever something is learnt. (Weitzman, *Optimal search for the best
    alternative*, 1979; with Gaussian beliefs Xie et al., *Cost-aware Bayesian optimization via
    the Pandora's box Gittins index*, NeurIPS 2024.)

    Costs are in units of the target's spread; while that is unknown, in those of each sample's
    own deviation.

    Example:
        >>> Discovery(width=4).is_sequential
        True
    """

    name = "discovery"
    version = "1"
    is_sequential = True

    def __init__(self, *, width: int = 1) -> None:
        """Set how many are asked at once.

        Args:
            width: Most samples that one decision sends up. One at a time buys the least; as many
                as there are workers lose no time.

        Raises:
            ConfigError: If it is not a whole number from 1 up.
        """
        self.width = int(number("width of discovery", width, least=1))
        if self.width != width:
            raise ConfigError(f"width of discovery is {width!r}; give a whole number")

    def decide(self, situation: Situation) -> Decisions:
        """Send up those with the largest index."""
        situation = _within_reach(situation)
        with np.errstate(all="ignore"):
            known = np.isfinite(situation.mean + situation.deviation)
            is_all = bool(known.all())
            affordable = None if situation.affordable.all() else situation.affordable
            to, index = _indices(situation, None if is_all else known, affordable)
            rank = _rank(situation, index)
            beaten = index <= situation.sign * situation.best
        reason = _LATER + beaten  # After it comes `_WEAK`.
        if not is_all:
            beaten &= known
            reason = np.where(known, reason, _UNSEEN_LATER)
            rank = np.where(known, rank, _eagerness(situation, to))
            index = np.where(known, index, np.nan)
        may = ~beaten
        if affordable is not None:
            paid = pick(affordable, to)
            reason = np.where(paid | beaten, reason, _UNPAID)
            may &= paid
        over = to < 0
        may &= ~over
        chosen = self._largest(rank, may)
        reason[chosen] = _BEST if is_all else np.where(known[chosen], _BEST, _UNSEEN)
        np.copyto(reason, _OVER, where=over)
        return Decisions(
            action=_ACTIONS[reason], to=to, reason=reason, reasons=_REASONS,
            verify=np.zeros(len(situation)), benefit=rank, limit=situation.sign * index,
        )  # fmt: skip

    def _largest(self, rank: Floats, may: Flags) -> Indices:
        """Rows of the largest rank among those that may; the first of equals."""
        (rows,) = may.nonzero()
        return rows[(-rank[rows]).argsort(kind="stable")[: self.width]]

    def as_json(self) -> dict[str, Any]:
        """Name, version and settings."""
        return {"name": self.name, "version": self.version, "width": self.width}


def _within_reach(situation: Situation) -> Situation:
    """The situation without the tiers at the top that nobody may ask.

    While nothing has ever been said by the top tier, and no row can pay for it, the highest tier
    that can be paid stands in: its budget is there to be spent, on what it explains.
    """
    if not np.isnan(situation.best) or situation.affordable[:, -1].any():
        return situation
    paid = np.flatnonzero(situation.affordable.any(axis=0))
    if not len(paid):
        return situation
    top = int(paid[-1]) + 1
    known = np.where(situation.answered[:, top - 1], 1.0, situation.explained[:, top - 1])
    with np.errstate(divide="ignore", invalid="ignore"):
        explained = np.nan_to_num(situation.explained[:, :top] / known[:, None], posinf=1.0)
    return replace(
        situation, tiers=situation.tiers[:top], answered=situation.answered[:, :top],
        cost=situation.cost[:, :top], affordable=situation.affordable[:, :top],
        explained=np.minimum(explained, 1.0), deviation=situation.deviation * np.sqrt(known),
    )  # fmt: skip


def _indices(
    situation: Situation, known: Flags | None, affordable: Flags | None
) -> tuple[Indices, Floats]:
    """The tier to ask and the index of asking it, for better is more.

    Samples of which nothing is known ask the lowest tier.

    Args:
        situation: The rows.
        known: Of which rows something is known; None for all.
        affordable: Which tiers can be paid; None for all.
    """
    spread = known_spread(situation)
    mean, deviation = situation.sign * situation.mean, situation.deviation
    if known is not None:
        mean, deviation = np.where(known, mean, 0.0), np.where(known, deviation, 1.0)
    deviation = np.fmax(deviation, _SMALLEST * spread)
    cost = situation.cost.T
    if not isnan(spread):
        cost = cost * (spread / deviation)
    can = open_tiers(situation)
    # A look leads nowhere that can't be paid, or not be followed by the top tier.
    leads = can if affordable is None else can & affordable & affordable[:, -1:]
    table = tier_indices(situation.explained.T[:-1], np.maximum(cost, _CHEAPEST))
    np.copyto(table[:-1], -np.inf, where=~leads.T[:-1])
    to = table.argmax(axis=0)
    index = mean + deviation * table[to, np.arange(len(to))]
    if known is not None:
        to = np.where(known, to, can.argmax(axis=1))
    np.copyto(to, -1, where=~can[:, -1])
    return to, index


def _rank(situation: Situation, index: Floats) -> Floats:
    """The index in units of the target's spread, as a number between limits."""
    unit = known_spread(situation)
    rank = index if isnan(unit) else index / unit
    return np.minimum(np.maximum(rank, -_UNSEEN_RANK), _UNSEEN_RANK)


def _eagerness(situation: Situation, to: Indices) -> Floats:
    """Rank of samples of which nothing is known: before all others.

    Of them those furthest on their climb come first, and of these the cheapest. So the first few
    climb to the top before the next is looked at: a few labels tell which others are worth a look.
    """
    cheap = 1.0 / (1.0 + np.fmax(pick(situation.cost, to), 0.0))
    eagerness: Floats = _UNSEEN_RANK * (2.0 + situation.reached + cheap)
    return eagerness
