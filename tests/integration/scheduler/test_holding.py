"""Holding: a sequential policy buys one check after the other, the most promising first."""

import tracemalloc
from dataclasses import replace
from math import cos, sin
from pathlib import Path

import pytest

import verifier_ladder as vl
from verifier_ladder.ledger.records import HELD, CheckState
from verifier_ladder.scheduler.policies.discovery import Discovery

COUNT = 40


def truth(text: str | bytes) -> float:
    number = int(text)
    return 3.0 * sin(0.7 * number) + 0.1 * (number % 5)


def ladder(asked: list[str], width: int = 1) -> vl.Ladder:
    def cheap(candidate: vl.Candidate) -> float:
        return truth(candidate.content) + 0.5 * cos(3.3 * int(candidate.content))

    def dear(candidate: vl.Candidate) -> vl.Verdict:
        asked.append(str(candidate.content).strip())
        said = vl.Verdict.accept(truth(candidate.content))
        return replace(said, cost=vl.Cost(seconds=1.0))

    return vl.Ladder(
        "search",
        [
            vl.verifier(
                tier="fast", version="1", isolation="inline", deviation=0.5, same_quantity=True
            )(cheap),
            vl.verifier(
                tier="high_fidelity", version="1", isolation="inline", cost=vl.Cost(seconds=1.0)
            )(dear),
        ],
        policy=Discovery(width=width), prior=(0.0, 2.0),
    )  # fmt: skip


TEXTS = [str(number) for number in range(COUNT)]


def test_the_best_are_found_without_asking_for_all() -> None:
    asked: list[str] = []
    with vl.Campaign.open("search", ladder=ladder(asked)) as campaign:
        campaign.score(TEXTS)
        assert campaign.drain("300 s")

    best = sorted(TEXTS, key=truth, reverse=True)[:5]
    assert set(best) <= set(asked)
    assert len(asked) < COUNT
    assert truth(asked[0]) > 2.0


def test_no_text_stays_of_what_others_are_compared_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLADDER_CACHE_MEMORY", "40MiB")
    asked: list[str] = []
    searching, size = ladder(asked), 500_000
    with vl.Campaign.open("search", ladder=searching, ledger=tmp_path / "ledger.db") as campaign:
        campaign.score(TEXTS)
        assert campaign.drain("300 s")
        asked.clear()
        tracemalloc.start()
        for text in TEXTS:
            campaign.score([text.ljust(size)])
        assert campaign.drain("300 s")
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    waiting = COUNT - len(asked)
    assert waiting < COUNT - 5
    assert held < (waiting + len(asked) / 2) * size


def test_a_budget_buys_the_most_promising() -> None:
    asked: list[str] = []
    with vl.Campaign.open(
        "search", ladder=ladder(asked), budget={"high_fidelity": "4 s"}
    ) as campaign:
        campaign.score(TEXTS)
        assert campaign.drain("300 s")

    assert 0 < len(asked) < 10
    assert min(map(truth, asked)) > 1.5


def test_what_is_held_survives_a_restart(tmp_path: Path) -> None:
    asked: list[str] = []
    known: list[str] = []
    path = tmp_path / "ledger.db"
    with vl.Campaign.open(
        "search", ladder=ladder(known), ledger=path, budget={"high_fidelity": "2 s"}
    ) as campaign:
        campaign.score(TEXTS)
        campaign.drain("300 s")
        waiting = campaign.ledger.checks(states=[CheckState.QUEUED])
    assert HELD in {check.not_before for check in waiting}

    with vl.Campaign.open(
        "search", ladder=ladder(asked), ledger=path, budget={"high_fidelity": None}
    ) as campaign:
        assert campaign.drain("300 s")

    assert asked
    assert not set(asked) & set(known)
    best = sorted(TEXTS, key=truth, reverse=True)[:5]
    assert set(best) <= {*asked, *known}


@pytest.mark.parametrize("width", [1, 3])
def test_no_more_are_at_work_than_its_width(width: int) -> None:
    asked: list[str] = []
    with vl.Campaign.open("search", ladder=ladder(asked, width)) as campaign:
        campaign.score(TEXTS)
        going = [
            check for check in campaign.ledger.checks(states=[CheckState.QUEUED])
            if check.not_before != HELD
        ]  # fmt: skip
        assert len(going) <= width
        campaign.drain("300 s")


def test_candidates_of_a_later_call_are_compared_with_those_held() -> None:
    asked: list[str] = []
    with vl.Campaign.open("search", ladder=ladder(asked)) as campaign:
        campaign.score(TEXTS[:20])
        campaign.score(TEXTS[20:])
        assert campaign.drain("300 s")

    best = sorted(TEXTS, key=truth, reverse=True)[:5]
    assert set(best) <= set(asked)
