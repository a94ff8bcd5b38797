"""The SQLite file: guards, faults, threads, forks."""

# ruff: noqa: S608 - the names are those of our own tables

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from verifier_ladder.cost import Cost
from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger import open_ledger, sqlite
from verifier_ladder.ledger.records import Block, Charged
from verifier_ladder.ledger.schema import HISTORY
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.ledger.store import keys_json, prefix, prefixes
from verifier_ladder.testing.records import (
    CAMPAIGN,
    NOW,
    candidate_row,
    check_row,
    claim,
    enqueue,
    key,
    request,
    score_block,
    verdict_row,
)
from verifier_ladder.verdict import Verdict


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqlLedger]:
    with open_ledger(tmp_path / "ledger.db") as opened:
        assert isinstance(opened, SqlLedger)
        yield opened


def path_of(ledger: SqlLedger) -> Path:
    return Path(ledger.url.removeprefix("sqlite:///"))


@pytest.fixture
def full(ledger: SqlLedger) -> SqlLedger:
    """A ledger with a row in every table of its history."""
    ledger.open_campaign(CAMPAIGN, {}, key("ladder"))
    ledger.add_run(CAMPAIGN, {"name": "run"})
    ledger.note_verifier("v", "1", "aa")
    ledger.append(score_block(["a", "b"]))
    ledger.mentions(key("a"))
    enqueue(ledger, check_row("q"))
    ledger.wait(claim(ledger), deadline=None, now=NOW)
    ledger.answer(key("check q"), Verdict.accept(1.0), source="lab", event="1", now=NOW)
    ledger.sequence()
    with ledger._writing() as connection:
        connection.exec_driver_sql("INSERT INTO tile (level, idx, hashes) VALUES (0, 0, x'00')")
    return ledger


@pytest.mark.parametrize("table", HISTORY)
@pytest.mark.parametrize("verb", ["UPDATE", "DELETE", "REPLACE"])
def test_history_can_neither_be_changed_nor_deleted(
    full: SqlLedger, table: str, verb: str
) -> None:
    column = {"span": "step", "appearance": "place", "inbox": "event"}.get(table, "rowid")
    statement = {
        "UPDATE": f"UPDATE {table} SET {column} = {column}",
        "DELETE": f"DELETE FROM {table}",
        "REPLACE": f"REPLACE INTO {table} SELECT * FROM {table}",
    }[verb]  # fmt: skip
    with pytest.raises(LedgerError, match="append a correction"), full._writing() as connection:
        connection.exec_driver_sql(statement)


def test_the_guards_hold_for_other_programs_too(full: SqlLedger) -> None:
    append_only = pytest.raises(sqlite3.IntegrityError, match="append-only")
    with closing(sqlite3.connect(path_of(full))) as other, append_only:
        other.execute("DELETE FROM entry")


@pytest.mark.parametrize(
    ("setting", "value"),
    [("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1), ("recursive_triggers", 1)],
)
def test_every_connection_is_set_up(ledger: SqlLedger, setting: str, value: object) -> None:
    with ledger._reading() as connection:
        assert connection.exec_driver_sql(f"PRAGMA {setting}").scalar_one() == value


def test_a_full_disk_leaves_nothing_half_written(ledger: SqlLedger) -> None:
    ledger.append(score_block(["a"]))
    with ledger._writing() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 5}")
    before = ledger.newest()
    words = [f"w{i}" for i in range(2000)]
    with pytest.raises(LedgerError, match="disk is full; nothing of this call was written"):
        ledger.append(
            score_block(words),
            enqueue=[(check_row("q"), [request("q")])],
            charges={Charged(0): (Cost(1.0), 1)},
        )
    assert ledger.newest() == before
    assert ledger.verdicts([key(f"check {word}") for word in words]) == {}
    assert (ledger.checks(), ledger.accounts(CAMPAIGN)) == ([], [])
    with ledger._writing() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
    assert ledger.append(score_block(words)) == before + 1


def test_a_ledger_that_stays_locked_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pragmas = tuple(p if "busy" not in p else "busy_timeout = 20" for p in sqlite.PRAGMAS)
    monkeypatch.setattr(sqlite, "PRAGMAS", pragmas)
    with (
        open_ledger(tmp_path / "l.db") as ledger,
        closing(sqlite3.connect(tmp_path / "l.db")) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="busy for too long"):
            ledger.append(score_block(["a"]))
        assert ledger.newest() == 0
        other.rollback()
        assert ledger.append(score_block(["a"])) == 1


def test_readers_do_not_wait_for_a_writer(ledger: SqlLedger) -> None:
    ledger.append(score_block(["a"]))
    with closing(sqlite3.connect(path_of(ledger))) as other:
        other.execute("BEGIN IMMEDIATE")
        assert len(ledger.verdicts([key("check a")])) == 1
        other.rollback()


def test_two_ledgers_on_one_file_see_each_other(ledger: SqlLedger) -> None:
    with open_ledger(path_of(ledger)) as other:
        other.append(score_block(["a"]))
        assert len(ledger.verdicts([key("check a")])) == 1


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_forked_process_must_open_it_again(ledger: SqlLedger) -> None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            ledger.newest()
        except LedgerError as error:
            os.write(write, str(error).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert b"forked" in os.read(read, 1000)
    assert ledger.append(score_block(["a"])) == 1


def test_what_sqlite_cannot_hold_is_refused_whole(ledger: SqlLedger) -> None:
    block = score_block(["a"], step=2**70)
    with pytest.raises(LedgerError):
        ledger.append(block)
    assert ledger.newest() == 0


def test_keys_with_the_same_beginning_are_kept_apart(ledger: SqlLedger) -> None:
    twins = [key("x")[:6] + bytes([n]) * 26 for n in range(3)]
    rows = [
        verdict_row("a", Verdict.accept(float(n)), check_key=twin) for n, twin in enumerate(twins)
    ]
    candidates = [
        candidate_row("a", raw_key=twin, content_key=twin, content=str(n))
        for n, twin in enumerate(twins)
    ]
    ledger.append(Block("score", CAMPAIGN, candidates[:2], rows[:2]))
    found = ledger.verdicts(twins)
    assert [found[twin].score for twin in twins[:2]] == [0.0, 1.0]
    assert twins[2] not in found
    aliases = ledger.aliases(candidates[0].canonicaliser, twins)
    assert {raw: alias.content_key for raw, alias in aliases.items()} == {t: t for t in twins[:2]}
    ledger.append(Block("review", CAMPAIGN, (), rows[2:]))
    assert ledger.verdicts(twins)[twins[0]].score == 0.0
    assert ledger.mentions(twins[2]) == []
    assert [row[2] for row in ledger.find_contents(twins[1].hex())] == ["1"]


@pytest.mark.parametrize("size", [0, 1, 5, 3000])
@pytest.mark.parametrize("odd", [[], [b"short"], [b"\xff" * 31, b"\xff" * 33]], ids=len)
def test_prefixes_are_those_of_the_keys(size: int, odd: list[bytes]) -> None:
    keys = [*odd, *(key(str(n)) for n in range(size))]

    assert prefixes(keys) == list(map(prefix, keys))
    assert {int} >= set(map(type, prefixes(keys)))
    assert orjson.loads(keys_json(set(keys))) == sorted(map(prefix, keys))
