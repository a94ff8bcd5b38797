"""Cases that settle: a forecast waits for its horizon, and then its verifier asks a feed.

The ledger's clock is moved only while no campaign is open, as for one that waits for weeks.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.case import Case, moment
from verifier_ladder.cli.app import app
from verifier_ladder.ledger.database import Database
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.tiers.world.case import WorldVerifier

DAY = 86400.0
Open = Callable[[], Any]


class Forecast(WorldVerifier):
    """Scores a number by its distance from the one that a file tells."""

    name, version, kind, settles_at = "forecast-test", "1", "text", "horizon"
    patience = 10 * DAY

    def settle(self, case: Case, feed: Any) -> vl.Verdict | None:
        told = Path(feed).read_text()
        if told == "crash":
            raise ZeroDivisionError("a feed that is broken")
        if told == "die":
            import os

            os._exit(9)
        if not told:
            return None
        assert case.settles_at is not None
        return vl.Verdict.accept(-abs(float(told) - float(case.candidate.content)))


class World:
    """One ledger, one feed, and the ledger's clock."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.feed = folder, folder / "feed"
        self.feed.write_text("")
        self.ahead = 0.0
        self.horizon = time.time() + DAY

    @contextmanager
    def campaign(self, name: str = "forecasts") -> Iterator[vl.Campaign]:
        verifier = Forecast()
        verifier.feed = str(self.feed)
        ladder = vl.Ladder("forecasts", [verifier])
        place = self.folder / "ledger.db"
        with vl.Campaign.open(name, ladder=ladder, ledger=place, workers=1) as campaign:
            yield campaign

    def samples(self, *texts: str, step: int = 0) -> list[vl.Sample]:
        task = {"horizon": self.horizon}
        return [
            vl.Sample(vl.Candidate("text", text, task), run="r", step=step, position=place)
            for place, text in enumerate(texts)
        ]

    def settled(self) -> list[float | None]:
        """What the newest revisions say, after a look at what is due."""
        with self.campaign() as campaign:
            assert campaign.drain(300)
            newest = {r.position: r.reward.value for r in campaign.revisions()}
        return [newest[place] for place in sorted(newest)]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(tmp_path)
    monkeypatch.setattr(Database, "clock", lambda _: time.time() + world.ahead)
    return world


def test_a_forecast_waits_for_its_horizon_and_is_settled_from_the_feed(world: World) -> None:
    with world.campaign() as campaign:
        rewards = campaign.score(world.samples("3", "5"), deadline=0)
        assert campaign.drain(300)
        assert [(None, True)] * 2 == [(r.value, r.pending) for r in rewards]
        assert {world.horizon} == {case.settles_at for case in campaign.cases()}
        assert 2 == len(campaign.cases())
    world.feed.write_text("4.5")
    assert [] == world.settled()

    world.ahead = DAY + 1
    assert [-1.5, -0.5] == world.settled()

    with vl.open_ledger(world.folder / "ledger.db") as ledger:
        (check, _) = ledger.checks(states=[CheckState.DONE])
        verdict = ledger.verdicts([check.check_key])[check.check_key]
        assert vl.Outcome.ACCEPT is verdict.outcome
        assert world.horizon == pytest.approx(moment(verdict.evidence["valid_until"]))


def test_a_feed_that_says_nothing_or_fails_is_asked_again_ever_more_rarely(world: World) -> None:
    with world.campaign() as campaign:
        campaign.score(world.samples("3"), deadline=0)
        assert campaign.drain(300)

    pauses, notes = [], []
    for ahead, trouble in ((DAY, ""), (DAY + 3600, "crash"), (4 * DAY, "die")):
        world.feed.write_text(trouble)
        world.ahead = ahead
        assert [] == world.settled()
        with vl.open_ledger(world.folder / "ledger.db") as ledger:
            (check,) = ledger.checks()
            assert CheckState.WAITING is check.state
            pauses.append(check.not_before - ledger.clock())
            notes.append(check.note)
    passed = time.time() - (world.horizon - DAY)
    assert [60, 3600, DAY] == pytest.approx(pauses, abs=passed)
    assert "not settled yet" in notes[0]
    assert "a feed that is broken" in notes[1]

    world.feed.write_text("4")
    world.ahead = 6 * DAY
    assert [-1.0] == world.settled()


def test_a_feed_that_never_says_anything_lets_the_case_expire(world: World) -> None:
    with world.campaign() as campaign:
        campaign.score(world.samples("3"), deadline=0)
        assert campaign.drain(300)
    world.ahead = 20 * DAY
    world.settled()  # It is asked once more.
    world.settled()

    with vl.open_ledger(world.folder / "ledger.db") as ledger:
        assert [CheckState.EXPIRED] == [check.state for check in ledger.checks()]


def test_a_sample_that_comes_after_the_horizon_is_late_and_the_same_one_keeps_its_reward(
    world: World,
) -> None:
    with world.campaign() as campaign:
        campaign.score(world.samples("3"), deadline=0)
        assert campaign.drain(300)
    world.ahead = DAY + 1
    with world.campaign() as campaign:  # Nothing is settled yet, but a copy would know by now.
        (early,) = campaign.score(world.samples("3", step=1), deadline=0)
        assert (0.0, False) == (early.value, early.pending)
        assert "late" in early.reason
    world.feed.write_text("4")
    world.ahead = 2 * DAY
    assert -1.0 in world.settled()

    with world.campaign() as campaign:
        (copied,) = campaign.score(world.samples("3", step=2), deadline=0)
        (same,) = campaign.score(world.samples("3"), deadline=0)
        (late,) = campaign.score(world.samples("3", step=2), deadline=0)
        (fresh,) = campaign.score(world.samples("7", step=3), deadline=0)
    assert [0.0, -1.0, 0.0, 0.0] == [r.value for r in (copied, same, late, fresh)]

    replay = ["ledger", "replay", "forecasts", "--ledger", str(world.folder / "ledger.db")]
    done = CliRunner().invoke(app, replay)
    assert 0 == done.exit_code, done.output


def test_a_person_may_answer_before_the_horizon(world: World) -> None:
    with world.campaign() as campaign:
        campaign.score(world.samples("3"), deadline=0)
        assert campaign.drain(300)
        (case,) = campaign.cases()
        assert campaign.answer(case, -2.0, source="the exchange")
    world.feed.write_text("4")
    world.ahead = 2 * DAY

    assert [-2.0] == world.settled()


def test_a_task_without_a_time_is_nobodys_fault(world: World) -> None:
    times: list[Any] = ["2026-03-02", "soon", True, 1e300, None]
    with world.campaign() as campaign:
        given = [vl.Candidate("text", "3", {"horizon": each}) for each in times]
        rewards = campaign.score(given, deadline=0)
        assert campaign.drain(300)
        assert [] == campaign.cases()
        assert [None] * 5 == [reward.value for reward in rewards]


def test_the_example_shows_forecasts_their_settlement_and_a_late_copy() -> None:
    example = Path(__file__).parents[2] / "examples" / "forecast" / "run.py"

    done = subprocess.run([sys.executable, example], capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stderr
    before, after = done.stdout.split("the price is 102.0")
    assert 3 == before.count("waits")
    assert {"0.950", "0.934", "0.000"} == set(re.findall(r"0\.\d{3}", after))
    assert "late" in after


def test_what_settles_declares_both_the_time_and_the_way() -> None:
    class NoTime(WorldVerifier):
        name, version = "no-time", "1"

        def settle(self, case: Case, feed: Any) -> None: ...

    class NoWay(WorldVerifier):
        name, version, settles_at = "no-way", "1", "horizon"

    for broken in (NoTime, NoWay):
        with pytest.raises(vl.ConfigError, match="give both"):
            broken()
    assert {"horizon", "horizon_passed"} < set(Forecast().task_fields or ())
    assert 0 == Forecast().cost.person_minutes
