"""Seals: which samples come in time, by a time that never runs backwards."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import forked
import pytest
from settling import DAY, Forecast, World
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.case import Case, moment
from verifier_ladder.cli.app import app
from verifier_ladder.ledger import records
from verifier_ladder.ledger.database import Database
from verifier_ladder.ledger.offline import read_checkpoint
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.scheduler import seals
from verifier_ladder.tiers.world.order import MarketOrder


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(tmp_path)
    world.set_clocks(monkeypatch)
    return world


def test_a_clock_that_is_set_back_lets_no_copy_in_of_what_the_ledger_has_told(
    world: World,
) -> None:
    with world.campaign() as campaign:
        campaign.score(world.samples("3"), deadline=0)
        assert campaign.drain(300)
    world.feed.write_text("4")
    world.ahead = DAY + 1
    assert [-1.0] == world.settled()

    world.ahead = DAY - 2
    with world.campaign() as campaign:
        (copied,) = campaign.score(world.samples("3", step=1), deadline=0)
    world.ahead = 0.0
    with world.campaign() as campaign:
        (untold,) = campaign.score(world.samples("3", step=2), deadline=0)
        assert [] == campaign.cases()
        world.horizon += DAY
        (later,) = campaign.score(world.samples("3", step=3), deadline=0)
    assert (0.0, None, None) == (copied.value, untold.value, later.value)
    assert "late" in copied.reason
    assert "more than 5 s apart" in untold.reason
    assert later.pending
    with vl.open_ledger(world.folder / "ledger.db") as ledger:
        *_, settled, copy, unknown, sealed = [
            e.recorded_at for e in ledger.entries() if e.kind in {"score", "revision"}
        ]
    assert copy < settled
    assert unknown < settled
    assert sealed >= settled


class BackAgain(Forecast):
    """The clock is set back once its feed has been asked."""

    def settle(self, case: Case, feed: Any) -> vl.Verdict | None:
        Path(feed).with_name("asked").touch()
        return super().settle(case, feed)


def test_a_clock_that_is_set_back_once_a_feed_was_asked_lets_no_copy_in(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.verifier = BackAgain
    with world.campaign() as campaign:
        campaign.score(world.samples("3"), deadline=0)
        assert campaign.drain(300)
    begun, asked = Event(), world.folder / "asked"

    def clock(*_: object) -> float:
        return world.horizon + (1 if begun.is_set() and not asked.exists() else -1)

    def queue_due(ledger: SqlLedger, digests: Sequence[bytes], *, now: float) -> int:
        begun.set()
        return real(ledger, digests, now=now + 2)

    real = SqlLedger.queue_due
    monkeypatch.setattr(SqlLedger, "queue_due", queue_due)
    monkeypatch.setattr(Database, "clock", clock)
    for module in (records, seals):
        monkeypatch.setattr(module, "host_clock", clock)
    world.feed.write_text("4")
    assert [-1.0] == world.settled()
    with world.campaign() as campaign:
        (copied,) = campaign.score(world.samples("3", step=1), deadline=0)

    assert (0.0, False) == (copied.value, copied.pending)
    assert "late" in copied.reason


def test_clocks_leave_open_only_whether_a_sample_came_in_time_for_what_lies_between_them(
    world: World,
) -> None:
    world.apart = DAY + 6
    with world.campaign() as campaign:
        (unknown,) = campaign.score(world.samples("3"), deadline=0)
        world.apart = 0.0
        (same,) = campaign.score(world.samples("3"), deadline=0)
        (known,) = campaign.score(world.samples("3", step=1), deadline=0)
        world.apart = -6.0
        (again,) = campaign.score(world.samples("3", step=1), deadline=0)
        (known_too,) = campaign.score(world.samples("3", step=2), deadline=0)
        assert campaign.drain(300)
        assert 1 == len(campaign.cases())

    told = (unknown, same, known, again, known_too)
    assert [None] * 5 == [reward.value for reward in told]
    assert [False, False, True, True, True] == [reward.pending for reward in told]


@pytest.mark.parametrize(("clocks", "value"), [("both", 0.0), ("this machine's", 1.0)])
def test_a_sample_is_not_in_time_if_the_time_passes_before_its_entry_is_written(
    world: World, clocks: str, value: float
) -> None:
    asked: list[str] = []

    @vl.verifier(kind="text", version="1", isolation="inline", task_fields=())
    def slow(candidate: vl.Candidate) -> float:
        asked.append(str(candidate.content))
        world.ahead, world.apart = (DAY + 1, 0.0) if clocks == "both" else (0.0, DAY + 1)
        return 1.0

    forecast = Forecast()
    forecast.feed = str(world.feed)
    ladder = vl.Ladder("slow", [slow, forecast])
    place = world.folder / "ledger.db"
    with vl.Campaign.open("slow", ladder=ladder, ledger=place, workers=1) as campaign:
        (reward,) = campaign.score(world.samples("3"), deadline=300)
        assert campaign.drain(300)
        assert [] == campaign.cases()
        spent = {line.name: line.checks for line in campaign.spending("verifier")}
    assert (value, False) == (reward.value, reward.pending)  # Late, and nobody knows.
    assert ["3"] == asked
    assert 1 == spent["slow 1"]
    with vl.open_ledger(place) as ledger:
        assert 1 == sum(ledger.read(e).samples is not None for e in ledger.entries(kind="score"))


def test_of_two_calls_with_one_sample_the_one_that_is_recorded_first_counts(world: World) -> None:
    begun, goes_on = Event(), Event()

    @vl.verifier(kind="text", version="1", isolation="inline", task_fields=("horizon_passed",))
    def slow(candidate: vl.Candidate) -> float:
        if not (candidate.task or {}).get("horizon_passed"):
            begun.set()
            assert goes_on.wait(300)
        return 1.0

    forecast = Forecast()
    forecast.feed = str(world.feed)
    ladder = vl.Ladder("slow", [slow, forecast])
    place = world.folder / "ledger.db"
    with (
        vl.Campaign.open("slow", ladder=ladder, ledger=place, workers=1) as campaign,
        ThreadPoolExecutor(1) as threads,
    ):
        early = threads.submit(campaign.score, world.samples("3", "4"), deadline=0)
        assert begun.wait(300)
        world.ahead = DAY + 1
        (late,) = campaign.score(world.samples("3"), deadline=300)
        goes_on.set()
        told = early.result(300)
        assert campaign.drain(300)
        spent = {line.name: line.checks for line in campaign.spending("verifier")}

    assert (0.0, 0.0) == (late.value, told[0].value)
    assert 2 == spent["slow 1"]  # What was judged before is kept.


def test_an_order_is_sealed_by_its_opening_and_settled_at_its_close(world: World) -> None:
    opens, closes = world.horizon, world.horizon + DAY
    prices = world.folder / "s.csv"
    prices.write_text(f"time,value\n{opens},100\n")
    ladder = vl.Ladder("orders", [MarketOrder(folder=str(world.folder), fee=0, slippage=0)])
    place = world.folder / "ledger.db"

    def scored(step: int) -> vl.Reward:
        candidate = vl.Candidate(
            "text", "buy 2", {"series": "s", "opens": opens, "closes": closes}
        )
        with vl.Campaign.open("orders", ladder=ladder, ledger=place, workers=1) as campaign:
            (reward,) = campaign.score(
                [vl.Sample(candidate, run="r", step=step, position=0)], deadline=0
            )
            assert campaign.drain(300)
        return reward

    early = scored(0)
    world.ahead = DAY + 1
    late = scored(1)
    prices.write_text(f"time,value\n{opens},100\n{closes},103\n")
    world.ahead = 2 * DAY + 1
    assert (None, True) == (early.value, early.pending)
    assert "late" in late.reason
    assert "late" in scored(2).reason
    assert 6.0 == scored(0).value


def test_no_sample_is_in_time_for_what_a_feed_has_told_before(world: World) -> None:
    prices, place = world.folder / "s.csv", world.folder / "ledger.db"
    feed = ["case", "feed", str(prices), "--ledger", str(place)]
    with world.campaign() as campaign:
        (early,) = campaign.score(world.samples("3"), deadline=0)
        assert campaign.drain(300)

    prices.write_text(f"time,value\n{world.horizon},4\n")
    refused = CliRunner().invoke(app, feed)
    unnamed = CliRunner().invoke(app, ["case", "feed", "my prices.csv", "--ledger", str(place)])
    world.ahead = DAY - 3
    done = CliRunner().invoke(app, feed)
    with world.campaign() as campaign:
        (copied,) = campaign.score(world.samples("3", step=1), deadline=0)
    assert (2, 0) == (refused.exit_code, done.exit_code), done.output
    assert "has not come" in " ".join(refused.output.split())
    assert "call the file NAME.csv" in " ".join(unnamed.output.split())
    assert (True, False) == (early.pending, copied.pending)
    assert "late" in copied.reason


def test_open_cases_are_told_with_the_checkpoint_to_publish(world: World) -> None:
    ladder, place = world.folder / "orders.toml", world.folder / "ledger.db"
    ladder.write_text('name = "orders"\n[[verifiers]]\nname = "market-order"\n')
    times = {"opens": world.horizon, "closes": world.horizon + DAY}
    given = [
        vl.Candidate("text", said, {"series": "example-prices", **times})
        for said in ("hold", "buy 1")
    ]
    with vl.Campaign.open("orders", ladder=ladder, ledger=place, workers=1) as campaign:
        campaign.score(given, deadline=0)
        assert campaign.drain(300)
        assert {world.horizon} == {case.sealed_by for case in campaign.cases()}
    command = ["case", "seal", "--ladder", str(ladder), "--ledger", str(place), "--json"]
    done = CliRunner().invoke(app, command)
    world.ahead = DAY + 1
    passed = CliRunner().invoke(app, command)

    assert (0, 1) == (done.exit_code, passed.exit_code), done.output
    facts = json.loads(done.stdout)
    assert 2 == facts["cases"]
    assert world.horizon == pytest.approx(moment(facts["until"]), abs=1e-3)
    with vl.open_ledger(place) as store:
        assert len(list(store.entries())) == read_checkpoint(facts["note"]).size


@pytest.mark.slow
def test_the_example_shows_orders_their_seal_and_what_they_earn() -> None:
    example = Path(__file__).parents[2] / "examples" / "orders" / "run.py"

    done = forked.run([sys.executable, example], capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stderr
    before, after = done.stdout.split("it opened at 101")
    assert 4 == before.count("waits")
    assert "late" in before
    earned = re.findall(r"0\.\d{3}$", after, re.MULTILINE)
    assert ["0.000", "0.500", "0.500", "0.969"] == sorted(earned)
