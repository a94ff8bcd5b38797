"""Batons of a ledger in PostgreSQL: a lock of a session, which the server frees with it.

The session is a connection of its own, which does nothing else. It breaks when its process dies,
when its machine can't be reached any more, or when the server is restarted; so whoever wants to
decide looks first whether it still stands.
"""

from __future__ import annotations

import logging
import os
import re
import select
import socket
from contextlib import suppress
from threading import RLock
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from sqlalchemy.exc import DBAPIError, OperationalError

from verifier_ladder.errors import ConfigError, LedgerAwayError
from verifier_ladder.forks import not_in_child
from verifier_ladder.ledger.baton import Baton, BatonLostError
from verifier_ladder.ledger.faults import explained

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from verifier_ladder.ledger.postgresqldatabase import PostgresqlDatabase

_LOG = logging.getLogger("verifier_ladder")
PATIENCE = 3.0
"""Seconds to wait for who holds it: a process that was just killed holds it for a moment more."""
SURE = 5.0
"""Seconds for which the server's word is trusted. A quarter of the time after which the server
gives up a machine that is silent, so that nobody decides who has lost it unawares."""
_LONGEST_NAME = 63
_BUSY = "55P03"
# 25 seconds of silence end a session, and with it the lock of a machine that has vanished; an
# idle one is kept, whatever the server does to idle sessions.
_SESSION: Final = (
    "SELECT set_config('application_name', ?, false), set_config('lock_timeout', ?, false), "
    "set_config('tcp_keepalives_idle', '10', false), "
    "set_config('tcp_keepalives_interval', '5', false), "
    "set_config('tcp_keepalives_count', '3', false), "
    "set_config('idle_session_timeout', '0', false)"
)
# Locks of one number are never those of two, which the dialect uses. Within the ledger's own
# schema: that is in the table's id.
_KEY = (
    "hashtextextended(CAST(? AS text), CAST(CAST(CAST('campaign' AS regclass) AS oid) AS bigint))"
)
# Shared by transactions that write what was decided, for as long as they last.
_WRITERS = (
    "hashtextextended('writes ' || CAST(? AS text), "
    "CAST(CAST(CAST('campaign' AS regclass) AS oid) AS bigint))"
)
# First the lock, then the look: CASE keeps that order.
_MAY_WRITE = (
    f"SELECT CASE WHEN pg_advisory_xact_lock_shared({_WRITERS}) IS NOT NULL THEN EXISTS ("
    "SELECT 1 FROM pg_locks l WHERE l.pid = ? AND l.locktype = 'advisory' AND l.granted "
    f"AND l.objsubid = 1 AND (CAST(l.classid AS bigint) << 32) | CAST(l.objid AS bigint) = {_KEY}"
    ") END"
)
_HOLDERS = (
    "FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' "
    "AND l.granted AND l.objsubid = 1 AND a.datname = current_database() "
    f"AND (CAST(l.classid AS bigint) << 32) | CAST(l.objid AS bigint) = {_KEY}"
)
_NAME = re.compile(r"vladder \w+ (\d+)@(.+)")


class PostgresqlBaton(Baton):
    """Holds a session of its own with the campaign's lock.

    **Loss.** A session that broke is replaced, and one that the server still keeps for us is
    ended there. If another process was faster, the baton is lost for good.

    **Writes.** What was decided is written in a transaction that looks whether the session still
    has the lock. Who takes the baton waits for the transactions that have looked, so nothing
    that was decided before is written after.
    """

    def __init__(self, database: PostgresqlDatabase, campaign: str) -> None:
        """Take the lock.

        Raises:
            ConfigError: If another process holds it.
            LedgerError: If the server can't be asked.
        """
        self._database, self.campaign = database, campaign
        name = f"vladder {uuid4().hex[:8]} {os.getpid()}@{socket.gethostname()}"
        self._name = name[:_LONGEST_NAME]
        self._lock = RLock()
        self._why = ""
        self._session: Connection | None = None
        self._news = select.poll()
        self._sure_until = 0.0
        holder = self._take()
        if holder is not None:
            raise ConfigError(
                f"campaign {campaign!r} is open in {holder}, and one process decides for a "
                "campaign: use it there, or close it there first. Worker hosts may run on any "
                "machine. If that machine is gone, try again in half a minute"
            )

    def hold(self) -> bool:
        """See `Baton.hold`."""
        with self._lock:
            if not self._why and self._is_there():
                return True
            if not self._why:
                self._drop()
                _LOG.warning("campaign %s: its session broke; taking it again", self.campaign)
                holder = self._take()
                if holder is None:
                    return False
                self._lose(holder)
            raise BatonLostError(self._why)

    def guard(self, connection: Connection) -> None:
        """Refuse a transaction that writes what was decided, unless this is still held.

        Raises:
            LedgerAwayError: If it is not: then `hold` finds out who decides now.
        """
        session = self._session
        values = (self.campaign, session and _backend(session), self.campaign)
        if session is None or not connection.exec_driver_sql(_MAY_WRITE, values).scalar():
            self._sure_until = 0.0
            raise LedgerAwayError(
                f"campaign {self.campaign!r}: its session broke before this was written; nothing "
                "of this call was. Try again"
            )

    def _lose(self, holder: str) -> None:
        self.is_lost = True
        self._why = (
            f"campaign {self.campaign!r} was opened in {holder} while the connection to the "
            "server was broken; nothing more is decided here. Close it and go on there, or open "
            "it again when it is closed there"
        )
        _LOG.error("%s", self._why)

    def _is_there(self) -> bool:
        """Whether the session stands: nothing came from the server, and it answers."""
        if self._session is None:
            return False
        now = monotonic()
        if now < self._sure_until and not self._news.poll(0):
            return True
        try:
            self._session.exec_driver_sql("SELECT 1").close()
        except DBAPIError:
            return False
        self._sure_until = now + SURE
        return True

    def _take(self) -> str | None:
        """Open a session and lock the campaign; tells who holds it if that is somebody else."""
        now = monotonic()
        with explained(self._database.name):
            session = self._database.session()
            try:
                holder = self._locked(session)
                if holder is None:
                    self._news = select.poll()
                    self._news.register(_socket(session), select.POLLIN)
                    not_in_child(_driver(session))
                    self._session, self._sure_until = session, now + SURE
            finally:
                if self._session is not session:
                    session.close()
        return holder

    def _locked(self, session: Connection) -> str | None:
        """Lock the campaign in a session; who holds it otherwise."""
        session.exec_driver_sql(_SESSION, (self._name, f"{PATIENCE}s"))
        mine = (self.campaign, self._name)  # A session of ours that the server still believes in.
        session.exec_driver_sql(
            f"SELECT pg_terminate_backend(l.pid) {_HOLDERS} AND a.application_name = ?", mine
        )
        if not _obtained(session, f"SELECT pg_advisory_lock({_KEY})", self.campaign):
            found = session.exec_driver_sql(f"SELECT a.application_name {_HOLDERS}", mine[:1])
            return _shown(found.scalar())
        if not _obtained(session, f"SELECT pg_advisory_xact_lock({_WRITERS})", self.campaign):
            return f"{_shown(None)}, which is still writing"
        return None

    def _drop(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            with suppress(DBAPIError):
                session.close()

    def close(self) -> None:
        """See `Baton.close`."""
        with self._lock:
            self._why = self._why or f"campaign {self.campaign!r} is closed; open it again"
            if self._session is not None:
                # The server may take its time to notice that a session has ended.
                with suppress(DBAPIError):
                    self._session.exec_driver_sql("SELECT pg_advisory_unlock_all()")
            self._drop()
        self._database.forget(self)


def _obtained(session: Connection, statement: str, campaign: str) -> bool:
    """Whether a lock could be had in time."""
    try:
        session.exec_driver_sql(statement, (campaign,))
    except OperationalError as error:
        if getattr(error.orig, "sqlstate", None) != _BUSY:
            raise
        return False
    return True


def holder_of(connection: Connection, campaign: str) -> str | None:
    """Who holds a campaign's lock; None if nobody does."""
    asked = f"SELECT a.application_name {_HOLDERS}"
    found = connection.exec_driver_sql(asked, (campaign,)).first()
    return None if found is None else _shown(found[0])


def _backend(session: Connection) -> int:
    """The process of the server that serves a session."""
    return int(_driver(session).info.backend_pid)


def _driver(session: Connection) -> Any:
    return session.connection.dbapi_connection


def _socket(session: Connection) -> int:
    return int(_driver(session).fileno())


def _shown(name: str | None) -> str:
    """Who a session's name stands for.

    Example:
        >>> _shown("vladder 1f2e3d4c 4711@node7")
        'process 4711 on node7'
    """
    found = _NAME.fullmatch(name or "")
    return f"process {found[1]} on {found[2]}" if found else "another process"
