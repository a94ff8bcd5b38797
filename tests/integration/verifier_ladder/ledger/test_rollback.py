"""A rollback journal beside a ledger is named, and nothing is opened or copied through it."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.cli.app import app
from verifier_ladder.ledger.backup import backup, restore
from verifier_ladder.ledger.opening import open_evidence
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.testing.records import key

_PAGE = 4096
NAMED = r"ledger\.db-journal lies beside the ledger"


def lay_journal(path: Path) -> Path:
    """Put a journal beside a ledger that would write other scores into it."""
    forged = path.with_name("forged.db")
    shutil.copy(path, forged)
    with closing(sqlite3.connect(forged, isolation_level=None)) as file:
        file.execute("DROP TRIGGER verdict_update_refused")
        file.execute("UPDATE verdict SET score = 77")
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = forged.read_bytes()
    journal = path.with_name(f"{path.name}-journal")
    # Magic, the number of pages, a nonce, the size to go back to, sizes of a sector and a page.
    header = b"\xd9\xd5\x05\xf9 \xa1c\xd7" + pack(
        ">5I", len(data) // _PAGE, 1, len(data) // _PAGE, 512, _PAGE
    )
    pages = [data[at : at + _PAGE] for at in range(0, len(data), _PAGE)]
    journal.write_bytes(header.ljust(512, b"\0") + b"".join(map(record, count(1), pages)))
    for ending in ("", "-wal", "-shm"):
        Path(f"{forged}{ending}").unlink(missing_ok=True)
    return journal


def record(number: int, page: bytes) -> bytes:
    """A page as it stands in a journal: its number, its bytes, a sum of every 200th of them."""
    total = 1 + sum(page[at] for at in range(_PAGE - 200, 0, -200))
    return pack(">I", number) + page + pack(">I", total)


def scores(path: Path) -> set[float]:
    with closing(sqlite3.connect(path)) as file:
        return {score for (score,) in file.execute("SELECT score FROM verdict")}


def test_sqlite_itself_would_play_it_back(path: Path) -> None:
    lay_journal(path)

    assert {77.0} == scores(path)


@pytest.mark.parametrize(
    "use",
    [
        vl.open_ledger,
        open_evidence,
        lambda path: backup(path, path.with_name("copy.db")),
        lambda path: restore(path.with_name("older.db"), path),
        lambda path: restore(path, path.with_name("new.db")),
    ],
    ids=["open", "read", "back up", "put back in its place", "put back from it"],
)
def test_a_ledger_is_not_used_through_it(path: Path, use: Callable[[Path], Any]) -> None:
    backup(path, path.with_name("older.db"))
    honest = path.read_bytes()
    journal = lay_journal(path)

    with pytest.raises(vl.LedgerError, match=NAMED):
        use(path)

    assert (honest, True) == (path.read_bytes(), journal.exists())


def test_verify_names_it_and_the_ledger_is_intact_without_it(path: Path, tmp_path: Path) -> None:
    journal = lay_journal(path)

    told = CliRunner().invoke(app, ["ledger", "verify", "--ledger", str(path)])
    journal.rename(tmp_path / "kept")
    after = CliRunner().invoke(app, ["ledger", "verify", "--ledger", str(path)])

    assert 0 != told.exit_code
    assert "ledger.db-journal lies beside" in " ".join(told.output.split())
    assert 0 == after.exit_code
    assert {77.0}.isdisjoint(scores(path))


def test_through_a_link_it_is_seen_where_sqlite_looks(path: Path, tmp_path: Path) -> None:
    lay_journal(path)
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.db"
    link.symlink_to(path)

    for use in (vl.open_ledger, open_evidence):
        with pytest.raises(vl.LedgerError, match=NAMED):
            use(link)


def test_one_that_is_laid_while_a_ledger_is_read_ends_the_reading(path: Path) -> None:
    with open_evidence(path) as ledger:
        assert isinstance(ledger, SqlLedger)
        lay_journal(path)
        with pytest.raises(vl.LedgerError, match="written to while it was read"):
            ledger.verify()


@pytest.mark.parametrize("ending", ["-journal", "-wal"])
def test_what_lies_where_no_ledger_stands_is_not_brought_into_a_restored_one(
    path: Path, ending: str
) -> None:
    copy = backup(path, path.with_name("copy.db"))
    left = lay_journal(path).rename(f"{path}{ending}")
    path.unlink()

    restore(copy, path)

    assert not left.exists()
    with vl.open_ledger(path) as ledger:
        assert 77.0 not in {v.score for v in ledger.verdicts([key("check a")]).values()}


def test_a_journal_that_its_writer_still_holds_is_waited_for(path: Path) -> None:
    """A file begins to write ahead so, as a backup that was just put back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        for statement in ("PRAGMA journal_mode = DELETE", "BEGIN", "PRAGMA user_version = 7"):
            file.execute(statement)
        file.execute("CREATE TABLE passing (x)")
        waited: list[Path] = []

        def wait(_seconds: float) -> None:
            waited.append(path)
            file.execute("ROLLBACK")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("verifier_ladder.ledger.rollback.sleep", wait)
            vl.open_ledger(path).close()

    assert [path] == waited


def test_what_a_killed_first_opening_leaves_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    path.touch()
    path.with_name("new.db-journal").write_bytes(b"\xd9\xd5\x05\xf9 \xa1c\xd7" + bytes(504))

    with vl.open_ledger(path) as ledger:
        assert 0 == ledger.newest()
