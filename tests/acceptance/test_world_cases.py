"""A case of the world tier waits, across restarts, until its horizon, a person or a file answers.

At the horizon its verifier asks its feed; whoever comes after that with what is known by then is
late and earns nothing. The horizon is part of what was asked: another one is another case. A work
order leaves as a file, and results come back as revised rewards.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import forked
import pytest
from settling import DAY, World
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.case import moment
from verifier_ladder.cli.app import app
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.tiers.world.expert import ExpertCase


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(tmp_path)
    world.set_clocks(monkeypatch)
    return world


def test_a_forecast_waits_for_its_horizon_and_is_settled_from_the_feed(world: World) -> None:
    with world.campaign() as campaign:
        rewards = campaign.score(world.samples("3", "5"), deadline=0)
        horizon, world.horizon = world.horizon, world.horizon + DAY
        campaign.score(world.samples("3", step=1), deadline=0)
        assert campaign.drain(300)
        assert [(None, True)] * 2 == [(r.value, r.pending) for r in rewards]
        horizons = sorted(case.settles_at or 0.0 for case in campaign.cases())
        assert [horizon, horizon, horizon + DAY] == horizons
    world.feed.write_text("4.5")
    assert [] == world.settled()

    world.ahead = DAY + 1
    assert [-1.5, -0.5] == world.settled()

    with vl.open_ledger(world.folder / "ledger.db") as ledger:
        (check, _) = ledger.checks(states=[CheckState.DONE])
        verdict = ledger.verdicts([check.check_key])[check.check_key]
        assert vl.Outcome.ACCEPT is verdict.outcome
        assert horizon == pytest.approx(moment(verdict.evidence["valid_until"]))


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


def test_the_example_shows_forecasts_their_settlement_and_a_late_copy() -> None:
    example = Path(__file__).parents[2] / "examples" / "forecast" / "run.py"

    done = forked.run([sys.executable, example], capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stderr
    before, after = done.stdout.split("the price is 102.0")
    assert 3 == before.count("waits")
    line = r"^(after|too late) +(.*\S) +(\d\.\d{3})(?:$|: late)"  # A time may hold such a number.
    told = {(when, said): value for when, said, value in re.findall(line, after, re.MULTILINE)}
    assert told == {
        ("after", "<answer>101.5</answer>"): "0.950",
        ("after", "<answer>103 ± 2</answer>"): "0.934",
        ("after", "It rises."): "0.000",
        ("too late", "<answer>101.5</answer>"): "0.000",
    }


def vladder(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def reviews(place: Path) -> list[dict[str, Any]]:
    with vl.open_ledger(place) as ledger:
        return [dict(ledger.read(entry).facts) for entry in ledger.entries(kind="review")]


def test_a_work_order_leaves_as_a_file_and_its_results_revise_the_rewards(tmp_path: Path) -> None:
    @vl.verifier(name="guessed-weight", kind="text", version="1", isolation="inline")
    def guess(candidate: vl.Candidate) -> float:
        return float(len(candidate.content))

    weighing = ExpertCase(ask="What does it weigh?", kind="text", low=0, high=100, unit="g")
    ladder = vl.Ladder(
        "weights", [guess, weighing], policy="all_tiers", budget={"world": "unlimited"}
    )
    place, order, copy = (tmp_path / name for name in ("ledger.db", "order.csv", "copy.csv"))
    with vl.Campaign.open("weights", ladder=ladder, ledger=place, workers=1) as campaign:
        campaign.score(["a feather", "a brick", "a cloud"])
        assert campaign.drain(300)
        assert 3 == len(campaign.cases())

    early = vladder("case", "out", "--out", order, "--ledger", place)
    assert (2, False) == (early.exit_code, order.exists())
    vladder("case", "approve", "--rows", 3, "--by", "the head", "--ledger", place)
    done = vladder("case", "out", "--out", order, "--ledger", place)
    assert 0 == done.exit_code, done.output
    with order.open(newline="", encoding="utf-8") as stream:
        rows = {row["candidate"]: row for row in csv.DictReader(stream)}
    rows["a feather"] |= {"value": "7.5", "uncertainty": "0.5", "note": "second pan"}
    rows["a cloud"] |= {"value": "decline"}
    with order.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows["a brick"]))
        writer.writeheader()
        writer.writerows(rows.values())
    shutil.copy(order, copy)
    first, again, copied = (
        json.loads(vladder("case", "in", file, "--by", "ada", "--ledger", place, "--json").stdout)
        for file in (order, order, copy)
    )

    assert {"taken": 2, "known": 0, "blank": 1, "revised": 2, "bad_rows": []} == first
    for told in (again, copied):
        assert (0, 2, 0) == (told["taken"], told["known"], told["revised"])
    assert 2 == len(reviews(place))
    for facts in reviews(place):
        assert "ada" == facts["source"]
        assert "order.csv sha256:" in facts["event"]
    with vl.open_ledger(place) as ledger:
        verdict = ledger.verdicts([bytes.fromhex(rows["a feather"]["case"])]).popitem()[1]
    assert (7.5, 0.5, "g") == (verdict.score, verdict.uncertainty, verdict.unit)
    assert "second pan" == verdict.evidence["note"]
