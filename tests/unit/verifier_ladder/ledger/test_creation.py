"""Making, recognising and upgrading the tables."""

# ruff: noqa: S608 - the names are those of our own tables

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from verifier_ladder.budget import TOTAL
from verifier_ladder.cost import Cost
from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.counting import ALL_STEPS, Counted, VerdictCount
from verifier_ladder.ledger.creation import MIGRATIONS, prepare
from verifier_ladder.ledger.records import Account, Charged, Spend
from verifier_ladder.ledger.replies import Reply
from verifier_ladder.ledger.schema import REVISION, VERSION_TABLE, metadata
from verifier_ladder.ledger.upgrade import upgrade
from verifier_ladder.testing.records import (
    CAMPAIGN,
    CPU,
    NOW,
    check_row,
    claim,
    completion,
    enqueue,
    key,
    request,
    score_block,
)
from verifier_ladder.verdict import Verdict

NEXT = "9999"
AFTER = f'''
"""The schema after this one."""
from alembic import op
revision = "{NEXT}"
down_revision = "{REVISION}"
def upgrade():
    op.execute("CREATE TABLE extra (id INTEGER)")
    {{more}}
'''
EARLIEST = Path(__file__).parent / "ledger-0001.sql"
"""A ledger as the first schema's program wrote it, with checks in every state."""
WITHOUT_SPEND = Path(__file__).parent / "ledger-0004.sql"
"""The same, of the last schema that did not tell spend apart."""
BEFORE = Path(__file__).parent / "ledger-0005.sql"
"""The same, of the schema before this one."""


def tables(path: Path) -> dict[str, str]:
    """Name and statement of all that a file holds."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {name: " ".join(sql.replace('"', "").split()) for name, sql in rows}


def stamp(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return str(connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()[0])


def migrated(path: Path) -> Path:
    """A file whose tables were made by the migrations alone."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA application_id = 1")
        connection.execute(f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL)")
        connection.commit()
    upgrade(path, "base", MIGRATIONS, REVISION)
    return path


def restored(path: Path, script: Path) -> Path:
    """A file of an older schema."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script.read_text(encoding="utf-8"))
    return path


def with_next(folder: Path, more: str = "") -> Path:
    """The migrations with one more."""
    shutil.copytree(MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / f"{NEXT}_extra.py").write_text(AFTER.format(more=more))
    return folder


def test_a_new_file_has_the_newest_schema(tmp_path: Path) -> None:
    open_ledger(tmp_path / "ledger.db").close()
    assert stamp(tmp_path / "ledger.db") == REVISION
    assert ScriptDirectory(str(MIGRATIONS)).get_heads() == [REVISION]


def test_migrations_make_the_same_tables(tmp_path: Path) -> None:
    open_ledger(tmp_path / "new.db").close()
    new, old = tables(tmp_path / "new.db"), tables(migrated(tmp_path / "old.db"))
    del new[VERSION_TABLE], old[VERSION_TABLE]
    assert old == new


@pytest.mark.filterwarnings("ignore:autogenerate skipping:UserWarning")
def test_alembic_finds_no_difference(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{migrated(tmp_path / 'old.db')}")
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "version_table": VERSION_TABLE,
                "compare_type": True,
                # SQLite does not tell which columns of an index descend.
                "include_name": lambda name, kind, _: (kind, name) != ("index", "check_ready"),
                "include_object": lambda _, name, *_rest: (
                    name not in {"check_ready", "verdict_once"}
                ),
            },
        )
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_a_newer_file_asks_for_a_newer_program(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    open_ledger(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '0999'")
        connection.commit()
    with pytest.raises(LedgerError, match=r"newer verifier-ladder.*upgrade the program"):
        open_ledger(path)


def test_an_older_file_is_upgraded_after_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with open_ledger(path) as ledger:
        ledger.append(score_block(["a"]))
    prepare(path, with_next(tmp_path / "migrations"), NEXT)
    backup = tmp_path / f"ledger.db.backup-{REVISION}"
    assert (stamp(path), stamp(backup)) == (NEXT, REVISION)
    assert "extra" in tables(path)
    assert "extra" not in tables(backup)
    with closing(sqlite3.connect(backup)) as copy:
        assert copy.execute("SELECT count(*) FROM entry").fetchone() == (1,)


def test_an_upgrade_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    open_ledger(path).close()
    migrations = with_next(tmp_path / "migrations", 'op.execute("CREATE TABLE entry (id)")')
    with pytest.raises(LedgerError, match="Nothing was changed; a copy lies in"):
        prepare(path, migrations, NEXT)
    assert stamp(path) == REVISION
    assert "extra" not in tables(path)
    open_ledger(path).close()


def test_a_ledger_of_the_first_schema_opens_with_its_accounts_and_checks(tmp_path: Path) -> None:
    with open_ledger(restored(tmp_path / "ledger.db", EARLIEST)) as ledger:
        assert ledger.accounts(CAMPAIGN) == [
            Account(0, CPU, None, 0.5, 0.0, 0.0, 2), Account(1, CPU, 10.0, 0.75, 4.5, 1.25, 1)
        ]  # fmt: skip
        found = {c.payload["content"]: (c.state.label, c.reserve) for c in ledger.checks()}
        assert found == {
            "done": ("done", Cost(1.0)), "lost": ("dead", Cost(2.0)),
            "leased": ("leased", Cost(3.0)), "waiting": ("waiting", Cost(1.5)),
            "parked": ("queued", Cost(30.0)), "queued": ("queued", Cost(0.25)),
        }  # fmt: skip
        assert set(ledger.verdicts([key("check a"), key("check done")])) == {
            key("check a"), key("check done")
        }  # fmt: skip


def test_a_ledger_of_the_first_schema_goes_on(tmp_path: Path) -> None:
    with open_ledger(restored(tmp_path / "ledger.db", EARLIEST)) as ledger:
        ledger.set_caps(CAMPAIGN, {(TOTAL, CPU): 8.0})
        ledger.reap(now=NOW + 1000)
        (again,) = claim(ledger, 1, now=NOW + 2000)
        ledger.complete([completion(again)], now=NOW + 2001)
        ledger.answer(
            key("check waiting"), Verdict.accept(1.0), source="lab", event="1", now=NOW + 2002
        )
        total, *_, tier = ledger.accounts(CAMPAIGN)
        assert (total.spent, total.reserved) == (tier.spent + 0.5, 0.0)
        assert (tier.failed, tier.checks) == (1.25, 3)


def test_a_ledger_that_did_not_tell_spend_apart_opens_with_its_checks(
    tmp_path: Path,
) -> None:
    with open_ledger(restored(tmp_path / "ledger.db", WITHOUT_SPEND)) as ledger:
        assert ledger.accounts(CAMPAIGN) == [
            Account(0, CPU, None, 0.5, 0.0, 0.0, 2), Account(1, CPU, 50.0, 0.25, 2.0, 0.5, 1)
        ]  # fmt: skip
        assert ledger.spend() == [
            Spend(CAMPAIGN, "", Charged(0), CPU, 0.5, 0.0, 2),
            Spend(CAMPAIGN, "", Charged(1), CPU, 0.25, 0.5, 1),
        ]
        states = {str(c.payload["content"]): c.state.label for c in ledger.checks()}
        assert states == {n: n for n in ("done", "dead", "waiting", "leased", "queued")}
        assert len(ledger.requests()) == 5
        assert ledger.vitals(now=NOW).dead == {("xtb", "1"): 1}


def test_a_ledger_that_did_not_tell_spend_apart_goes_on(tmp_path: Path) -> None:
    with open_ledger(restored(tmp_path / "ledger.db", WITHOUT_SPEND)) as ledger:
        ledger.reap(now=NOW + 500)
        for claimed in claim(ledger, now=NOW + 1000):
            ledger.complete([completion(claimed)], now=NOW + 1001)
        spend = sum(row.settled + row.failed for row in ledger.spend())
        assert spend == sum(row.spent for row in ledger.accounts(CAMPAIGN))
        enqueue(ledger, check_row("dead"), requests=[request("dead")])
        assert [c.check.run for c in claim(ledger, now=NOW + 2000)] == ["run"]


def test_a_ledger_of_the_schema_before_keeps_replies_beside_all_it_had(tmp_path: Path) -> None:
    reply = Reply(b"digest", CAMPAIGN, "run", 4, 3)
    with open_ledger(restored(tmp_path / "ledger.db", BEFORE)) as ledger:
        assert ledger.spend() == [
            Spend(CAMPAIGN, "run", Charged(0, "length", "1"), CPU, 0.5, 0.0, 2),
            Spend(CAMPAIGN, "run", Charged(1, "xtb", "1"), CPU, 0.25, 0.5, 1),
        ]
        states = {str(c.payload["content"]): c.state.label for c in ledger.checks()}
        assert states == {n: n for n in ("done", "dead", "waiting", "leased", "queued")}
        assert ledger.next_step(CAMPAIGN, "run") == 1
        assert ledger.begin_reply(b"key", reply, now=NOW) == reply
    with open_ledger(tmp_path / "ledger.db") as ledger:
        assert ledger.reply(b"key", now=NOW) == reply
        assert ledger.next_step(CAMPAIGN, "run") == 5


@pytest.mark.parametrize("script", [EARLIEST, WITHOUT_SPEND, BEFORE])
def test_what_an_older_program_wrote_is_counted_when_its_ledger_is_upgraded(
    tmp_path: Path, script: Path
) -> None:
    read = Counted()
    with open_ledger(restored(tmp_path / "ledger.db", script)) as ledger:
        for entry in ledger.entries():
            read.add(ledger.read(entry))
        counted = [VerdictCount._make((*key[1:], n)) for key, n in read.verdicts.items()]
        assert ledger.verdict_counts(CAMPAIGN) == sorted(counted) != []
        assert {row.step: row for row in ledger.step_counts(CAMPAIGN)} == {
            step: row for (_, _, step), row in read.steps.items() if step != ALL_STEPS
        }  # fmt: skip


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mine (id)")
        connection.commit()
    with pytest.raises(LedgerError, match="another program"):
        open_ledger(path)
    assert list(tables(path)) == ["mine"]


def test_a_damaged_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    with pytest.raises(LedgerError, match=r"damaged|not an SQLite file"):
        open_ledger(path)
