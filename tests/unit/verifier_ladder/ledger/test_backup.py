"""Backups are whole, are never written over anything, and come back."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from verifier_ladder.errors import ConfigError, LedgerError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.backup import backup, restore
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.testing.records import key, score_block


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.append(score_block(["a"]))
    return tmp_path / "ledger.db"


def entries(path: Path) -> int:
    with open_ledger(path) as ledger:
        return ledger.newest()


def test_a_backup_is_taken_while_others_write(path: Path, tmp_path: Path) -> None:
    with open_ledger(path) as ledger:
        ledger.append(score_block(["b"]))
        backup(path, tmp_path / "copy.db")
        ledger.append(score_block(["c"]))

    assert (2, 3) == (entries(tmp_path / "copy.db"), entries(path))


def test_the_key_stays_with_its_ledger(path: Path, tmp_path: Path) -> None:
    backup(path, tmp_path / "copy.db")

    assert not (tmp_path / "copy.db.key").exists()


def test_nothing_is_written_over(path: Path, tmp_path: Path) -> None:
    (tmp_path / "copy.db").touch()

    with pytest.raises(ConfigError, match="exists already"):
        backup(path, tmp_path / "copy.db")


def test_a_place_that_cannot_be_written_says_so(path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be written"):
        backup(path, path / "copy.db")


@pytest.mark.parametrize("name", ["nothing.db", "empty.db"])
def test_what_is_no_ledger_is_not_copied(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty.db").touch()

    with pytest.raises(ConfigError, match="there is no ledger"):
        backup(tmp_path / name, tmp_path / "copy.db")
    with pytest.raises(ConfigError, match="there is no ledger"):
        restore(tmp_path / name, tmp_path / "ledger.db")


def test_a_backup_comes_back_and_what_stood_there_stays(path: Path, tmp_path: Path) -> None:
    backup(path, tmp_path / "copy.db")
    with open_ledger(path) as ledger:
        ledger.append(score_block(["b"]))

    aside = restore(tmp_path / "copy.db", path)

    assert tmp_path / "ledger.db.before-restore-1" == aside
    assert (1, 2) == (entries(path), entries(aside))
    with open_ledger(path) as ledger:
        assert [key("check a")] == list(ledger.verdicts([key("check a"), key("check b")]))


def test_a_backup_comes_to_a_new_place(path: Path, tmp_path: Path) -> None:
    backup(path, tmp_path / "copy.db")

    assert restore(tmp_path / "copy.db", tmp_path / "new.db") is None
    assert 1 == entries(tmp_path / "new.db")


def test_a_ledger_in_use_is_not_replaced(path: Path, tmp_path: Path) -> None:
    backup(path, tmp_path / "copy.db")

    with open_ledger(path), pytest.raises(ConfigError, match="is in use"):
        restore(tmp_path / "copy.db", path)
    assert 1 == entries(path)


def test_a_damaged_backup_is_refused(path: Path, tmp_path: Path) -> None:
    copy = backup(path, tmp_path / "copy.db")
    body = bytearray(copy.read_bytes())
    body[8192:] = b"\xff" * (len(body) - 8192)
    copy.write_bytes(body)

    with pytest.raises(LedgerError, match=r"damaged|malformed"):
        restore(copy, path)
    assert 1 == entries(path)


def test_a_restored_ledger_goes_on_and_a_later_checkpoint_tells(
    path: Path, tmp_path: Path
) -> None:
    backup(path, tmp_path / "copy.db")
    with open_ledger(path) as ledger:
        ledger.append(score_block(["b"]))
        ledger.sequence()
        saved = ledger.checkpoint()
    restore(tmp_path / "copy.db", path)

    with open_ledger(path) as ledger:
        assert isinstance(ledger, SqlLedger)
        ledger.append(score_block(["c"]))
        with pytest.raises(LedgerError, match="accept-restore"):
            ledger.sequence()
        assert any("noted here" in told for told in ledger.verify().problems)
        accepted = ledger.accept_restore()
        assert accepted is not None
        assert (2, 1) == (accepted.noted and accepted.noted.last.size, accepted.tree.size)
        assert accepted.as_json() == ledger.read(list(ledger.entries())[-1]).facts
        assert ledger.verify().is_intact
        assert ledger.accept_restore() is None
        assert "rewritten" in ledger.verify(saved=saved).problems[0]


def test_a_backup_is_a_plain_file(path: Path, tmp_path: Path) -> None:
    backup(path, tmp_path / "copy.db")

    with closing(sqlite3.connect(tmp_path / "copy.db")) as connection:
        assert [("ok",)] == connection.execute("PRAGMA integrity_check").fetchall()
    assert not list(tmp_path.glob("*.part"))
