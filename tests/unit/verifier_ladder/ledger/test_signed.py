"""Nothing is signed that does not go on behind what was signed, wherever the ledger lies."""

# ruff: noqa: S608 - our own tables

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.counting import ALL_STEPS, StepCount
from verifier_ladder.ledger.log import NotSignedError, SqlLog
from verifier_ladder.ledger.signed import Signed, SignedFile, Tree
from verifier_ladder.ledger.signer import key_place
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.testing.records import score_block

ENDINGS = ("", ".key", ".key.signed")


def opened(path: Path) -> SqlLedger:
    ledger = open_ledger(path)
    assert isinstance(ledger, SqlLedger)
    return ledger


def grow(path: Path, *words: str) -> None:
    """Write an entry for each word, and have each signed."""
    with opened(path) as ledger:
        for step, word in enumerate(words, start=ledger.newest()):
            ledger.append(score_block([word], step=step))
            ledger.sequence()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    grow(tmp_path / "ledger.db", "a", "b", "c")
    return tmp_path / "ledger.db"


def intact(path: Path) -> bool:
    with opened(path) as ledger:
        return ledger.verify().is_intact


SUMS = StepCount._fields[2:]


def added(name: str) -> str:
    """SQL that makes the sum over a run from its steps."""
    return f"{name} = (SELECT ifnull(sum({name}), 0) FROM step_count WHERE step <> {ALL_STEPS})"


def shortened(path: Path, size: int) -> None:
    """Take the end of a log away, with all that tells of it."""
    with closing(sqlite3.connect(path)) as connection:
        guards = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall()
        for name, _ in guards:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in (
            f"DELETE FROM span WHERE entry_id > {size}",
            f"DELETE FROM leaf WHERE entry_id > {size}",
            f"DELETE FROM checkpoint WHERE size > {size}",
            f"DELETE FROM verdict WHERE entry_id > {size}",
            f"DELETE FROM entry WHERE id > {size}",
            f"DELETE FROM alias WHERE id > {size}",
            f"UPDATE verdict_count SET checks = {size}",
            f"DELETE FROM step_count WHERE step >= {size}",
            f"UPDATE step_count SET {', '.join(map(added, SUMS))} WHERE step = {ALL_STEPS}",
        ):
            connection.execute(statement)
        for _, sql in guards:
            connection.execute(sql)
        connection.commit()


def test_a_process_that_dies_between_note_and_commit_harms_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: Any) -> bool:
        raise LedgerError("the machine stops")

    with opened(path) as ledger:
        ledger.append(score_block(["d"], step=8))
        monkeypatch.setattr(SqlLog, "_commit", die)
        with pytest.raises(LedgerError, match="the machine stops"):
            ledger.sequence()
        noted = key_place(ledger.url).signed.read()
        assert noted is not None
        assert (3, 4) == (noted.before.size, noted.last.size)
        assert [] == ledger.verify().problems
    monkeypatch.undo()

    grow(path, "e")
    assert intact(path)


def test_an_entry_that_was_noted_and_taken_away_is_missed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqlLog, "_commit", lambda *_: 1 / 0)
    with opened(path) as ledger:
        ledger.append(score_block(["d"], step=8))
        with pytest.raises(ZeroDivisionError):
            ledger.sequence()
        ledger._has_written = False
    monkeypatch.undo()
    shortened(path, 3)

    with opened(path) as ledger:
        assert any("signed last" in problem for problem in ledger.verify().problems)
        ledger.append(score_block(["other"], step=9))
        with pytest.raises(NotSignedError, match="not those it has signed"):
            ledger.sequence()


@pytest.mark.parametrize("size", [0, 1, 2])
def test_a_shorter_log_is_not_signed_and_scoring_goes_on(
    size: int, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shortened(path, size)

    with opened(path) as ledger:
        ledger.append(score_block(["new"], step=9))
        with pytest.raises(NotSignedError, match=r"3 entries.*accept-restore|not those it has"):
            ledger.sequence()
    assert "entries are not in the signed log yet" in caplog.text
    assert not intact(path)


def test_a_ledger_moves_with_its_key_and_its_note(path: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    for ending in ENDINGS:
        Path(f"{path}{ending}").rename(f"{tmp_path / 'elsewhere' / 'other.db'}{ending}")

    grow(tmp_path / "elsewhere" / "other.db", "d")
    assert intact(tmp_path / "elsewhere" / "other.db")


def test_a_copy_without_its_key_gets_one_of_its_own(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(path, copy)
    assert intact(copy)

    grow(copy, "d")
    with opened(copy) as ledger:
        assert 2 == len(ledger.signers())
    assert intact(copy)
    assert intact(path)


def test_a_copy_with_its_key_and_no_note_asks_a_person(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    for ending in ENDINGS[:2]:
        shutil.copy(f"{path}{ending}", f"{copy}{ending}")

    with opened(copy) as ledger:
        assert any("without copy.db.key.signed" in told for told in ledger.verify().problems)
        ledger.append(score_block(["d"], step=9))
        with pytest.raises(NotSignedError, match="what it has signed is not known"):
            ledger.sequence()
        accepted = ledger.accept_restore()
        assert accepted is not None
        assert (None, 3) == (accepted.as_json()["signed"], accepted.tree.size)
        assert [] == ledger.verify().problems


def test_one_key_may_sign_for_several_ledgers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLADDER_KEY", str(tmp_path / "keys" / "shared"))
    for name in ("one.db", "two.db", "one.db", "two.db"):
        grow(tmp_path / name, "a", "b")

    assert intact(tmp_path / "one.db")
    assert intact(tmp_path / "two.db")
    assert 2 == len(list((tmp_path / "keys").glob("shared.*.signed")))
    assert 0o700 == (tmp_path / "keys").stat().st_mode & 0o777
    shortened(tmp_path / "one.db", 2)
    assert not intact(tmp_path / "one.db")


def test_a_note_lies_in_the_users_folder_where_the_keys_can_not_be_written(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(f"{path}.key").rename(tmp_path / "secret")
    monkeypatch.setenv("VLADDER_KEY", str(tmp_path / "secret"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda where, mode: where != tmp_path and access(where, mode)
    )
    place = key_place(f"sqlite:///{path}")

    assert tmp_path / "home/.config/verifier-ladder" == Path(place.signed.name).parent


@pytest.mark.parametrize("more", [20, pytest.param(60, marks=pytest.mark.slow)])
def test_machines_that_sign_in_turn_see_each_others_history(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    for turn in range(6):
        monkeypatch.setenv("VLADDER_KEY", str(tmp_path / f"machine{turn % 2}"))
        grow(path, *(f"{turn}.{n}" for n in range(turn * more + 1)))

    assert intact(path)
    with opened(path) as ledger:
        assert 3 == len(ledger.signers())


def test_a_machine_signs_no_history_that_another_has_rewritten(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shortened(path, 2)
    monkeypatch.setenv("VLADDER_KEY", str(tmp_path / "another"))
    grow(path, "x", "y", "z")  # Who has a key of his own signs what he likes,
    assert intact(path)

    monkeypatch.delenv("VLADDER_KEY")  # and is found out where the first key is.
    assert not intact(path)
    with opened(path) as ledger:
        ledger.append(score_block(["new"], step=9))
        with pytest.raises(NotSignedError, match="does not begin with the 3 signed before"):
            ledger.sequence()


@pytest.mark.parametrize("text", ["", "{}", "no note", '{"origin": 1}'])
def test_a_note_that_can_not_be_read_is_told(text: str, path: Path) -> None:
    Path(f"{path}.key.signed").write_text(text)

    with opened(path) as ledger:
        assert any("was changed or damaged" in told for told in ledger.verify().problems)
        ledger.append(score_block(["d"], step=9))
        with pytest.raises(LedgerError, match="accept-restore"):
            ledger.sequence()
        assert ledger.accept_restore() is not None
    assert intact(path)


def test_of_two_who_begin_the_first_is_noted(tmp_path: Path) -> None:
    file = SignedFile(tmp_path / "note")
    first, second = (Signed(name, Tree(0, bytes(32)), Tree(0, bytes(32))) for name in "ab")

    assert [True, False] == [file.begin(first), file.begin(second)]
    assert first == file.read()
    assert [file.path] == list(tmp_path.iterdir())


def test_the_note_is_one_small_file_however_long_the_log(path: Path, tmp_path: Path) -> None:
    before = Path(f"{path}.key.signed").stat().st_size
    grow(path, *(str(n) for n in range(100)))

    assert Path(f"{path}.key.signed").stat().st_size < before + 20
    assert sorted(f"ledger.db{ending}" for ending in ENDINGS) == sorted(
        file.name for file in tmp_path.iterdir()
    )


def test_an_upgraded_ledger_is_noted_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    script = Path(__file__).parent / "ledger-0005.sql"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script.read_text(encoding="utf-8"))
        ((count,),) = connection.execute("SELECT count(*) FROM leaf")
    grow(tmp_path / "another.db", "a")
    shutil.copy(tmp_path / "another.db.key", tmp_path / "ledger.db.key")

    with opened(path):
        noted = key_place(f"sqlite:///{path}").signed.read()
    assert noted is not None
    assert count == noted.last.size
    grow(path, "d")
    assert intact(path)
