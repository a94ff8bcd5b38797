"""Batons in PostgreSQL: one process of all machines decides for a campaign."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, make_url

from verifier_ladder.errors import ConfigError, LedgerAwayError, LedgerError
from verifier_ladder.ledger import Ledger, open_ledger, postgresqlbaton, postgresqldatabase
from verifier_ladder.ledger.baton import Baton, BatonLostError
from verifier_ladder.ledger.postgresqlbaton import PostgresqlBaton
from verifier_ladder.ledger.records import Block
from verifier_ladder.ledger.rows import Draft, write
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.testing.servers import PostgresqlServer

CUT = (
    "SELECT pg_terminate_backend(a.pid, 5000) FROM pg_stat_activity a JOIN pg_locks l "
    "ON l.pid = a.pid WHERE l.locktype = 'advisory' AND a.application_name LIKE 'vladder %'"
)

WAITING = (
    "SELECT 1 FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid "
    "WHERE l.locktype = 'advisory' AND NOT l.granted AND a.application_name LIKE 'vladder %'"
)

MOVES = [("cut", 0), *((w, who) for w in ("take", "hold", "write", "close") for who in (0, 1))]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresqlbaton, "PATIENCE", 0.05)


@pytest.fixture
def ledger(postgresql: str) -> Iterator[Ledger]:
    with open_ledger(postgresql) as opened:
        yield opened


@pytest.fixture
def elsewhere(postgresql: str) -> Iterator[Ledger]:
    with open_ledger(postgresql) as opened:
        yield opened


def cut(server: PostgresqlServer) -> None:
    """End the sessions that hold batons, as a server does that is restarted."""
    assert all(row == (True,) for row in server.execute(CUT, "ledger"))


def test_who_holds_a_baton_is_named(ledger: Ledger, elsewhere: Ledger) -> None:
    with ledger.baton("one"):
        with pytest.raises(ConfigError, match=rf"'one' is open in process {os.getpid()} on "):
            elsewhere.baton("one")
        with elsewhere.baton("another") as another:
            assert another.hold()
    with elsewhere.baton("one") as baton:
        assert baton.hold()


def test_schemas_of_one_database_have_batons_of_their_own(
    ledger: Ledger, postgresql: str, postgresql_server: PostgresqlServer
) -> None:
    postgresql_server.execute("CREATE SCHEMA aside", "ledger")
    url = make_url(postgresql).update_query_dict({"options": "-csearch_path=aside"})
    try:
        with (
            open_ledger(url.render_as_string(hide_password=False)) as other,
            ledger.baton("one"),
            other.baton("one") as baton,
        ):
            assert baton.hold()
    finally:
        postgresql_server.execute("DROP SCHEMA aside CASCADE", "ledger")


def test_a_session_that_broke_is_replaced_and_said(
    ledger: Ledger, elsewhere: Ledger, postgresql_server: PostgresqlServer
) -> None:
    with ledger.baton("one") as baton:
        cut(postgresql_server)
        assert [baton.hold() for _ in range(2)] == [False, True]
        with pytest.raises(ConfigError, match="is open in"):
            elsewhere.baton("one")


def test_a_session_that_only_the_server_believes_in_is_ended(ledger: Ledger) -> None:
    """Ours is broken by the network, and the server has not noticed yet."""
    baton = ledger.baton("one")
    assert isinstance(baton, PostgresqlBaton)
    ghost, baton._session = baton._session, None
    assert ghost is not None
    assert [baton.hold() for _ in range(2)] == [False, True]
    ghost.close()
    baton.close()


def test_a_baton_that_another_has_taken_is_lost_for_good(
    ledger: Ledger, elsewhere: Ledger, postgresql_server: PostgresqlServer
) -> None:
    baton = ledger.baton("one")
    cut(postgresql_server)
    with elsewhere.baton("one"), pytest.raises(BatonLostError, match=f"process {os.getpid()} on "):
        baton.hold()
    assert baton.is_lost
    with pytest.raises(LedgerError, match="nothing more is decided here"):
        baton.hold()
    baton.close()
    with ledger.baton("one") as again:
        assert again.hold()


def test_a_closed_baton_decides_nothing(ledger: Ledger) -> None:
    baton = ledger.baton("one")
    baton.close()
    with pytest.raises(BatonLostError, match="is closed; open it again"):
        baton.hold()


def test_what_was_decided_is_not_written_once_another_decides(
    ledger: Ledger, elsewhere: Ledger, postgresql_server: PostgresqlServer
) -> None:
    with ledger.baton("one") as baton:
        ledger.append(Block("note", "one"))
        cut(postgresql_server)
        with elsewhere.baton("one"):
            with pytest.raises(LedgerAwayError, match="nothing of this call was"):
                ledger.append(Block("note", "one"))
            elsewhere.append(Block("note", "one"))
            ledger.append(Block("note", "another"))
        assert not baton.hold()
        ledger.append(Block("note", "one"))
    assert 4 == len(list(ledger.entries(kind="note")))


def test_who_takes_a_baton_waits_for_what_is_just_being_written(
    ledger: Ledger, elsewhere: Ledger, postgresql_server: PostgresqlServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(postgresqlbaton, "PATIENCE", 20.0)
    assert isinstance(ledger, SqlLedger)
    with ledger.baton("one"), ThreadPoolExecutor(1) as one:
        with ledger._writing() as connection:
            ledger._database.guard(connection, "one")
            cut(postgresql_server)
            taken = one.submit(elsewhere.baton, "one")
            while not postgresql_server.execute(WAITING, "ledger"):
                assert not taken.done()
            write(connection, Draft(Block("note", "one")))
        with taken.result():
            assert 1 == len(list(elsewhere.entries(kind="note")))


def test_while_the_server_is_away_nobody_holds_anything(
    ledger: Ledger, postgresql_server: PostgresqlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ledger.baton("one") as baton:
        monkeypatch.setattr(postgresqldatabase, "PATIENCE", 0.0)
        postgresql_server.kill()
        try:
            for _ in range(2):
                with pytest.raises(LedgerAwayError, match="can't be reached"):
                    baton.hold()
        finally:
            postgresql_server.start()
        assert [baton.hold() for _ in range(2)] == [False, True]


def test_a_session_is_asked_when_it_was_silent_for_long(ledger: Ledger) -> None:
    """A broken network brings no news: then only asking tells."""
    with ledger.baton("one") as baton:
        assert isinstance(baton, PostgresqlBaton)
        assert baton._session is not None
        asked: list[str] = []
        event.listen(
            baton._session, "before_cursor_execute", lambda *values: asked.append(values[2])
        )
        baton.hold()
        assert not asked
        baton._sure_until = 0.0
        assert [baton.hold() for _ in range(2)] == [True, True]
        assert asked == ["SELECT 1"]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(MOVES), max_size=12))
def test_at_most_one_of_two_machines_decides(
    ledger: Ledger,
    elsewhere: Ledger,
    postgresql_server: PostgresqlServer,
    monkeypatch: pytest.MonkeyPatch,
    moves: list[tuple[str, int]],
) -> None:
    """A model: whose lock it is, and which batons are open, broken or lost."""
    monkeypatch.setattr(postgresqlbaton, "PATIENCE", 0.01)
    ledgers, batons = [ledger, elsewhere], dict[int, Baton]()
    locked: int | None = None
    try:
        for word, who in moves:
            baton = batons.get(who)
            if word == "cut":
                cut(postgresql_server)
                locked = None
            elif word == "take" and baton is None:
                if locked is None:
                    batons[who], locked = ledgers[who].baton("one"), who
                else:
                    with pytest.raises(ConfigError):
                        ledgers[who].baton("one")
            elif word == "close" and baton is not None:
                batons.pop(who).close()
                locked = None if locked == who else locked
            elif word == "write" and baton is not None:
                with nullcontext() if locked == who else pytest.raises(LedgerAwayError):
                    ledgers[who].append(Block("note", "one"))
            elif word == "hold" and baton is not None:
                if baton.is_lost or locked == 1 - who:
                    with pytest.raises(BatonLostError):
                        baton.hold()
                else:
                    assert baton.hold() == (locked == who)
                    locked = who
    finally:
        for baton in batons.values():
            baton.close()
