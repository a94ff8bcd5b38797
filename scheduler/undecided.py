"""Undecided: where a campaign may hold groups that are complete, and that nobody has decided.

Where groups are decided once they are recorded, that is done by the call that has recorded the
last member. If its process dies in between, the next one decides them. Each entry tells after
which one such calls may be, so that nothing older is read to find them.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

from verifier_ladder.ledger import Ledger

PARTIAL = "partial"
"""Fact that tells of samples that were recorded before all of their group had been judged."""
_AFTER = "undecided_after"
"""Fact that names an entry: the calls that were recorded by then have decided their groups."""
_KINDS = frozenset({"score", "revision"})
_FIRST = 16
"""Entries among which the newest that tells is looked for first."""


class Undecided:
    """The calls of one campaign that are recorded, or about to be, and have groups to decide.

    **Threads.** Any number may be at work.
    """

    def __init__(self, campaign: str, ledger: Ledger) -> None:
        """Know of no call."""
        self._campaign, self._ledger = campaign, ledger
        self._lock = Lock()
        self._begun: dict[object, int] = {}
        """The newest entry when each call began."""
        self._after: int | None = None
        """The same of the last one; None where groups are not decided later."""

    def begin(self, call: object) -> None:
        """Hear that a call is about to be recorded."""
        newest = self._ledger.newest()
        with self._lock:
            self._after = self._begun[call] = newest

    def end(self, call: object) -> None:
        """Hear that its groups are decided. A call that fails does not end: they may be not."""
        with self._lock:
            self._begun.pop(call, None)

    def facts(self) -> dict[str, Any]:
        """What an entry tells."""
        with self._lock:
            if self._after is None:
                return {}
            return {_AFTER: min(self._begun.values(), default=self._after)}

    def steps(self) -> list[tuple[str, int]]:
        """Runs and steps in which an earlier process may have left such groups.

        The last member may have been rejected, and its entry hold no sample that waits.
        """
        newest = self._ledger.newest()
        self._after = self._told_last(newest)
        blocks = map(self._ledger.read, self._ledger.entries(
            after=self._after, until=newest, kind="score", campaign=self._campaign
        ))  # fmt: skip
        return list(dict.fromkeys(
            (block.samples.run, block.samples.step) for block in blocks
            if block.samples is not None
        ))  # fmt: skip

    def _told_last(self, newest: int) -> int:
        """What the newest entry that tells anything tells; 0 if none does."""
        end, count = newest, _FIRST
        told: int | None = None
        while end > 0 and told is None:
            start = max(0, end - count)
            for entry in self._ledger.entries(after=start, until=end, campaign=self._campaign):
                if entry.kind in _KINDS:
                    told = self._ledger.read(entry).facts.get(_AFTER, told)
            end, count = start, 8 * count
        return told or 0
