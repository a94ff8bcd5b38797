"""Reservations: what a running batch may spend, and asking the budget for more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import attrgetter
from threading import Lock
from typing import Any

from verifier_ladder.cost import Amounts, Cost
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import CheckRow, Claim
from verifier_ladder.tier import Tier
from verifier_ladder.verifiers import Verifier

MARGIN = 1.25
"""Reserved over what is expected, so that most checks never ask for more."""
_EXPECTED = "expected"
"""Key of a check's payload: amounts that its verifier expects of this candidate."""
_STEP = 0.25
"""Share of a reservation that is asked for when it is spent: the end of a budget still pays for
a small step, and hours of work ask a few dozen times."""
_DIGITS = 6
"""Accounts are kept in millionths."""
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
        self._held = {key: reserve(claim.check).seconds for key, claim in self._open.items()}
        self._lock = Lock()
        self.seconds = sum(self._held.values())
        """Cpu-seconds that the whole batch may take, those that are settled included."""

    def extend(self) -> bool:
        """Reserve a step more for every check; False if a budget does not allow it."""
        return self.extend_by(_STEP * self.seconds)

    def extend_by(self, seconds: float) -> bool:
        """Reserve so much more for all checks together; False if a budget does not allow it."""
        with self._lock:
            share = round(seconds / max(1, len(self._open)), _DIGITS)
            for key, claim in self._open.items():
                if not self._ledger.extend(claim, share):
                    return False
                self._held[key] += share
                self.seconds += share
            return True

    def settle(self, claim: Claim, took: float) -> None:
        """Reserve nothing more for a check that is done; before that is written."""
        with self._lock:
            key = claim.check.check_key
            if self._open.pop(key, None) is not None:
                self.seconds += took - self._held.pop(key)
