"""What an earlier process left open is taken up without reading what is over."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

import verifier_ladder as vl
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import Block, Entry
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.ledger.values import dumps, loads

STEPS = 12


@vl.verifier(tier="fast", version="1", isolation="inline", deviation=2.0, same_quantity=True)
def cheap(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


@vl.verifier(tier="simulation", version="1", deviation=1.0, same_quantity=True)
def dear(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


@vl.verifier(tier="high_fidelity", version="1")
def dearest(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


def opened(place: Path, engine: str) -> vl.Campaign:
    ladder = vl.Ladder("l", [cheap, dear, dearest], policy="all_tiers", prior=(20.0, 10.0))
    return vl.Campaign.open("c", ladder=ladder, ledger=place, run="r", engine=engine, workers=1)


def test_of_a_step_only_the_entries_of_samples_that_wait_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "l.db", "workers") as campaign:
        for position in range(STEPS):
            sample = vl.Sample(vl.Candidate("text", "a" * (position + 1)), position=position)
            campaign.score([sample], step=0)
    with open_ledger(tmp_path / "l.db") as ledger:
        (*_, waiting) = ledger.requests(campaign="c")
        gone = [request for request in ledger.requests(campaign="c") if request != waiting]
        ledger.append(
            Block("note", "c"), answered=gone, unwanted=[request.check_key for request in gone]
        )
    read: list[int] = []

    def noting(ledger: Ledger, entry: Entry) -> Block:
        block = real(ledger, entry)
        read.extend(block.samples.positions if block.kind == "score" and block.samples else ())
        return block

    real = SqlLedger.read
    monkeypatch.setattr(SqlLedger, "read", noting)
    with opened(tmp_path / "l.db", "local") as campaign:
        assert campaign.drain(300)
        assert {waiting.position} == set(read)

        assert {waiting.position} == {revision.position for revision in campaign.revisions()}


class Laboratory(vl.Verifier):
    name, version, tier, kind, waits = "laboratory", "1", "world", "text", True

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[vl.Verdict]:
        return [vl.Verdict.abstain("asked", evidence={"waiting": True}) for _ in candidates]


def test_a_step_that_is_answered_little_by_little_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened() -> vl.Campaign:
        return vl.Campaign.open(
            "c", ladder=vl.Ladder("l", [cheap, Laboratory()], policy="all_tiers"),
            ledger=tmp_path / "l.db", run="r", workers=1, budget={"world": "unlimited"},
        )  # fmt: skip

    with opened() as campaign:
        campaign.score(["a" * (position + 1) for position in range(STEPS)], step=0)
        assert campaign.drain(300)
    read: list[str] = []

    def noting(ledger: Ledger, entry: Entry) -> Block:
        read.append(entry.kind)
        return real(ledger, entry)

    real = SqlLedger.read
    monkeypatch.setattr(SqlLedger, "read", noting)
    with opened() as campaign:
        for case in campaign.cases():
            campaign.answer(case, 1.0, source="laboratory")
        told = [*read]
        assert STEPS == len(list(campaign.revisions()))

    assert (1, 0) == (told.count("score"), told.count("revision"))


@vl.verifier(tier="fast", version="1", kind="image", isolation="inline", deviation=2.0)
def glance(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


@vl.verifier(tier="simulation", version="1", kind="image", isolation="inline")
def look(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


def test_bytes_that_an_earlier_version_queued_are_computed(tmp_path: Path) -> None:
    """It wrote them as hexadecimal digits."""
    place = tmp_path / "l.db"

    def opened() -> vl.Campaign:
        ladder = vl.Ladder("l", [glance, look], policy="all_tiers")
        return vl.Campaign.open("c", ladder=ladder, ledger=place, run="r", workers=1)

    with opened() as campaign:
        campaign.pause("simulation")
        campaign.score([vl.Candidate("image", b"\0\xff" * count) for count in (1, 2, 3)])
    with closing(sqlite3.connect(place, timeout=300)) as file, file:
        for table, column in (("check_queue", "payload"), ("request", "state")):
            for number, stored in file.execute(f"SELECT id, {column} FROM {table}").fetchall():  # noqa: S608
                row = loads(stored)
                candidate = row.get("candidate", row)
                candidate["bytes"] = candidate["bytes"].hex()
                change = f"UPDATE {table} SET {column} = ? WHERE id = ?"  # noqa: S608
                file.execute(change, (dumps(row), number))
    with opened() as campaign:
        campaign.resume("simulation")
        assert campaign.drain(300)
        told = {revision.position: revision.reward.value for revision in campaign.revisions()}

    assert told == {0: 2.0, 1: 4.0, 2: 6.0}
