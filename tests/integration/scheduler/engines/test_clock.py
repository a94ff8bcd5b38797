"""A ledger's clock that jumps: nothing that is at work is lost, and nothing waits for an hour."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import CheckRow, CheckState

Until = Callable[[Callable[[], Any]], None]
HOUR = 3600.0


class Jumping:
    """The machine's clock, which can be put."""

    def __init__(self) -> None:
        self.ahead, self.real = 0.0, time.time

    def __call__(self) -> float:
        return self.real() + self.ahead


class Patient(vl.Verifier):
    """Says when it has begun, and answers when it may; the first attempts fail."""

    name, version, tier, kind = "clock_patient", "1", vl.Tier.SIMULATION, "text"

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[vl.Verdict]:
        begun = Path(self.settings["folder"], "begun")
        attempts = begun.read_text().count("x") if begun.exists() else 0
        begun.write_text("x" * (attempts + 1))
        if attempts < self.settings["failures"]:
            return [vl.Verdict.abstain("no licence", failed_at="tool") for _ in candidates]
        while not Path(self.settings["folder"], "gate").exists():
            time.sleep(0.01)
        return [vl.Verdict.accept(2.0) for _ in candidates]


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def clock_cheap(_: vl.Candidate) -> float:
    return 1.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Jumping:
    made = Jumping()
    monkeypatch.setattr(time, "time", made)
    return made


def check(ledger: Ledger) -> CheckRow:
    (found,) = ledger.checks()
    return found


def woken(campaign: vl.Campaign, condition: Callable[[], bool]) -> Callable[[], bool]:
    """A condition that is looked at after the engine was woken: it need not wait for its turn."""

    def look() -> bool:
        campaign._call(lambda conductor: conductor.wake())
        return condition()

    return look


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_a_check_at_work_keeps_its_lease(
    clock: Jumping, tmp_path: Path, until: Until, jump: float
) -> None:
    ladder = vl.Ladder(
        "l", [clock_cheap, Patient(folder=str(tmp_path), failures=0)], policy="all_tiers"
    )
    place = tmp_path / "ledger.db"
    with (
        vl.Campaign.open("c", ladder=ladder, ledger=place, run="r", workers=1) as campaign,
        open_ledger(place) as ledger,
    ):
        campaign.score(["a"], step=0)
        until((tmp_path / "begun").exists)
        for ahead in (jump, 0.0):
            clock.ahead = ahead
            until(woken(campaign, lambda: 30 < check(ledger).lease_until - clock() < 61))
        (tmp_path / "gate").touch()
        assert campaign.drain("300 s")
        done = check(ledger)

    assert (CheckState.DONE, 1) == (done.state, done.attempt)


def test_a_retry_does_not_wait_until_the_clock_is_right_again(
    clock: Jumping, tmp_path: Path, until: Until
) -> None:
    (tmp_path / "gate").touch()
    ladder = vl.Ladder(
        "l", [clock_cheap, Patient(folder=str(tmp_path), failures=1)], policy="all_tiers"
    )
    place = tmp_path / "ledger.db"
    with (
        vl.Campaign.open("c", ladder=ladder, ledger=place, run="r", workers=1) as campaign,
        open_ledger(place) as ledger,
    ):
        clock.ahead = HOUR
        campaign.score(["a"], step=0)
        until(lambda: check(ledger).note)
        clock.ahead = 0.0
        until(woken(campaign, lambda: check(ledger).state is CheckState.DONE))

    with open_ledger(place) as ledger:
        assert 2 == check(ledger).attempt


def test_who_opens_a_ledger_brings_forward_what_waits_for_an_hour(
    clock: Jumping, tmp_path: Path, until: Until
) -> None:
    (tmp_path / "gate").touch()
    ladder = vl.Ladder(
        "l", [clock_cheap, Patient(folder=str(tmp_path), failures=1)], policy="all_tiers"
    )
    place = tmp_path / "ledger.db"
    clock.ahead = HOUR
    with vl.Campaign.open("c", ladder=ladder, ledger=place, run="r", workers=1) as campaign:
        campaign.score(["a"], step=0)
        with open_ledger(place) as ledger:
            until(lambda: check(ledger).note)
    clock.ahead = 0.0
    with vl.Campaign.open("c", ladder=ladder, ledger=place, run="r", workers=1) as campaign:
        assert campaign.drain("300 s")
        values = [revision.reward.value for revision in campaign.revisions()]

    assert [2.0] == values
