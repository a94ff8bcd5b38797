"""A campaign with a surrogate: which version speaks, and what becomes of samples meanwhile."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep

import pytest
from wordsurrogates import Quick, model, publish, surrogate

import verifier_ladder as vl
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.scheduler import surrogates
from verifier_ladder.scheduler.lessons import Lessons
from verifier_ladder.scheduler.policies import Thresholds
from verifier_ladder.scheduler.replay import replay
from verifier_ladder.scheduler.surrogates import KIND
from verifier_ladder.tiers.fast.surrogate import TRAINED, WEIGHTS

OWN = surrogate(first=32, held_out=0.5)


@vl.verifier(tier="high_fidelity", kind="text", version="1", isolation="inline")
def dear(candidate: vl.Candidate) -> float:
    return float(str(candidate.content).count("a"))


def opened(place: Path, engine: str = "local") -> vl.Campaign:
    ladder = vl.Ladder("l", [OWN, dear], policy="all_tiers", prior=(2.0, 2.0))
    return vl.Campaign.open("c", ladder=ladder, ledger=place, engine=engine, workers=1)


def blocks(ledger: Ledger, kind: str) -> list[Block]:
    return [ledger.read(entry) for entry in ledger.entries(kind=kind)]


def until(is_so: Callable[[], object]) -> None:
    ends = monotonic() + 300.0
    while not is_so():
        assert monotonic() < ends, "it did not come to be so"
        sleep(0.01)


def test_the_version_of_the_ledger_speaks_when_the_campaign_is_opened_again(
    tmp_path: Path,
) -> None:
    place = tmp_path / "l.db"
    with opened(place) as campaign:
        assert campaign.score(["aa"])[0].components["surrogate"] is None
    with open_ledger(place) as ledger:
        publish(ledger, "c", OWN, model())
    with opened(place) as campaign:
        first, again = campaign.score(["aaa", "aa"])

    assert (first.components["surrogate"], again.components["surrogate"]) == (3.0, 2.0)


def test_a_version_whose_bytes_were_changed_says_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "l.db"
    with opened(place) as campaign:
        publish(campaign.ledger, "c", OWN, model())
    with closing(sqlite3.connect(place)) as database, database:
        database.execute("UPDATE artifact_chunk SET data = zeroblob(length(data))")
    with opened(place) as campaign:
        (reward,) = campaign.score(["aaa"])

    assert reward.components["surrogate"] is None
    assert "can't be used" in caplog.text


def test_a_sample_that_waits_climbs_by_the_version_it_was_decided_with(tmp_path: Path) -> None:
    place = tmp_path / "l.db"
    with opened(place) as campaign:
        publish(campaign.ledger, "c", OWN, model())
    with opened(place, "workers") as campaign:
        campaign.score(["aa"])
    with open_ledger(place) as ledger:
        publish(ledger, "c", OWN, model(2.0, "cd" * 32))
    with opened(place) as campaign:
        assert campaign.drain("300 s")
        assert [revision.reward.value for revision in campaign.revisions()] == [2.0]
    with open_ledger(place) as ledger:
        (told,) = (Lessons.from_json(b.facts["lessons"]) for b in blocks(ledger, "belief"))
        report = replay(ledger, ledger.campaigns("c")[0])

    assert told.seen.scores[:, 0].tolist() == [2.0]
    assert report.is_same


def searched(place: Path) -> vl.Campaign:
    policy = Thresholds(thresholds={"high_fidelity": 99.0})
    ladder = vl.Ladder("l", [OWN, dear], policy=policy, prior=(2.0, 2.0), audit=0.95)
    return vl.Campaign.open("c", ladder=ladder, ledger=place, workers=1)


def texts(begin: int, end: int) -> list[str]:
    """Words with 0 to 3 a's, none of them an anagram of another."""
    return ["a" * (number % 4) + "x" * number for number in range(begin, end)]


def test_it_trains_itself_and_speaks_once_it_has_beaten_the_null_in_shadow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hung, killed = Quick.begun[:] = tmp_path / "hung", tmp_path / "killed"
    monkeypatch.setattr(surrogates, "Training", Quick)
    monkeypatch.setattr(surrogates, "_NICE", 0)  # It would wait for whatever else is at work.
    with searched(tmp_path / "l.db") as campaign:
        campaign.score(texts(0, 80))
        assert campaign.drain("300 s")
        until(hung.exists)
        assert not blocks(campaign.ledger, KIND)
    with searched(tmp_path / "l.db") as campaign:  # The one before has ended the training.
        campaign.score(texts(80, 81))
        until(lambda: blocks(campaign.ledger, KIND))
        told = campaign.score(texts(100, 170))
        assert campaign.drain("300 s")
        until(lambda: blocks(campaign.ledger, KIND)[-1].facts["speaks"])
        believed = campaign.score(texts(170, 190))
        assert campaign.drain("300 s")
        trained, reviewed, *later = blocks(campaign.ledger, KIND)
        report = replay(campaign.ledger, campaign.ledger.campaigns("c")[0])
    with open_ledger(tmp_path / "l.db") as ledger:
        assert isinstance(ledger, SqlLedger)
        ledger.sequence()
        verified = ledger.verify()

    assert killed.exists()
    assert (trained.facts["trained"], trained.facts["speaks"]) == (64, None)
    assert reviewed.facts["speaks"] == trained.facts["shadow"]
    assert {reward.components["surrogate"] for reward in told} == {None}
    assert [said.components["surrogate"] for said in believed] == [n % 4 for n in range(170, 190)]
    assert report.is_same
    files = {str(ref[name]) for block in (trained, reviewed, *later)
             for ref in (block.facts["speaks"], block.facts["shadow"]) if ref
             for name in (WEIGHTS, TRAINED)}  # fmt: skip
    assert (verified.problems, verified.artifacts) == ([], len(files))
