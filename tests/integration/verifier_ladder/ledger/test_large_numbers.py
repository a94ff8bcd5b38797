"""A ledger whose entries have numbers beyond 32 bits is like any other."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.cli.app import app
from verifier_ladder.ledger.encoding import encode, leaf
from verifier_ladder.ledger.offline import check_export, check_proof
from verifier_ladder.ledger.proof import prove
from verifier_ladder.ledger.records import Block
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.testing.records import CAMPAIGN, key, score_block

BEHIND = [2**31 - 1, 2**32 - 2, 2**45]
"""Numbers behind which the next entries come."""


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgresql"))
    return str(tmp_path / "ledger.db")


def opened(place: str) -> SqlLedger:
    ledger = vl.open_ledger(place)
    assert isinstance(ledger, SqlLedger)
    return ledger


def go_on_behind(place: str, number: int) -> None:
    """Have the next entry get the next number."""
    opened(place).close()
    if place.startswith("postgresql"):
        with psycopg.connect(place.replace("postgresql+psycopg", "postgresql")) as connection:
            connection.execute("SELECT setval('entry_id_seq', %s)", (number,))
        return
    body = encode(Block("retry", CAMPAIGN, facts={}), 1.0)
    with closing(sqlite3.connect(place)) as file, file:
        file.execute(
            "INSERT INTO entry (id, kind, campaign, recorded_at, leaf, body) "
            "VALUES (?, 'retry', ?, 1.0, ?, ?)",
            (number, CAMPAIGN, leaf(body), body),
        )


@vl.verifier(kind="text", version="1", isolation="inline")
def length(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


@vl.verifier(tier="simulation", kind="text", version="1", isolation="inline")
def vowels(candidate: vl.Candidate) -> float:
    return float(sum(letter in "aeiou" for letter in str(candidate.content)))


@pytest.mark.parametrize("number", BEHIND)
def test_large_numbers_are_appended_signed_verified_and_proven(place: str, number: int) -> None:
    go_on_behind(place, number)
    with opened(place) as ledger:
        entries = [
            ledger.append(score_block([word], step=step)) for step, word in enumerate("abc")
        ]
        ledger.append(score_block(["a"], step=0, kind="revision", revision=1))
        assert min(entries) > number
        assert entries == sorted(entries)
        assert [entry.id for entry in ledger.entries(after=number)][:3] == entries
        note, signed = ledger.signed()
        found = ledger.verify(saved=note)
        assert ([], signed.size) == (found.problems, found.entries)
        assert 0 == found.pending
        assert entries[0] in ledger.mentions(key("a"))
        assert entries[1] == next(iter(ledger.recorded(CAMPAIGN, "run", 1).values())).entry
        assert "score" == check_proof(prove(ledger, entries[2])).head["kind"]


def test_a_campaign_with_large_numbers_is_shown_and_exported(place: str, tmp_path: Path) -> None:
    go_on_behind(place, 2**32 - 2)
    ladder = vl.Ladder("words", [length, vowels], policy="all_tiers")
    with vl.Campaign.open("large", ladder=ladder, ledger=place, run="r", workers=1) as campaign:
        before = campaign.cursor
        campaign.score(["ant", "bee"])
        assert campaign.drain("300 s")
        revisions = list(campaign.revisions(after=before))
        assert {0, 1} == {revision.position for revision in revisions}
        assert all(revision.cursor > 2**32 for revision in revisions)

    entry = str(revisions[0].cursor)
    out = {
        words: CliRunner().invoke(app, ["ledger", *words.split(), "--ledger", place])
        for words in (
            "verify", f"show {entry} --json", "show ant", "ls --json", f"prove {entry}",
            f"verify --entry {entry}", f"export --out {tmp_path / 'rows.jsonl'}",
            f"export --format tiles --out {tmp_path / 'log'}",
        )
    }  # fmt: skip
    assert {0} == {done.exit_code for done in out.values()}, out
    assert int(entry) == json.loads(out[f"show {entry} --json"].stdout)["id"]
    assert f"entry {entry}" in out["show ant"].stdout
    assert int(entry) in {row["id"] for row in json.loads(out["ls --json"].stdout)}
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert int(entry) in {row["entry"] for row in rows}
    assert 0 < check_export(tmp_path / "log")[0].size
