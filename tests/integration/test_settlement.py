"""Cases that settle: feeds that say nothing or fail, answers of people, and what is refused."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from settling import DAY, Forecast, World

import verifier_ladder as vl
from verifier_ladder.case import Case
from verifier_ladder.ledger.database import Database
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.tiers.world.case import WorldVerifier

pytestmark = pytest.mark.usefixtures("forked_workers")


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
            told.append(campaign.resettle().superseded)
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
        assert (0, ()) == campaign.resettle()


def resettled(world: World, before: str, **attributes: Any) -> tuple[Any, vl.Verifier]:
    """What comes of settling three cases anew that were settled by 4, once the feed tells more."""
    with world.campaign() as campaign:
        campaign.score(world.samples("3", "5", "6"), deadline=0)
        assert campaign.drain(300)
    world.feed.write_text("4")
    world.ahead = DAY + 1
    assert [-1.0, -1.0, -2.0] == world.settled()
    world.feed.write_text(before)
    with world.campaign() as campaign:
        (verifier,) = campaign.ladder.verifiers
        vars(verifier).update(attributes, campaign=campaign)
        return campaign.resettle(), verifier


class Meanwhile(Forecast):
    """While it is asked anew, a person answers."""

    campaign: vl.Campaign | None = None

    def settle(self, case: Case, feed: Any) -> vl.Verdict | None:
        said = super().settle(case, feed)
        if self.campaign is not None and case.candidate.content == "5":
            assert self.campaign.supersede(case, -9.0, source="the exchange")
        return said


def test_what_a_person_says_meanwhile_is_not_overwritten(world: World) -> None:
    world.verifier = Meanwhile
    (superseded, (left_out,)), _ = resettled(world, "7")

    assert [-4.0, -9.0, -1.0] == world.settled()
    assert (2, "forecast-test", 1) == (superseded, left_out.verifier, len(left_out.cases))
    assert "somebody has said otherwise meanwhile" in left_out.why


class Unreachable(Forecast):
    """A feed that can't be reached, and how often it was tried here."""

    asked = 0

    def settle(self, case: Case, feed: Any) -> vl.Verdict | None:
        if Path(feed).read_text() == "away":
            self.asked += 1
            raise ConnectionRefusedError("nobody is there")
        return super().settle(case, feed)


def test_a_feed_that_can_not_be_reached_is_asked_once(world: World) -> None:
    world.verifier = Unreachable
    (superseded, (first, rest)), verifier = resettled(world, "away")

    assert (0, 1) == (superseded, vars(verifier)["asked"])
    assert (1, 2) == (len(first.cases), len(rest.cases))
    assert (first.why, f"not asked, for its feed is away: {first.why}") == (
        "nobody is there", rest.why
    )  # fmt: skip


def test_what_tells_nothing_is_told_for_each_case(world: World) -> None:
    (superseded, (left_out,)), _ = resettled(world, "")

    assert (0, 3) == (superseded, len(left_out.cases))
    assert "forecast-test is not settled yet" == left_out.why


def test_cases_that_other_settings_have_settled_are_counted_and_named(world: World) -> None:
    (superseded, (left_out,)), verifier = resettled(world, "7", digest=bytes(32))
    with vl.open_ledger(world.folder / "ledger.db") as ledger:
        keys = {check.check_key.hex() for check in ledger.checks()}

    assert (0, verifier.name, keys) == (superseded, left_out.verifier, set(left_out.cases))
    assert "settled by other settings" in left_out.why


class Telling(Forecast):
    """It says what it has been told in confidence."""

    secrets = ("A_FEED_TOKEN",)

    def settle(self, case: Case, feed: Any) -> vl.Verdict | None:
        token = os.environ["A_FEED_TOKEN"]
        if Path(feed).read_text() == "refused":
            raise ConnectionError(f"GET /?token={token} was refused")
        said = super().settle(case, feed)
        return said and replace(said, feedback=token, evidence={"sent": [token]})


def test_a_case_that_is_settled_anew_tells_no_secret(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_FEED_TOKEN", "open-sesame")
    world.verifier = Telling
    (superseded, _), _ = resettled(world, "7")
    with world.campaign() as campaign:
        world.feed.write_text("refused")
        told = repr(campaign.resettle())
        blocks = repr([campaign.ledger.read(entry) for entry in campaign.ledger.entries()])

    assert 3 == superseded
    for said in (told, blocks):
        assert "[A_FEED_TOKEN]" in said
        assert "open-sesame" not in said
    for file in world.folder.iterdir():
        assert b"open-sesame" not in file.read_bytes()


def test_a_secret_that_is_not_set_where_cases_are_settled_anew_is_named(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_FEED_TOKEN", "open-sesame")
    world.verifier = Telling
    resettled(world, "4")
    monkeypatch.delenv("A_FEED_TOKEN")
    with world.campaign() as campaign:
        superseded, (left_out,) = campaign.resettle()

    assert (0, 3) == (superseded, len(left_out.cases))
    assert "needs A_FEED_TOKEN; set it in the environment" in left_out.why


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
