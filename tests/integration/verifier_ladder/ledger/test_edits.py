"""Whatever is edited in a ledger's database, `verify` names it, and the program signs for none.

Each edit leaves the guards in place, so that only the edit itself can be found.
"""

# ruff: noqa: S608, E501, ISC004 - a list of statements, and our own tables in them

import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from psycopg.errors import UniqueViolation

import verifier_ladder as vl
from verifier_ladder.canonicaliser import Canonicaliser
from verifier_ladder.errors import CandidateError
from verifier_ladder.ledger import log
from verifier_ladder.ledger.encoding import encode, leaf
from verifier_ladder.ledger.offline import Checkpoint, check_proof, open_checkpoint, root_of
from verifier_ladder.ledger.opening import open_evidence
from verifier_ladder.ledger.proof import prove, prove_growth
from verifier_ladder.ledger.records import Block
from verifier_ladder.ledger.rows import Draft, write
from verifier_ladder.ledger.schema import metadata
from verifier_ladder.ledger.signer import Signer
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.ledger.verification import Verification
from verifier_ladder.testing.records import (
    CAMPAIGN,
    candidate_row,
    costing,
    key,
    score_block,
    verdict_row,
)
from verifier_ladder.transcript import Transcript

FILLERS = 250
"""Entries that fill a tile."""
MOVING = {
    "check_queue", "asked", "request", "account", "spend", "pause", "rate", "inbox", "reply",
}  # fmt: skip
"""Tables that are said not to be compared."""


class Lower(Canonicaliser):
    """Capitals are another spelling; digits are refused."""

    kind, name, version, inline = "text", "lower", "1", True

    def canonicalise(self, content: str | bytes) -> str | bytes:
        if any(letter.isdigit() for letter in str(content)):
            raise CandidateError("it holds digits")
        return str(content).lower()


@vl.verifier(kind="text", version="1", isolation="inline")
def length(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


@vl.verifier(tier="simulation", kind="text", version="1", isolation="inline")
def vowels(candidate: vl.Candidate) -> vl.Verdict:
    return vl.Verdict.accept(
        float(sum(letter in "aeiou" for letter in str(candidate.content))),
        uncertainty=0.5,
        feedback="more of them",
        unit="vowels",
    )


class Oracle(vl.Verifier):
    name, version, tier, kind, waits = "oracle", "1", "world", "text", True

    def verify(self, candidates: Any) -> list[vl.Verdict]:
        return [vl.Verdict.abstain("asked", evidence={"waiting": True}) for _ in candidates]


def build(place: str) -> None:
    """Fill a ledger by campaigns of several tiers, with whatever a ledger can hold."""
    ladder = vl.Ladder(
        "words", [length, vowels, Oracle()], canonicaliser=Lower(), policy="all_tiers"
    )
    for name in ("first", "second"):
        with vl.Campaign.open(
            name, ladder=ladder, ledger=place, run="r", workers=1, budget={"world": "unlimited"}
        ) as campaign:
            campaign.score(["Ant", "bee", "COW", "ant", "4"], groups=["a", "a", "b", "b", "b"])
            campaign.keep([Transcript(step=0, position=0, group="a", prompt="Name an animal.")])
            campaign.drain("300 s")
            case = campaign.cases()[0]
            campaign.answer(case.check_key, 9.0, source="a laboratory")
            campaign.drain("300 s")
    with opened(place) as ledger:
        ledger.add_run("first", {"name": "s", "user": "ann"})
        ledger.append(score_block(["x", "yy", "zzz"]))
        # Two entries tell one check, and one spelling, differently; then it is corrected twice.
        other = costing(vl.Verdict.accept(5.0), 2.0)
        ledger.append(
            Block(
                "score",
                CAMPAIGN,
                [candidate_row("x", content_key=key("yy"))],
                [verdict_row("x", other)],
            )
        )
        for score in (6.0, 7.0):
            ledger.append(
                Block("review", CAMPAIGN, (), [verdict_row("x", vl.Verdict.accept(score))])
            )
        detailed = vl.Verdict.reject(
            "why", feedback="why", evidence={"a": 1}, artifacts={"log": b"a log"}
        )
        ledger.append(
            Block(
                "score",
                CAMPAIGN,
                [candidate_row("w", canonical="W"), candidate_row("v", verdict=detailed)],
                [verdict_row("w", detailed)],
            )
        )
        ledger.note_verifier("length", "1", "ff")
        while ledger.sequence():
            pass
        with ledger._writing() as connection:
            for number in range(FILLERS):
                write(connection, Draft(Block("retry", CAMPAIGN, facts={"n": number})))
        ledger.seal()
        ledger.append(score_block(["secret", "hidden"], step=7))
        ledger.append(score_block(["secret"], step=7, kind="revision", revision=1))
        ledger.mentions(key("x"))
        while ledger.sequence():
            pass
        assert [] == ledger.verify().problems


def opened(place: str) -> SqlLedger:
    ledger = vl.open_ledger(place)
    assert isinstance(ledger, SqlLedger)
    return ledger


def verified(place: Path, **options: Any) -> Verification:
    with open_evidence(place) as ledger:
        assert isinstance(ledger, SqlLedger)
        return ledger.verify(**options)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("honest") / "ledger.db"
    build(str(path))
    return path


@pytest.fixture
def copy(honest: Path, tmp_path: Path) -> Path:
    """A copy of the ledger with its key and what it has signed."""
    for ending in ("", ".key", ".key.signed"):
        shutil.copy(f"{honest}{ending}", f"{tmp_path / 'ledger.db'}{ending}")
    return tmp_path / "ledger.db"


class Edit(NamedTuple):
    """Something that whoever can write the file can do."""

    named: str
    """What `verify` must say of it."""
    does: Sequence[str]
    """The statements."""


_X = f"x'{key('check x').hex()}'"
_YY = f"x'{key('check yy').hex()}'"
_SCORED = "(SELECT min(id) FROM entry WHERE kind = 'score')"
_LAST = "(SELECT max(id) FROM entry)"
_FIRST_X = f"(SELECT min(id) FROM verdict WHERE check_key = {_X})"
_LAST_X = f"(SELECT max(id) FROM verdict WHERE check_key = {_X})"
_RAW = f"x'{key('raw x').hex()}'"
_RUN = "campaign = 'first' AND name = 'r'"


def swapped(table: str, column: str, first: str, second: str, by: str = "id") -> list[str]:
    """Exchange a value of two rows."""
    return [
        f"CREATE TEMP TABLE kept AS SELECT {by} AS row, {column} AS value FROM {table} "
        f"WHERE {by} IN ({first}, {second})",
        f"UPDATE {table} SET {column} = CASE {by} "
        f"WHEN {first} THEN (SELECT value FROM kept WHERE row = {second}) "
        f"ELSE (SELECT value FROM kept WHERE row = {first}) END WHERE {by} IN ({first}, {second})",
        "DROP TABLE kept",
    ]


def renumbered(table: str, column: str, first: str, second: str, *refers: str) -> list[str]:
    """Exchange the numbers of two rows, and those that refer to them."""
    made = [f"CREATE TEMP TABLE numbers AS SELECT {first} AS one, {second} AS two"]
    one, two = "(SELECT one FROM numbers)", "(SELECT two FROM numbers)"
    for name in (f"{table}.{column}", *refers):
        where, part = name.split(".")
        for old, new in ((one, "-1"), (two, one), ("-1", two)):
            made.append(f"UPDATE {where} SET {part} = {new} WHERE {part} = {old}")
    return [*made, "DROP TABLE numbers"]


EDITS: dict[str, Edit] = {
    # -- entries and the log
    "a byte of a body": Edit(
        "was changed: its bytes",
        ["UPDATE entry SET body = replace(CAST(body AS TEXT), '3.0', '9.0') WHERE kind = 'score'"],
    ),
    "a body that is text": Edit(
        "of another type", [f"UPDATE entry SET body = CAST(body AS TEXT) WHERE id = {_SCORED}"]
    ),
    "the kind beside a body": Edit(
        "kind, campaign or time", [f"UPDATE entry SET kind = 'belief' WHERE id = {_SCORED}"]
    ),
    "the campaign beside a body": Edit(
        "kind, campaign or time", [f"UPDATE entry SET campaign = 'second' WHERE id = {_SCORED}"]
    ),
    "the time beside a body": Edit(
        "kind, campaign or time",
        [f"UPDATE entry SET recorded_at = recorded_at - 1 WHERE id = {_SCORED}"],
    ),
    "the hash beside a body": Edit(
        "was changed: its bytes", [f"UPDATE entry SET leaf = zeroblob(32) WHERE id = {_SCORED}"]
    ),
    "an entry taken out": Edit("is gone", [f"DELETE FROM entry WHERE id = {_SCORED}"]),
    "an entry taken out of the log too": Edit(
        "gap",
        [
            f"DELETE FROM leaf WHERE entry_id = {_SCORED}",
            f"DELETE FROM entry WHERE id = {_SCORED}",
        ],
    ),
    "bodies exchanged with their hashes": Edit(
        "not those signed for",
        [*swapped("entry", "body", "20", "21"), *swapped("entry", "leaf", "20", "21")],
    ),
    "places exchanged": Edit("stands in the log behind", [*renumbered("leaf", "idx", "20", "21")]),
    "numbers of entries exchanged": Edit(
        "stands in the log behind",
        renumbered("entry", "id", "(SELECT max(id) - 1 FROM entry)", _LAST, "leaf.entry_id"),
    ),
    "an entry that has no place": Edit(
        "neither in the log nor waiting",
        [
            "INSERT INTO entry SELECT -7, kind, campaign, recorded_at, leaf, body FROM entry LIMIT 1"
        ],
    ),
    "an entry doubled and given a place": Edit(
        "were signed for",
        [
            f"INSERT INTO entry SELECT {_LAST} + 1, kind, campaign, recorded_at, leaf, body FROM entry "
            f"WHERE id = {_SCORED}",
            f"INSERT INTO leaf SELECT max(idx) + 1, {_LAST} FROM leaf",
        ],
    ),
    "an entry doubled": Edit(
        "one was doubled",
        [
            f"INSERT INTO entry SELECT {_LAST} + 1, kind, campaign, recorded_at, leaf, body FROM entry "
            "WHERE kind = 'retry' AND id = 100"
        ],
    ),
    "a place given up": Edit(
        "signed for", ["DELETE FROM leaf WHERE idx = (SELECT max(idx) FROM leaf)"]
    ),
    "the end cut off, checkpoints too": Edit(
        "cut off",
        [
            "DELETE FROM verdict WHERE entry_id > 100",
            "DELETE FROM span WHERE entry_id > 100",
            "DELETE FROM appearance WHERE entry_id > 100",
            "DELETE FROM tile",
            "DELETE FROM checkpoint WHERE size > 100",
            "DELETE FROM leaf WHERE entry_id > 100",
            "DELETE FROM entry WHERE id > 100",
        ],
    ),
    "the salt of a sealed value": Edit(
        "was changed|can't be read",
        [
            f"UPDATE entry SET body = CAST(substr(body, 1, length(body) - 90) || "
            "replace(substr(CAST(body AS TEXT), length(body) - 89), 'a', 'b') AS BLOB) "
            f"WHERE id = {_LAST}"
        ],
    ),
    "what opens sealed values taken out": Edit(
        "can't be read",
        [f"UPDATE entry SET body = substr(body, 1, instr(body, x'0a0a') - 1) WHERE id = {_LAST}"],
    ),
    "a digit of a checkpoint": Edit(
        "checkpoint", ["UPDATE checkpoint SET note = replace(note, 'A', 'B')"]
    ),
    "a frontier": Edit(
        "frontier", ["UPDATE checkpoint SET frontier = zeroblob(length(frontier))"]
    ),
    "a checkpoint's size": Edit(
        "was signed for",
        ["UPDATE checkpoint SET size = size - 1 WHERE size = (SELECT max(size) FROM checkpoint)"],
    ),
    "the newest checkpoint": Edit(
        "were signed for",
        ["DELETE FROM checkpoint WHERE size = (SELECT max(size) FROM checkpoint)"],
    ),
    "all checkpoints": Edit("were signed for", ["DELETE FROM checkpoint"]),
    "a tile": Edit("is not made of its entries", ["UPDATE tile SET hashes = zeroblob(8192)"]),
    "a tile of text that is none": Edit(
        "is not made of its entries", ["UPDATE tile SET hashes = CAST(x'ff' AS TEXT)"]
    ),
    "a tile taken out": Edit("tile", ["DELETE FROM tile"]),
    "a tile put in": Edit("tiles instead of", ["INSERT INTO tile VALUES (1, 0, zeroblob(8192))"]),
    "a tile of no level": Edit(
        "no such place is in the log", ["INSERT INTO tile VALUES ('x', 'y', x'00')"]
    ),
    "a place of an entry that is text": Edit(
        "no such place is in the log", ["UPDATE leaf SET entry_id = 'x' WHERE idx = 7"]
    ),
    "the log's name": Edit("signed the log|was signed for", ["UPDATE signer SET origin = 'mine'"]),
    "a signer": Edit(
        "no Ed25519 key|not signed", ["UPDATE signer SET key = replace(key, 'A', 'B')"]
    ),
    "a signer put in": Edit(
        "has signed nothing",
        ["INSERT INTO signer (origin, key) SELECT origin, '{stranger}' FROM signer"],
    ),
    "no signer": Edit("not signed", ["DELETE FROM signer"]),
    "leaves, tiles, checkpoints": Edit(
        "signed", ["DELETE FROM leaf", "DELETE FROM tile", "DELETE FROM checkpoint"]
    ),
    # -- answers
    "a score": Edit("table verdict", [f"UPDATE verdict SET score = 99 WHERE check_key = {_YY}"]),
    "a score that is text": Edit(
        "table verdict", [f"UPDATE verdict SET score = 'x' WHERE check_key = {_YY}"]
    ),
    "an outcome": Edit(
        "table verdict", [f"UPDATE verdict SET outcome = 1 WHERE check_key = {_YY}"]
    ),
    "an uncertainty": Edit(
        "table verdict", [f"UPDATE verdict SET uncertainty = 3 WHERE check_key = {_YY}"]
    ),
    "a cost": Edit("table verdict", [f"UPDATE verdict SET seconds = 9 WHERE check_key = {_YY}"]),
    "a detail": Edit(
        "table verdict",
        [
            "UPDATE verdict SET detail = replace(CAST(detail AS TEXT), 'why', 'not') "
            "WHERE detail IS NOT NULL"
        ],
    ),
    "who has answered": Edit(
        "table verdict",
        [f"UPDATE verdict SET verifier = (SELECT max(id) FROM verifier) WHERE check_key = {_YY}"],
    ),
    "an answer given for another check": Edit(
        "table verdict",
        [f"UPDATE verdict SET check_key = x'{key('check other').hex()}' WHERE check_key = {_YY}"],
    ),
    "answers switched": Edit(
        "table verdict",
        swapped(
            "verdict",
            "score",
            f"(SELECT id FROM verdict WHERE check_key = {_YY})",
            f"(SELECT id FROM verdict WHERE check_key = x'{key('check zzz').hex()}')",
        ),
    ),
    "an index key": Edit(
        "table verdict", [f"UPDATE verdict SET key = key + 1 WHERE check_key = {_YY}"]
    ),
    "an answer's entry": Edit(
        "table verdict", [f"UPDATE verdict SET entry_id = entry_id + 1 WHERE check_key = {_YY}"]
    ),
    "the later of two tellings": Edit(
        "table verdict",
        [
            f"UPDATE verdict SET score = 5.0, seconds = 2.0, entry_id = entry_id + 1 WHERE id = {_FIRST_X}"
        ],
    ),
    "a correction taken back": Edit(
        "table verdict", [f"DELETE FROM verdict WHERE id = {_LAST_X}"]
    ),
    "corrections exchanged": Edit(
        "table verdict",
        [
            f"UPDATE verdict SET score = 13 - score, entry_id = CASE score WHEN 6 THEN entry_id + 1 "
            f"ELSE entry_id - 1 END WHERE check_key = {_X} AND score > 5"
        ],
    ),
    "a correction that replaces nothing": Edit(
        "table verdict", [f"UPDATE verdict SET supersedes = NULL WHERE id = {_LAST_X}"]
    ),
    "a correction of something else": Edit(
        "table verdict",
        [
            f"UPDATE verdict SET supersedes = (SELECT id FROM verdict WHERE check_key = {_YY}) "
            f"WHERE id = {_LAST_X}"
        ],
    ),
    "an answer before what it corrects": Edit(
        "table verdict",
        [
            "UPDATE verdict SET supersedes = 999999 WHERE supersedes = " + _FIRST_X,
            f"UPDATE verdict SET id = 999999 WHERE id = {_FIRST_X}",
        ],
    ),
    "an answer that replaces all": Edit(
        "no entry bears it out",
        [
            "INSERT INTO verdict (key, check_key, verifier, outcome, score, entry_id, supersedes) "
            f"SELECT key, check_key, verifier, outcome, 99, entry_id, id FROM verdict WHERE id = {_LAST_X}"
        ],
    ),
    "an answer taken out": Edit("a row is gone", [f"DELETE FROM verdict WHERE check_key = {_YY}"]),
    "an answer doubled": Edit(
        "no entry bears it out",
        [
            "INSERT INTO verdict (key, check_key, verifier, outcome, score, entry_id) SELECT key, "
            f"check_key, verifier, outcome, score, entry_id FROM verdict WHERE check_key = {_YY}"
        ],
    ),
    "an answer put in": Edit(
        "no entry bears it out",
        [
            "INSERT INTO verdict (key, check_key, verifier, outcome, score, entry_id) "
            f"VALUES (1, x'{bytes(32).hex()}', 1, 0, 1.0, 3)"
        ],
    ),
    "a verifier's unit": Edit(
        "table verifier", ["UPDATE verifier SET unit = 'kg' WHERE unit = 'vowels'"]
    ),
    "a verifier's name": Edit(
        "table verifier", ["UPDATE verifier SET name = 'other' WHERE tier = 1"]
    ),
    "a verifier's version": Edit(
        "table verifier", ["UPDATE verifier SET version = '2' WHERE tier = 1"]
    ),
    "a verifier's tier": Edit("table verifier", ["UPDATE verifier SET tier = 2 WHERE tier = 1"]),
    "a verifier put in": Edit(
        "table verifier",
        ["INSERT INTO verifier (name, version, tier, unit) VALUES ('v', '1', 0, '')"],
    ),
    "a verifier taken out": Edit("table verifier", ["DELETE FROM verifier WHERE tier = 1"]),
    "numbers of verifiers exchanged": Edit(
        "table verdict", renumbered("verifier", "id", "1", "2")
    ),
    # -- spellings
    "where a spelling leads": Edit(
        "table alias",
        [
            f"UPDATE alias SET content_key = x'{key('yy').hex()}' WHERE raw_key = x'{key('raw zzz').hex()}'"
        ],
    ),
    "a canonical form": Edit(
        "table alias", ["UPDATE alias SET canonical = 'other' WHERE canonical IS NOT NULL"]
    ),
    "why a spelling was refused": Edit(
        "table alias",
        [
            "UPDATE alias SET detail = replace(CAST(detail AS TEXT), 'why', 'not') "
            "WHERE detail IS NOT NULL"
        ],
    ),
    "a refusal taken back": Edit(
        "table alias", ["UPDATE alias SET detail = NULL WHERE detail IS NOT NULL"]
    ),
    "another spelling's key": Edit(
        "table alias", [f"UPDATE alias SET raw_key = x'{bytes(32).hex()}' WHERE raw_key = {_RAW}"]
    ),
    "a spelling's index key": Edit("table alias", ["UPDATE alias SET key = key + 1"]),
    "who made a form": Edit("table alias", ["UPDATE alias SET canonicaliser = 3 - canonicaliser"]),
    "the later of two leads": Edit(
        "table alias",
        renumbered(
            "alias",
            "id",
            f"(SELECT min(id) FROM alias WHERE raw_key = {_RAW})",
            f"(SELECT max(id) FROM alias WHERE raw_key = {_RAW})",
        ),
    ),
    "a spelling taken out": Edit("table alias", [f"DELETE FROM alias WHERE raw_key = {_RAW}"]),
    "a spelling doubled": Edit(
        "table alias",
        [
            "INSERT INTO alias (key, raw_key, canonicaliser, content_key) SELECT key, raw_key, "
            f"canonicaliser, content_key FROM alias WHERE raw_key = {_RAW} LIMIT 1"
        ],
    ),
    "a canonicaliser": Edit(
        "table canonicaliser", ["UPDATE canonicaliser SET digest = x'00' WHERE id = 1"]
    ),
    "canonicalisers exchanged": Edit("table alias", renumbered("canonicaliser", "id", "1", "2")),
    # -- samples
    "a span's end": Edit("table span", ["UPDATE span SET last = last + 1"]),
    "a span's beginning": Edit("table span", ["UPDATE span SET first = first - 1"]),
    "a span's step": Edit("table span", ["UPDATE span SET step = step + 1"]),
    "a span's run": Edit("table span", ["UPDATE span SET run = 'other' WHERE run = 'r'"]),
    "a span's campaign": Edit(
        "table span", ["UPDATE span SET campaign = 'x' WHERE campaign = 'first'"]
    ),
    "a span's entry": Edit(
        "table span", [f"UPDATE span SET entry_id = 1 WHERE entry_id = {_SCORED}"]
    ),
    "a revision that is not found": Edit(
        "table span", [f"DELETE FROM span WHERE entry_id = {_LAST}"]
    ),
    "a span put in": Edit(
        "table span", [f"INSERT INTO span VALUES ('first', 'r', 99, {_SCORED}, 0, 4)"]
    ),
    "where a candidate stands": Edit(
        "table appearance", ["UPDATE appearance SET place = place + 1"]
    ),
    "another candidate's place": Edit(
        "table appearance", ["UPDATE appearance SET candidate = candidate + 1"]
    ),
    "an appearance's entry": Edit(
        "table appearance",
        ["UPDATE appearance SET entry_id = entry_id + 1 WHERE entry_id = " + _SCORED],
    ),
    "an appearance taken out": Edit(
        "table appearance", [f"DELETE FROM appearance WHERE entry_id = {_SCORED}"]
    ),
    "an appearance put in": Edit(
        "table appearance", [f"INSERT INTO appearance VALUES (1, {_SCORED}, 0)"]
    ),
    "entries passed over by the index": Edit(
        "table appearance",
        [
            f"DELETE FROM appearance WHERE entry_id = {_LAST}",
            f"INSERT INTO appearance_until VALUES ({_LAST} + 50)",
        ],
    ),
    "an index that begins anew": Edit("table appearance", ["DELETE FROM appearance_until"]),
    "an index beyond the newest entry": Edit(
        "says that entries are indexed which are not there",
        [f"INSERT INTO appearance_until VALUES ({_LAST} + 5000)"],
    ),
    # -- counters
    "how many checks ended so": Edit(
        "table verdict_count", ["UPDATE verdict_count SET checks = checks + 1"]
    ),
    "how checks ended": Edit(
        "table verdict_count",
        ["UPDATE verdict_count SET outcome = 'failed' WHERE outcome = 'reject'"],
    ),
    "whose checks they were": Edit(
        "table verdict_count",
        ["UPDATE verdict_count SET verifier = 'other' WHERE campaign = 'first'"],
    ),
    "a count taken out": Edit(
        "table verdict_count, .* a row is gone", ["DELETE FROM verdict_count WHERE tier = 1"]
    ),
    "a count put in": Edit(
        "table verdict_count, .* no entry bears it out",
        ["INSERT INTO verdict_count VALUES ('first', 0, 'length', '1', 'failed', 'tool', 7)"],
    ),
    "all counts": Edit("table step_count, .* a row is gone", ["DELETE FROM step_count"]),
    "what samples earn": Edit(
        "table step_count",
        ["UPDATE step_count SET whole = whole + 1 WHERE campaign = 'first' AND step = -1"],
    ),
    "what one step earns": Edit(
        "table step_count", ["UPDATE step_count SET part = part + 1 WHERE step = 7"]
    ),
    "rewards moved to another step": Edit(
        "table step_count", ["UPDATE step_count SET step = 99 WHERE step = 7"]
    ),
    # -- campaigns, runs, sources
    "a ladder": Edit(
        "table campaign",
        [
            "UPDATE campaign SET ladder = CAST(replace(CAST(ladder AS TEXT), 'words', 'other') AS BLOB)"
        ],
    ),
    "a ladder's digest": Edit(
        "table campaign", ["UPDATE campaign SET ladder_digest = zeroblob(32)"]
    ),
    "a campaign's name": Edit(
        "table campaign", ["UPDATE campaign SET name = 'x' WHERE name = 'first'"]
    ),
    "when a campaign began": Edit("table campaign", ["UPDATE campaign SET created_at = 1.0"]),
    "campaigns exchanged": Edit("table campaign", renumbered("campaign", "id", "1", "2")),
    "a campaign taken out": Edit("table campaign", ["DELETE FROM campaign WHERE name = 'first'"]),
    "a campaign put in": Edit(
        "table campaign",
        [
            "INSERT INTO campaign SELECT 99, 'x', ladder, ladder_digest, created_at FROM campaign LIMIT 1"
        ],
    ),
    "what a run says": Edit(
        "table run",
        ["UPDATE run SET body = CAST(replace(CAST(body AS TEXT), 'ann', 'ben') AS BLOB)"],
    ),
    "a run's name": Edit("table run", [f"UPDATE run SET name = 'x' WHERE {_RUN}"]),
    "a run's campaign": Edit("table run", [f"UPDATE run SET campaign = 'x' WHERE {_RUN}"]),
    "runs exchanged": Edit(
        "table run", renumbered("run", "id", f"(SELECT id FROM run WHERE {_RUN})", "3")
    ),
    "a run taken out": Edit("table run", [f"DELETE FROM run WHERE {_RUN}"]),
    "a run put in": Edit(
        "table run", ["INSERT INTO run SELECT 99, 'first', 'x', body FROM run LIMIT 1"]
    ),
    "the source of a verifier": Edit(
        "table verifier_source", ["UPDATE verifier_source SET digest = 'ee' WHERE digest = 'ff'"]
    ),
    "the version of a source": Edit(
        "table verifier_source", ["UPDATE verifier_source SET version = '9'"]
    ),
    "a source taken out": Edit(
        "table verifier_source", ["DELETE FROM verifier_source WHERE digest = 'ff'"]
    ),
    "a source put in": Edit(
        "table verifier_source",
        ["INSERT INTO verifier_source (name, version, digest) VALUES ('length', '1', 'dd')"],
    ),
    "the bytes of an artifact": Edit(
        "its bytes were changed", ["UPDATE artifact_chunk SET data = zeroblob(5)"]
    ),
    "bytes behind those of an artifact": Edit(
        "its bytes were changed",
        ["INSERT INTO artifact_chunk SELECT digest, 7, data FROM artifact_chunk"],
    ),
    "the size of an artifact": Edit(
        "table artifact, .* was changed", ["UPDATE artifact SET size = size + 1"]
    ),
    "an artifact put in": Edit(
        "table artifact, .* no entry",
        ["INSERT INTO artifact SELECT zeroblob(32), campaign, size, note FROM artifact"],
    ),
    # -- what the tables are
    "a trigger dropped": Edit(
        "trigger entry_update_refused is missing", ["DROP TRIGGER entry_update_refused"]
    ),
    "a trigger that refuses nothing": Edit(
        "trigger verdict_delete_refused was changed",
        [
            "DROP TRIGGER verdict_delete_refused",
            "CREATE TRIGGER verdict_delete_refused BEFORE DELETE ON verdict WHEN 0 BEGIN SELECT 1; END",
        ],
    ),
    "a trigger that forges": Edit(
        "trigger forge was put in",
        ["CREATE TRIGGER forge AFTER INSERT ON entry BEGIN DELETE FROM pause; END"],
    ),
    "a trigger named like the version": Edit(
        "trigger verifier_ladder_version was put in",
        [
            "CREATE TRIGGER verifier_ladder_version AFTER INSERT ON account "
            "BEGIN UPDATE account SET cap = NULL; END"
        ],
    ),
    "a trigger named like SQLite's own": Edit(
        "trigger sqlite_stat1 was put in",
        [
            "PRAGMA writable_schema = ON",
            "INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql) VALUES ('trigger', "
            "'sqlite_stat1', 'entry', 0, 'CREATE TRIGGER sqlite_stat1 AFTER INSERT ON entry "
            "BEGIN DELETE FROM pause; END')",
        ],
    ),
    "an index on the version": Edit(
        "index other was put in",
        ["CREATE UNIQUE INDEX other ON verifier_ladder_version (length(version_num))"],
    ),
    "an index dropped": Edit("index verdict_key is missing", ["DROP INDEX verdict_key"]),
    "an index of some rows": Edit(
        "index verdict_key was changed",
        ["DROP INDEX verdict_key", "CREATE INDEX verdict_key ON verdict (key) WHERE id < 3"],
    ),
    "a view put in": Edit("view other was put in", ["CREATE VIEW other AS SELECT 1"]),
    "a column put in": Edit(
        "table verdict was changed", ["ALTER TABLE verdict ADD COLUMN note TEXT"]
    ),
}


def edit(path: Path, statements: Sequence[str]) -> None:
    """Change a ledger behind the guards' back; what it does not mean stays as it was."""
    touches_guards = any("TRIGGER" in statement for statement in statements)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        guards = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall()
        connection.execute("BEGIN")
        for name, _ in guards if not touches_guards else ():
            connection.execute(f"DROP TRIGGER {name}")
        before = connection.total_changes
        for statement in statements:
            connection.execute(statement)
        changes_rows = any(re.match("UPDATE|INSERT|DELETE", told) for told in statements)
        assert connection.total_changes > before or not changes_rows, "the edit changes nothing"
        for _, sql in guards if not touches_guards else ():
            connection.execute(sql)
        connection.execute("COMMIT")


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_found_and_named(name: str, copy: Path) -> None:
    stranger = Signer.at(copy.with_name("stranger.key"), "stranger").key
    wanted, statements = EDITS[name]
    edit(copy, [statement.replace("{stranger}", str(stranger)) for statement in statements])

    found = verified(copy)

    assert any(re.search(wanted, problem) for problem in found.problems), found.problems


@pytest.mark.parametrize("table", sorted({*metadata.tables} - MOVING))
def test_a_value_that_is_no_text_is_found_and_ends_nothing(table: str, copy: Path) -> None:
    intact = copy.read_bytes()
    missed = []
    for column in metadata.tables[table].columns:
        copy.write_bytes(intact)
        try:
            edit(copy, [f"UPDATE OR IGNORE {table} SET {column.name} = CAST(x'ff' AS TEXT)"])
        except sqlite3.IntegrityError:  # A number that SQLite itself counts rows by.
            continue
        if verified(copy).is_intact:
            missed.append(column.name)
    assert [] == missed


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE verifier_ladder_version SET version_num = 'mine'",
        "INSERT INTO verifier_ladder_version VALUES ('0001')",
        "DELETE FROM verifier_ladder_version",
    ],
)
def test_a_version_that_no_program_writes_is_told_as_that(statement: str, copy: Path) -> None:
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute(statement)
    for look in (verified, lambda path: opened(str(path))):
        with pytest.raises(vl.LedgerError, match=r"verifier_ladder_version names the schema '.*"):
            look(copy)


def test_what_sqlite_itself_keeps_is_no_edit(copy: Path) -> None:
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("ANALYZE")
    assert [] == verified(copy).problems


def test_there_are_many_edits_and_an_unedited_ledger_is_intact(copy: Path) -> None:
    assert len(EDITS) >= 100
    edit(copy, ["INSERT INTO inbox VALUES ('somebody', 'an event', 1.0)"])
    found = verified(copy)
    assert ([], True) == (found.problems, found.is_compared_with_note)


def test_older_checkpoints_may_be_taken_out_for_the_newest_tells_all_that_they_did(
    copy: Path,
) -> None:
    with opened(str(copy)) as ledger:
        old = ledger.checkpoint(
            min(size for (size,) in ledger._ask("SELECT size FROM checkpoint"))
        )
        entry = ledger.newest()
        told = ledger.recorded_as_of("first", "r", 0, 9)
        assert old is not None
    newest = "SELECT max(size) FROM checkpoint"
    edit(copy, [f"DELETE FROM checkpoint WHERE size < ({newest})"])

    assert ([], 1) == ((found := verified(copy, saved=old)).problems, found.checkpoints)
    with opened(str(copy)) as ledger:
        assert told == ledger.recorded_as_of("first", "r", 0, 9)
        assert check_proof(prove(ledger, entry)).head
        assert check_proof(prove_growth(ledger, old))
        ledger.append(score_block(["later"], step=11))
        assert 1 == ledger.sequence()


# -- cut and emptied files, histories written anew ------------------------------------------------


@pytest.mark.parametrize("left", [0, 100, 4096, 40960, -4096, -1])
def test_a_file_that_was_cut_is_no_intact_ledger(left: int, copy: Path) -> None:
    data = copy.read_bytes()
    copy.write_bytes(data[:left])

    try:
        problems = verified(copy).problems
    except vl.LedgerError as error:
        problems = [str(error)]
    assert any(re.search("damaged|is empty|not an SQLite", problem) for problem in problems)


def test_an_emptied_file_beside_its_key_is_no_new_ledger(copy: Path) -> None:
    copy.write_bytes(b"")
    with pytest.raises(vl.LadderError, match=r"is empty, and its key has signed \d+ entries"):
        opened(str(copy))
    copy.unlink()
    with pytest.raises(vl.LadderError, match="is gone, and its key has signed"):
        opened(str(copy))
    assert not copy.exists()
    for ending in (".key", ".key.signed"):
        Path(f"{copy}{ending}").unlink()
    opened(str(copy)).close()


def rewritten(path: Path, *, keep_names: bool = True) -> None:
    """Write another history, and leave it to the honest program to sign it."""
    with closing(sqlite3.connect(path)) as connection:
        ((entry, at),) = connection.execute(
            "SELECT id, recorded_at FROM entry WHERE kind = 'score' ORDER BY id LIMIT 1"
        ).fetchall()
        body = encode(score_block(["forged"]), at)
        connection.execute("CREATE TABLE IF NOT EXISTS forged (leaf BLOB, body BLOB)")
        connection.execute("INSERT INTO forged VALUES (?, ?)", (leaf(body), body))
        connection.commit()
    edit(
        path,
        [
            f"UPDATE entry SET campaign = '{CAMPAIGN}', leaf = (SELECT leaf FROM forged), "
            f"body = (SELECT body FROM forged) WHERE id = {entry}",
            "DELETE FROM leaf",
            "DELETE FROM tile",
            "DELETE FROM checkpoint",
            *([] if keep_names else ["DELETE FROM signer"]),
            "DROP TABLE forged",
        ],
    )


@pytest.mark.parametrize("keep_names", [True, False])
def test_the_honest_program_signs_no_rewritten_history(copy: Path, *, keep_names: bool) -> None:
    rewritten(copy, keep_names=keep_names)

    with opened(str(copy)) as ledger:
        ledger.append(score_block(["new"], step=9))
        with pytest.raises(vl.LedgerError, match=r"nothing is signed with .* accept-restore"):
            ledger.sequence()
        assert ledger.checkpoint() is None
    assert any("signed" in problem for problem in verified(copy).problems)


def test_a_history_that_others_sign_is_found_here_and_with_the_pinned_key(copy: Path) -> None:
    with opened(str(copy)) as ledger:
        (mine,) = ledger.signers()
    rewritten(copy)
    edit(copy, ["DELETE FROM signer"])
    honest = [
        Path(f"{copy}{ending}").rename(copy.with_name(ending))
        for ending in (".key", ".key.signed")
    ]
    with opened(str(copy)) as ledger:  # A key is made, and all is signed with it.
        ledger.append(score_block(["new"], step=9))
    edit(copy, _reindexed(copy))

    assert any("not signed by" in problem for problem in verified(copy, key=mine).problems)
    for file, ending in zip(honest, (".key", ".key.signed"), strict=True):
        file.rename(f"{copy}{ending}")
    assert any("signed the log" in problem for problem in verified(copy).problems)


def _reindexed(path: Path) -> list[str]:
    del path
    return ["DELETE FROM span WHERE campaign = 'first' AND entry_id < 9"]


def test_a_checkpoint_forged_for_another_log_is_not_gone_on_from(copy: Path) -> None:
    """Also who names himself as a signer, and makes the newest checkpoint, is not believed."""
    stranger = Signer.at(copy.with_name("stranger.key"), "stranger")
    with opened(str(copy)) as ledger:
        origin, size, honest = ledger.origin(), ledger.size(), ledger.signers()
    leaves = [bytes([n % 256]) * 32 for n in range(size)]
    note = stranger.sign(Checkpoint(origin, size, root_of(leaves)))
    edit(
        copy,
        [
            f"INSERT INTO signer (origin, key) VALUES ('{origin}', '{stranger.key}')",
            f"UPDATE checkpoint SET note = '{note}' WHERE size = {size}",
        ],
    )

    with opened(str(copy)) as ledger:
        ledger.append(score_block(["new"], step=9))
        assert ledger.sequence()
        signed, key = open_checkpoint(str(ledger.checkpoint()), honest)
        assert (size < signed.size, key) == (True, honest[0])
    (problem,) = verified(copy).problems
    assert "has signed nothing here" in problem


@pytest.mark.parametrize(("told", "is_found"), [("2020-01-01T00:00:00+00:00", 1), ("", 0)])
def test_a_checkpoint_has_the_time_of_its_last_entry_or_none_as_in_older_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str, is_found: int
) -> None:
    with monkeypatch.context() as patch, opened(str(tmp_path / "ledger.db")) as ledger:
        patch.setattr(log, "time_text", lambda _: told)
        ledger.append(score_block(["a"]))
        assert ledger.sequence()

    problems = verified(tmp_path / "ledger.db").problems
    assert is_found == len(problems) == sum("was not recorded at" in p for p in problems)


def test_every_table_is_compared_or_said_not_to_be() -> None:
    compared = {
        "entry",
        "leaf",
        "tile",
        "checkpoint",
        "signer",
        "verdict",
        "verifier",
        "alias",
        "canonicaliser",
        "span",
        "appearance",
        "appearance_until",
        "campaign",
        "run",
        "verifier_source",
        "artifact",
        "artifact_chunk",
        "verdict_count",
        "step_count",
    }
    assert compared | MOVING == set(metadata.tables)
    edited = {
        table
        for table in compared
        if any(re.search(rf"\b{table}\b", " ".join(e.does)) for e in EDITS.values())
    }
    assert compared == edited


# -- PostgreSQL -----------------------------------------------------------------------------------

ELSEWHERE = {
    "the kind beside a body",
    "the time beside a body",
    "an entry taken out of the log too",
    "places exchanged",
    "a place given up",
    "the newest checkpoint",
    "all checkpoints",
    "a tile taken out",
    "leaves, tiles, checkpoints",
    "an outcome",
    "a cost",
    "an index key",
    "an answer's entry",
    "a correction taken back",
    "an answer taken out",
    "a verifier's unit",
    "a verifier's name",
    "a verifier put in",
    "a canonical form",
    "a spelling's index key",
    "a span's end",
    "a span's run",
    "an appearance's entry",
    "an index that begins anew",
    "an index beyond the newest entry",
    "a campaign's name",
    "when a campaign began",
    "a run's name",
    "a run taken out",
    "a source put in",
    "how many checks ended so",
    "a count taken out",
    "what samples earn",
}
"""Edits whose statements both databases understand."""


@pytest.fixture
def by_force(postgresql: str) -> Iterator[Callable[[str], None]]:
    """Runs statements behind the guards' back, as an administrator could."""
    import psycopg

    url = postgresql.replace("postgresql+psycopg", "postgresql")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")

        def run(statement: str) -> None:
            text = re.sub(r"x'([0-9a-f]*)'", r"decode('\1', 'hex')", statement)
            connection.execute(text.encode())

        yield run


def test_edits_in_a_database_are_found_too(
    postgresql: str, by_force: Callable[[str], None]
) -> None:
    build(postgresql)
    tables = list(metadata.tables)
    for table in tables:
        by_force(f"CREATE TABLE IF NOT EXISTS kept_{table} AS SELECT * FROM {table}")
    missed = []
    for name in sorted(ELSEWHERE):
        try:
            for statement in EDITS[name].does:
                by_force(statement)
        except UniqueViolation:
            pytest.fail(f"{name} can't be done in PostgreSQL")
        with opened(postgresql) as ledger:
            found = ledger.verify()
        if not any(re.search(EDITS[name].named, problem) for problem in found.problems):
            missed.append((name, found.problems))
        for table in tables:
            by_force(f"DELETE FROM {table}")
            by_force(f"INSERT INTO {table} SELECT * FROM kept_{table}")

    for table in tables:
        by_force(f"DROP TABLE kept_{table}")
    assert [] == missed
    with opened(postgresql) as ledger:
        assert [] == ledger.verify().problems


@pytest.mark.parametrize(
    ("statement", "back", "named"),
    [
        (
            "ALTER TABLE verdict DISABLE TRIGGER verdict_refused",
            "ALTER TABLE verdict ENABLE TRIGGER verdict_refused",
            "trigger verdict_refused on verdict was changed",
        ),
        (
            "CREATE RULE forged AS ON DELETE TO entry DO INSTEAD NOTHING",
            "DROP RULE forged ON entry",
            "rule forged on entry was put in",
        ),
        (
            "DROP INDEX alias_key",
            "CREATE INDEX alias_key ON alias (key)",
            "index alias_key is missing",
        ),
    ],
)
def test_guards_of_a_database_that_were_changed_are_found(
    postgresql: str, by_force: Callable[[str], None], statement: str, back: str, named: str
) -> None:
    by_force(statement)
    try:
        with opened(postgresql) as ledger:
            problems = ledger.verify().problems
    finally:
        by_force(back)
    assert 1 == sum(named in problem for problem in problems), problems
