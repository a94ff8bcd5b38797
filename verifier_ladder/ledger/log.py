"""The log: entries in one order, under a tree whose root is signed.

Entries are written by many; their ids may become visible in another order than they grow. The
sequencer gives each entry its place, once: this order is what proofs and cursors rest on.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from verifier_ladder.errors import LadderError, LedgerError
from verifier_ladder.ledger.dialect import dialect_of
from verifier_ladder.ledger.offline import (
    WIDTH,
    Checkpoint,
    Frontier,
    Key,
    RejectedError,
    check_growth,
    open_checkpoint,
    read_checkpoint,
    time_text,
)
from verifier_ladder.ledger.records import Block, Entry
from verifier_ladder.ledger.signed import Signed, Tree
from verifier_ladder.ledger.signer import KeyPlace, Signer, key_place, new_origin
from verifier_ladder.ledger.store import IN_LOG, Store
from verifier_ladder.ledger.tiles import Edge, Tile, Tiles, completed, hashes_of
from verifier_ladder.ledger.tree import consistency, reduced

if TYPE_CHECKING:
    from sqlalchemy import Connection

_log = logging.getLogger(__name__)

AT_ONCE = 2048
"""Entries put into the log in one transaction, so that writers need not wait long."""
_PAGE = 32
"""Entries read at once; a body may hold megabytes."""
ACCEPTED: Final = "restore"
"""Kind of the entry that tells of a state that a person has accepted."""
ACCEPTED_CAMPAIGN: Final = "restore/"
"""Campaign of that entry; no campaign can be called so."""
_NEW_KEY: Final = (
    "the log %s has a new signer, the key in %s: %s. If a former key should sign, put its file "
    "back there; who has pinned keys must be told of this one"
)
_NEWEST = "SELECT coalesce(max(size), 0) FROM checkpoint"


class Leaf(NamedTuple):
    """An entry at its place in the log."""

    place: int
    """Its place; the cursor of `SqlLog.leaves`."""
    entry: Entry


class End(NamedTuple):
    """Where a log ends: its size, and the roots of its complete subtrees."""

    size: int
    roots: tuple[bytes, ...]

    @property
    def tree(self) -> Tree:
        """Its size and its root."""
        return Tree(self.size, Frontier(self.size, self.roots).root())


class Growth(NamedTuple):
    """Entries that are about to get their place in the log, signed for already."""

    noted: Signed | None
    """What was noted when they were read."""
    origin: str
    key: Key
    before: Tree
    last: Tree
    entries: Sequence[int]
    tiles: Sequence[tuple[Tile, bytes]]
    note: str
    frontier: bytes


class Ahead(NamedTuple):
    """What comes next in a log that begins with what was signed."""

    origin: str
    end: End
    frontier: Frontier
    """The frontier behind the entries that come next."""
    entries: Sequence[int]
    time: str
    """When the last of them was recorded."""
    tiles: Sequence[tuple[Tile, bytes]]
    is_clear: bool
    """Whether nothing stands where they get their places."""


class Accepted(NamedTuple):
    """A state of a ledger that a person has accepted, though something else was signed."""

    noted: Signed | None
    """What was signed last; None if that is not known."""
    origin: str
    tree: Tree
    """What the ledger's log was when it was accepted."""

    def as_json(self) -> dict[str, Any]:
        """The facts of its entry."""
        was = None if self.noted is None else (self.noted.origin, self.noted.last)
        return {
            "signed": None if was is None else _told(*was),
            "accepted": _told(self.origin, self.tree),
        }


def _told(origin: str, tree: Tree) -> dict[str, Any]:
    return {"origin": origin, "size": tree.size, "root": tree.root.hex()}


class NotSignedError(LedgerError):
    """A log does not begin with what its key has signed, so nothing more is signed."""


class Guard:
    """Refuses to sign for a log that does not begin with what its key has signed."""

    def __init__(self, place: KeyPlace, noted: Signed | None, origin: str, end: End) -> None:
        """Compare a log that ends here.

        Args:
            place: Where the key lies, and the note.
            noted: What was signed last.
            origin: The log's name.
            end: Where the log ends.
        """
        self.origin, self.end = origin, end
        self._place, self._noted = place, noted
        self._awaited = None if noted is None or noted.last.size <= end.size else noted.last

    @property
    def missing(self) -> int:
        """How many entries must follow, for they were signed for already."""
        return 0 if self._awaited is None else self._awaited.size - self.end.size

    def check(self, tiles: Callable[[], Tiles]) -> None:
        """Compare what the log holds.

        Raises:
            NotSignedError: If it does not begin with what was signed.
        """
        noted, end = self._noted, self.end
        if noted is None:
            raise self._refused("what it has signed is not known")
        if noted.origin != self.origin:
            raise self._refused(f"it has signed the log {noted.origin}, and this is {self.origin}")
        known = noted.before if self._awaited is not None else noted.last
        if known.size > end.size:
            raise self._refused(
                f"it has signed {noted.last.size:,} entries, and the log has {end.size:,}"
            )
        self._check_growth(Checkpoint(self.origin, *known), tiles)

    def _check_growth(self, old: Checkpoint, tiles: Callable[[], Tiles]) -> None:
        new = Checkpoint(self.origin, *self.end.tree)
        path: Sequence[bytes] = ()
        if 0 < old.size < new.size:
            path = consistency(tiles().node, old.size, new.size)
        try:
            check_growth(old, new, path)
        except RejectedError as error:
            raise self._refused(str(error)) from error

    def step(self, frontier: Frontier) -> None:
        """Compare the log once an entry more is in it."""
        if self._awaited is not None and frontier.size == self._awaited.size:
            if frontier.root() != self._awaited.root:
                raise self._refused("the entries that follow are not those it has signed")
            self._awaited = None

    def finish(self) -> None:
        """Make sure that all came that was signed."""
        if self._awaited is not None:
            raise self._refused(f"it has signed {self._awaited.size:,} entries, and some are gone")

    def _refused(self, why: str) -> NotSignedError:
        return NotSignedError(
            f"nothing is signed with {self._place.path}: {why} ({self._place.signed.name}). "
            "`vladder ledger verify` tells more. If this is a backup that was put back, or a copy "
            "without that file, say so with `vladder ledger accept-restore`"
        )


class SqlLog(Store):
    """**Abstract:** the part of the SQL ledger that proves its history."""

    _has_written = False

    def _tell(self) -> None:
        self._has_written = True
        super()._tell()

    def sequence(self) -> int:
        """See `Ledger.sequence`."""
        if self._database.is_evidence:
            return 0
        while self.pending() and (growth := self._grown()) is not None:
            signed = Signed(growth.origin, growth.before, growth.last)
            if key_place(self.url).signed.replace(growth.noted, signed) and self._commit(growth):
                return len(growth.entries)
            # Another sequencer was faster; it may not have seen the newest entries.
        return 0

    def _grown(self) -> Growth | None:
        """Read what comes next in the log and sign for it; None if nothing does.

        All this happens outside the transaction that writes, so that no writer waits for it.

        Raises:
            NotSignedError: If the log does not begin with what was signed before.
        """
        place = key_place(self.url)
        noted = place.noted()  # Before the ledger, which must hold what was noted.
        if noted is None and not place.must_be_noted:
            with self._reading() as connection:
                origin, keys = _names(connection)
                tree = _end_of(connection, origin, keys).tree
            place.signed.begin(Signed(origin or new_origin(self.url), tree, tree))
            noted = place.noted()
        ahead = self._ahead(place, noted)
        if not ahead.is_clear:  # Not before all is compared: who refuses to sign removes nothing.
            self._clear(place, noted)
            return self._grown()
        if not ahead.entries:
            return None
        end, frontier = ahead.end, ahead.frontier
        signer = Signer.at(place.path, ahead.origin)
        last = Tree(frontier.size, frontier.root())
        note = signer.sign(Checkpoint(ahead.origin, *last, ahead.time))
        return Growth(
            noted, ahead.origin, signer.key, end.tree, last, ahead.entries, ahead.tiles, note,
            b"".join(frontier.roots),
        )  # fmt: skip

    def check_signable(self) -> None:
        """Make sure that the next entries can be signed for; nothing is written.

        Raises:
            LedgerError: If they can't, with the reason.
        """
        place = key_place(self.url)
        noted = place.noted()
        try:
            if noted is not None or place.must_be_noted:
                self._ahead(place, noted)
        finally:
            self._database.check_unchanged()

    def _ahead(self, place: KeyPlace, noted: Signed | None) -> Ahead:
        """Compare the log with what was signed, and read what comes next in it.

        Raises:
            NotSignedError: If it does not begin with what was signed.
        """
        if place.path.exists():
            Signer.read(place.path)
        settled = self.newest()
        with self._reading() as connection:
            guard = _guard(connection, place, noted, self.url)
            is_clear = not _strays(connection, guard.end.size)
            found = connection.exec_driver_sql(
                "SELECT id, leaf, recorded_at FROM entry WHERE id > "
                "(SELECT coalesce(max(entry_id), 0) FROM leaf WHERE idx = ?) AND id <= ? "
                "ORDER BY id LIMIT ?",
                (guard.end.size - 1, settled, max(AT_ONCE, guard.missing)),
            ).all()
            end, origin = guard.end, guard.origin
            first = end.size - end.size % WIDTH
            edge = Edge(Frontier(end.size, end.roots), _leaf_hashes(connection, first, end.size))
        full: list[tuple[Tile, bytes]] = []
        for _, leaf, _ in found:
            full += edge.append(leaf)
            guard.step(edge.frontier)
        guard.finish()
        entries = [int(entry) for entry, *_ in found]
        time = time_text(found[-1][2]) if found else ""
        return Ahead(origin, end, edge.frontier, entries, time, full, is_clear)

    def _clear(self, place: KeyPlace, noted: Signed | None) -> None:
        """Remove rows of the log behind its end, which nobody has signed for.

        They stand where the next entries get their places, and would keep them out for ever. The
        log tells of them.
        """
        removed: dict[str, Any] = {}
        with self._writing(tell=False) as connection:
            dialect = dialect_of(connection)
            dialect.hold_log(connection)  # Others may have signed for some of them meanwhile.
            size = _guard(connection, place, noted, self.url).end.size
            for table, found in _strays(connection, size).items():
                removed[table] = [list(row) for row in found]
                with dialect.unguarded(connection, table):
                    connection.exec_driver_sql(f"DELETE FROM {table} WHERE {_behind(size)[table]}")
        if removed:
            _log.warning("rows that nobody has signed for were removed from the log: %s", removed)
            self.append(Block(ACCEPTED, ACCEPTED_CAMPAIGN, facts={"removed": removed}))

    def _commit(self, growth: Growth) -> bool:
        """Put entries behind the last one of the log; False if another process has by now."""
        first = growth.before.size
        with self._writing(tell=False) as connection:
            dialect_of(connection).hold_log(connection)
            newest = connection.exec_driver_sql(_NEWEST).scalar_one()
            behind = connection.exec_driver_sql(IN_LOG).scalar_one()
            if newest != first or behind >= growth.entries[0]:
                return False
            connection.exec_driver_sql(
                "INSERT INTO leaf (idx, entry_id) VALUES (?, ?)",
                [(first + at, entry) for at, entry in enumerate(growth.entries)],
            )
            for tile, hashes in growth.tiles:
                _write_tiles(connection, tile, hashes)
            connection.exec_driver_sql(
                "INSERT INTO checkpoint (size, note, frontier) VALUES (?, ?, ?)",
                (growth.last.size, growth.note, growth.frontier),
            )
            added = connection.exec_driver_sql(
                "INSERT INTO signer (origin, key) VALUES (?, ?) ON CONFLICT DO NOTHING",
                (growth.origin, str(growth.key)),
            ).rowcount
        if added > 0 and first:
            _log.warning(_NEW_KEY, growth.origin, key_place(self.url).path, growth.key)
        return True

    def accept_restore(self) -> Accepted | None:
        """Sign from now on behind what the ledger holds, though something else was signed before.

        It is told in an entry of the log, with what was signed last and what is there now.

        Returns:
            What was accepted; None if the ledger holds all that was signed.

        Raises:
            LedgerError: If the ledger does not fit its own checkpoints, so that nothing can be
                signed behind them.
        """
        place = key_place(self.url)
        try:
            noted = place.signed.read()
        except LedgerError:
            noted = None
        else:
            try:
                self._grown()
            except NotSignedError:
                pass
            else:
                return None
        with self._reading() as connection:
            origin, keys = _names(connection)
            end = _end_of(connection, origin, keys)
        origin = origin or (noted.origin if noted else "") or new_origin(self.url)
        accepted = Accepted(noted, origin, end.tree)
        self.append(Block(ACCEPTED, ACCEPTED_CAMPAIGN, facts=accepted.as_json()))
        place.signed.write(Signed(origin, end.tree, end.tree))
        while self.sequence():
            pass
        return accepted

    def note_signed(self) -> None:
        """Note what was signed, for a program of an older version did not."""
        place = key_place(self.url)
        if place.path.exists() and place.noted() is None:
            with self._reading() as connection:
                origin, keys = _names(connection)
                end = _end_of(connection, origin, keys)
            if origin:
                place.signed.write(Signed(origin, end.tree, end.tree))

    # -- reading ---------------------------------------------------------------------------------

    def pending(self) -> bool:
        """Whether entries wait for their place in the log."""
        return bool(self._ask(f"SELECT 1 FROM entry WHERE id > ({IN_LOG}) LIMIT 1"))

    def waiting(self) -> tuple[int, float]:
        """How many entries wait for their place in the log, and when the first was written."""
        asked = f"SELECT count(*), coalesce(min(recorded_at), 0) FROM entry WHERE id > ({IN_LOG})"
        ((count, first),) = self._ask(asked)
        return int(count), float(first)

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


_LEVELS = 8
_TRIED = 100
"""Checkpoints that are tried, from the newest on, until one fits the log."""
_SHOWN = {
    "leaf": "SELECT idx, entry_id FROM leaf", "tile": "SELECT level, idx FROM tile",
    "checkpoint": "SELECT size, note FROM checkpoint",
}  # fmt: skip


def _behind(size: int) -> dict[str, str]:
    """SQL: which rows of the log's tables stand behind its end, or before its beginning."""
    tiles = [
        f"level = {level} AND idx >= {size // WIDTH ** (level + 1)}" for level in range(_LEVELS)
    ]
    return {
        "leaf": f"idx >= {size} OR idx < 0",
        "tile": " OR ".join(tiles),
        "checkpoint": f"size > {size} OR size <= 0",
    }


def _strays(connection: Connection, size: int) -> dict[str, Sequence[Any]]:
    """Those rows, at most a hundred of each table."""
    found = {
        table: connection.exec_driver_sql(f"{_SHOWN[table]} WHERE {where} LIMIT {_TRIED}").all()
        for table, where in _behind(size).items()
    }
    return {table: rows for table, rows in found.items() if rows}


def _names(connection: Connection, noted: Signed | None = None) -> tuple[str, list[Key]]:
    """The log's name and who has signed for it; nothing as long as nobody has.

    Of several names the one that is noted is the log's. A key that can't be read has signed
    nothing.
    """
    rows = connection.exec_driver_sql("SELECT origin, key FROM signer ORDER BY id").all()
    origins, keys = [str(origin) for origin, _ in rows], []
    for _, text in rows:
        with suppress(RejectedError):
            keys.append(Key.read(str(text)))
    if noted is not None and noted.origin in origins:
        return noted.origin, keys
    return (origins[0] if origins else ""), keys


def _end_of(
    connection: Connection, origin: str, keys: Sequence[Key],
    check: Callable[[End], None] | None = None,
) -> End:  # fmt: skip
    """Where the log ends, by its newest checkpoint that fits it; behind that it goes on.

    Args:
        connection: The one that reads.
        origin: The log's name.
        keys: Who may have signed.
        check: Compares an end with what was noted; without it, a log that has no checkpoint must
            be empty.

    Raises:
        LedgerError: If none fits; the error is the newest one's.
    """
    rows = connection.exec_driver_sql(
        "SELECT size, note, frontier FROM checkpoint ORDER BY size DESC LIMIT ?", (_TRIED,)
    ).all()
    problem: LedgerError | None = None
    for row in rows:
        try:
            end = _end_at(connection, origin, keys, row)
        except LedgerError as error:
            problem = problem or error
        else:
            if check is not None:
                check(end)  # One that is signed and fits is never passed over.
            return end
    is_empty = problem is None and (check is not None or not _strays(connection, 0))
    if is_empty or not keys:  # Where nobody has signed, nothing was.
        end = End(0, ())
        if check is not None:
            check(end)
        return end
    raise problem or LedgerError(_UNFIT)


_UNFIT = (
    "the newest checkpoint does not fit the log, so nothing can be signed behind it: "
    "somebody has changed this ledger from outside; `vladder ledger verify` tells more"
)


def _end_at(connection: Connection, origin: str, keys: Sequence[Key], row: Any) -> End:
    """The end that a checkpoint tells of.

    Raises:
        LedgerError: If the checkpoint is not signed, or its places or hashes don't fit it.
    """
    try:
        end = End(int(row[0]), tuple(hashes_of(bytes(row[2]))))
        tree = end.tree
    except (TypeError, ValueError, IndexError) as error:
        raise LedgerError(_UNFIT) from error
    with _readable():
        signed = open_checkpoint(str(row[1]), keys)[0]
    first = end.size - 1 - (end.size - 1) % WIDTH
    ((count,),) = connection.exec_driver_sql(
        "SELECT count(*) FROM leaf WHERE idx >= ? AND idx < ?", (first, end.size)
    ).all()
    if (signed.origin, signed.size, signed.root) != (origin, *tree) or count != end.size - first:
        raise LedgerError(_UNFIT)
    return end


def _guard(connection: Connection, place: KeyPlace, noted: Signed | None, url: str) -> Guard:
    """Look where the log ends, and whether it begins with what was signed.

    Raises:
        NotSignedError: If it does not.
    """
    name, keys = _names(connection, noted)
    origin = name or ("" if noted is None else noted.origin) or new_origin(url)

    def check(end: End) -> None:
        guard = Guard(place, noted, origin, end)
        guard.check(lambda: Tiles(end.size, partial(_read_tile, connection)))

    return Guard(place, noted, origin, _end_of(connection, name, keys, check))


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
