"""Cases that settle: feeds that say nothing or fail, answers of people, and what is refused."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from settling import DAY, Forecast, World

import verifier_ladder as vl
from verifier_ladder.case import Case
from verifier_ladder.ledger.database import Database
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.tiers.world.case import WorldVerifier


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(tmp_path)
    world.set_clocks(monkeypatch)
    return world


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
    assert [1, 3600, DAY] == pytest.approx(pauses, abs=passed)
    assert "not settled yet" in notes[0]
    assert "a feed that is broken" in notes[1]

    world.feed.write_text("4")
    world.ahead = 6 * DAY
    assert [-1.0] == world.settled()


class SlowForecast(Forecast):
    """Its settlement time passes while a case is opened."""

    def look_up(self, candidate: vl.Candidate) -> vl.Verdict | None:
        Path(self.feed).with_name("passed").touch()
        if candidate.content == "words":
            raise vl.CandidateError("no forecast")
        return None


def test_a_time_that_passes_while_a_case_is_opened_costs_no_pause(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = world.folder / "passed"
    monkeypatch.setattr(
        Database, "clock", lambda _: world.horizon + (1 if passed.exists() else -1)
    )
    world.verifier = SlowForecast
    world.feed.write_text("4")
    with world.campaign() as campaign:
        campaign.score(world.samples("3", "words"), deadline=0)
        assert campaign.drain(300)

    assert [-1.0, 0.0] == world.settled()


def test_a_feed_that_never_says_anything_lets_the_case_expire(world: World) -> None:
    with world.campaign() as campaign:
        campaign.score(world.samples("3"), deadline=0)
        assert campaign.drain(300)
    world.ahead = 20 * DAY
    world.settled()  # It is asked once more.
    world.settled()

    with vl.open_ledger(world.folder / "ledger.db") as ledger:
        assert [CheckState.EXPIRED] == [check.state for check in ledger.checks()]


def test_a_person_may_answer_before_the_horizon(world: World) -> None:
    with world.campaign() as campaign:
        campaign.score(world.samples("3"), deadline=0)
        assert campaign.drain(300)
        (case,) = campaign.cases()
        assert campaign.answer(case, -2.0, source="the exchange")
    world.feed.write_text("4")
    world.ahead = 2 * DAY

    assert [-2.0] == world.settled()


def test_what_a_feed_tells_otherwise_later_supersedes_the_settlement(world: World) -> None:
    with world.campaign() as campaign:
        campaign.score(world.samples("3", "5"), deadline=0)
        assert campaign.drain(300)
    world.feed.write_text("4")
    world.ahead = DAY + 1
    assert [-1.0, -1.0] == world.settled()
    with world.campaign() as campaign:
        (late,) = campaign.score(world.samples("3", step=1), deadline=300)
        told = []
        for said in ("4", "7", "7", "", "crash"):
            world.feed.write_text(said)
            told.append(campaign.resettle())
        assert campaign.drain(300)
        (kept,) = campaign.score(world.samples("3", step=1), deadline=300)

    assert [0, 2, 0, 0, 0] == told
    assert [-4.0, -2.0] == world.settled()
    assert (0.0, 0.0) == (late.value, kept.value)


def test_what_a_person_has_said_is_not_settled_anew(world: World) -> None:
    with world.campaign() as campaign:
        campaign.score(world.samples("3"), deadline=0)
        assert campaign.drain(300)
        assert campaign.answer(campaign.cases()[0], -2.0, source="the exchange")
        world.feed.write_text("4")
        assert 0 == campaign.resettle()


def test_a_task_without_a_time_is_nobodys_fault(world: World) -> None:
    times: list[Any] = ["2026-03-02", "soon", True, 1e300, None]
    with world.campaign() as campaign:
        given = [vl.Candidate("text", "3", {"horizon": each}) for each in times]
        rewards = campaign.score(given, deadline=0)
        assert campaign.drain(300)
        assert [] == campaign.cases()
        assert [None] * 5 == [reward.value for reward in rewards]


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
