"""A ledger that goes away in the midst of any transaction: nothing is lost or paid twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread, current_thread
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder import campaign as campaigns
from verifier_ladder.errors import LedgerAwayError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.sqlite import SqliteDatabase
from verifier_ladder.scheduler.conductor import Conductor
from verifier_ladder.scheduler.engines import dispatcher
from verifier_ladder.scheduler.occupancy import Occupancy

COST = vl.Cost(seconds=0.001)
TEXTS = ["a", "bcd", "a", "ef"]


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline", cost=COST)
def away_cheap(_: vl.Candidate) -> vl.Verdict:
    return vl.Verdict(vl.Outcome.ACCEPT, 1.0, cost=COST)


@vl.verifier(tier="simulation", kind="text", version="1", isolation="inline", cost=COST)
def away_costly(candidate: vl.Candidate) -> vl.Verdict:
    return vl.Verdict(vl.Outcome.ACCEPT, float(len(candidate.content)), cost=COST)


class Flaky:
    """Lets one writing transaction fail, before it is committed or just after."""

    def __init__(self, number: int, *, is_written: bool) -> None:
        self.left, self.is_written = number, is_written
        self.has_struck = False

    @contextmanager
    def writing(self, real: Any, database: SqliteDatabase) -> Iterator[Any]:
        with real(database) as connection:
            yield connection
            self.left -= 1
            if self.left == 0 and not self.is_written:
                self.has_struck = True
                raise LedgerAwayError("cut before the commit")
        if self.left == 0 and self.is_written:
            self.has_struck = True
            raise LedgerAwayError("cut after the commit")


@pytest.mark.parametrize("fate", ["undone", "written"])
@pytest.mark.parametrize("number", range(1, 7))
def test_the_call_is_made_again_and_everything_is_there_once(
    number: int, fate: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaigns, "_PAUSE", 0.0)
    monkeypatch.setattr(dispatcher, "_ABSENCE", 0.0)
    place = tmp_path / "ledger.db"
    ladder = vl.Ladder("l", [away_cheap, away_costly], policy="all_tiers")
    flaky = Flaky(number, is_written=fate == "written")
    with vl.Campaign.open("c", ladder=ladder, ledger=place, run="r", workers=1) as campaign:
        real = SqliteDatabase.writing
        monkeypatch.setattr(SqliteDatabase, "writing", lambda self: flaky.writing(real, self))
        campaign.score(TEXTS, step=0)
        assert campaign.drain("300 s")
        monkeypatch.setattr(SqliteDatabase, "writing", real)

    with open_ledger(place) as ledger:
        rows = ledger.recorded("c", "r", 0)
        values = [rows[position].reward.value for position in range(len(TEXTS))]
        answers = Counter(
            row.check_key
            for entry in ledger.entries() for row in ledger.read(entry).verdicts
        )  # fmt: skip
        spent = {account.tier: round(account.settled / 0.001) for account in ledger.accounts("c")}
    assert flaky.has_struck
    assert [1.0, 3.0, 1.0, 2.0] == values
    assert {1} == set(answers.values())
    assert {0: 3, 1: 3} == spent


def test_knowledge_is_read_anew_only_when_nobody_is_at_work_with_the_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaigns, "_PAUSE", 0.0)
    is_at_work, may_end = Event(), Event()
    seen: list[str] = []

    @vl.verifier(tier="fast", kind="text", version="1", isolation="inline", cost=COST)
    def away_slow(candidate: vl.Candidate) -> float:
        if candidate.content == "slow":
            is_at_work.set()
            assert may_end.wait(300)
            seen.append("slow ended")
        return 1.0

    writing, build, wait_empty = SqliteDatabase.writing, Conductor._build, Occupancy.wait_empty
    flaky = Flaky(1, is_written=False)

    def fail_quick(database: SqliteDatabase) -> Any:
        is_quick = current_thread().name == "quick"
        return flaky.writing(writing, database) if is_quick else writing(database)

    def wait(occupancy: Occupancy) -> None:
        may_end.set()
        wait_empty(occupancy)

    def read_anew(conductor: Conductor) -> None:
        seen.append("read anew")
        build(conductor)

    ladder = vl.Ladder("l", [away_slow])
    with vl.Campaign.open("c", ladder=ladder, ledger=tmp_path / "ledger.db", run="r") as campaign:
        monkeypatch.setattr(SqliteDatabase, "writing", fail_quick)
        monkeypatch.setattr(Occupancy, "wait_empty", wait)
        monkeypatch.setattr(Conductor, "_build", read_anew)
        slow = Thread(target=lambda: campaign.score(["slow"], step=0))
        quick = Thread(target=lambda: campaign.score(["quick"], step=1), name="quick")
        slow.start()
        assert is_at_work.wait(300)
        quick.start()
        for thread in (slow, quick):
            thread.join(300)
        rewards = [campaign.ledger.recorded("c", "r", step)[0].reward.value for step in (0, 1)]
    assert flaky.has_struck
    assert seen == ["slow ended", "read anew"]
    assert rewards == [1.0, 1.0]
