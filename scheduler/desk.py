"""The desk: everything that the threads of one open campaign share."""

from __future__ import annotations

from dataclasses import dataclass
from threading import RLock

from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Account
from verifier_ladder.scheduler.climb import Climb
from verifier_ladder.scheduler.intake import Intake
from verifier_ladder.scheduler.watch import Watches


@dataclass(frozen=True, slots=True)
class Desk:
    """What the score path and the climb path both work with."""

    campaign: str
    ladder: Ladder
    ledger: Ledger
    climb: Climb
    intake: Intake
    watches: Watches
    lock: RLock
    """Guards standings, beliefs and whatever is decided from them."""

    def accounts(self) -> list[Account]:
        """The campaign's accounts as they stand."""
        return self.ledger.accounts(self.campaign)
