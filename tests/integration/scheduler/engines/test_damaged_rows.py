"""Rows of the work queue that no program writes are set aside; the checks beside them are run."""

# ruff: noqa: S608 - our own tables

import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

import verifier_ladder as vl
from verifier_ladder.canonicaliser import Canonicaliser
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.damage import NOTE
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.registry import REGISTRY, Registry
from verifier_ladder.scheduler.engines.catalog import Catalog
from verifier_ladder.scheduler.engines.host import WorkerHost

Change = Callable[..., None]
NEIGHBOURS = ["an honest text", "another one"]


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def damaged_cheap(_: vl.Candidate) -> float:
    return 1.0


@vl.verifier(tier="simulation", kind="text", version="1", isolation="inline")
def damaged_costly(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


REGISTRY.hold([damaged_costly])
LADDER = vl.Ladder("l", [damaged_cheap, damaged_costly], policy="all_tiers")


def ask(place: str) -> bytes:
    """Have a campaign ask for three checks; the key of the first."""
    with vl.Campaign.open("c", ladder=LADDER, ledger=place, run="r", engine="workers") as campaign:
        campaign.score(["the damaged one", *NEIGHBOURS])
        (check,) = (
            c for c in campaign.ledger.checks() if c.payload["content"] == "the damaged one"
        )
        return check.check_key


def changed(place: str, key: bytes, **columns: Any) -> None:
    told = ", ".join(f"{name} = ?" for name in columns)
    statement = f"UPDATE check_queue SET {told} WHERE check_key = ?"
    if place.startswith("postgresql"):
        with psycopg.connect(place.replace("+psycopg", "")) as connection:
            text = statement.replace("?", "%s").encode()
            connection.execute(text, (*columns.values(), key))
        return
    with closing(sqlite3.connect(place, timeout=300)) as file, file:
        file.execute("PRAGMA foreign_keys = OFF")
        assert 1 == file.execute(statement, (*columns.values(), key)).rowcount


def work(ledger: Ledger, catalog: Catalog | None = None) -> None:
    host = WorkerHost(ledger, workers=1, catalog=catalog)
    try:
        host.wake()
        assert host.wait_idle(200)
    finally:
        host.close()


WRONG: dict[str, dict[str, Any]] = {
    "text for a number": {"fence": "x"},
    "bytes for a number": {"attempt": b"x"},
    "a fraction": {"attempt": 0.5},
    "text for what is reserved": {"reserve_money": "much"},
    "bytes for a priority": {"priority": b"first"},
    "text for a payload": {"payload": "no bytes"},
    "text for a key": {"content_key": "a key"},
    "bytes for a note": {"note": b"x"},
    "bytes for a campaign": {"campaign": b"c"},
    "text for a deadline": {"deadline": "tomorrow"},
    "a check's key": {"check_key": "a key"},
    "all at once": {"fence": b"", "owner": b"o", "run": b"r", "wanted_until": "for ever"},
}
HUGE: dict[str, dict[str, Any]] = {
    "the largest fence": {"fence": 2**63 - 1},
    "the largest attempt": {"attempt": 2**63 - 1},
    "much to reserve": {"reserve_cpu_seconds": 1e300},
    "without end to reserve": {"reserve_money": float("inf")},
}


@pytest.mark.parametrize("columns", [*WRONG.values(), *HUGE.values()], ids=[*WRONG, *HUGE])
def test_a_row_that_cannot_be_used_is_set_aside_and_its_neighbours_are_run(
    tmp_path: Path, columns: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    _is_set_aside(str(tmp_path / "ledger.db"), columns, caplog)


@pytest.mark.parametrize("columns", HUGE.values(), ids=list(HUGE))
def test_so_it_is_in_a_database(
    postgresql: str, columns: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    _is_set_aside(postgresql, columns, caplog)


def _is_set_aside(place: str, columns: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    key = ask(place)
    changed(place, key, **columns)

    with caplog.at_level(logging.WARNING), open_ledger(place) as ledger:
        work(ledger)
        checks = {c.payload.get("content"): c for c in ledger.checks()}
        (dead,) = ledger.checks(states=[CheckState.DEAD])
        known = ledger.verdicts([checks[text].check_key for text in NEIGHBOURS])

    assert dead.note.startswith(NOTE)
    assert all(name in dead.note for name in columns)
    assert {float(len(text)) for text in NEIGHBOURS} == {v.score for v in known.values()}
    assert "the engine met an error" not in caplog.text
    assert NOTE in caplog.text


@pytest.mark.parametrize(
    "column", ["lease_until", "attempt", "claimed_at", "reserved_cpu_seconds"]
)
def test_a_leased_row_that_cannot_be_used_stops_no_reaper(tmp_path: Path, column: str) -> None:
    place = str(tmp_path / "ledger.db")
    key = ask(place)
    with open_ledger(place) as ledger:
        assert 3 == len(ledger.claim(owner="gone", lease=1.0, limit=3, now=ledger.clock()))
        changed(place, key, **{column: "x"})
        later = ledger.clock() + 1000.0
        ledger.checks()
        ledger.reap(now=later)
        states = [check.state for check in ledger.checks()]

    assert [CheckState.QUEUED] * 2 + [CheckState.DEAD] == sorted(states)


def test_whoever_waits_for_such_a_check_is_told_why(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    changed(place, ask(place), fence="x")
    with open_ledger(place) as ledger:
        work(ledger)

    with vl.Campaign.open("c", ladder=LADDER, ledger=place, run="r", engine="workers") as campaign:
        assert campaign.drain("300 s")
        told = campaign.ledger.recorded("c", "r", 0)

    assert "was set aside" in told[0].reward.reason
    assert [(False, 14.0), (False, 11.0)] == [
        (told[at].reward.pending, told[at].reward.value) for at in (1, 2)
    ]


# -- checks that a host cannot prove --------------------------------------------------------------


class Folded(Canonicaliser):
    kind, name, version, inline = "text", "folded", "1", True

    def canonicalise(self, content: str | bytes) -> str | bytes:
        return str(content).lower()


@vl.verifier(tier="simulation", kind="text", version="1", isolation="inline", reads="raw")
def damaged_raw(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


def test_checks_of_raw_text_wait_for_a_host_that_holds_their_canonicaliser(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "ledger.db"
    rungs = [damaged_cheap, damaged_raw]
    for name, by in (("folded", Folded()), ("plain", None)):
        ladder = vl.Ladder("l", rungs, policy="all_tiers", canonicaliser=by)
        with vl.Campaign.open(name, ladder=ladder, ledger=place, engine="workers") as campaign:
            campaign.score([f"Of {name}", f"Also of {name}"])
    without, with_it = Registry(), Registry()
    with_it.add_canonicaliser(Folded())

    with open_ledger(place) as ledger:
        with caplog.at_level(logging.WARNING):
            for _ in range(6):  # More often than a check may be tried.
                work(ledger, Catalog(ledger, offered=[damaged_raw], registry=without))
        states = {check.payload["content"]: check.state for check in ledger.checks()}
        work(ledger, Catalog(ledger, offered=[damaged_raw], registry=with_it))
        later = {check.state for check in ledger.checks()}

    assert {
        "Of folded": CheckState.QUEUED, "Also of folded": CheckState.QUEUED,
        "Of plain": CheckState.DONE, "Also of plain": CheckState.DONE,
    } == states  # fmt: skip
    assert {CheckState.DONE} == later
    assert 6 == caplog.text.count("wait for a host that holds their canonicaliser")


@pytest.mark.parametrize("column", ["settled", "reserved", "failed", "excess"])
def test_an_account_that_no_program_writes_pays_for_nothing_and_holds_up_no_neighbour(
    tmp_path: Path, column: str
) -> None:
    place = str(tmp_path / "ledger.db")
    ask(place)
    sound = vl.Ladder("l", [damaged_cheap, damaged_costly], policy="all_tiers")
    with vl.Campaign.open("sound", ladder=sound, ledger=place, engine="workers") as campaign:
        campaign.score(["of the neighbour"])
    with closing(sqlite3.connect(place, timeout=300)) as file, file:
        file.execute("PRAGMA ignore_check_constraints = ON")
        file.execute(
            "INSERT OR REPLACE INTO account (campaign, tier, resource, cap, "
            f"{column}) VALUES ('c', 1, 0, 1000000, {-(2**60)})"
        )

    with open_ledger(place) as ledger:
        work(ledger)
        states = {str(c.payload["content"]): c.state for c in ledger.checks()}

    assert CheckState.DONE is states.pop("of the neighbour")
    assert {CheckState.QUEUED} == {*states.values()}
