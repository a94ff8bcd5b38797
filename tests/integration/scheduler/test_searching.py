"""Searching: a campaign that looks for the best, and learns from every tier's answers."""

from dataclasses import replace
from math import isnan, sin
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.scheduler.lessons import Lessons
from verifier_ladder.scheduler.policies.discovery import Discovery
from verifier_ladder.scheduler.replay import replay

TEXTS = [str(number) for number in range(80)]


def truth(text: str | bytes) -> float:
    number = int(text)
    return (number % 10) / 2 + sin(1.7 * number) + 0.1 * sin(9.1 * number)


def said(value: float, seconds: float, **evidence: Any) -> vl.Verdict:
    return replace(vl.Verdict.accept(value), cost=vl.Cost(seconds=seconds), evidence=evidence)


def hint(candidate: vl.Candidate) -> vl.Verdict:
    return said(0.0, 0.0, digit=int(candidate.content) % 10)


def ladder(asked: list[str]) -> vl.Ladder:
    """The digit tells something, the look nearly all; the look costs a tenth of the truth."""

    def look(candidate: vl.Candidate) -> vl.Verdict:
        return said(truth(candidate.content) - 0.1 * sin(9.1 * int(candidate.content)), 0.1)

    def dear(candidate: vl.Candidate) -> vl.Verdict:
        asked.append(str(candidate.content))
        return said(truth(candidate.content), 1.0)

    return vl.Ladder(
        "search",
        [
            vl.verifier(tier="fast", features=("digit",), isolation="inline", version="1")(hint),
            vl.verifier(
                tier="simulation", version="1", isolation="inline", same_quantity=True,
                cost=vl.Cost(seconds=0.1),
            )(look),
            vl.verifier(
                tier="world", version="1", isolation="inline", cost=vl.Cost(seconds=1.0)
            )(dear),
        ],
        policy=Discovery(),
    )  # fmt: skip


def search(ledger: Ledger | Path, budget: str, asked: list[str]) -> None:
    with vl.Campaign.open(
        "search", ladder=ladder(asked), ledger=ledger, budget={"total": budget}, workers=1
    ) as campaign:
        campaign.score(TEXTS)
        assert campaign.drain("300 s")


def lessons(ledger: Ledger) -> list[Lessons]:
    entries = ledger.entries(kind="belief", campaign="search")
    return [Lessons.from_json(ledger.read(entry).facts["lessons"]) for entry in entries]


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    with open_ledger(tmp_path / "ledger.db") as store:
        yield store


def test_the_best_are_found_without_a_look_at_all(ledger: Ledger) -> None:
    asked: list[str] = []
    search(ledger, "30 s", asked)

    best = sorted(TEXTS, key=truth, reverse=True)[:10]
    looks = sum(len(one) for one in lessons(ledger)) - len(asked)
    assert len(set(best) & set(asked)) >= 8
    assert looks < len(TEXTS)


def test_each_answer_of_a_tier_is_learnt_once(ledger: Ledger) -> None:
    asked: list[str] = []
    search(ledger, "30 s", asked)

    keys = [key for one in lessons(ledger) for key in one.keys]
    targets = [value for one in lessons(ledger) for value in one.target.tolist()]
    told = [(key, isnan(value)) for key, value in zip(keys, targets, strict=True)]
    assert len(set(told)) == len(told)
    assert sorted(map(truth, asked)) == pytest.approx(sorted(v for v in targets if not isnan(v)))
    assert len(targets) > len(asked)


def test_a_search_is_replayed(ledger: Ledger) -> None:
    search(ledger, "20 s", [])
    (row,) = ledger.campaigns()

    report = replay(ledger, row)

    assert report.is_same, report.differences
    assert report.rewards > len(TEXTS)


def test_a_search_goes_on_where_it_was_left(tmp_path: Path) -> None:
    before: list[str] = []
    after: list[str] = []
    path, budget = tmp_path / "ledger.db", {"total": "40 s"}
    with vl.Campaign.open(
        "search", ladder=ladder(before), ledger=path, budget=budget, workers=1
    ) as campaign:
        campaign.score(TEXTS)
    with vl.Campaign.open(
        "search", ladder=ladder(after), ledger=path, budget=budget, workers=1
    ) as campaign:
        assert campaign.drain("300 s")

    assert not set(before) & set(after)
    best = sorted(TEXTS, key=truth, reverse=True)[:10]
    assert len(set(best) & {*before, *after}) >= 8
