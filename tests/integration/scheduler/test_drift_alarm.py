"""Drift alarms: a cheap verifier that is being gamed is found by random audits."""

from pathlib import Path
from random import Random

import pytest

import verifier_ladder as vl
from verifier_ladder.learners.trl import reward_function
from verifier_ladder.scheduler.policies import Thresholds
from verifier_ladder.summary.reading import summarise


def truth(candidate: vl.Candidate) -> float:
    quality, _, trick = str(candidate.content).partition(" ")
    return 0.0 if trick.startswith("hack") else float(quality)


def cheap(candidate: vl.Candidate) -> float:
    noise = 0.1 * (hash_of(str(candidate.content)) - 0.5)
    return float(str(candidate.content).split()[0]) + noise


def hash_of(text: str) -> float:
    return Random(text).random()  # noqa: S311 - noise that is the same every time


@pytest.fixture
def ladder() -> vl.Ladder:
    return vl.Ladder(
        "gamed",
        [
            vl.verifier(
                tier="fast", version="1", isolation="inline", deviation=0.1, same_quantity=True
            )(cheap),
            vl.verifier(tier="high_fidelity", version="1", isolation="inline")(truth),
        ],
        policy=Thresholds(thresholds={"high_fidelity": 100.0}), audit=1.0, prior=(0.5, 0.3),
    )  # fmt: skip


@pytest.fixture
def campaign(ladder: vl.Ladder, tmp_path: Path) -> vl.Campaign:
    return vl.Campaign.open("gamed", ladder=ladder, ledger=tmp_path / "ledger.db")


def texts(step: int) -> list[str]:
    """Candidates of which every one is audited: the same in every run."""
    return [f"{hash_of(f'D {step} {i}'):.3f} honest {step} {i}" for i in range(32)]


def test_a_hack_raises_an_alarm_that_names_the_verifier(campaign: vl.Campaign) -> None:
    with campaign:
        for step in range(6):
            campaign.score(texts(step))
            campaign.drain("300 s")
        assert not [alarm for alarm in campaign.alarms() if alarm.is_gamed]
        for step in range(6, 10):
            campaign.score([f"0.9 hack {step} {i}" for i in range(32)])
            campaign.drain("300 s")

        first = next(alarm for alarm in campaign.alarms() if alarm.is_gamed)

        assert "cheap" == first.stratum
        assert 6 <= first.last.step <= 7
        assert all(winner.truth == 0.0 for winner in first.winners)
        assert any("cheap" in text for text in summarise(campaign.ledger, "gamed").alarms)


def test_the_log_and_the_learners_metrics_tell_of_it_while_it_trains(
    ladder: vl.Ladder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    metrics: dict[str, list[float]] = {}
    reward = reward_function(ladder, ledger=tmp_path / "ledger.db", campaign="gamed")
    neighbour = vl.Campaign.open("gamed", ladder=ladder, ledger=tmp_path / "ledger.db")

    def train(completions: list[str]) -> None:
        reward(
            prompts=["write"] * len(completions), completions=completions,
            log_metric=lambda name, value: metrics.setdefault(name, []).append(value),
        )  # fmt: skip
        reward.campaign.drain("300 s")

    with neighbour:
        for step in range(6):
            train(texts(step))
        before = [r for r in caplog.records if "gamed or has changed" in r.message]
        for step in range(6, 10):
            train([f"0.9 hack {step} {i}" for i in range(32)])
        neighbour.drain("300 s")
        raised = sum(alarm.is_gamed for alarm in reward.campaign.alarms())
        told = [r for r in caplog.records if "cheap is being gamed" in r.message]

        assert not before
        assert raised
        assert raised == neighbour.gaming_alarms
        assert {("verifier_ladder", "WARNING")} == {(r.name, r.levelname) for r in told}
        assert 2 * raised == len(told)  # By each of the two that have it open, and once.
        assert 0.0 == metrics["gamed/gaming_alarms"][0]
        assert float(raised) == metrics["gamed/gaming_alarms"][-1]
    reward.close()


def test_an_honest_verifier_raises_none(campaign: vl.Campaign) -> None:
    with campaign:
        for step in range(8):
            campaign.score(texts(step))
            campaign.drain("300 s")

        assert not campaign.alarms()
