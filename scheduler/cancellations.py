"""Cancellations: asked for through the ledger, by whoever does not conduct the campaign.

Only the process that holds a campaign's baton decides for it. Another machine writes an entry
that says which samples are wanted no more; the conductor withdraws them and answers with an entry
that says what came of it. If it is gone by then, the next one does so before it scores anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic, sleep
from typing import Final

from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block, Entry
from verifier_ladder.scheduler.withdrawal import Wanted, Withdrawn

ASKED: Final = "cancel"
"""Kind of the entries that ask for a cancellation."""
DONE: Final = "cancelled"
"""Kind of those that answer."""
PATIENCE = 30.0
"""Seconds that a conductor is given to answer; it looks four times a second."""
_EVERY = 0.1


def cancel_from_afar(
    ledger: Ledger, campaign: str, wanted: Wanted, *, at_work: bool, patience: float | None = None
) -> Withdrawn | None:
    """Have the conductor of a campaign withdraw samples, wherever it is.

    Args:
        ledger: The ledger that both share.
        campaign: The campaign.
        wanted: Which samples.
        at_work: Whether checks at work are abandoned too.
        patience: Seconds to wait for the answer.

    Returns:
        What came of it; None if nobody has answered yet. It is done then by whoever conducts the
        campaign next.
    """
    positions = None if wanted.positions is None else sorted(wanted.positions)
    facts = {"run": wanted.run, "step": wanted.step, "positions": positions, "at_work": at_work}
    number = ledger.append(Block(ASKED, campaign, facts=facts))
    until = monotonic() + (PATIENCE if patience is None else patience)
    while (done := _answer(ledger, campaign, number)) is None and monotonic() < until:
        sleep(_EVERY)
    return done


def _answer(ledger: Ledger, campaign: str, number: int) -> Withdrawn | None:
    for entry in ledger.entries(after=number, kind=DONE, campaign=campaign):
        facts = ledger.read(entry).facts
        if facts["request"] == number:
            return Withdrawn(facts["samples"], facts["checks"])
    return None


class Cancellations:
    """What others have asked the conductor of a campaign to withdraw."""

    def __init__(self, ledger: Ledger, campaign: str) -> None:
        """Know of none yet."""
        self._ledger, self._campaign = ledger, campaign
        self._seen = 0

    def take_up(self, withdraw: Callable[[Wanted, bool], Withdrawn]) -> int:
        """Do what was asked and is not done; count the samples that wait no more."""
        newest = self._ledger.newest()
        if newest == self._seen:
            return 0
        count = sum(self._do(withdraw, entry) for entry in self._open())
        self._seen = newest  # Only now: what a fault has stopped is found again.
        return count

    def _open(self) -> list[Entry]:
        asked = list(self._entries(ASKED, self._seen))
        if not asked:
            return []
        answers = self._entries(DONE, asked[0].id)
        done = {self._ledger.read(entry).facts["request"] for entry in answers}
        return [entry for entry in asked if entry.id not in done]

    def _entries(self, kind: str, after: int) -> Iterator[Entry]:
        return self._ledger.entries(after=after, kind=kind, campaign=self._campaign)

    def _do(self, withdraw: Callable[[Wanted, bool], Withdrawn], entry: Entry) -> int:
        facts = self._ledger.read(entry).facts
        positions = facts["positions"]
        wanted = Wanted(
            facts["run"], facts["step"], None if positions is None else frozenset(positions)
        )
        done = withdraw(wanted, facts["at_work"])
        answer = {"request": entry.id, **done._asdict()}
        self._ledger.append(Block(DONE, self._campaign, facts=answer))
        return done.samples
