"""Audits: a ledger compared, from its first byte to its last, with what was signed for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from verifier_ladder.ledger.indexaudit import IndexAudit
from verifier_ladder.ledger.moments import SqlMoments
from verifier_ladder.ledger.offline import WIDTH, Key, RejectedError, read_checkpoint
from verifier_ladder.ledger.tiles import Tile
from verifier_ladder.ledger.verification import (
    Row,
    Verification,
    Walk,
    check_row,
    saved_checkpoint,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

_PAGE = 64
_ROW = "e.kind, e.campaign, e.recorded_at, e.leaf, e.body"

Progress = Callable[[int, int], None]
"""Called with how many entries were compared, and how many there are."""


class SqlAudit(SqlMoments):
    """**Abstract:** the part of the SQL ledger that checks itself."""

    def verify(
        self,
        *,
        key: Key | None = None,
        saved: str | None = None,
        index: bool = True,
        progress: Progress | None = None,
    ) -> Verification:
        """Compare every byte of the history with the signed checkpoints.

        It finds entries, tiles and checkpoints that were changed, put in, taken out or put in
        another order, and rows of the indexes (verdicts, aliases, spans, campaigns, runs) that
        the entries don't bear out. It can't find what the holder of the key has signed anew;
        a checkpoint that was saved elsewhere can. The work queue and the accounts change all
        the time and are not part of it.

        Args:
            key: Who must have signed; by default any key that the ledger itself names.
            saved: A checkpoint that was kept elsewhere; the ledger must be its continuation.
            index: Whether to compare the indexes too.
            progress: Called now and then.
        """
        found = Verification()
        with self._reading() as connection:  # One moment of the ledger, however long it takes.
            found.origin, keys = _signers(connection, found)
            found.keys = (key,) if key else keys
            newest = connection.exec_driver_sql(
                "SELECT note FROM checkpoint ORDER BY size DESC LIMIT 1"
            ).scalar()
            found.newest = None if newest is None else str(newest)  # SQLite keeps any type.
            try:
                old = saved_checkpoint(saved, found.keys, found.origin)
            except RejectedError as error:
                found.add(str(error))
                old = None
            walk = Walk(found, old)
            indexes = IndexAudit(connection, found) if index else None
            _walk(connection, walk, indexes, progress)
            _compare_rest(connection, walk, found, indexes)
            walk.finish()
            if indexes is not None:
                indexes.finish()
        return found


def _signers(connection: Connection, found: Verification) -> tuple[str, list[Key]]:
    """The log's name and the keys that the ledger itself names."""
    rows = connection.exec_driver_sql("SELECT origin, key FROM signer ORDER BY id").all()
    keys = []
    for _, text in rows:
        try:
            keys.append(Key.read(str(text)))
        except RejectedError as error:
            found.add(str(error))
    return (str(rows[0][0]) if rows else ""), keys


def _walk(
    connection: Connection, walk: Walk, indexes: IndexAudit | None, progress: Progress | None
) -> None:
    total = _count(connection, "leaf")
    checkpoints = _checkpoints(connection)
    coming = next(checkpoints, None)
    for number, *fields in _pages(connection, "leaf", "idx", f"t.idx, t.entry_id, {_ROW}"):
        row = Row(*fields)
        walk.step(number, row)
        if walk.fills_tile:
            tile = Tile(0, walk.frontier.size // WIDTH - 1)
            walk.tile(tile, _tile(connection, tile))
        if indexes is not None and isinstance(row.body, bytes):
            indexes.entry(row.id, row.body)
        while coming is not None and coming[0] <= walk.frontier.size:
            walk.checkpoint(*coming)
            coming = next(checkpoints, None)
        if progress is not None and walk.frontier.size % WIDTH == 0:
            progress(walk.frontier.size, total)
    while coming is not None:
        walk.checkpoint(*coming)
        coming = next(checkpoints, None)


def _compare_rest(
    connection: Connection, walk: Walk, found: Verification, indexes: IndexAudit | None
) -> None:
    """What the walk along the log does not pass."""
    full = walk.frontier.size // WIDTH
    for tile, data in walk.upper_tiles():
        full += 1
        if _tile(connection, tile) != data:
            found.add(f"{tile.path} is not made of those below")
    if _count(connection, "tile") != full:
        found.add(f"the log has {_count(connection, 'tile')} tiles instead of {full}")
    try:
        signed = read_checkpoint(found.newest).size if found.newest else 0
    except RejectedError as error:
        found.add(f"the newest checkpoint can't be read: {error}")
    else:
        if signed != walk.frontier.size:
            found.add(f"the log has {walk.frontier.size} entries, and {signed} were signed for")
    for _, *fields in _pages(connection, "pending", "entry_id", f"t.entry_id, t.entry_id, {_ROW}"):
        row = Row(*fields)
        found.pending += 1
        check_row(row, found)
        if indexes is not None and isinstance(row.body, bytes):
            indexes.entry(row.id, row.body)
    strangers = connection.exec_driver_sql(
        "SELECT count(*) FROM entry e WHERE NOT EXISTS "
        "(SELECT 1 FROM leaf l WHERE l.entry_id = e.id) "
        "AND NOT EXISTS (SELECT 1 FROM pending p WHERE p.entry_id = e.id)"
    ).scalar_one()
    if strangers:
        found.add(f"{strangers} entries are neither in the log nor waiting for it")


def _pages(connection: Connection, table: str, key: str, columns: str) -> Iterator[Any]:
    """Rows of a table with their entries, a page at a time: a body may hold megabytes."""
    after = -1
    while True:
        rows = connection.exec_driver_sql(
            f"SELECT {columns} FROM {table} t LEFT JOIN entry e ON e.id = t.entry_id "
            f"WHERE t.{key} > ? ORDER BY t.{key} LIMIT ?",
            (after, _PAGE),
        ).all()
        yield from rows
        if len(rows) < _PAGE:
            return
        after = rows[-1][0]


def _checkpoints(connection: Connection) -> Iterator[Any]:
    after = -1
    while True:
        rows = connection.exec_driver_sql(
            "SELECT size, note, frontier FROM checkpoint WHERE size > ? ORDER BY size LIMIT ?",
            (after, WIDTH),
        ).all()
        yield from (tuple(row) for row in rows)
        if len(rows) < WIDTH:
            return
        after = rows[-1][0]


def _tile(connection: Connection, tile: Tile) -> Any:
    return connection.exec_driver_sql(
        "SELECT hashes FROM tile WHERE level = ? AND idx = ?", (tile.level, tile.number)
    ).scalar()


def _count(connection: Connection, table: str) -> int:
    return int(connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one())
