"""What a witness keeps: no machine signs a rewritten history of a database, not even a new one."""

# ruff: noqa: S608 - our own tables

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

import verifier_ladder as vl
from verifier_ladder.ledger.encoding import encode, leaf
from verifier_ladder.ledger.log import NotSignedError
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.testing.records import CAMPAIGN, score_block
from verifier_ladder.testing.servers import PostgresqlServer

HIDDEN = "what nobody is told"
Host = Callable[[str], None]


@pytest.fixture
def witness(
    postgresql: str, postgresql_server: PostgresqlServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """The URL of a user whose schema lies in the ledger's database."""
    postgresql_server.execute(f"CREATE ROLE witness LOGIN PASSWORD '{HIDDEN}'", "ledger")
    postgresql_server.execute("CREATE SCHEMA witness AUTHORIZATION witness", "ledger")
    url = address(postgresql, "witness")
    monkeypatch.setenv("VLADDER_WITNESS", url)
    yield url
    for statement in ("DROP SCHEMA witness CASCADE", "DROP ROLE witness"):
        postgresql_server.execute(statement, "ledger")


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """Go on as another machine, with a folder and a key of its own."""

    def go_on_as(name: str) -> None:
        monkeypatch.setenv("VLADDER_KEY", str(tmp_path / name / "ledger.key"))

    go_on_as("first")
    return go_on_as


def address(place: str, user: str) -> str:
    """The database as another user reaches it."""
    url = make_url(place).set(drivername="postgresql", username=user, password=HIDDEN)
    return url.render_as_string(hide_password=False)


def opened(place: str) -> SqlLedger:
    ledger = vl.open_ledger(place)
    assert isinstance(ledger, SqlLedger)
    return ledger


def grow(place: str, *words: str) -> None:
    with opened(place) as ledger:
        for word in words:
            ledger.append(score_block([word], step=ledger.newest()))
            ledger.sequence()


def rewrite(server: PostgresqlServer, *, keeps_names: bool = False) -> None:
    """Write another history behind the guards' back, and leave it to the program to sign it."""
    body = encode(score_block(["forged"]), 1.0)
    forge = (
        f"UPDATE entry SET campaign = '{CAMPAIGN}', kind = 'score', recorded_at = 1.0, "
        f"leaf = decode('{leaf(body).hex()}', 'hex'), body = decode('{body.hex()}', 'hex') "
        "WHERE id = (SELECT min(id) FROM entry)"
    )
    tables = ["leaf", "tile", "checkpoint", "verdict", "span"] + ["signer"] * (not keeps_names)
    emptied = [f"DELETE FROM {table}" for table in tables]
    server.execute(
        "; ".join(["SET session_replication_role = replica", *emptied, forge]), "ledger"
    )


@pytest.mark.parametrize("keeps_names", [False, True])
@pytest.mark.parametrize("who", ["first", "second", "never seen before"])
@pytest.mark.usefixtures("witness")
def test_no_machine_signs_a_rewritten_history(
    postgresql: str,
    postgresql_server: PostgresqlServer,
    host: Host,
    who: str,
    *,
    keeps_names: bool,
) -> None:
    grow(postgresql, "a", "b")
    host("second")
    grow(postgresql, "c", "d")
    rewrite(postgresql_server, keeps_names=keeps_names)

    host(who)
    with opened(postgresql) as ledger:
        ledger.append(score_block(["new"], step=9))
        with pytest.raises(NotSignedError, match=r"it has signed .* \(the witness postgresql://"):
            ledger.sequence()
        assert ledger.checkpoint() is None
        assert not ledger.verify().is_intact


def test_machines_that_sign_in_turn_share_one_note(
    postgresql: str, witness: str, host: Host, tmp_path: Path
) -> None:
    del witness
    for turn in range(6):
        host(f"machine{turn % 3}")
        grow(postgresql, *(f"{turn}.{n}" for n in range(turn * 20 + 1)))

    with opened(postgresql) as ledger:
        found = ledger.verify()
        assert ([], True, 3) == (
            found.problems, found.is_compared_with_note, len(ledger.signers())
        )  # fmt: skip
    assert [] == list(tmp_path.rglob("*.signed"))


def test_who_writes_the_ledger_can_not_change_what_the_witness_keeps(
    postgresql: str, postgresql_server: PostgresqlServer, witness: str, host: Host
) -> None:
    del host
    grow(postgresql, "a")
    postgresql_server.execute(f"CREATE ROLE writer LOGIN PASSWORD '{HIDDEN}'", "ledger")
    try:
        with psycopg.connect(
            address(witness, "writer").replace(" ", "%20"), autocommit=True
        ) as writer:
            for statement in (
                "UPDATE witness.vladder_witness SET note = ''",
                "DELETE FROM witness.vladder_witness",
                "DROP TABLE witness.vladder_witness",
                "SELECT note FROM witness.vladder_witness",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    writer.execute(statement)
    finally:
        postgresql_server.execute("DROP ROLE writer", "ledger")


def test_a_person_accepts_what_was_put_back(
    postgresql: str, postgresql_server: PostgresqlServer, witness: str, host: Host
) -> None:
    del witness
    grow(postgresql, "a", "b")
    rewrite(postgresql_server)
    with opened(postgresql) as ledger:
        accepted = ledger.accept_restore()
        assert accepted is not None
        assert accepted.as_json()["signed"]["size"] == 2

    host("second")
    grow(postgresql, "c")


def test_scoring_goes_on_while_the_witness_is_away(
    postgresql: str, postgresql_server: PostgresqlServer, witness: str, host: Host,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    del witness, host
    grow(postgresql, "a")
    postgresql_server.execute("ALTER ROLE witness NOLOGIN", "ledger")
    with caplog.at_level(logging.WARNING), opened(postgresql) as ledger:
        ledger.append(score_block(["b"], step=1))
        with pytest.raises(vl.LedgerError, match="can't be asked what was signed last"):
            ledger.sequence()
    assert "not in the signed log yet" in caplog.text
    assert HIDDEN not in caplog.text

    postgresql_server.execute("ALTER ROLE witness LOGIN", "ledger")
    with opened(postgresql) as ledger:
        assert 1 == ledger.sequence()
        assert [] == ledger.verify().problems


def test_the_note_beside_the_key_is_where_a_new_witness_begins(
    postgresql: str, postgresql_server: PostgresqlServer, witness: str, host: Host,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    del host
    monkeypatch.delenv("VLADDER_WITNESS")
    grow(postgresql, "a", "b")
    rewrite(postgresql_server)

    monkeypatch.setenv("VLADDER_WITNESS", witness)
    with opened(postgresql) as ledger:
        ledger.append(score_block(["new"], step=9))
        with pytest.raises(NotSignedError, match="it has signed"):
            ledger.sequence()


@pytest.mark.parametrize(
    ("user", "named"), [(None, "the ledger's own user"), ("sqlite:///x", "write postgresql://")]
)
def test_a_witness_that_is_none_is_refused(
    postgresql: str, monkeypatch: pytest.MonkeyPatch, user: str | None, named: str
) -> None:
    monkeypatch.setenv("VLADDER_WITNESS", user or postgresql)
    with opened(postgresql) as ledger:
        ledger.append(score_block(["a"]))
        with pytest.raises(vl.ConfigError, match=named):
            ledger.sequence()
        ledger._has_written = False
