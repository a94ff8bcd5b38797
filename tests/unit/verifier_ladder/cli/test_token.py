"""`vladder token`: made once, listed without their secrets, ended by name."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from verifier_ladder.cli.app import app
from verifier_ladder.ledger import open_ledger
from verifier_ladder.server.tokens import TokenFile
from verifier_ladder.server.webhooks.signing import key_of


@pytest.fixture
def run(tmp_path: Path) -> Any:
    def call(*arguments: str) -> Any:
        place = ["--ledger", str(tmp_path / "ledger.db")] if arguments[0] != "secret" else []
        return CliRunner().invoke(app, ["token", *arguments, *place])

    return call


def test_a_token_is_shown_once_and_opens_what_it_may(run: Any, tmp_path: Path) -> None:
    done = run("add", "trainer", "--scope", "score", "--lifetime", "90 d")
    secret = done.stdout.strip()
    token = TokenFile(tmp_path / "ledger.db.tokens").find(secret)

    assert token is not None
    assert (("score",), "trainer") == (token.scopes, token.name)
    assert token.ends_at == pytest.approx(token.made_at + 90 * 86400)
    assert secret not in run("ls").output
    assert "trainer" in run("ls").output


def test_the_runs_of_a_token_are_listed(run: Any) -> None:
    run("add", "all")
    assert "runs that begin with blue/" in run("add", "b", "--run", "blue/").output
    json.loads(run("add", "c", "--run", "x", "--run", "y", "--json").stdout)

    assert [[], ["blue/"], ["x", "y"]] == [
        r["runs"] for r in json.loads(run("ls", "--json").stdout)
    ]
    assert 2 == run("add", "d", "--run", "blue/", "--scope", "answer").exit_code


def test_a_revoked_token_opens_nothing_and_is_still_listed(run: Any, tmp_path: Path) -> None:
    secret = json.loads(run("add", "trainer", "--json").stdout)["token"]
    assert 0 == run("revoke", "trainer").exit_code
    (row,) = json.loads(run("ls", "--json").stdout)

    assert TokenFile(tmp_path / "ledger.db.tokens").find(secret) is None
    assert ("trainer", "revoked") == (row["name"], row["state"])
    assert "digest" not in row


def test_what_makes_no_sense_ends_with_2(run: Any) -> None:
    assert 2 == run("revoke", "nobody").exit_code
    assert 2 == run("add", "x", "--scope", "write").exit_code


def test_without_tokens_the_list_says_who_may_ask(run: Any, tmp_path: Path) -> None:
    open_ledger(tmp_path / "ledger.db").close()

    assert "whoever uses this machine" in run("ls").output


def test_a_secret_for_a_webhook_is_one(run: Any) -> None:
    assert 32 == len(key_of(run("secret").stdout.strip()))
