"""Seals: which samples come in time, by a time that never runs backwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from settling import DAY, Forecast, World

import verifier_ladder as vl


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
