"""The desk: everything that the threads of one open campaign share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any

from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Account, Block, CheckRow, Request
from verifier_ladder.scheduler.climb import Climb
from verifier_ladder.scheduler.intake import Intake
from verifier_ladder.scheduler.openrequests import OpenRequests
from verifier_ladder.scheduler.undecided import Undecided
from verifier_ladder.scheduler.watch import SampleKey, Watches


@dataclass(frozen=True, slots=True)
class Desk:
    """What the score path and the climb path both work with."""

    campaign: str
    ladder: Ladder
    ledger: Ledger
    climb: Climb
    intake: Intake
    watches: Watches
    requests: OpenRequests
    undecided: Undecided
    lock: RLock
    """Guards standings, beliefs and whatever is decided from them."""

    def accounts(self) -> list[Account]:
        """The campaign's accounts as they stand."""
        return self.ledger.accounts(self.campaign)

    def append(
        self,
        block: Block,
        *,
        enqueue: Sequence[tuple[CheckRow, Sequence[Request]]],
        answered: Sequence[Request] = (),
        changed: Sequence[Request] = (),
        **options: Any,
    ) -> None:
        """Write an entry of the campaign, the checks that it asks for and the requests it answers.

        Args:
            block: The records.
            enqueue: See `Ledger.append`.
            answered: See `Ledger.append`.
            changed: See `Ledger.append`.
            options: See `Ledger.append`.
        """
        asked = [*(request for _, asking in enqueue for request in asking), *changed]
        self.requests.note(asked)
        if facts := self.undecided.facts():
            block = replace(block, facts={**block.facts, **facts})
        self.ledger.append(block, enqueue=enqueue, answered=answered, changed=changed, **options)
        self.requests.reread(_told_of(block, changed))
        again = {request[:5] for request in asked} if answered else set()
        self.requests.forget(request for request in answered if request[:5] not in again)


def _told_of(block: Block, changed: Sequence[Request]) -> Iterator[SampleKey]:
    """The samples of which an entry tells something new."""
    for request in changed:
        yield request[2:5]
    if (samples := block.samples) is not None:
        for position in samples.positions:
            yield samples.run, samples.step, position
