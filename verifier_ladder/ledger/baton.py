"""Batons: the right to decide for a campaign, which one process at a time has."""

from __future__ import annotations

from typing import Self

from verifier_ladder.errors import LedgerError


class BatonLostError(LedgerError):
    """Another process decides for this campaign now."""


class Baton:
    """The right to decide for one campaign, from when it is made until it is closed.

    This one is for ledgers that only one process can conduct in any case: those in memory, and
    files, whose home holds a lock beside them.

    **Threads.** Any number may share it.

    Example:
        >>> from verifier_ladder.ledger import open_ledger
        >>> with open_ledger(":memory:") as ledger, ledger.baton("trial") as baton:
        ...     baton.hold()
        True
    """

    is_lost = False
    """Whether another process has taken it; it never comes back then."""

    def hold(self) -> bool:
        """Make sure, before a decision, that it is still ours.

        Returns:
            Whether it was all the while. If not, it was lost and could be taken again; what is
            known in memory may be out of date then.

        Raises:
            BatonLostError: If another process has it, or it is closed.
            LedgerAwayError: If nobody can tell, because the server is away.
        """
        return True

    def close(self) -> None:
        """Give it back; closing twice is allowed."""

    def __enter__(self) -> Self:
        """Use it as a context manager."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give it back."""
        self.close()
