"""Audits: a ledger compared, from its first byte to its last, with what was signed for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.moments import SqlMoments
from verifier_ladder.ledger.offline import WIDTH, Key, RejectedError, read_checkpoint
from verifier_ladder.ledger.rebuild import Rebuild
from verifier_ladder.ledger.schemaaudit import schema_problems
from verifier_ladder.ledger.signed import Signed
from verifier_ladder.ledger.signer import key_place
from verifier_ladder.ledger.tiles import Tile
from verifier_ladder.ledger.verification import (
    Row,
    Saved,
    Verification,
    Walk,
    saved_checkpoint,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

_PAGE = 64
_LARGEST = 2**63 - 1
# An entry holds the moment at which it was written, so no two are alike.
_DOUBLED = (
    "SELECT min(id), max(id) FROM entry GROUP BY leaf HAVING count(*) > 1 ORDER BY 1 LIMIT 50"
)
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
        another order. The tables beside the entries (verdicts, aliases, samples, campaigns, runs,
        sources, appearances, counters) are rebuilt from the entries and compared both ways; guards
        and indexes must be those of this version. Where a note tells what was signed last, the log
        must hold all of it. What the holder of the key has signed anew shows only against a
        checkpoint that was saved elsewhere. Nothing is written.

        Args:
            key: Who must have signed; by default any key that the ledger itself names.
            saved: A checkpoint that was kept elsewhere; the ledger must be its continuation.
            index: Whether to rebuild the tables beside the entries too.
            progress: Called now and then.
        """
        found = Verification(is_pinned=key is not None)
        noted = _noted(self.url, found)  # Before the ledger, which must hold what was noted.
        # One moment of the ledger, however long it takes.
        with self._reading() as connection, _any_text(connection):
            found.origin, keys = _signers(connection, found)
            found.keys = (key,) if key else keys
            newest = connection.exec_driver_sql(
                "SELECT note FROM checkpoint ORDER BY size DESC LIMIT 1"
            ).scalar()
            found.newest = None if newest is None else str(newest)  # SQLite keeps any type.
            olds = []
            found.is_compared_with_note = noted is not None
            if noted is not None:
                olds += _own(noted, found)
            try:
                old = saved_checkpoint(saved, found.keys, found.origin)
                olds += [] if old is None else [Saved(old, "the checkpoint that was saved")]
            except RejectedError as error:
                found.add(str(error))
            walk = Walk(found, olds)
            if index:
                with Rebuild(found, _indexed(connection)) as rebuild:
                    _walk(connection, walk, rebuild.entry, progress)
                    _compare_rest(connection, walk, found, rebuild.entry)
                    rebuild.compare(connection)
                for problem in (*_index_problems(connection), *schema_problems(connection)):
                    found.add(problem)
            else:
                _walk(connection, walk, _nothing, progress)
                _compare_rest(connection, walk, found, _nothing)
            walk.finish()
        self._database.check_unchanged()
        return found


Take = Callable[[int, bytes, float], object]
"""Takes an entry: its id, its body, when it was written."""


def _nothing(entry: int, body: bytes, recorded_at: float) -> None:
    del entry, body, recorded_at


def _noted(url: str, found: Verification) -> Signed | None:
    """What was signed last, if it is noted here or a witness tells, and may be read."""
    try:
        place = key_place(url)
        noted = place.noted()
        if noted is None and place.must_be_noted:
            found.add(
                f"{place.path} lies here without {Path(place.signed.name).name}, so it is not "
                "known what it has signed; copy that file too, or say "
                "`vladder ledger accept-restore`",
                of_note=True,
            )
    except OSError:  # Another user's, who has not let us look.
        noted = None
    except LedgerError as error:
        if not isinstance(error.__cause__, PermissionError):
            found.add(str(error), of_note=isinstance(error.__cause__, ValueError))
        return None
    return noted


def _own(noted: Signed, found: Verification) -> list[Saved]:
    """What was signed last, as what the log must hold."""
    if found.origin and noted.origin != found.origin:
        found.add(
            f"it is noted here to have signed the log {noted.origin}, and this is {found.origin}",
            of_note=True,
        )
        return []
    before, last = noted.checkpoints
    return [
        Saved(before, "what is noted here to have been signed", is_note=True),
        # Its process may have died before it was in the log; its entries are there.
        Saved(last, "what is noted here to have been signed last", may_wait=True, is_note=True),
    ]


def _indexed(connection: Connection) -> int:
    """The entry up to which candidates were indexed."""
    return int(
        connection.exec_driver_sql(
            "SELECT coalesce(max(entry_id), 0) FROM appearance_until"
        ).scalar_one()
    )


def _index_problems(connection: Connection) -> Iterator[str]:
    """Entries behind the index of candidates would never be found by it."""
    newest = connection.exec_driver_sql("SELECT coalesce(max(id), 0) FROM entry").scalar_one()
    if _indexed(connection) > newest:
        yield (
            f"table appearance_until, {_indexed(connection)}: it says that entries are indexed "
            f"which are not there; the newest is {newest}"
        )


@contextmanager
def _any_text(connection: Connection) -> Iterator[None]:
    """Read text that is no UTF-8 too, which SQLite keeps, as text that no program writes."""
    if connection.dialect.name != "sqlite":
        yield
        return
    driver: Any = connection.connection.driver_connection
    driver.text_factory = lambda data: data.decode(errors="surrogateescape")
    try:
        yield
    finally:
        driver.text_factory = str


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


def _walk(connection: Connection, walk: Walk, take: Take, progress: Progress | None) -> None:
    total = _count(connection, "leaf")
    checkpoints = _checkpoints(connection)
    coming = next(checkpoints, None)
    for number, *fields in _pages(connection):
        row = Row(*fields)
        if number < 0 or not isinstance(row.id, int):  # SQLite keeps any type.
            walk.stray(f"leaf, place {number} (entry {row.id})")
            continue
        walk.step(number, row)
        if walk.fills_tile:
            tile = Tile(0, walk.frontier.size // WIDTH - 1)
            walk.tile(tile, _tile(connection, tile))
        if isinstance(row.body, bytes):
            take(row.id, row.body, row.recorded_at or 0.0)
        while coming is not None and coming[0] <= walk.frontier.size:
            walk.checkpoint(*coming)
            coming = next(checkpoints, None)
        if progress is not None and walk.frontier.size % WIDTH == 0:
            progress(walk.frontier.size, total)
    while coming is not None:
        walk.checkpoint(*coming)
        coming = next(checkpoints, None)


def _compare_rest(connection: Connection, walk: Walk, found: Verification, take: Take) -> None:
    """What the walk along the log does not pass."""
    _compare_tiles(connection, walk, found)
    _compare_end(walk, found)
    for row in _behind(connection, walk.last):
        found.pending += 1
        walk.wait(row)
        if isinstance(row.body, bytes):
            take(row.id, row.body, row.recorded_at or 0.0)
    for first, last in connection.exec_driver_sql(_DOUBLED).all():
        found.add(f"entries {first} and {last} are the same, byte for byte: one was doubled")
    strangers = connection.exec_driver_sql(
        "SELECT count(*) FROM entry e WHERE e.id <= ? AND NOT EXISTS "
        "(SELECT 1 FROM leaf l WHERE l.entry_id = e.id)",
        (walk.last,),
    ).scalar_one()
    if strangers:
        found.add(f"{strangers} entries are neither in the log nor waiting for it")


def _compare_tiles(connection: Connection, walk: Walk, found: Verification) -> None:
    full = walk.frontier.size // WIDTH
    for tile, data in walk.upper_tiles():
        full += 1
        if _tile(connection, tile) != data:
            found.add(f"{tile.path} is not made of those below")
    if _count(connection, "tile") != full:
        found.add(f"the log has {_count(connection, 'tile')} tiles instead of {full}")
        for level, index in connection.exec_driver_sql("SELECT level, idx FROM tile").all():
            if (
                {type(level), type(index)} != {int}
                or level < 0
                or not 0 <= index < walk.frontier.size // WIDTH ** (level + 1)
            ):
                walk.stray(f"tile, level {level}, number {index}")


def _compare_end(walk: Walk, found: Verification) -> None:
    try:
        signed = read_checkpoint(found.newest).size if found.newest else 0
    except RejectedError as error:
        found.add(f"the newest checkpoint can't be read: {error}")
    else:
        if signed != walk.frontier.size:
            found.add(f"the log has {walk.frontier.size} entries, and {signed} were signed for")


def _pages(connection: Connection) -> Iterator[Any]:
    """The log with its entries, a page at a time: a body may hold megabytes."""
    first = -(2**63)
    while True:
        rows = connection.exec_driver_sql(
            f"SELECT l.idx, l.entry_id, {_ROW} FROM leaf l LEFT JOIN entry e "
            "ON e.id = l.entry_id WHERE l.idx >= ? ORDER BY l.idx LIMIT ?",
            (first, _PAGE),
        ).all()
        yield from rows
        if len(rows) < _PAGE or rows[-1][0] == _LARGEST:
            return
        first = rows[-1][0] + 1


def _behind(connection: Connection, after: int) -> Iterator[Row]:
    """Entries that wait for their place in the log."""
    statement = f"SELECT e.id, {_ROW} FROM entry e WHERE e.id > ? ORDER BY e.id LIMIT ?"
    return (Row(*row) for row in _paged(connection, statement, after, _PAGE))


def _checkpoints(connection: Connection) -> Iterator[Any]:
    statement = "SELECT size, note, frontier FROM checkpoint WHERE size > ? ORDER BY size LIMIT ?"
    return _paged(connection, statement, -(2**63), WIDTH)


def _paged(connection: Connection, statement: str, after: int, size: int) -> Iterator[Any]:
    while True:
        rows = connection.exec_driver_sql(statement, (after, size)).all()
        yield from rows
        if len(rows) < size:
            return
        after = rows[-1][0]


def _tile(connection: Connection, tile: Tile) -> Any:
    return connection.exec_driver_sql(
        "SELECT hashes FROM tile WHERE level = ? AND idx = ?", (tile.level, tile.number)
    ).scalar()


def _count(connection: Connection, table: str) -> int:
    return int(connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one())
