"""Rows that somebody puts into the log's tables are named, and keep no entry out of the log."""

# ruff: noqa: S608 - our own tables

import logging
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

import verifier_ladder as vl
from verifier_ladder.ledger.offline import Checkpoint, Frontier
from verifier_ladder.ledger.records import Block
from verifier_ladder.ledger.rows import Draft, write
from verifier_ladder.ledger.signer import Signer
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.testing.records import CAMPAIGN, score_block

SIZE = 257
"""Entries that are signed for: a full tile, and one."""
LARGEST = 2**63 - 1
STRAYS = {
    "a place behind the end": ("leaf", f"({SIZE}, 999999)", f"before place {SIZE}|{SIZE + 1} ent"),
    "a place far behind the end": ("leaf", "(100000, 999999)", "place 100000"),
    "the largest place and entry": ("leaf", f"({LARGEST}, {LARGEST})", f"place {LARGEST}"),
    "a place before the beginning": ("leaf", "(-1, 999999)", "leaf, place -1"),
    "the smallest place and entry": ("leaf", f"(-{LARGEST}, -{LARGEST})", f"place -{LARGEST}"),
    "a place that an entry waits for": ("leaf", f"({SIZE}, {{waiting}})", "signed for"),
    "another place for an entry that waits": ("leaf", "(7000000, {waiting})", "place 7000000"),
    "one before the beginning for it": ("leaf", "(-9, {waiting})", "leaf, place -9"),
    "a tile to come": ("tile", "(0, 1, {bytes})", "tile, level 0, number 1"),
    "a tile above it": ("tile", "(1, 0, {bytes})", "tile, level 1, number 0"),
    "a checkpoint to come": ("checkpoint", f"({SIZE + 1}, 'x', {{bytes}})", "checkpoint 258"),
    "the largest checkpoint": ("checkpoint", f"({LARGEST}, 'x', {{bytes}})", "checkpoint 9223"),
    "a negative checkpoint": ("checkpoint", "(-3, 'x', {bytes})", "checkpoint -3"),
    "one of nobody's": ("checkpoint", "(5000, '{forged}', {frontier})", "checkpoint 5000"),
    "a key that is none": ("signer", "(9, 'x', 'no key')", "no key"),
    "an earlier name": ("signer", "(-9, 'mine', '{stranger}')", "has signed nothing"),
}  # fmt: skip


def opened(place: str) -> SqlLedger:
    ledger = vl.open_ledger(place)
    assert isinstance(ledger, SqlLedger)
    return ledger


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A ledger whose log has a full tile, and an entry that waits."""
    url = str(tmp_path / "ledger.db")
    if request.param == "postgresql":
        url = str(request.getfixturevalue("postgresql"))
    with opened(url) as ledger:
        with ledger._writing() as connection:
            for number in range(SIZE):
                write(connection, Draft(Block("retry", CAMPAIGN, facts={"n": number})))
        while ledger.sequence():
            pass
        ledger.append(score_block(["waits"], step=1))
        ledger._has_written = False
    return url


@pytest.fixture
def by_force(place: str) -> Callable[[str], None]:
    """Runs a statement that no guard and no reference refuses."""

    def run(statement: str) -> None:
        if place.startswith("postgresql"):
            url = place.replace("+psycopg", "")
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("SET session_replication_role = replica")
                connection.execute(statement.encode())
            return
        with closing(sqlite3.connect(place)) as file, file:
            file.execute("PRAGMA foreign_keys = OFF")
            file.execute(statement)

    return run


@pytest.mark.parametrize("name", STRAYS)
def test_a_stray_row_is_named_and_signing_goes_on(
    name: str, place: str, by_force: Callable[[str], None], tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    table, values, named = STRAYS[name]
    stranger = Signer.at(tmp_path / "stranger.key", "stranger")
    with opened(place) as ledger:
        origin, waiting = ledger.origin(), ledger.newest()
        honest = ledger.signers()
    frontier = Frontier(5000, tuple(bytes([n]) * 32 for n in range((5000).bit_count())))
    is_file = not place.startswith("postgresql")
    by_force(
        f"INSERT INTO {table} VALUES "
        + values.format(
            waiting=waiting,
            bytes="x'00'" if is_file else "'\\x00'",
            forged=stranger.sign(Checkpoint(origin, 5000, frontier.root())),
            frontier=("x'{}'" if is_file else "'\\x{}'").format(b"".join(frontier.roots).hex()),
            stranger=stranger.key,
        )
    )

    with opened(place) as ledger:
        problems = ledger.verify().problems
        with caplog.at_level(logging.WARNING):
            ledger.append(score_block(["later"], step=2))
            while ledger.sequence():
                pass
        found = ledger.verify()
        assert not ledger.pending()
        assert len(list(ledger.entries())) == len(list(ledger.leaves()))
        assert ledger.signers()[:1] == honest if table != "signer" else True
        removed = [entry for entry in ledger.entries() if entry.kind == "restore"]

    assert any(re.search(named, problem) for problem in problems), problems
    if table == "signer":  # It keeps nothing out, so it stays, and goes on to be named.
        assert any(re.search(named, problem) for problem in found.problems)
    else:
        assert [] == found.problems
        assert 1 == len(removed)
        assert "nobody has signed for were removed" in caplog.text


@pytest.mark.parametrize(
    "row", ["leaf VALUES (0, 999999)", "leaf VALUES (5, 1)", "checkpoint VALUES (3, 'x', x'00')"]
)
def test_a_stray_row_keeps_no_new_log_from_beginning(tmp_path: Path, row: str) -> None:
    path = tmp_path / "ledger.db"
    opened(str(path)).close()
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("PRAGMA foreign_keys = OFF")
        file.execute(f"INSERT INTO {row}")

    with opened(str(path)) as ledger:
        ledger.append(score_block(["a"]))
        while ledger.sequence():
            pass
        found = ledger.verify()
        assert ([], 2, 0) == (found.problems, found.entries, found.pending)
