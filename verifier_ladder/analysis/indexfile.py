"""The file of an index: what is derived from a ledger, so that lists need not read all of it.

It lies in the user's cache, holds nothing that the ledger doesn't, and is made anew whenever it
does not fit: another ledger has taken the place, a restored backup has another past, another
version of this program keeps other columns, or the file is damaged or gone. Nothing is proven by
it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from queue import Empty, SimpleQueue
from time import time
from typing import Final

from verifier_ladder.analysis import champions, pairtable, spells
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger
from verifier_ladder.private import beside, cache_folder, make_private

FORMAT: Final = 7
"""Raise it whenever the tables change, or what is written into them."""
_BUSY = 60.0
"""Seconds to wait for another viewer of the same ledger, which fills the same index."""
_KEPT = 30 * 86400.0
"""Seconds after which an index that nobody has filled is removed."""
_SCHEMA = """
CREATE TABLE cursor (entry INTEGER NOT NULL, leaf BLOB NOT NULL, damaged INTEGER NOT NULL);
INSERT INTO cursor VALUES (0, x'', 0);
CREATE TABLE campaign (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, told TEXT NOT NULL DEFAULT '{}'
);
CREATE TABLE run (
    id INTEGER PRIMARY KEY, campaign INTEGER NOT NULL, name TEXT NOT NULL, UNIQUE (campaign, name)
);
CREATE TABLE content (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, kind TEXT NOT NULL, label TEXT NOT NULL,
    entry INTEGER
);
CREATE VIRTUAL TABLE word USING fts5(label, content='', detail=none, tokenize='trigram');
CREATE TABLE judged (
    content INTEGER NOT NULL, scores INTEGER NOT NULL, entry INTEGER NOT NULL,
    PRIMARY KEY (content, scores, entry)
) WITHOUT ROWID;
CREATE TABLE candidate (
    id INTEGER PRIMARY KEY, campaign INTEGER NOT NULL, content INTEGER NOT NULL,
    task BLOB NOT NULL, samples INTEGER NOT NULL DEFAULT 0, reward REAL, uncertainty REAL,
    mean REAL, deviation REAL, known REAL, spread REAL, known_tier INTEGER, truth REAL, gap REAL,
    standing INTEGER NOT NULL DEFAULT 0, reached INTEGER NOT NULL DEFAULT -1,
    category INTEGER NOT NULL, told TEXT NOT NULL DEFAULT '{}', memory TEXT NOT NULL DEFAULT '[]',
    run INTEGER, first_step INTEGER, step INTEGER, position INTEGER
);
CREATE UNIQUE INDEX candidate_once ON candidate (campaign, content, task);
CREATE INDEX candidate_newest ON candidate (category, id);
CREATE INDEX candidate_reward ON candidate (category, reward, id) WHERE reward IS NOT NULL;
CREATE INDEX candidate_known ON candidate (category, known, id) WHERE known IS NOT NULL;
CREATE INDEX candidate_truth ON candidate (category, truth, id) WHERE truth IS NOT NULL;
CREATE INDEX candidate_gap ON candidate (category, gap, id) WHERE gap IS NOT NULL;
CREATE INDEX candidate_samples ON candidate (category, samples, id);
CREATE TABLE category (
    id INTEGER PRIMARY KEY, campaign INTEGER NOT NULL, standing INTEGER NOT NULL,
    reached INTEGER NOT NULL, stands INTEGER NOT NULL, UNIQUE (campaign, standing, reached, stands)
);
CREATE TABLE mention (
    candidate INTEGER NOT NULL, revises INTEGER NOT NULL, entry INTEGER NOT NULL,
    PRIMARY KEY (candidate, revises, entry)
) WITHOUT ROWID;
CREATE TABLE sample (
    run INTEGER NOT NULL, step INTEGER NOT NULL, position INTEGER NOT NULL,
    candidate INTEGER NOT NULL, party TEXT NOT NULL, reward REAL,
    rejected INTEGER NOT NULL, truth REAL, weight REAL NOT NULL,
    PRIMARY KEY (run, step, position)
) WITHOUT ROWID;
CREATE TABLE step (
    run INTEGER NOT NULL, width INTEGER NOT NULL, step INTEGER NOT NULL,
    samples REAL NOT NULL DEFAULT 0,
    rewarded REAL NOT NULL DEFAULT 0, told REAL NOT NULL DEFAULT 0,
    rejected REAL NOT NULL DEFAULT 0,
    rejected_truth REAL NOT NULL DEFAULT 0, audited REAL NOT NULL DEFAULT 0,
    weight REAL NOT NULL DEFAULT 0, truth REAL NOT NULL DEFAULT 0,
    PRIMARY KEY (run, width, step)
) WITHOUT ROWID;
CREATE TABLE total (
    campaign INTEGER NOT NULL, name TEXT NOT NULL, place INTEGER NOT NULL, state INTEGER NOT NULL,
    amount REAL NOT NULL, PRIMARY KEY (campaign, name, place, state)
) WITHOUT ROWID;
CREATE TABLE reason (
    campaign INTEGER NOT NULL, standing INTEGER NOT NULL, boundary TEXT NOT NULL,
    verifier TEXT NOT NULL, tier INTEGER NOT NULL, text TEXT NOT NULL, count INTEGER NOT NULL,
    seconds REAL NOT NULL, examples TEXT NOT NULL, last INTEGER NOT NULL,
    PRIMARY KEY (campaign, standing, boundary, verifier, tier, text)
) WITHOUT ROWID;
CREATE TABLE prompt (run INTEGER NOT NULL, party TEXT NOT NULL, entry INTEGER NOT NULL,
    PRIMARY KEY (run, party)) WITHOUT ROWID;
"""
_BESIDE = (champions.SCHEMA, pairtable.SCHEMA, spells.SCHEMA)


def index_file(url: str) -> Path:
    """Where the index of a ledger lies, by its address; indexes long unused are removed.

    Each format has its own, for another version of this program may be open beside this one.

    Raises:
        ConfigError: If somebody else could read what lies there.
    """
    folder = cache_folder()
    for path in folder.glob("*.index"):
        with suppress(OSError):  # Another viewer may do the same.
            # What is written goes to the file beside it first.
            used = max((p.stat().st_mtime for p in _parts(path) if p.exists()), default=0.0)
            if used < time() - _KEPT:
                _remove(path)
    name = sha256(f"{FORMAT} {url}".encode("utf-8", "replace")).hexdigest()
    return folder / f"{name[:24]}.index"


def _parts(path: Path) -> list[Path]:
    return [path.with_name(path.name + ending) for ending in ("-wal", "-shm", "")]


def _remove(path: Path) -> None:
    for part in _parts(path):
        part.unlink(missing_ok=True)


class IndexFile:
    """The connections of an index; several processes may use one file.

    **Threads** may share it.
    """

    def __init__(self, path: Path) -> None:
        """Open an index, or make an empty one where there is none that can be used.

        Raises:
            ConfigError: If none can be made there.
        """
        self.path = path.absolute()
        self._file: tuple[int, int] | None = None
        """Which file the connections are of, wherever that lies by now."""
        self._is_damaged = False
        self._idle: SimpleQueue[sqlite3.Connection] = SimpleQueue()
        self._use(self._found())
        if not self._is_usable():
            self._make()
        with suppress(OSError):
            os.utime(self.path)  # It is of use to somebody.

    def _found(self) -> tuple[int, int] | None:
        """The file that lies there now; None if there is none."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    @property
    def is_sound(self) -> bool:
        """Whether its file lies there still, and all that was read of it could be."""
        return not self._is_damaged and self._found() == self._file

    def _use(self, file: tuple[int, int] | None) -> None:
        """Let go of connections to another file than this one."""
        self._file, self._is_damaged = file, False
        self.close()

    def _is_usable(self) -> bool:
        try:
            with self.reading() as connection:
                (found,) = connection.execute("PRAGMA user_version").fetchone()
                connection.execute("SELECT entry FROM cursor").fetchone()
        except sqlite3.DatabaseError:
            return False
        return bool(found == FORMAT)

    def _make(self) -> None:
        """Put an empty index in the place of what is there; others who have that open keep it."""
        try:
            with beside(self.path) as part:
                make_private(part)
                with closing(self._connect(part)) as connection:
                    connection.execute("PRAGMA journal_mode = WAL")
                    schema = " ".join((_SCHEMA, *_BESIDE))
                    connection.executescript(
                        f"BEGIN; {schema} PRAGMA user_version = {FORMAT}; COMMIT;"
                    )
                _remove(self.path)
                part.replace(self.path)
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(
                f"no lists can be kept in {self.path}: {error}; make room there, or set "
                "XDG_CACHE_HOME to another folder"
            ) from error
        self._use(self._found())

    def _connect(self, path: Path) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{path.as_uri()}?mode=rw", uri=True, timeout=_BUSY, isolation_level=None,
            check_same_thread=False, cached_statements=256,
        )  # fmt: skip
        # What a power cut takes is read from the ledger again.
        for pragma in ("synchronous = NORMAL", "cache_size = -65536", "temp_store = MEMORY"):
            connection.execute(f"PRAGMA {pragma}")
        return connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give a connection whose statements see one moment of the index."""
        with self._using("BEGIN") as connection:
            yield connection

    @contextmanager
    def filling(self, ledger: Ledger) -> Iterator[sqlite3.Connection]:
        """Give a connection inside one transaction, for one viewer at a time.

        What was made of another ledger is taken out first: what a viewer has found to fit may be
        another one's by the time that it writes.
        """
        found = self._found()
        if found is None or self._is_damaged:
            self._make()
        elif found != self._file:  # Another viewer has made it anew.
            self._use(found)
        with self._using("BEGIN IMMEDIATE") as connection:
            if not _fits(connection, ledger):
                _clear(connection)
            yield connection

    @contextmanager
    def _using(self, begin: str) -> Iterator[sqlite3.Connection]:
        file = self._file
        try:
            connection = self._idle.get_nowait()
        except Empty:
            connection = self._connect(self.path)
        try:
            connection.execute(begin)
            yield connection
            connection.execute("COMMIT")
        except BaseException as error:
            connection.close()  # Rolls back, whatever it has come to.
            # Others, such as a full disk, are kinds of it; this is what can't be read.
            self._is_damaged |= type(error) is sqlite3.DatabaseError
            raise
        if file == self._file:
            self._idle.put(connection)
        else:
            connection.close()

    def fits(self, ledger: Ledger) -> bool:
        """Whether the ledger still holds what the index was made of."""
        with self.reading() as connection:
            return _fits(connection, ledger)

    def close(self) -> None:
        """Close the connections that nobody uses."""
        with suppress(Empty):
            while True:
                self._idle.get_nowait().close()


def _fits(connection: sqlite3.Connection, ledger: Ledger) -> bool:
    entry, leaf, _ = connection.execute("SELECT * FROM cursor").fetchone()
    found = ledger.entry(entry) if entry else None
    return not entry or (found is not None and found.leaf == leaf)


def _clear(connection: sqlite3.Connection) -> None:
    """Take everything out."""
    tables = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT NULL "
        "AND name <> 'cursor' AND name NOT LIKE 'word%'"
    ).fetchall()
    for (table,) in tables:
        connection.execute(f"DELETE FROM {table}")
    connection.execute("INSERT INTO word(word) VALUES ('delete-all')")
    connection.execute("UPDATE cursor SET entry = 0, leaf = x'', damaged = 0")
