"""Stochastic verifiers: every replicate is a check of its own, and the tier says their mean."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.scheduler.replay import replay
from verifier_ladder.summary import summarise


class Diary:
    """Notes what was asked and what was drawn, where other processes can write too."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def note(self, content: Any, drawn: float) -> None:
        with Path(self.path).open("a") as file:
            file.write(f"{content} {drawn!r}\n")

    def read(self) -> dict[str, list[float]]:
        path, found = Path(self.path), dict[str, list[float]]()
        for line in path.read_text().splitlines() if path.exists() else ():
            content, drawn = line.split()
            found.setdefault(content, []).append(float(drawn))
        return found


@pytest.fixture
def diary(tmp_path: Path) -> Diary:
    return Diary(tmp_path / "diary")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def judge(diary: Diary, replicates: int = 5, **options: Any) -> FunctionVerifier:
    def judged(candidate: vl.Candidate) -> float:
        drawn = random.random()  # noqa: S311 - what the test is about
        diary.note(candidate.content, drawn)
        if candidate.content == "fussy" and drawn < 0.5:
            raise ValueError("not now")
        return drawn

    return FunctionVerifier(judged, name="judge", version="1", replicates=replicates, **options)


def cheap(_: vl.Candidate) -> float:
    return 0.5


CHEAP = FunctionVerifier(cheap, name="cheap", version="1", isolation="inline")


def scored(verifier: vl.Verifier, ledger: Path | None, *texts: str) -> list[float | None]:
    ladder = vl.Ladder(f"asking {verifier.replicates}", [verifier])
    name = f"c{verifier.replicates}"
    with vl.Campaign.open(name, ladder=ladder, ledger=ledger, workers=1) as campaign:
        return [reward.value for reward in campaign.score(list(texts))]


def assert_replays(place: Path) -> None:
    with open_ledger(place) as ledger:
        for row in ledger.campaigns():
            report = replay(ledger, row)
            assert report.rewards
            assert not report.differences


def test_the_first_tier_says_the_mean_of_draws_that_differ(diary: Diary, place: Path) -> None:
    values = scored(judge(diary), place, "a", "b")

    drawn = diary.read()
    assert [5, 5] == [len(set(each)) for each in drawn.values()]
    assert pytest.approx([mean(drawn["a"]), mean(drawn["b"])]) == values
    assert_replays(place)


def test_each_replicate_is_paid_once_and_draws_the_same_everywhere(
    diary: Diary, place: Path, tmp_path: Path
) -> None:
    values = scored(judge(diary), place, "a", "b")
    before = diary.read()

    assert values == scored(judge(diary), place, "a", "b")
    fewer = scored(judge(diary, 3), place, "a")
    assert before == diary.read()
    assert fewer != values[:1]
    assert values == scored(judge(diary), tmp_path / "other.db", "a", "b")


def test_those_that_fail_are_left_out(diary: Diary, place: Path) -> None:
    (value,) = scored(judge(diary), place, "fussy")

    answered = [drawn for drawn in diary.read()["fussy"] if drawn >= 0.5]
    assert 0 < len(answered) < 5
    assert mean(answered) == pytest.approx(value)
    assert_replays(place)


def test_a_gate_takes_the_majority(diary: Diary, place: Path) -> None:
    def mostly(candidate: vl.Candidate) -> bool:
        drawn = random.random()  # noqa: S311
        diary.note(candidate.content, drawn)
        return drawn < 0.5

    gate = FunctionVerifier(mostly, name="gate", version="1", role="gate", replicates=5)
    ladder = vl.Ladder("gated", [gate, CHEAP])
    texts = [f"t{number}" for number in range(12)]
    with vl.Campaign.open("g", ladder=ladder, ledger=place, workers=1) as campaign:
        values = [reward.value for reward in campaign.score(texts)]

    passed = [sum(drawn < 0.5 for drawn in diary.read()[text]) > 2 for text in texts]
    assert {True, False} == set(passed)
    assert [0.5 if each else 0.0 for each in passed] == values


def test_a_higher_tier_completes_its_replicates(diary: Diary, place: Path) -> None:
    ladder = vl.Ladder(
        "two", [CHEAP, judge(diary, 3, tier="simulation", cost=vl.Cost(seconds=0.01))],
        policy="all_tiers",
    )  # fmt: skip
    with vl.Campaign.open("two", ladder=ladder, ledger=place, workers=2) as campaign:
        campaign.score(["a", "b", "a"])
        assert campaign.drain("300 s")
        last = {revision.position: revision.reward for revision in campaign.revisions()}

    drawn = diary.read()
    assert {"a": 3, "b": 3} == {text: len(each) for text, each in drawn.items()}
    assert pytest.approx([mean(drawn[text]) for text in "aba"]) == [
        last[position].value for position in range(3)
    ]
    with open_ledger(place) as ledger:
        assert Counter({CheckState.DONE: 6}) == Counter(check.state for check in ledger.checks())
        shown = [one.scores[vl.Tier.SIMULATION].value for one in summarise(ledger, "two").best]
    assert sorted(map(mean, drawn.values()), reverse=True) == pytest.approx(shown)
    assert_replays(place)


def rows(*scores: float) -> list[dict[str, Any]]:
    return [{"content": "a", "judge": score} for score in scores]


def test_rows_about_one_candidate_are_its_replicates(diary: Diary, place: Path) -> None:
    ladder = vl.Ladder("l", [CHEAP, judge(diary, 3, tier="simulation")], policy="all_tiers")
    with vl.Campaign.open("c", ladder=ladder, ledger=place, workers=1) as campaign:
        first = campaign.import_verdicts(rows(1.0, 1.0, 4.0, 9.0), source="before")
        again = campaign.import_verdicts(rows(1.0, 1.0, 4.0), source="before")
        (reward,) = campaign.score(["a"])

    assert (3, 1) == (first.verdicts, len(first.bad_rows))
    assert "judge has 3 replicates" in first.bad_rows[0].reason
    assert (0, 3) == (again.verdicts, again.known)
    assert 2.0 == reward.value
    assert stdev([1.0, 1.0, 4.0]) / 3**0.5 == pytest.approx(reward.uncertainty)
    assert {} == diary.read()


def test_a_stochastic_verifier_does_not_disturb_the_program(diary: Diary) -> None:
    with pytest.raises(vl.ConfigError, match='give it isolation="process"'):
        vl.Ladder("l", [judge(diary, isolation="inline")])
