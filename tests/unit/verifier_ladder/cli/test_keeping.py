"""`vladder ledger upgrade`, `backup`, `restore` and `merge` say what they did."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.schema import REVISION
from verifier_ladder.testing.records import score_block

EARLIEST = Path(__file__).parents[1] / "ledger" / "ledger-0001.sql"


def test_an_older_ledger_is_upgraded_after_a_copy(run: Any, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection:
        connection.executescript(EARLIEST.read_text(encoding="utf-8"))

    told = json.loads(run("ledger", "upgrade", "--json", "--ledger", tmp_path / "old.db").stdout)

    assert ("0001", REVISION) == (told["from"], told["to"])
    assert Path(told["backup"]).exists()
    again = run("ledger", "upgrade", "--ledger", tmp_path / "old.db")
    assert (0, f"has schema {REVISION} already\n") == (
        again.exit_code, again.stderr.partition("old.db ")[2]
    )  # fmt: skip


def test_a_backup_is_taken_and_put_back(run: Any, ledger: Path, tmp_path: Path) -> None:
    assert 0 == run("ledger", "backup", tmp_path / "copy.db", "--ledger", ledger).exit_code
    with open_ledger(ledger) as store:
        before = store.newest()
        store.append(score_block(["later"]))

    done = run("ledger", "restore", tmp_path / "copy.db", "--ledger", ledger)

    assert 0 == done.exit_code, done.stderr
    assert "before-restore-1" in done.stderr
    with open_ledger(ledger) as store:
        assert before == store.newest()


def test_ledgers_are_merged(run: Any, ledger: Path, tmp_path: Path) -> None:
    with open_ledger(tmp_path / "theirs.db") as store:
        store.append(score_block(["a", "b"]))

    done = run("ledger", "merge", tmp_path / "theirs.db", "--ledger", ledger)

    assert (0, "1 entries, 2 verdicts\n") == (done.exit_code, done.stderr.partition(": ")[2])
    again = run("ledger", "merge", tmp_path / "theirs.db", "--json", "--ledger", ledger)
    assert [0, 1] == [json.loads(again.stdout)[0][name] for name in ("entries", "known")]


def test_merging_makes_the_ledger_if_what_it_reads_is_there(
    run: Any, ledger: Path, tmp_path: Path
) -> None:
    none = run("ledger", "merge", ledger, "none.db", "--ledger", "team.db")
    was_made = (tmp_path / "team.db").exists()
    done = run("ledger", "merge", ledger, "--ledger", "team.db")

    assert (2, False, 0) == (none.exit_code, was_made, done.exit_code)
    with open_ledger(tmp_path / "team.db") as store:
        assert ["merge"] == sorted({entry.kind for entry in store.entries()})


@pytest.mark.parametrize(
    "arguments",
    [
        ["backup", "copy.db", "--ledger", "none.db"],
        ["backup", "taken.db"],
        ["backup", "copy.db", "--ledger", "postgresql://host/db"],
        ["restore", "none.db"],
        ["merge", "none.db"],
    ],
)
def test_what_cannot_be_done_says_so(
    run: Any, ledger: Path, tmp_path: Path, arguments: list[str]
) -> None:
    shutil.copy(ledger, tmp_path / "taken.db")
    if "--ledger" not in arguments:
        arguments = [*arguments, "--ledger", str(ledger)]

    done = run("ledger", *arguments)

    assert 2 == done.exit_code
    assert "vladder:" in done.stderr
