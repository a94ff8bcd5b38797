"""Moments: the checkpoint that a dataset or a report card was made at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Entry


class Moment(NamedTuple):
    """What of a ledger counts: all that a signed checkpoint covers.

    A ledger in memory has no signed log; its moment is its newest entry, and proves nothing.
    """

    entry: int
    """Id of the newest entry there was when the moment was taken."""
    log: str = ""
    """Name of the signed log; "" if there is none."""
    size: int | None = None
    """How many entries of the log count; None if there is none."""
    root: str = ""
    """The hash over all of them, in hexadecimal."""

    def as_json(self) -> dict[str, Any]:
        """The moment as JSON values."""
        return self._asdict()

    @property
    def text(self) -> str:
        """The moment in words, short enough for a line."""
        if self.size is None:
            return f"entry {self.entry} of a ledger in memory, which signs nothing"
        return f"size {self.size} of log {self.log}, root {self.root}"


def moment_of(ledger: Ledger, at: int | None = None) -> Moment:
    """The newest moment of a ledger, or that of a checkpoint of this size.

    Everything recorded so far gets its place in the log first.

    Raises:
        ConfigError: If no checkpoint of this size was signed.
    """
    from verifier_ladder.ledger.log import SqlLog
    from verifier_ladder.ledger.offline import read_checkpoint

    if not isinstance(ledger, SqlLog):
        if at is not None:
            raise ConfigError("a ledger in memory has no signed log, so no earlier checkpoint")
        return Moment(ledger.newest())
    newest, signed = ledger.newest(), ledger.signed()[1]
    if at is not None:
        note = ledger.checkpoint(at)
        if note is None:
            raise ConfigError(
                f"no checkpoint of size {at} was signed; the newest has size {signed.size}. "
                "`vladder ledger checkpoint` prints it, and every export names its own"
            )
        signed = read_checkpoint(note)
    return Moment(newest, signed.origin, signed.size, signed.root.hex())


def entries_at(ledger: Ledger, campaign: str | None, moment: Moment) -> Iterator[Entry]:
    """The entries of a campaign, or of all of them, that count, the oldest first."""
    from verifier_ladder.ledger.log import SqlLog

    for entry in ledger.entries(campaign=campaign):
        if entry.id > moment.entry:
            return
        if moment.size is None or not isinstance(ledger, SqlLog):
            yield entry
            continue
        place = ledger.place(entry.id)
        if place is not None and place < moment.size:
            yield entry
