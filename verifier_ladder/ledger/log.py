"""The log: entries in one order, under a tree whose root is signed.

Entries are written by many; their ids may become visible in another order than they grow. The
sequencer gives each entry its place, once: this order is what proofs and cursors rest on.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from verifier_ladder.errors import LadderError, LedgerError
from verifier_ladder.ledger.dialect import dialect_of
from verifier_ladder.ledger.offline import (
    WIDTH,
    Checkpoint,
    Frontier,
    Key,
    RejectedError,
    read_checkpoint,
)
from verifier_ladder.ledger.records import Entry
from verifier_ladder.ledger.signer import Signer, key_file, new_origin
from verifier_ladder.ledger.store import Store
from verifier_ladder.ledger.tiles import Edge, Tile, Tiles, completed, hashes_of
from verifier_ladder.ledger.tree import reduced

if TYPE_CHECKING:
    from sqlalchemy import Connection

_log = logging.getLogger(__name__)

AT_ONCE = 2048
"""Entries put into the log in one transaction, so that writers need not wait long."""
_PAGE = 32
"""Entries read at once; a body may hold megabytes."""


class Leaf(NamedTuple):
    """An entry at its place in the log."""

    place: int
    """Its place; the cursor of `SqlLog.leaves`."""
    entry: Entry


class SqlLog(Store):
    """**Abstract:** the part of the SQL ledger that proves its history."""

    _has_written = False

    def _tell(self) -> None:
        self._has_written = True
        super()._tell()

    def sequence(self) -> int:
        """See `Ledger.sequence`."""
        if not self.pending():
            return 0
        with self._writing(tell=False) as connection:
            dialect_of(connection).hold_log(connection)
            found = connection.exec_driver_sql(
                "SELECT p.entry_id, e.leaf FROM pending p JOIN entry e ON e.id = p.entry_id "
                "ORDER BY p.entry_id LIMIT ?",
                (AT_ONCE,),
            ).all()
            if found:  # Another sequencer may have been faster.
                self._extend(connection, [(int(entry), leaf) for entry, leaf in found])
        return len(found)

    def _extend(self, connection: Connection, found: Sequence[tuple[int, bytes]]) -> None:
        """Put entries behind the last one of the log, and sign for all of it."""
        frontier = _newest_frontier(connection)
        first = frontier.size
        edge = Edge(frontier, _leaf_hashes(connection, first - first % WIDTH, first))
        full = [tile for _, leaf in found for tile in edge.append(leaf)]
        connection.exec_driver_sql(
            "INSERT INTO leaf (idx, entry_id) VALUES (?, ?)",
            [(first + at, entry) for at, (entry, _) in enumerate(found)],
        )
        for tile, hashes in full:
            _write_tiles(connection, tile, hashes)
        origin, signer = self._signer(connection)
        note = signer.sign(Checkpoint(origin, frontier.size, frontier.root()))
        connection.exec_driver_sql(
            "INSERT INTO checkpoint (size, note, frontier) VALUES (?, ?, ?)",
            (frontier.size, note, b"".join(frontier.roots)),
        )
        connection.exec_driver_sql(
            "DELETE FROM pending WHERE entry_id = ?", [(entry,) for entry, _ in found]
        )

    def _signer(self, connection: Connection) -> tuple[str, Signer]:
        """The log's name and who signs for it; a new key is noted beside the earlier ones."""
        origin = connection.exec_driver_sql(
            "SELECT origin FROM signer ORDER BY id LIMIT 1"
        ).scalar() or new_origin(self.url)
        signer = Signer.at(key_file(self.url), origin)
        connection.exec_driver_sql(
            "INSERT INTO signer (origin, key) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (origin, str(signer.key)),
        )
        return origin, signer

    # -- reading ---------------------------------------------------------------------------------

    def pending(self) -> bool:
        """Whether entries wait for their place in the log."""
        with self._reading() as connection:
            found = connection.exec_driver_sql("SELECT 1 FROM pending LIMIT 1")
            return found.first() is not None

    def checkpoint(self, size: int | None = None) -> str | None:
        """See `Ledger.checkpoint`."""
        choice = "ORDER BY size DESC LIMIT 1" if size is None else "WHERE size = ?"
        with self._reading() as connection:
            return connection.exec_driver_sql(
                f"SELECT note FROM checkpoint {choice}", () if size is None else (size,)
            ).scalar()

    def signed(self) -> tuple[str, Checkpoint]:
        """Give all entries their place; the newest checkpoint, as signed and as read.

        Raises:
            LedgerError: If there is no entry yet, or the checkpoint can't be read.
        """
        while self.sequence():
            pass
        note = self.checkpoint()
        if note is None:
            raise LedgerError("this ledger holds nothing yet, so nothing was signed")
        with _readable():
            return note, read_checkpoint(note)

    def signers(self) -> list[Key]:
        """The public keys that have signed for this log, oldest first."""
        with self._reading() as connection:
            rows = connection.exec_driver_sql("SELECT key FROM signer ORDER BY id").all()
        with _readable():
            return [Key.read(text) for (text,) in rows]

    def origin(self) -> str:
        """The log's name; empty as long as nothing was signed."""
        with self._reading() as connection:
            found = connection.exec_driver_sql("SELECT origin FROM signer ORDER BY id LIMIT 1")
            return str(found.scalar() or "")

    def size(self) -> int:
        """How many entries the newest checkpoint covers."""
        signed = self.checkpoint()
        with _readable():
            return 0 if signed is None else read_checkpoint(signed).size

    def place(self, entry: int) -> int | None:
        """The place of an entry in the log; None if it has none yet."""
        with self._reading() as connection:
            found = connection.exec_driver_sql(
                "SELECT idx FROM leaf WHERE entry_id = ?", (entry,)
            ).scalar()
        return None if found is None else int(found)

    def leaves(self, *, after: int = -1, until: int | None = None) -> Iterator[Leaf]:
        """Entries of the log in its order: a cursor that loses none, whoever writes.

        Args:
            after: Only entries behind this place.
            until: Only entries before this place, such as the size of a checkpoint.
        """
        self._check_open()
        last = 2**62 if until is None else until
        while True:
            with self._reading() as connection:
                rows = connection.exec_driver_sql(
                    "SELECT l.idx, e.id, e.kind, e.campaign, e.recorded_at, e.body, e.leaf "
                    "FROM leaf l JOIN entry e ON e.id = l.entry_id "
                    "WHERE l.idx > ? AND l.idx < ? ORDER BY l.idx LIMIT ?",
                    (after, last, _PAGE),
                ).all()
            yield from (Leaf(row[0], Entry(*row[1:])) for row in rows)
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]

    def tiles(self, size: int) -> Tiles:
        """The hashes of the log as it was at this size."""

        def read(tile: Tile) -> bytes:
            with self._reading() as connection:
                return _read_tile(connection, tile)

        return Tiles(size, read)

    def close(self) -> None:
        """Give what was written its place in the log, then release the file."""
        if self._has_written and not self._closed and self._pid == os.getpid():
            self._has_written = False
            try:
                self.sequence()
            except LadderError as error:  # It is safe in the ledger, and the next will do it.
                _log.warning("entries are not in the signed log yet: %s", error)
        super().close()


@contextmanager
def _readable() -> Iterator[None]:
    """Say what to do about a checkpoint or a key that can't be read."""
    try:
        yield
    except RejectedError as error:
        raise LedgerError(
            f"{error}: somebody has changed this ledger from outside; "
            "`vladder ledger verify` tells more"
        ) from error


def _newest_frontier(connection: Connection) -> Frontier:
    row = connection.exec_driver_sql(
        "SELECT size, frontier FROM checkpoint ORDER BY size DESC LIMIT 1"
    ).first()
    return Frontier() if row is None else Frontier(row[0], hashes_of(row[1]))


def _leaf_hashes(connection: Connection, first: int, last: int) -> list[bytes]:
    rows = connection.exec_driver_sql(
        "SELECT e.leaf FROM leaf l JOIN entry e ON e.id = l.entry_id "
        "WHERE l.idx >= ? AND l.idx < ? ORDER BY l.idx",
        (first, last),
    )
    return [leaf for (leaf,) in rows]


_WRITE_TILE = "INSERT INTO tile (level, idx, hashes) VALUES (?, ?, ?)"


def _write_tiles(connection: Connection, tile: Tile, hashes: bytes) -> None:
    """Write a full tile of level 0, and those above it that it fills."""
    connection.exec_driver_sql(_WRITE_TILE, (tile.level, tile.number, hashes))
    for above in completed(tile):
        first = above.number * WIDTH
        rows = connection.exec_driver_sql(
            "SELECT hashes FROM tile WHERE level = ? AND idx >= ? AND idx < ? ORDER BY idx",
            (above.level - 1, first, first + WIDTH),
        ).all()
        roots = b"".join(reduced(hashes_of(below)) for (below,) in rows)
        connection.exec_driver_sql(_WRITE_TILE, (above.level, above.number, roots))


def _read_tile(connection: Connection, tile: Tile) -> bytes:
    if tile.is_full:
        found = connection.exec_driver_sql(
            "SELECT hashes FROM tile WHERE level = ? AND idx = ?", (tile.level, tile.number)
        ).scalar()
        if found is None:
            raise LedgerError(
                f"the log has lost {tile.path}: somebody has changed this ledger from outside; "
                "`vladder ledger verify` tells more"
            )
        return bytes(found)
    first = tile.number * WIDTH
    return b"".join(_leaf_hashes(connection, first, first + tile.width))
