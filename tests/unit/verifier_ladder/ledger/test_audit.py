"""Tampering behind the guards is found, wherever it is done and however."""

# ruff: noqa: S608 - the names are those of our own tables

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.encoding import encode, leaf
from verifier_ladder.ledger.offline import Key
from verifier_ladder.ledger.records import Block
from verifier_ladder.ledger.rows import Draft, write
from verifier_ladder.ledger.schema import metadata
from verifier_ladder.ledger.signer import Signer
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.ledger.verification import Verification
from verifier_ladder.testing.records import CAMPAIGN, key, score_block, verdict_row
from verifier_ladder.verdict import Verdict

MOVING = {
    "check_queue", "asked", "request", "account", "spend", "pause", "rate", "inbox", "reply",
    "artifact", "artifact_chunk",  # May be erased; see tests/acceptance/test_artifacts.py.
}  # fmt: skip
"""Tables that change all the time; a verification says that it does not compare them."""
NAMES_ONLY = {
    "alias.id", "campaign.id", "run.id", "signer.id", "verdict.id", "verifier_source.id",
    "appearance_until.entry_id",
}  # fmt: skip
"""Numbers of rows, of which only the order is told to anybody; see the integration tests."""
COLUMNS = {
    name: [
        column.name for column in table.columns if f"{name}.{column.name}" not in NAMES_ONLY
    ]
    for name, table in metadata.tables.items() if name not in MOVING
}  # fmt: skip
"""What a verification covers: whatever the schema has, so that a new table is covered or named."""
ENTRIES = 270
PLACES = [(table, column) for table, columns in COLUMNS.items() for column in columns]
STATE = ("", ".key", ".key.signed")
"""Endings of the files that make a ledger with its key."""


def opened(path: Path) -> SqlLedger:
    ledger = open_ledger(path)
    assert isinstance(ledger, SqlLedger)
    return ledger


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with something in every table, two checkpoints and a full tile."""
    path = tmp_path_factory.mktemp("honest") / "ledger.db"
    with opened(path) as ledger:
        ledger.open_campaign(CAMPAIGN, {"name": "ladder"}, key("ladder"))
        ledger.add_run(CAMPAIGN, {"name": "run"})
        ledger.append(score_block(["a", "b", "c"]))
        detailed = Verdict.accept(0.5, feedback="why")
        ledger.append(Block("review", CAMPAIGN, (), [verdict_row("a", detailed)]))
        ledger.sequence()
        with ledger._writing() as connection:
            for number in range(ENTRIES - 5):
                write(connection, Draft(Block("retry", CAMPAIGN, facts={"n": number})))
        ledger.note_verifier("length", "1", "aa")
        ledger.mentions(key("a"))
    return path


@contextmanager
def tampered(honest: Path, folder: Path) -> Iterator[tuple[Path, sqlite3.Connection]]:
    """A copy, open for writing behind the guards' back; they are there again afterwards."""
    path = folder / "copy.db"
    for ending in STATE:
        shutil.copy(f"{honest}{ending}", f"{path}{ending}")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        guards = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall()
        for name, _ in guards:
            connection.execute(f"DROP TRIGGER {name}")
        yield path, connection
        for _, sql in guards:
            connection.execute(sql)
        connection.execute("COMMIT")


def verified(path: Path, **options: Any) -> Verification:
    with opened(path) as ledger:
        return ledger.verify(**options)


def changed(value: Any, data: st.DataObject) -> Any:
    """Another value of the same kind."""
    if value is None or value == "":
        return data.draw(st.sampled_from([1, b"x", "x"]))
    if isinstance(value, (int, float)):
        return value + data.draw(st.sampled_from([-1, 1, 7]))
    if data.draw(st.integers(0, 5)) == 0:  # Of another type.
        return value.hex() if isinstance(value, bytes) else value.encode()
    place = data.draw(st.integers(0, len(value) - 1))
    if isinstance(value, bytes):
        bit = 1 << data.draw(st.integers(0, 7))
        return value[:place] + bytes([value[place] ^ bit]) + value[place + 1 :]
    other = "x" if value[place] != "x" else "y"
    return value[:place] + other + value[place + 1 :]


def test_an_honest_ledger_is_intact(honest: Path) -> None:
    found = verified(honest)

    assert [] == found.problems
    assert (ENTRIES, 2, 0) == (found.entries, found.checkpoints, found.pending)
    # verdicts, aliases, span, campaign, run; verifier, canonicaliser, source, appearances; counts
    assert found.records == 4 + 3 + 1 + 1 + 1 + 1 + 1 + 1 + 4 + 1 + 2
    assert found.as_json()["is_intact"]


@pytest.mark.parametrize(("table", "column"), PLACES)
@given(data=st.data())
@settings(max_examples=5)
def test_a_changed_value_is_found(
    data: st.DataObject, table: str, column: str, honest: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    with tampered(honest, tmp_path_factory.getbasetemp()) as (path, connection):
        rows = connection.execute(f"SELECT * FROM {table} LIMIT 8").fetchall()
        row = data.draw(st.integers(0, len(rows) - 1))
        names = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
        known = rows[row][names.index(column)]
        where = " AND ".join(f"{name} IS ?" for name in names)
        try:
            done = connection.execute(
                f"UPDATE {table} SET {column} = ? WHERE {where}",
                (changed(known, data), *rows[row]),
            )
        except sqlite3.IntegrityError:
            reject()
        assert done.rowcount == 1

    assert not verified(path).is_intact


@pytest.mark.parametrize("note", [b"bytes", 7, "", "text", "a\nb\nc\n\nd\n"])
def test_a_checkpoint_that_cannot_be_read_is_told(note: Any, honest: Path, tmp_path: Path) -> None:
    with tampered(honest, tmp_path) as (path, connection):
        connection.execute("UPDATE checkpoint SET note = ?", (note,))

    assert any("checkpoint" in str(problem) for problem in verified(path).problems)
    json.dumps(verified(path).as_json())
    with opened(path) as ledger, pytest.raises(LedgerError, match="changed this ledger"):
        ledger.size()


@pytest.mark.parametrize("table", COLUMNS)
def test_a_row_that_was_taken_out_is_found(table: str, honest: Path, tmp_path: Path) -> None:
    with tampered(honest, tmp_path) as (path, connection):
        first = {"leaf": "idx = 5", "entry": "id = 5", "checkpoint": f"size = {ENTRIES}"}.get(
            table, "1"
        )
        connection.execute(f"DELETE FROM {table} WHERE {first}")

    assert not verified(path).is_intact


def test_an_older_checkpoint_is_not_missed(honest: Path, tmp_path: Path) -> None:
    """The newer one covers all that it covered."""
    with tampered(honest, tmp_path) as (path, connection):
        connection.execute("DELETE FROM checkpoint WHERE size = 4")

    assert verified(path).is_intact


@pytest.mark.parametrize("table", ["verdict", "alias", "span", "tile", "entry"])
def test_a_row_that_was_put_in_is_found(table: str, honest: Path, tmp_path: Path) -> None:
    with tampered(honest, tmp_path) as (path, connection):
        columns = [name for name in COLUMNS[table] if name != "id"]
        new = {"check_key": "x'aa'", "raw_key": "x'aa'", "first": "7", "idx": "1"}
        values = ", ".join(new.get(name, name) for name in columns)
        connection.execute(
            f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM {table} LIMIT 1"
        )

    assert not verified(path).is_intact


def test_an_entry_that_was_replaced_with_its_hash_is_found(honest: Path, tmp_path: Path) -> None:
    body = encode(score_block(["b", "a", "c"]), 1.0)
    with tampered(honest, tmp_path) as (path, connection):
        connection.execute("UPDATE entry SET body = ?, leaf = ? WHERE id = 3", (body, leaf(body)))

    assert any("not those signed for" in problem for problem in verified(path).problems)


def test_entries_in_another_order_are_found(honest: Path, tmp_path: Path) -> None:
    with tampered(honest, tmp_path) as (path, connection):
        connection.execute("UPDATE leaf SET entry_id = -1 WHERE idx = 10")
        connection.execute("UPDATE leaf SET entry_id = 11 WHERE idx = 11")
        connection.execute("UPDATE leaf SET entry_id = 12 WHERE idx = 10")

    assert not verified(path).is_intact


def cut_off(connection: sqlite3.Connection, size: int) -> None:
    """Take the end of a log away, with everything that tells of it."""
    for statement in (
        f"DELETE FROM verifier_source WHERE {size} < 270", "DELETE FROM appearance",
        "DELETE FROM appearance_until",
        f"DELETE FROM entry WHERE id IN (SELECT entry_id FROM leaf WHERE idx >= {size})",
        f"DELETE FROM leaf WHERE idx >= {size}",
        f"DELETE FROM checkpoint WHERE size > {size}",
        f"DELETE FROM tile WHERE (idx + 1) * 256 > {size}",
    ):  # fmt: skip
        connection.execute(statement)


def test_a_dropped_tail_is_found_with_a_saved_checkpoint(honest: Path, tmp_path: Path) -> None:
    with opened(honest) as ledger:
        saved = ledger.checkpoint()
    with tampered(honest, tmp_path) as (path, connection):
        cut_off(connection, 4)

    for file in ("copy.db.key", "copy.db.key.signed"):
        (tmp_path / file).unlink()
    assert verified(path).is_intact  # Nothing that is left tells of it.
    assert ["cut off" in problem for problem in verified(path, saved=saved).problems] == [True]


def test_a_dropped_tail_is_found_where_the_key_is(honest: Path, tmp_path: Path) -> None:
    with tampered(honest, tmp_path) as (path, connection):
        cut_off(connection, 4)

    assert any("noted here" in problem for problem in verified(path).problems)


@pytest.mark.parametrize("left", [5, 100, ENTRIES - 1])
def test_a_tail_dropped_between_checkpoints_is_found(
    left: int, honest: Path, tmp_path: Path
) -> None:
    with tampered(honest, tmp_path) as (path, connection):
        cut_off(connection, left)

    assert not verified(path).is_intact


def test_a_fork_is_found_with_a_saved_checkpoint(honest: Path, tmp_path: Path) -> None:
    """Even the holder of the key can't go back behind a checkpoint that others have."""
    with opened(honest) as ledger:
        saved = ledger.checkpoint()
    with tampered(honest, tmp_path) as (path, connection):
        cut_off(connection, 4)
    (tmp_path / "copy.db.key.signed").unlink()
    with opened(path) as ledger:
        for number in range(ENTRIES):
            ledger.append(Block("retry", CAMPAIGN, facts={"n": -number}))
        with pytest.raises(LedgerError, match="accept-restore"):
            ledger.sequence()
        assert ledger.accept_restore() is not None

        assert ledger.verify().is_intact
        (problem,) = ledger.verify(saved=saved).problems
    assert "the history was rewritten" in problem


def test_a_saved_checkpoint_of_the_past_still_holds(honest: Path) -> None:
    with opened(honest) as ledger:
        saved = ledger.checkpoint(4)
    assert saved is not None

    assert verified(honest, saved=saved).is_intact


def test_a_checkpoint_of_another_ledger_is_refused(honest: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "other.db") as ledger:
        ledger.append(score_block(["a"]))
        ledger.sequence()
        other = ledger.checkpoint()

    (problem,) = verified(honest, saved=other).problems
    assert "the saved checkpoint is of verifier-ladder/other.db" in problem


def test_another_signer_is_found(honest: Path, tmp_path: Path) -> None:
    stranger: Key = Signer.at(tmp_path / "key", "stranger").key

    assert any("not signed by" in problem for problem in verified(honest, key=stranger).problems)


def test_indexes_may_be_left_out(honest: Path, tmp_path: Path) -> None:
    with tampered(honest, tmp_path) as (path, connection):
        connection.execute("DELETE FROM verdict")

    assert verified(path, index=False).is_intact


def test_an_entry_that_waits_is_compared_too(honest: Path, tmp_path: Path) -> None:
    with opened(honest.parent / "ledger.db") as ledger:
        assert not ledger.pending()
    with tampered(honest, tmp_path) as (path, connection):
        connection.execute(
            "INSERT INTO entry (id, kind, campaign, recorded_at, leaf, body) "
            "VALUES (999, 'belief', 'c', 1.0, x'00', x'7b7d')"
        )

    found = verified(path)
    assert (1, ["entry 999 was changed: its bytes have another hash"]) == (
        found.pending, found.problems[:1]
    )  # fmt: skip


def test_many_problems_are_counted(honest: Path, tmp_path: Path) -> None:
    with tampered(honest, tmp_path) as (path, connection):
        connection.execute("UPDATE entry SET leaf = zeroblob(32)")

    found = verified(path)
    assert 50 == len(found.problems)
    assert found.more > 200
