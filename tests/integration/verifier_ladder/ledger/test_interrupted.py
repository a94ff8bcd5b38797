"""Ctrl-C in the midst of a write, as in a notebook, leaves a ledger that can be written to."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.ledger.sqlite import SqliteDatabase


def write_everywhere(ledger: Ledger, path: Path) -> None:
    """Write in this thread, in another one, and over another connection."""
    ledger.append(Block("after", "c"))
    with ThreadPoolExecutor(1) as pool:
        pool.submit(ledger.append, Block("after", "c")).result(300)
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")


def test_an_interruption_of_a_commit_leaves_no_transaction(tmp_path: Path) -> None:
    path, errors = tmp_path / "ledger.db", [KeyboardInterrupt()]
    with open_ledger(path) as ledger:
        database: Any = ledger._database  # type: ignore[attr-defined]

        def interrupt(_: object) -> None:
            if errors:
                raise errors.pop()

        event.listen(database.engine, "commit", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ledger.append(Block("before", "c"))

        write_everywhere(ledger, path)
        assert 2 == len(list(ledger.entries(campaign="c")))


def test_an_interruption_as_a_transaction_begins_leaves_none(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with open_ledger(path) as ledger:
        database: SqliteDatabase = ledger._database  # type: ignore[attr-defined]
        left: Any = database.writing()
        next(left.gen)  # As far as `with` gets; a traceback keeps it alive.

        write_everywhere(ledger, path)
        left.gen.close()
        write_everywhere(ledger, path)
