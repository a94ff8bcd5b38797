"""Appearances: in which entries a candidate stands, indexed when somebody first asks.

Writing one index row per sample would cost more than all else that a cached sample costs, and
most ledgers are never asked. So the index is filled up by the reader, entry by entry, from the
bodies; it holds nothing that the bodies don't.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verifier_ladder.ledger.encoding import decode, mentioned, reading
from verifier_ladder.ledger.faults import explained
from verifier_ladder.ledger.history import SqlHistory
from verifier_ladder.ledger.records import CandidateRow
from verifier_ladder.ledger.samples import hexadecimal
from verifier_ladder.ledger.store import prefix as prefix_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

_BITS = 48
_RECENT = 16
_ENTRIES = 64
"""Entries indexed in one transaction, so that writers need not wait long."""


class SqlAppearances(SqlHistory):
    """**Abstract:** the part of the SQL ledger that finds candidates."""

    def mentions(self, content_key: bytes) -> list[int]:
        """See `Ledger.mentions`."""
        self._index_appearances()
        with self._reading() as connection:
            rows = connection.exec_driver_sql(
                "SELECT id, body FROM entry WHERE id IN "
                "(SELECT entry_id FROM appearance WHERE candidate = ?) ORDER BY id",
                (prefix_of(content_key),),
            )
            return [entry for entry, body in rows if content_key in _mentioned(entry, body)]

    def find_contents(self, prefix: str, limit: int = 20) -> list[tuple[bytes, str, str | bytes]]:
        """See `Ledger.find_contents`."""
        digits = hexadecimal(prefix)
        lowest, highest = _bounds(digits)
        self._index_appearances()
        found: dict[bytes, tuple[bytes, str, str | bytes]] = {}
        with self._reading() as connection:
            rows = connection.exec_driver_sql(
                "SELECT entry_id, place FROM appearance "
                "WHERE candidate BETWEEN ? AND ? AND place >= 0 ORDER BY candidate, entry_id",
                (lowest, highest),
            )
            for entry, place in rows:
                if len(found) >= limit:
                    break
                row = self._candidates_of(connection, entry)[place]
                if row.content_key.hex().startswith(digits):
                    form = row.content if row.canonical is None else row.canonical
                    found.setdefault(row.content_key, (row.content_key, row.kind, form))
        return sorted(found.values(), key=lambda row: row[0])

    def _candidates_of(self, connection: Connection, entry: int) -> Sequence[CandidateRow]:
        """The candidates of an entry; the last few entries are kept, for neighbours are asked."""
        recent: dict[int, Sequence[CandidateRow]] = self.__dict__.setdefault("_recent", {})
        rows = recent.get(entry)
        if rows is None:
            body = connection.exec_driver_sql("SELECT body FROM entry WHERE id = ?", (entry,))
            rows = decode(body.scalar_one()).candidates
            if len(recent) >= _RECENT:
                recent.clear()
            recent[entry] = rows
        return rows

    def _index_appearances(self) -> None:
        while self._index_some():
            pass

    def _index_some(self) -> bool:
        """Index the next entries; tell whether there may be more."""
        newest = self.newest()
        with self._reading() as connection:
            if connection.exec_driver_sql(_INDEXED).scalar_one() >= newest:
                return False
        search = self._database.search
        with explained(self._database.name), self._database.searching() as connection:
            rows = connection.exec_driver_sql(
                f"SELECT id, body FROM entry WHERE id > ({_INDEXED}) AND id <= ? "
                "ORDER BY id LIMIT ?",
                (newest, _ENTRIES),
            ).all()
            places = [
                (prefix_of(key), entry, place)
                for entry, body in rows
                for key, place in _mentioned(entry, body).items()
            ]
            if places:
                connection.exec_driver_sql(
                    f"INSERT INTO {search}appearance (candidate, entry_id, place) "
                    "VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                    sorted(places),
                )
            if rows:
                connection.exec_driver_sql(
                    f"INSERT INTO {search}appearance_until (entry_id) VALUES (?) "
                    "ON CONFLICT DO NOTHING",
                    (rows[-1][0],),
                )
        return len(rows) == _ENTRIES


def _mentioned(entry: int, body: bytes) -> dict[bytes, int]:
    with reading(entry):
        return mentioned(body)


_INDEXED = "SELECT coalesce(max(entry_id), 0) FROM appearance_until"


def _bounds(digits: str) -> tuple[int, int]:
    """The first and last index key of content keys that begin so."""
    digits = digits[: _BITS // 4]
    rest = _BITS - 4 * len(digits)
    lowest = int(digits or "0", 16) << rest
    return lowest, lowest + (1 << rest) - 1
