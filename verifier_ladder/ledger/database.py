"""Databases: where a ledger's tables lie, and how one connects to them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from sqlalchemy import event

from verifier_ladder.ledger.baton import Baton

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from verifier_ladder.ledger.dialect import Dialect


class Database(ABC):
    """**Abstract:** the connections of one open ledger; threads may share it."""

    engine: Engine
    dialect: Dialect
    url: str
    """Where it lies, in the form that opens it again; without a password."""
    name: str
    """What messages call it."""
    opening: str
    """What `open_ledger` needs to open it once more, the password included: never shown."""
    is_evidence = False
    """Whether it is only read."""
    search = ""
    """What stands before the names of the tables that a reader fills, such as `appearance`."""
    is_shared = False
    """Whether other machines may write to it too, of which this one hears nothing."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Connection]:
        """Give a connection whose statements see one moment of the ledger."""

    @abstractmethod
    def ask(self, statement: str, values: tuple[Any, ...] = ()) -> Sequence[Any]:
        """The rows of one statement that only reads; it needs no transaction."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Connection]:
        """Give a connection inside one transaction, which is durable when it has ended."""

    def searching(self) -> AbstractContextManager[Connection]:
        """Give a connection inside one transaction that fills what readers look things up in."""
        return self.writing()

    def check_unchanged(self) -> None:  # noqa: B027 - most see one moment whoever writes
        """Make sure that what was read was one moment of the ledger.

        Raises:
            LedgerError: If it was not.
        """

    def is_outdated(self) -> bool:
        """Whether it must be opened anew to see what others have written since."""
        return False

    def clock(self) -> float:
        """Seconds since 1970, by the clock that all who share this database go by."""
        return time.time()

    def baton(self, campaign: str) -> Baton:
        """See `Ledger.baton`."""
        del campaign
        return Baton()

    def conductor(self, campaign: str) -> str | None:
        """Who has a campaign's baton, in words; None if nobody, or if there is none to take."""
        del campaign
        return None

    def guard(self, connection: Connection, campaign: str) -> None:  # noqa: B027 - most have none
        """Refuse a transaction that decides for a campaign whose baton was taken here and is lost.

        Raises:
            LedgerAwayError: If it is lost, or may be.
        """

    def close(self) -> None:
        """Release files and connections; those that another thread still uses, once it is done."""
        event.listen(self.engine, "checkin", _release)
        self.engine.dispose()


def _release(connection: Any, _record: Any) -> None:
    if connection is not None:
        connection.close()
