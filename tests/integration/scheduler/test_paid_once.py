"""Calls ask the fast tier, and the work queue does once a call gives up: it is paid once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.errors import LedgerAwayError
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.scheduler.engines import dispatcher

pytestmark = pytest.mark.usefixtures("forked_workers")

COST = vl.Cost(seconds=0.001)
TEXTS = [f"text {i}" for i in range(40)]


@vl.verifier(tier="fast", kind="text", version="1", cost=COST, batch_size=4)
def once_paid(candidate: vl.Candidate) -> vl.Verdict:
    return vl.Verdict(vl.Outcome.ACCEPT, float(len(candidate.content)), cost=COST)


def answers(ledger: Ledger) -> Counter[bytes]:
    """How often each check was answered."""
    return Counter(
        row.check_key
        for entry in ledger.entries() for row in ledger.read(entry).verdicts
        if row.verdict.is_answer
    )  # fmt: skip


@pytest.mark.parametrize("threads", [1, 8])
def test_calls_that_give_up_and_calls_that_wait_pay_once(threads: int, tmp_path: Path) -> None:
    place, ladder = tmp_path / "ledger.db", vl.Ladder("l", [once_paid])
    with (
        ThreadPoolExecutor(threads) as callers,
        vl.Campaign.open("c", ladder=ladder, ledger=place, workers=2) as campaign,
    ):
        for begin in range(0, len(TEXTS), 4):
            texts = TEXTS[begin : begin + 8]
            deadlines = [0.0, 0.002, 0.005, None] * (threads // 4 + 1)
            calls = [callers.submit(campaign.score, texts, deadline=d) for d in deadlines]
            assert all(call.result() for call in calls)
        assert campaign.drain("300 s")
        rewards = campaign.score(TEXTS)

    with open_ledger(place) as ledger:
        told = answers(ledger)
        (account,) = ledger.accounts("c")
    assert [reward.value for reward in rewards] == [float(len(text)) for text in TEXTS]
    assert set(told.values()) == {1}
    assert round(account.settled / COST.seconds) == len(TEXTS)


@pytest.mark.parametrize("when", ["end_known", "complete"])
def test_a_ledger_that_goes_away_leaves_no_check_taken(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, ladder = tmp_path / "ledger.db", vl.Ladder("l", [once_paid])
    monkeypatch.setattr(dispatcher, "_ABSENCE", 0.0)
    real: Callable[..., Any] = getattr(SqlLedger, when)
    left = [None, None, None]

    def away(*arguments: Any, **options: Any) -> Any:
        if left:
            left.pop()
            raise LedgerAwayError("gone for a moment")
        return real(*arguments, **options)

    with vl.Campaign.open("c", ladder=ladder, ledger=place, workers=1) as campaign:
        monkeypatch.setattr(SqlLedger, when, away)
        campaign.score(TEXTS[:4], deadline=0.0, step=0)
        assert campaign.drain("300 s")
        rewards = [
            row.reward for row in campaign.ledger.recorded("c", campaign.run.name, 0).values()
        ]
        again = campaign.score(TEXTS[:4])

    with open_ledger(place) as ledger:
        told = answers(ledger)
    assert [reward.value for reward in rewards] == [reward.value for reward in again] == [6.0] * 4
    assert list(told.values()) == [1] * 4


def test_what_a_call_finds_for_a_sample_told_before_is_recorded(tmp_path: Path) -> None:
    place, ladder = tmp_path / "ledger.db", vl.Ladder("l", [once_paid])
    first = vl.Sample(vl.Candidate("text", "first"), run="r", step=0, position=0)
    second = vl.Sample(vl.Candidate("text", "second"), run="r", step=0, position=1)
    with vl.Campaign.open("c", ladder=ladder, ledger=place, workers=1) as campaign:
        campaign.score([first])
    with vl.Campaign.open("c", ladder=ladder, ledger=place, workers=1) as campaign:
        rewards = campaign.score([first, second])

    with open_ledger(place) as ledger:
        told = answers(ledger)
        (account,) = ledger.accounts("c")
    assert [reward.value for reward in rewards] == [5.0, 6.0]
    assert sorted(told.values()) == [1, 1]
    assert round(account.settled / COST.seconds) == 2


def test_what_a_refused_call_found_is_recorded_by_the_next(tmp_path: Path) -> None:
    place, ladder = tmp_path / "ledger.db", vl.Ladder("l", [once_paid])
    with vl.Campaign.open("c", ladder=ladder, ledger=place, workers=1) as campaign:
        campaign.score([vl.Sample(vl.Candidate("text", "first"), run="r", step=0, position=0)])
        with pytest.raises(vl.ConfigError, match="recorded with another candidate"):
            campaign.score(
                [vl.Sample(vl.Candidate("text", "second"), run="r", step=0, position=0)]
            )
        (reward,) = campaign.score(["second"])

    with open_ledger(place) as ledger:
        told = answers(ledger)
    assert reward.value == 6.0
    assert sorted(told.values()) == [1, 1]


class Level(IntEnum):
    """A number with a name."""

    LOW = 1


class Word(str, Enum):  # noqa: UP042 - one whose text is its name is the harder case
    """A text with a name."""

    A = "a"


@pytest.mark.parametrize("named", [Level.LOW, Word.A])
def test_an_enumeration_in_a_task_is_its_value(named: Any) -> None:
    @vl.verifier(tier="simulation", kind="text", version="1", task_fields=["level"])
    def reads_level(candidate: vl.Candidate) -> bool:
        return bool((candidate.task or {})["level"] == named.value)

    with vl.Campaign.open("named", ladder=vl.Ladder("l", [reads_level])) as campaign:
        both = [vl.Candidate("text", "x", {"level": level}) for level in (named, named.value)]
        rewards = campaign.score(both, deadline=300)
        asked = campaign.ledger.counts("named")

    assert [1.0, 1.0] == [reward.value for reward in rewards]
    assert 1 == sum(asked[vl.Tier.SIMULATION].values())


@pytest.mark.parametrize("isolation", ["inline", "process"])
@pytest.mark.parametrize(
    "pair",
    [
        (
            vl.Candidate("text", "0.5", {"answer": 0.5}),
            vl.Candidate("text", "0.5", {"answer": "0.5"}),
        ),
        (vl.Candidate("text", "Zürich".encode()), vl.Candidate("text", "Zürich")),
    ],
)
def test_what_a_verifier_would_tell_apart_shares_no_verdict(
    pair: tuple[vl.Candidate, vl.Candidate], isolation: Any
) -> None:
    """Else whoever came first would decide for all others, in every run of the ledger."""

    def told_apart(candidate: vl.Candidate) -> bool:
        return isinstance((candidate.task or {}).get("answer", candidate.content), str)

    judge = vl.verifier(
        name="told_apart", kind="text", version="1", isolation=isolation, task_fields=["answer"]
    )(told_apart)
    for given in (pair, pair[::-1]):
        with vl.Campaign.open("apart", ladder=vl.Ladder("l", [judge])) as campaign:
            rewards = campaign.score(list(given), deadline=300)

        assert [float(told_apart(candidate)) for candidate in given] == [r.value for r in rewards]
