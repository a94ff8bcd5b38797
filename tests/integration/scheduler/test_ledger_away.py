"""A ledger that goes away in the midst of any transaction: nothing is lost or paid twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder import campaign as campaigns
from verifier_ladder.errors import LedgerAwayError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.sqlite import SqliteDatabase
from verifier_ladder.scheduler.engines import dispatcher

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
        assert campaign.drain("60 s")
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
