"""Campaigns that use one verifier with different settings don't stand in each other's way."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import forked
import pytest
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder import doctor
from verifier_ladder.cli.app import app
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.scheduler.engines.catalog import Catalog
from verifier_ladder.scheduler.engines.host import WorkerHost

SCRIPT = """
import os, signal
import verifier_ladder as vl

@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def settings_guess(candidate):
    return 1.0

@vl.verifier(tier="simulation", kind="text", version="1", settings={"factor": 1})
def settings_measure(candidate):
    return 1.0

ladder = vl.Ladder("l", [settings_guess, settings_measure], policy="all_tiers")
with vl.Campaign.open("killed", ladder=ladder, ledger="ledger.db", engine="workers") as campaign:
    campaign.score([f"left {number}" for number in range(100)])
    os.kill(os.getpid(), signal.SIGKILL)
"""


def made(factor: int) -> vl.Ladder:
    @vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
    def settings_guess(_: vl.Candidate) -> float:
        return 1.0

    @vl.verifier(tier="simulation", kind="text", version="1", settings={"factor": factor})
    def settings_measure(_: vl.Candidate) -> float:
        return 10.0 * factor

    return vl.Ladder("l", [settings_guess, settings_measure], policy="all_tiers")


@pytest.fixture(scope="module")
def remains(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a campaign left it that was killed."""
    folder = tmp_path_factory.mktemp("killed")
    forked.run([sys.executable, "-c", SCRIPT], cwd=folder, check=False, timeout=300)
    return folder


@pytest.fixture
def place(remains: Path, tmp_path: Path) -> Path:
    """A ledger with the queued checks of a campaign that was killed."""
    shutil.copytree(remains, tmp_path, dirs_exist_ok=True)
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(place: Path) -> Iterator[Ledger]:
    with open_ledger(place) as store:
        assert len(store.checks(states=[CheckState.QUEUED])) == 100
        yield store


def values(campaign: vl.Campaign) -> list[float | None]:
    return [revision.reward.value for revision in campaign.revisions()]


def test_what_a_killed_campaign_left_queued_starves_nobody(place: Path, ledger: Ledger) -> None:
    with vl.Campaign.open("c", ladder=made(2), ledger=place, workers=1) as campaign:
        campaign.score(["a", "b"])
        assert campaign.drain("300 s")
        assert [20.0, 20.0] == values(campaign)

    states = [check.state for check in ledger.checks(campaign="killed")]
    assert [CheckState.QUEUED] * 100 == states


def test_a_host_runs_what_it_holds_past_what_it_does_not(place: Path, ledger: Ledger) -> None:
    ours = made(2)
    catalog = Catalog(ledger, offered=ours.verifiers)
    with vl.Campaign.open("c", ladder=ours, ledger=place, engine="workers") as campaign:
        host = WorkerHost(ledger, workers=1, catalog=catalog)
        try:
            campaign.score(["a", "b"])
            host.wake()
            assert campaign.drain("300 s")
        finally:
            host.close()
        assert [20.0, 20.0] == values(campaign)


def test_two_campaigns_of_one_process_each_get_their_own_settings(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "two.db") as store:
        open_ = vl.Campaign.open
        with (
            open_("one", ladder=made(1), ledger=store, workers=1) as one,
            open_("two", ladder=made(2), ledger=store, workers=1) as two,
        ):
            one.score(["a", "b"])
            two.score(["a", "b"])
            assert one.drain("300 s")
            assert two.drain("300 s")
            assert [10.0, 10.0] == values(one)
            assert [20.0, 20.0] == values(two)


def test_the_campaign_that_comes_back_finds_its_checks_run(place: Path, ledger: Ledger) -> None:
    with vl.Campaign.open("killed", ladder=made(1), ledger=place, workers=1) as campaign:
        assert campaign.drain("300 s")

    states = {check.state for check in ledger.checks(campaign="killed")}
    assert {CheckState.DONE} == states


def test_checks_that_nobody_takes_are_told_by_the_doctor_and_listed(
    place: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_LONG_WAIT", -1.0)
    digest = ledger.checks(limit=1)[0].digest.hex()

    (found,) = (f for f in doctor.examine(str(place)) if f.name == "queue")
    listed = CliRunner().invoke(app, ["check", "ls", "--json", "--ledger", str(place)])

    assert found.text.startswith(f"100 checks of settings_measure 1, made as {digest[:12]}, wait")
    assert "start a worker that holds this verifier with the same settings" in found.advice
    assert {digest} == {check["digest"] for check in json.loads(listed.stdout)}
