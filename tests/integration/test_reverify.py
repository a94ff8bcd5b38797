"""A newer verifier looks at old candidates; nothing that stands is touched."""

from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.errors import ConfigError
from verifier_ladder.reverify import reverify

WORDS = ["ant", "bee", "crow", "donkey"]


def letters(version: str, **options: Any) -> vl.Verifier:
    """Version 1 counts letters, version 2 vowels."""

    def count(candidate: vl.Candidate) -> float:
        text = str(candidate.content)
        return float(len(text) if version == "1" else sum(c in "aeiou" for c in text))

    declare = vl.verifier(
        name="letters", version=version, kind="text", isolation="inline", **options
    )
    return declare(count)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    ladder = vl.Ladder("words", [letters("1")])
    with vl.Campaign.open("words", ladder=ladder, ledger=tmp_path / "ledger.db") as campaign:
        campaign.score(WORDS)
    return tmp_path / "ledger.db"


def test_both_versions_stand_side_by_side(path: Path) -> None:
    with vl.open_ledger(path) as ledger:
        report = reverify(ledger, letters("2"), workers=1)

        assert (4, ("1", "2")) == (report.compared, report.versions)
        assert -sum(map(len, WORDS)) / 4 + (1 + 2 + 1 + 2) / 4 == report.mean_change
        recorded = ledger.recorded("words", next(iter(ledger.runs("words")))["name"], 0)
        assert [3.0, 3.0, 4.0, 6.0] == [recorded[at].reward.value for at in range(4)]


def test_again_nothing_is_paid_for(path: Path) -> None:
    with vl.open_ledger(path) as ledger:
        first = reverify(ledger, letters("2"), workers=1)
        verdicts = ledger.statistics()["verdicts"]

        assert first == reverify(ledger, letters("2"), workers=1)
        assert verdicts == ledger.statistics()["verdicts"]


def test_only_the_latest_are_looked_at(path: Path) -> None:
    with vl.open_ledger(path) as ledger:
        report = reverify(ledger, letters("2"), limit=2, workers=1)

    assert (2, (2, 0)) == (report.compared, report.only)


def test_a_gate_is_looked_at_too(path: Path) -> None:
    with vl.open_ledger(path) as ledger:
        assert 4 == reverify(ledger, letters("2", role="gate"), workers=1).compared


def test_the_same_version_is_refused(path: Path) -> None:
    with vl.open_ledger(path) as ledger, pytest.raises(ConfigError, match="another version"):
        reverify(ledger, letters("1"))
    with vl.open_ledger(path) as ledger, pytest.raises(ConfigError, match="raise the version"):
        reverify(ledger, letters("1"), old="1")


def test_what_stands_in_no_queue_cannot_be_asked_again(path: Path) -> None:
    with vl.open_ledger(path) as ledger, pytest.raises(ConfigError, match="no candidates"):
        reverify(ledger, letters("2", task_fields=["answer"]))
