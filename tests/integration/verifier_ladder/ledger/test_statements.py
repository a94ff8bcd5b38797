"""`verify` compares the statements of a ledger file's schema as SQLite reads them."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import verifier_ladder as vl
from verifier_ladder.ledger.opening import open_evidence
from verifier_ladder.ledger.sql import SqlLedger


def problems(path: Path) -> list[str]:
    with open_evidence(path) as ledger:
        assert isinstance(ledger, SqlLedger)
        return ledger.verify().problems


QUOTED = {
    "a cap that is compared with a text": (
        "table account", "<= cap + excess", '<= "cap + excess"'
    ),
    "a guard that only says that it refuses": (
        "trigger verdict_update_refused", "SELECT RAISE(ABORT, '", "SELECT '(ABORT, '' '"
    ),
    "a guard's body as a name": (
        "trigger verdict_update_refused", "RAISE(ABORT", '"RAISE"(ABORT'
    ),
    "another text in a guard": (
        "trigger verdict_update_refused", "never changed", "never  changed"
    ),
    "an index of no rows": (
        "index verdict_supersedes", "supersedes IS NOT NULL", '"supersedes IS NOT NULL"'
    ),
    "a limit that is a text": (
        "table check_queue", "state BETWEEN 0 AND 6", "state BETWEEN 0 AND '6'"
    ),
    "NOT NULL in the name of a type": (
        "table request", "state BLOB NOT NULL", 'state "BLOB NOT NULL"'
    ),
    "NULL as a name": ("index verdict_supersedes", "NOT NULL", 'NOT "NULL"'),
}  # fmt: skip


@pytest.mark.parametrize(("what", "old", "new"), QUOTED.values(), ids=list(QUOTED))
def test_quotes_that_change_what_a_statement_means_are_found(
    what: str, old: str, new: str, path: Path
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("PRAGMA writable_schema = ON")
        changed = file.execute(
            "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = ? AND instr(sql, ?)",
            (old, new, what.split()[1], old),
        )
        assert 1 == changed.rowcount

    try:
        found = problems(path)
    except vl.LedgerError as error:  # SQLite itself can't read such a statement.
        found = [str(error)]

    assert any(re.search(f"{what} was changed|malformed", told) for told in found), found


def test_white_space_and_quotes_around_plain_names_are_no_change(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("PRAGMA writable_schema = ON")
        file.execute(
            "UPDATE sqlite_master SET sql = replace(replace(sql, ' ON ', '\n\tON '), "
            "'(entry_id', '(\"entry_id\"') WHERE type = 'index'"
        )

    assert [] == problems(path)


def test_a_file_that_was_rebuilt_in_another_encoding_is_told_as_that(path: Path) -> None:
    rebuilt = path.with_name("rebuilt.db")
    with closing(sqlite3.connect(path)) as old, closing(sqlite3.connect(rebuilt)) as new:
        new.execute("PRAGMA encoding = 'UTF-16le'")
        new.executescript("\n".join(old.iterdump()))
    rebuilt.replace(path)

    for look in (open_evidence, vl.open_ledger):
        with pytest.raises(vl.LedgerError, match="keeps text as UTF-16le"):
            look(path)
