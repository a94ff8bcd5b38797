"""Replay: what a campaign did, computed again from its ledger alone."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.scheduler.policies import Discovery, Thresholds
from verifier_ladder.scheduler.replay import replay

CHANCE = Random(7)  # noqa: S311 - the same texts in every run
TEXTS = ["x" * CHANCE.randrange(50) + CHANCE.choice("abc") for _ in range(120)]


def made(name: str, tier: str, shift: float, **attributes: Any) -> vl.Verifier:
    def judge(candidate: vl.Candidate) -> float:
        if str(candidate.content).endswith("c") and tier == "simulation":
            raise RuntimeError("no such luck")
        return len(candidate.content) + shift

    return vl.verifier(name=name, tier=tier, version="1", isolation="inline", **attributes)(judge)


def short(candidate: vl.Candidate) -> bool:
    return len(candidate.content) < 40


LADDER = vl.Ladder(
    "replayed",
    [
        vl.verifier(tier="fast", version="1", isolation="inline", role="gate")(short),
        made("cheap", "fast", 0.0, deviation=2.0, same_quantity=True),
        made("relax", "simulation", 0.25, deviation=1.0, same_quantity=True),
        made("dear", "high_fidelity", 0.5, unit="kcal/mol"),
    ],
    policy=Thresholds(thresholds={"simulation": 3.0, "high_fidelity": 20.0}), audit=0.3,
    reward=vl.RewardRule(low=0.0, high=40.0, reject=-0.1), prior=(20.0, 10.0),
)  # fmt: skip


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(tmp_path / "ledger.db") as store:
        with vl.Campaign.open("one", ladder=LADDER, ledger=store, workers=1) as campaign:
            for step in range(3):
                texts = TEXTS[step * 30 : step * 30 + 60]
                campaign.score(texts, groups=[str(i // 10) for i in range(60)])
                campaign.drain("300 s")
        yield store


def test_everything_comes_out_as_recorded(ledger: Ledger) -> None:
    (row,) = ledger.campaigns()

    report = replay(ledger, row)

    assert report.is_same, report.differences
    assert report.rewards > 180
    assert report.draws > 20


def test_a_reward_that_does_not_follow_is_found(ledger: Ledger) -> None:
    (row,) = ledger.campaigns()
    (entry, *_) = ledger.entries(kind="score", campaign="one")
    block = ledger.read(entry)
    first = block.rewards[0]
    forged = first._replace(value=(first.value or 0.0) + 1e-12)

    ledger.append(replace(block, rewards=[forged, *block.rewards[1:]]))

    report = replay(ledger, row)
    assert [("reward", forged.value, first.value)] == [
        (d.what, d.recorded, d.replayed) for d in report.differences
    ]


def test_a_draw_that_was_not_random_is_found(ledger: Ledger) -> None:
    (row,) = ledger.campaigns()
    for entry in ledger.entries(kind="score", campaign="one"):
        block = ledger.read(entry)
        for columns in block.decisions:
            columns.draw = columns.draw and [0.999 for _ in columns.draw]
        samples = block.samples
        assert samples is not None
        ledger.append(replace(block, samples=replace(samples, run="forged")))
        break

    assert "draw" in {difference.what for difference in replay(ledger, row).differences}


def test_other_campaigns_of_the_ledger_are_not_judged(ledger: Ledger) -> None:
    (row,) = ledger.campaigns()
    before = replay(ledger, row)

    ledger.append(Block("note", "another", facts={"said": "hello"}))

    assert before == replay(ledger, row)


def test_beliefs_of_a_search_come_out_as_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verifier_ladder.scheduler.learning._SNAPSHOT", 16)
    tiers = [made("cheap", "fast", 0.0), made("dear", "high_fidelity", 0.5)]
    ladder = vl.Ladder("search", tiers, policy=Discovery(width=8))
    with open_ledger(tmp_path / "ledger.db") as ledger:
        with vl.Campaign.open("two", ladder=ladder, ledger=ledger, workers=1) as campaign:
            campaign.score([f"{'y' * (7 * n % 61)} {n}" for n in range(60)])
            campaign.drain("300 s")
        (row,) = ledger.campaigns()

        report = replay(ledger, row)

    assert report.is_same, report.differences
    assert report.beliefs > 0
