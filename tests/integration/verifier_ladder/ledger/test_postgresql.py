"""A ledger in PostgreSQL: guards, faults of the server and of its keepers, upgrades."""

# ruff: noqa: S608 - the names are those of our own tables

import shutil
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, event, make_url

from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError, LedgerAwayError, LedgerError
from verifier_ladder.ledger import open_ledger, postgresqldatabase
from verifier_ladder.ledger.creation import MIGRATIONS
from verifier_ladder.ledger.postgresqltables import prepare
from verifier_ladder.ledger.records import Block, Charged, Spend
from verifier_ladder.ledger.schema import HISTORY, REVISION, VERSION_TABLE, metadata
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.testing.records import (
    CAMPAIGN,
    CPU,
    NOW,
    candidate_row,
    check_row,
    claim,
    completion,
    enqueue,
    key,
    request,
    score_block,
    verdict_row,
)
from verifier_ladder.testing.servers import PostgresqlServer
from verifier_ladder.verdict import Verdict

NEXT = "9999"
AFTER = f'''
"""The schema after this one."""
from alembic import op
revision = "{NEXT}"
down_revision = "{REVISION}"
def upgrade():
    op.execute("CREATE TABLE extra (id INTEGER)")
'''


@pytest.fixture
def ledger(postgresql: str) -> Iterator[SqlLedger]:
    with open_ledger(postgresql) as opened:
        assert isinstance(opened, SqlLedger)
        yield opened


def named(url: str) -> str:
    """What the server calls the database of a URL."""
    return url.rsplit("/", 1)[1]


def with_next(folder: Path) -> Path:
    """The migrations with one more."""
    shutil.copytree(MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / f"{NEXT}_extra.py").write_text(AFTER)
    return folder


def cut(ledger: SqlLedger, server: PostgresqlServer) -> None:
    """Cut all connections of a ledger, as a network does."""
    server.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        f"WHERE datname = '{named(ledger.url)}'"
    )


# -- opening --------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_a_url_may_be_spelled_in_several_ways(postgresql: str, scheme: str) -> None:
    with open_ledger(postgresql.replace("postgresql", scheme, 1)) as ledger:
        assert ledger.append(score_block(["a"])) == 1


def test_a_ledger_does_not_show_its_password(
    postgresql: str, postgresql_server: PostgresqlServer
) -> None:
    with open_ledger(postgresql) as ledger, ledger.reopened() as again:
        assert postgresql_server.password not in ledger.url
        assert again.append(score_block(["a"])) == ledger.newest() == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("ladder:", "ladder:wrong"), "PGPASSWORD"),
        (("ladder:", "nobody:"), "PGPASSWORD"),
        (("/ledger", "/missing"), "createdb"),
        (("127.0.0.1:", "127.0.0.2:"), "can't be reached"),
    ],
    ids=["password", "user", "database", "address"],
)
def test_what_cannot_be_opened_says_what_to_do(
    postgresql: str, postgresql_server: PostgresqlServer, change: tuple[str, str], said: str
) -> None:
    with pytest.raises(LedgerError, match=said) as caught:
        open_ledger(postgresql.replace(*change, 1)[:120])
    assert postgresql_server.password not in "".join(traceback.format_exception(caught.value))


def test_the_tables_are_those_of_the_schema(postgresql: str) -> None:
    engine = create_engine(make_url(postgresql).set(drivername="postgresql+psycopg"))
    with engine.connect() as connection:
        options = {
            "version_table": VERSION_TABLE, "compare_type": True,
            "include_object": lambda _, name, *_rest: name != "verdict_key",
        }  # fmt: skip
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_a_newer_schema_asks_for_a_newer_program(
    new_database: str, postgresql_server: PostgresqlServer
) -> None:
    open_ledger(new_database).close()
    postgresql_server.execute(
        f"UPDATE {VERSION_TABLE} SET version_num = '0999'", named(new_database)
    )
    with pytest.raises(LedgerError, match=r"newer verifier-ladder.*upgrade the program"):
        open_ledger(new_database)
    postgresql_server.execute(f"INSERT INTO {VERSION_TABLE} VALUES ('0001')", named(new_database))
    with pytest.raises(LedgerError, match="names the schema '0999, 0001', and no version has"):
        open_ledger(new_database)


def test_an_older_schema_is_upgraded(
    new_database: str, postgresql_server: PostgresqlServer, tmp_path: Path
) -> None:
    with open_ledger(new_database) as ledger:
        ledger.append(score_block(["a"]))
    url = make_url(new_database).set(drivername="postgresql+psycopg")
    prepare(url, with_next(tmp_path / "migrations"), NEXT)
    assert [(NEXT,)] == postgresql_server.execute(
        f"SELECT version_num FROM {VERSION_TABLE}", named(new_database)
    )
    assert [(0,)] == postgresql_server.execute("SELECT count(*) FROM extra", named(new_database))


# The way from this schema back to 0004, as that one made its tables.
BACK = (
    """UPDATE check_queue SET payload = convert_to(
        '{"kind":"text","content":"q","digest":"' || encode(digest, 'hex') || '"}', 'UTF8')""",
    "DROP TABLE verdict_count", "DROP TABLE step_count", "DROP INDEX entry_alarm",
    "DROP TABLE artifact", "DROP TABLE artifact_chunk", "DROP TABLE rate",
    "DROP TABLE reply", "DROP TABLE spend", "DROP INDEX check_dead",
    *(
        f"ALTER TABLE check_queue DROP COLUMN {name}"
        for name in ("run", "wanted_until", "asked_at", "digest", "seen_at", "begun_at")
    ),
    "ALTER TABLE account DROP COLUMN kept",
    "CREATE TABLE pending (entry_id BIGINT PRIMARY KEY)",
    f"UPDATE {VERSION_TABLE} SET version_num = '0004'",
)  # fmt: skip


def test_a_ledger_of_an_older_schema_goes_on(
    new_database: str, postgresql_server: PostgresqlServer
) -> None:
    made = (
        "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns "
    )
    made += "WHERE table_schema = 'public' ORDER BY table_name, column_name"
    indexes = "SELECT indexname FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname"
    with open_ledger(new_database) as ledger:
        ledger.append(score_block(["a"]), charges={Charged(0): (Cost(0.5), 2)})
        enqueue(ledger, check_row("q"), requests=[request("q")])
    new = [postgresql_server.execute(asked, named(new_database)) for asked in (made, indexes)]
    for statement in BACK:
        postgresql_server.execute(statement, named(new_database))

    with open_ledger(new_database) as ledger:
        assert [Spend(CAMPAIGN, "", Charged(0), CPU, 0.5, 0.0, 2)] == ledger.spend()
        (check,) = ledger.checks()
        assert (check.digest, check.payload) == (check_row("q").digest, check_row("q").payload)
        ledger.complete([completion(claim(ledger)[0])], now=NOW + 1)
        spend = sum(row.settled for row in ledger.spend())
        assert spend == sum(row.spent for row in ledger.accounts(CAMPAIGN)) == 1.5
        assert isinstance(ledger, SqlLedger)
        assert [] == [told for told in ledger.verify().problems if "signed" not in told]
    old = [postgresql_server.execute(asked, named(new_database)) for asked in (made, indexes)]
    assert old == new


def test_another_programs_database_is_left_alone(
    new_database: str, postgresql_server: PostgresqlServer
) -> None:
    postgresql_server.execute("CREATE TABLE run (mine text)", named(new_database))
    with pytest.raises(LedgerError, match="a database of its own"):
        open_ledger(new_database)
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    assert [("run",)] == postgresql_server.execute(tables, named(new_database))


def test_who_only_looks_makes_no_tables(
    new_database: str, postgresql_server: PostgresqlServer
) -> None:
    with pytest.raises(ConfigError, match="holds no ledger yet"):
        open_ledger(new_database, make=False)
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
    assert [(0,)] == postgresql_server.execute(tables, named(new_database))
    open_ledger(new_database).close()
    open_ledger(new_database, make=False).close()


def test_two_ledgers_may_lie_in_two_schemas(
    new_database: str, postgresql_server: PostgresqlServer
) -> None:
    for name in ("one", "two"):
        postgresql_server.execute(f"CREATE SCHEMA {name}", named(new_database))
    with (
        open_ledger(f"{new_database}?options=-csearch_path%3Done") as one,
        open_ledger(f"{new_database}?options=-csearch_path%3Dtwo") as two,
    ):
        assert one.append(score_block(["a"])) == 1
        assert (one.newest(), two.newest()) == (1, 0)
        for ledger in (one, two):
            assert isinstance(ledger, SqlLedger)
            while ledger.sequence():
                pass
            assert [] == ledger.verify().problems


# -- history --------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", HISTORY)
def test_history_can_neither_be_changed_nor_deleted(ledger: SqlLedger, table: str) -> None:
    column = next(iter(metadata.tables[table].columns)).name
    for statement in (
        f"UPDATE {table} SET {column} = {column}", f"DELETE FROM {table}",
        f"TRUNCATE {table} CASCADE",
    ):  # fmt: skip
        with pytest.raises(LedgerError, match="append a correction"):  # noqa: SIM117
            with ledger._writing() as connection:
                connection.exec_driver_sql(statement)


def test_keys_with_the_same_beginning_are_kept_apart(ledger: SqlLedger) -> None:
    twins = [key("x")[:6] + bytes([n]) * 26 for n in range(3)]
    rows = [
        verdict_row("a", Verdict.accept(float(n)), check_key=twin) for n, twin in enumerate(twins)
    ]
    ledger.append(Block("score", CAMPAIGN, (), rows[:2]))
    found = ledger.verdicts(twins)
    assert {twin: verdict.score for twin, verdict in found.items()} == dict(
        zip(twins, [0.0, 1.0], strict=False)
    )


@pytest.mark.parametrize("canonical", ["plain", "with \0", "lone \udcff", b"bytes \xff", "é"])
def test_a_canonical_form_comes_back_equal(ledger: SqlLedger, canonical: str | bytes) -> None:
    row = candidate_row("a", canonical=canonical)
    ledger.append(Block("score", CAMPAIGN, [row]))
    (alias,) = ledger.aliases(row.canonicaliser, [row.raw_key]).values()
    assert canonical == alias.canonical


@pytest.mark.parametrize("block", [score_block(["a"], step=2**70), Block("score", "a\0b")])
def test_what_the_database_cannot_hold_is_refused_whole(ledger: SqlLedger, block: Block) -> None:
    with pytest.raises(LedgerError):
        ledger.append(block)
    assert ledger.newest() == 0


# -- faults ---------------------------------------------------------------------------------------


def strikes(ledger: SqlLedger, server: PostgresqlServer) -> Callable[..., None]:
    """Cuts all connections when the next rows are about to be inserted."""

    def strike(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("INSERT"):
            cut(ledger, server)

    return strike


@pytest.mark.parametrize("count", [1, 3, 300])
def test_a_block_cut_while_it_is_sent_leaves_nothing_half_written(
    ledger: SqlLedger, postgresql_server: PostgresqlServer, count: int
) -> None:
    strike = strikes(ledger, postgresql_server)
    block = score_block([f"w{n}" for n in range(count)])
    event.listen(ledger._database.engine, "before_cursor_execute", strike)
    with pytest.raises(LedgerAwayError, match="can't be reached; nothing of this call"):
        ledger.append(block)
    event.remove(ledger._database.engine, "before_cursor_execute", strike)
    assert ledger.newest() == 0
    assert ledger.append(block) > 0
    assert [entry.kind for entry in ledger.entries()] == ["score"]


def test_a_connection_cut_in_a_call_leaves_nothing_half_written(
    ledger: SqlLedger, postgresql_server: PostgresqlServer
) -> None:
    strike = strikes(ledger, postgresql_server)
    event.listen(ledger._database.engine, "before_cursor_execute", strike)
    with pytest.raises(LedgerError, match="can't be reached; nothing of this call"):
        ledger.pause("one", 1)
    assert ledger.paused("one") == set()


def test_a_connection_cut_at_the_commit_says_that_it_may_be_written(
    ledger: SqlLedger, postgresql_server: PostgresqlServer
) -> None:
    ledger.newest()
    event.listen(
        ledger._database.engine, "commit", lambda _: cut(ledger, postgresql_server), once=True
    )
    with pytest.raises(LedgerError, match="either written as a whole or not at all"):
        ledger.pause("one", 1)
    assert ledger.paused("one") == set()


def test_a_call_between_two_cuts_notices_nothing(
    ledger: SqlLedger, postgresql_server: PostgresqlServer
) -> None:
    for word in ("a", "b"):
        ledger.append(score_block([word]))
        cut(ledger, postgresql_server)
    assert len(list(ledger.entries())) == 2


def test_a_server_that_is_killed_has_kept_what_was_told(
    ledger: SqlLedger, postgresql_server: PostgresqlServer
) -> None:
    enqueue(ledger, check_row("a"), check_row("b"))
    first, second = claim(ledger)
    ledger.complete([completion(first)], now=NOW)
    with ThreadPoolExecutor(1) as pool:
        postgresql_server.kill()
        waiting = pool.submit(lambda: ledger.complete([completion(second)], now=NOW))
        postgresql_server.start()
        assert len(waiting.result()) == 1
    assert ledger.complete([completion(first)], now=NOW) == []
    assert [entry.kind for entry in ledger.entries()] == ["score", "check", "check"]


def test_a_server_that_stays_away_is_waited_for_only_so_long(
    ledger: SqlLedger, postgresql_server: PostgresqlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresqldatabase, "PATIENCE", 0.0)
    ledger.clock()
    postgresql_server.kill()
    try:
        with pytest.raises(LedgerError, match="can't be reached"):
            ledger.append(score_block(["a"]))
        assert ledger.clock() > NOW  # Its clock is counted on.
    finally:
        postgresql_server.start()


def test_what_is_held_too_long_says_so(postgresql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresqldatabase, "SESSION", ("SET lock_timeout = '20ms'",))
    with open_ledger(postgresql) as ledger, open_ledger(postgresql) as other:
        assert isinstance(other, SqlLedger)
        enqueue(ledger, check_row("a"))
        (claimed,) = claim(ledger)
        with other._writing() as connection:
            connection.exec_driver_sql("SELECT 1 FROM check_queue FOR UPDATE")
            with pytest.raises(LedgerError, match="busy for too long"):
                ledger.complete([completion(claimed)], now=NOW)


def test_a_user_that_may_only_read_reads(
    postgresql: str, postgresql_server: PostgresqlServer
) -> None:
    with open_ledger(postgresql) as ledger:
        ledger.append(score_block(["a"]))
    postgresql_server.execute(
        "DROP ROLE IF EXISTS reader; "
        "CREATE ROLE reader LOGIN PASSWORD 'r' IN ROLE pg_read_all_data"
    )
    reader = postgresql.replace(f"ladder:{postgresql_server.password}", "reader:r")
    with open_ledger(reader) as ledger:
        assert len(list(ledger.entries())) == ledger.newest() == 1
        with pytest.raises(LedgerError, match="GRANT"):
            ledger.append(score_block(["b"]))


def test_a_user_with_the_rights_of_the_docs_may_do_everything_but_change_history(
    new_database: str, postgresql_server: PostgresqlServer
) -> None:
    open_ledger(new_database).close()
    page = Path(__file__).parents[4] / "docs" / "howto" / "postgresql.md"
    grants = page.read_text("utf-8").split("```sql\n")[1].split("```")[0]
    postgresql_server.execute(
        f"DROP ROLE IF EXISTS trainer; CREATE ROLE trainer LOGIN PASSWORD 't'; {grants}",
        named(new_database),
    )
    trainer = new_database.replace(f"ladder:{postgresql_server.password}", "trainer:t")
    with open_ledger(trainer) as ledger:
        assert isinstance(ledger, SqlLedger)
        ledger.append(score_block(["a"]))
        enqueue(ledger, check_row("q"))
        assert len(ledger.complete([completion(c) for c in claim(ledger)], now=NOW)) == 1
        assert ledger.mentions(key("a")) == [1]
        assert ledger.sequence() == 3
        with pytest.raises(LedgerError, match="GRANT"), ledger._writing() as connection:
            connection.exec_driver_sql("DELETE FROM entry")
    postgresql_server.execute("DROP OWNED BY trainer; DROP ROLE trainer", named(new_database))


def test_a_replica_says_that_it_only_reads(postgresql: str) -> None:
    only = f"{postgresql}?options=-cdefault_transaction_read_only%3Don"
    with open_ledger(only) as ledger:
        assert ledger.newest() == 0
        with pytest.raises(LedgerError, match="connect to the primary"):
            ledger.append(score_block(["b"]))


def test_leases_go_by_the_servers_clock(
    ledger: SqlLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ledger.clock()
    monkeypatch.setattr("time.time", lambda: 0.0)
    assert 0.0 <= ledger.clock() - before < 60.0
