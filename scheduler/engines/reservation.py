"""Reservations: what a running batch may spend, and asking the budget for more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from threading import Lock
from typing import Any

from verifier_ladder.budget import TOTAL
from verifier_ladder.cost import Amounts, Cost
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.protocol import MICRO, micro
from verifier_ladder.ledger.records import CheckRow, Claim
from verifier_ladder.resource import Resource
from verifier_ladder.tier import Tier
from verifier_ladder.verifiers import Verifier

MARGIN = 1.25
"""Reserved over what is expected, so that most checks never ask for more."""
_EXPECTED = "expected"
"""Key of a check's payload: amounts that its verifier expects of this candidate."""
_STEP = 0.25
"""Share of a reservation that is asked for when it is spent: the end of a budget still pays for
a small step, and hours of work ask a few dozen times."""
LEAST = {Tier.FAST: 0.01, Tier.SIMULATION: 0.25, Tier.HIGH_FIDELITY: 1.0, Tier.WORLD: 0.0}
"""Least cpu-seconds reserved, as where a verifier declares none; the check asks for more as it
runs."""


def to_reserve(verifier: Verifier, expected: Cost) -> Cost:
    """What to reserve for a check before it starts, given what it is expected to take.

    A case of the world is reserved as declared: nobody measures it, so that is what is settled.
    """
    if verifier.waits:
        return expected
    wanted = expected.times(MARGIN)
    return replace(wanted, seconds=max(wanted.seconds, LEAST[Tier.parse(verifier.tier)]))


def told_of(verifier: Verifier, amounts: Amounts | None) -> dict[str, Any]:
    """What a check's payload tells of the cost that its verifier expects of this candidate.

    Args:
        verifier: The verifier.
        amounts: What it expects; None where it was not asked.
    """
    is_own = amounts is not None and amounts != verifier.cost.amounts
    return {_EXPECTED: list(amounts)} if amounts is not None and is_own else {}


def expected_of(check: CheckRow, verifier: Verifier) -> Cost:
    """What a check is charged of what can't be measured, where its verdict does not say.

    Whoever can write to the queue may have written that; it is never more than was reserved.
    """
    try:
        return Cost(*check.payload[_EXPECTED])
    except (KeyError, TypeError, ConfigError):
        return verifier.cost


class Reservation:
    """Lets a running batch ask its budgets for more when it reaches what was reserved."""

    def __init__(
        self, ledger: Ledger, claims: Sequence[Claim],
        reserve: Callable[[CheckRow], Cost] = attrgetter("reserve"),
    ) -> None:  # fmt: skip
        """Start at what the claims reserved, as `Ledger.claim` was told to."""
        self._ledger = ledger
        self._open = {claim.check.check_key: claim for claim in claims}
        self._held = {key: micro(reserve(one.check).seconds) for key, one in self._open.items()}
        self._charged = 0
        self._lock = Lock()
        self.seconds = 0.0
        """Cpu-seconds that the whole batch may take, those that are charged included."""
        self._add_up()

    def extend(self) -> bool:
        """Reserve a step more for every check; False if a budget does not allow it."""
        with self._lock:
            share = micro(_STEP * self.seconds / max(1, len(self._open)))
            return self._extend(dict.fromkeys(self._open, share))

    def settle(self, ends: Sequence[tuple[Claim, float]]) -> float:
        """Reserve nothing more for checks that are done; before that is written.

        None is charged more than is reserved for it. So what it took beyond that is moved to it
        from others of the batch, and where they have too little, its budget is asked, as far as
        that goes.

        Args:
            ends: What each of them took.

        Returns:
            How much of that is reserved, in seconds.
        """
        with self._lock:
            told = {claim.check.check_key: micro(seconds) for claim, seconds in ends}
            took = {key: amount for key, amount in told.items() if key in self._open}
            for campaign in {self._open[key].check.campaign for key in took}:
                self._even_out(campaign, took)
            charged = sum(min(amount, self._held.pop(key)) for key, amount in took.items())
            for key in took:
                del self._open[key]
            self._charged += charged
            self._add_up()
            return charged / MICRO

    def _even_out(self, campaign: str, took: Mapping[bytes, int]) -> None:
        """Move what is reserved to where it was taken, first from checks that have ended."""
        alike = [key for key, one in self._open.items() if one.check.campaign == campaign]
        left = {key: self._held[key] - took.get(key, 0) for key in alike}
        short = {key: -amount for key, amount in left.items() if amount < 0}
        spare = {key: left[key] for key in sorted(left, key=lambda key: key not in took)}
        spare = {key: amount for key, amount in spare.items() if amount > 0}
        moved = min(sum(short.values()), sum(spare.values()))
        given = {key: -amount for key, amount in _first(spare, moved).items()}
        if self._extend(short | given):
            return
        payable = moved + self._left(self._open[alike[0]].check)
        if not self._extend(_first(short, payable) | given):
            self._extend(_first(short, moved) | given)

    def _left(self, check: CheckRow) -> int:
        """How much cpu time the budgets of a check still have."""
        left = (
            round((row.cap - row.spent - row.reserved - row.kept) * MICRO)
            for row in self._ledger.accounts(check.campaign)
            if row.cap is not None and row.tier in (check.tier, TOTAL)
            and row.resource is Resource.CPU_SECONDS
        )  # fmt: skip
        return max(0, min(left, default=0))

    def _extend(self, more: Mapping[bytes, int]) -> bool:
        changes = {key: amount for key, amount in more.items() if amount}
        asked = [(self._open[key], amount / MICRO) for key, amount in changes.items()]
        if asked and not self._ledger.extend(asked):
            return False
        for key, amount in changes.items():
            self._held[key] += amount
        self._add_up()
        return True

    def _add_up(self) -> None:
        self.seconds = (self._charged + sum(self._held.values())) / MICRO


def _first(amounts: Mapping[bytes, int], total: int) -> dict[bytes, int]:
    """As much of each, in order, as makes up a total."""
    parts: dict[bytes, int] = {}
    for key, amount in amounts.items():
        parts[key] = min(amount, total)
        total -= parts[key]
    return parts
