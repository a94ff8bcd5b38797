"""The file of an index: what is derived from a ledger, so that lists need not read all of it.

It lies in the user's cache, holds nothing that the ledger doesn't, and is made anew whenever it
does not fit: another ledger has taken the place, a restored backup has another past, another
version of this program keeps other columns, or the file is damaged. Nothing is proven by it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from queue import Empty, SimpleQueue
from time import time
from typing import Final

from verifier_ladder.analysis import champions, pairtable, spells, standtable
from verifier_ladder.ledger import Ledger
from verifier_ladder.private import cache_folder, make_private

FORMAT: Final = 4
"""Raise it whenever the tables change, or what is written into them."""
_BUSY = 60.0
"""Seconds to wait for another viewer of the same ledger, which fills the same index."""
_KEPT = 30 * 86400.0
"""Seconds after which an index that nobody has filled is removed."""
_SCHEMA = """
CREATE TABLE cursor (entry INTEGER NOT NULL, leaf BLOB NOT NULL, damaged INTEGER NOT NULL);
INSERT INTO cursor VALUES (0, x'', 0);
CREATE TABLE campaign (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, updated_at REAL NOT NULL DEFAULT 0,
    told TEXT NOT NULL DEFAULT '{}'
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
    told TEXT NOT NULL DEFAULT '{}', memory TEXT NOT NULL DEFAULT '[]',
    run INTEGER, first_step INTEGER, step INTEGER, position INTEGER
);
CREATE UNIQUE INDEX candidate_once ON candidate (campaign, content, task);
CREATE INDEX candidate_newest ON candidate (campaign, id);
CREATE INDEX candidate_standing ON candidate (campaign, standing, reached);
CREATE INDEX candidate_reward ON candidate (campaign, reward, id) WHERE reward IS NOT NULL;
CREATE INDEX candidate_known ON candidate (campaign, known, id) WHERE known IS NOT NULL;
CREATE INDEX candidate_truth ON candidate (campaign, truth, id) WHERE truth IS NOT NULL;
CREATE INDEX candidate_gap ON candidate (campaign, gap, id) WHERE gap IS NOT NULL;
CREATE INDEX candidate_samples ON candidate (campaign, samples, id);
CREATE TABLE mention (
    candidate INTEGER NOT NULL, revises INTEGER NOT NULL, entry INTEGER NOT NULL,
    PRIMARY KEY (candidate, revises, entry)
) WITHOUT ROWID;
CREATE TABLE sample (
    run INTEGER NOT NULL, step INTEGER NOT NULL, position INTEGER NOT NULL,
    candidate INTEGER NOT NULL, party TEXT NOT NULL, reward REAL, waits INTEGER NOT NULL,
    rejected INTEGER NOT NULL, truth REAL, weight REAL NOT NULL,
    PRIMARY KEY (run, step, position)
) WITHOUT ROWID;
CREATE TABLE step (
    run INTEGER NOT NULL, step INTEGER NOT NULL, samples REAL NOT NULL DEFAULT 0,
    rewarded REAL NOT NULL DEFAULT 0, told REAL NOT NULL DEFAULT 0,
    waiting REAL NOT NULL DEFAULT 0, rejected REAL NOT NULL DEFAULT 0,
    rejected_told REAL NOT NULL DEFAULT 0, audited REAL NOT NULL DEFAULT 0,
    weight REAL NOT NULL DEFAULT 0, truth REAL NOT NULL DEFAULT 0,
    PRIMARY KEY (run, step)
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
CREATE TABLE alarm (campaign INTEGER NOT NULL, entry INTEGER NOT NULL, facts TEXT NOT NULL,
    PRIMARY KEY (campaign, entry));
CREATE TABLE prompt (run INTEGER NOT NULL, party TEXT NOT NULL, entry INTEGER NOT NULL,
    PRIMARY KEY (run, party)) WITHOUT ROWID;
"""
_BESIDE = (champions.SCHEMA, pairtable.SCHEMA, spells.SCHEMA, standtable.SCHEMA)
_TABLES = (
    "campaign", "run", "content", "judged", "candidate", "mention", "sample", "step", "total",
    "reason", "alarm", "prompt",
    *champions.TABLES, *pairtable.TABLES, *spells.TABLES, *standtable.TABLES,
)  # fmt: skip


def index_file(url: str) -> Path:
    """Where the index of a ledger lies, by its address; indexes long unused are removed.

    Raises:
        ConfigError: If somebody else could read what lies there.
    """
    folder = cache_folder()
    for path in folder.glob("*.index*"):
        with suppress(OSError):  # Another viewer may do the same.
            if path.stat().st_mtime < time() - _KEPT:
                path.unlink()
    return folder / f"{sha256(url.encode('utf-8', 'replace')).hexdigest()[:24]}.index"


class IndexFile:
    """The connections of an index; several processes may use one file.

    **Threads** may share it.
    """

    def __init__(self, path: Path) -> None:
        """Open an index, or make an empty one where there is none that can be used."""
        self.path = path
        self._idle: SimpleQueue[sqlite3.Connection] = SimpleQueue()
        if not self._is_usable():
            self._make()

    def _is_usable(self) -> bool:
        if not self.path.exists():
            return False
        try:
            with self.reading() as connection:
                (found,) = connection.execute("PRAGMA user_version").fetchone()
                connection.execute("SELECT entry FROM cursor").fetchone()
        except sqlite3.DatabaseError:
            return False
        return bool(found == FORMAT)

    def _make(self) -> None:
        """Put an empty index in the place of what is there; others who have that open keep it."""
        self.close()
        for ending in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
        make_private(self.path)
        connection = self._connect()
        connection.execute("PRAGMA journal_mode = WAL")
        schema = " ".join((_SCHEMA, *_BESIDE))
        connection.executescript(f"BEGIN; {schema} PRAGMA user_version = {FORMAT}; COMMIT;")
        self._idle.put(connection)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=_BUSY, isolation_level=None, check_same_thread=False,
            cached_statements=256,
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
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give a connection inside one transaction; one viewer at a time gets one."""
        with self._using("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def _using(self, begin: str) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._idle.get_nowait()
        except Empty:
            connection = self._connect()
        try:
            connection.execute(begin)
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            connection.close()  # Rolls back, whatever it has come to.
            raise
        self._idle.put(connection)

    def fits(self, ledger: Ledger) -> bool:
        """Whether the ledger still holds what the index was made of."""
        with self.reading() as connection:
            entry, leaf, _ = connection.execute("SELECT * FROM cursor").fetchone()
        found = ledger.entry(entry) if entry else None
        return not entry or (found is not None and found.leaf == leaf)

    def clear(self) -> None:
        """Take everything out, for it is of another ledger."""
        with self.writing() as connection:
            for table in _TABLES:
                connection.execute(f"DELETE FROM {table}")
            connection.execute("INSERT INTO word(word) VALUES ('delete-all')")
            connection.execute("UPDATE cursor SET entry = 0, leaf = x'', damaged = 0")

    def close(self) -> None:
        """Close the connections that nobody uses."""
        with suppress(Empty):
            while True:
                self._idle.get_nowait().close()
