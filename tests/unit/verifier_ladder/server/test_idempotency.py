"""The same call under the same key has one answer; another call under it is refused."""

import asyncio
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.ledger.replies import KEPT

WORLD: Any = {"world": "unlimited"}
KEY = {"Idempotency-Key": "k-1"}


def post(ask: Any, samples: list[str], headers: dict[str, str] = KEY, **options: Any) -> Any:
    return ask("POST", "/v1/score", json={"samples": samples, **options}, headers=headers)


def test_the_same_call_again_is_not_scored_again(serve: Any, campaign: vl.Campaign) -> None:
    ask = serve()
    first = post(ask, ["a"])
    cursor = campaign.cursor
    again = post(ask, ["a"])

    assert first.content == again.content
    assert cursor == campaign.cursor


def test_both_of_two_calls_at_one_time_get_one_answer(serve: Any) -> None:
    ask = serve()
    call = ("POST", "/v1/score", {"json": {"samples": ["a"]}, "headers": KEY})
    first, second = ask.together(call, call)

    assert first.content == second.content
    assert 0 == first.json()["step"]


def test_another_server_of_the_campaign_gives_the_same_answer(
    serve: Any, campaign: vl.Campaign
) -> None:
    first = post(serve(), ["a", "?"])
    campaign.score(["b"])
    again, other = serve(), post(serve(), ["a", "?"])

    assert first.content == other.content
    assert 422 == post(again, ["b"]).status_code
    assert 2 == post(again, ["b"], {"Idempotency-Key": "k-2"}).json()["step"]


def test_a_server_that_starts_anew_gives_the_same_answer(
    serve: Any, world: vl.Campaign, tmp_path: Path
) -> None:
    ladder, answers = vl.Ladder("w", world.ladder.verifiers, budget=WORLD), []
    for run in ("first", "second"):
        with vl.Campaign.open("c", ladder=ladder, ledger=tmp_path / "l.db", run=run) as campaign:
            ask = serve(campaign, deadline=0)
            answers.append(post(ask, ["a"]).content)
            assert campaign.drain(300)
            for case in campaign.cases():  # The reward is revised, and the answer is not.
                campaign.answer(case.check_key, 5.0, source="lab")
            assert campaign.drain(300)
            (recorded,) = campaign.ledger.recorded("c", "first", 0).values()
            assert (5.0, 1) == (recorded.reward.value, recorded.reward.revision)
            ask.runner.run(ask.service.close())

    assert 1 == len(set(answers))


@pytest.mark.parametrize(
    "forged",
    [
        zlib.compress(b'{"rewards": [{"position": 0, "value": 99.0}]}'),
        b'{"rewards": [{"position": 0, "value": 99.0}]}',
        b"[7]",
        b"nothing",
        None,
    ],
)
def test_a_reply_that_somebody_edits_tells_no_reward_that_was_not_recorded(
    serve: Any, world: vl.Campaign, tmp_path: Path, forged: bytes | None
) -> None:
    ladder, place = vl.Ladder("w", world.ladder.verifiers, budget=WORLD), tmp_path / "ledger.db"
    with vl.Campaign.open("c", ladder=ladder, ledger=place) as campaign:
        ask = serve(campaign, deadline=0)
        first = post(ask, ["a"]).json()
        while ask.app.state.replier._at_work:
            ask.runner.run(asyncio.sleep(0))
        with closing(sqlite3.connect(place, timeout=300)) as connection, connection:
            changed = connection.execute("UPDATE reply SET answer = ?", (forged,))
            assert 1 == changed.rowcount

        assert first == post(ask, ["a"]).json()
        ask.runner.run(ask.service.close())


def test_a_call_that_died_with_its_server_goes_on_with_the_same_samples(
    serve: Any, campaign: vl.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(campaign, "score", fail)
        assert 503 == post(serve(), ["a", "b"]).status_code
    between = post(serve(), ["c"], {"Idempotency-Key": "k-2"}).json()
    again = post(serve(), ["a", "b"]).json()

    assert (1, 0) == (between["step"], again["step"])
    assert [1.0, 1.0] == [reward["value"] for reward in again["rewards"]]
    assert [0, 1] == list(campaign.ledger.recorded("served", campaign.run.name, 0))


def fail(*_: Any, **__: Any) -> Any:
    raise vl.LedgerError("x")


def test_an_answer_is_kept_for_a_day(
    serve: Any, campaign: vl.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, now = serve(), campaign.ledger.clock()
    first = post(ask, ["a"]).json()
    while ask.app.state.replier._at_work:  # It is kept a moment later.
        ask.runner.run(asyncio.sleep(0))
    monkeypatch.setattr(campaign.ledger, "clock", lambda: now + KEPT - 1)
    assert first == post(ask, ["a"]).json()
    monkeypatch.setattr(campaign.ledger, "clock", lambda: now + KEPT + 60)

    assert first["step"] + 1 == post(ask, ["a"]).json()["step"]
    assert 200 == post(ask, ["b"], {"Idempotency-Key": "k-2"}).status_code


def test_another_body_under_the_key_is_refused(serve: Any) -> None:
    ask = serve()
    post(ask, ["a"])
    answer = post(ask, ["b"])

    assert 422 == answer.status_code
    assert "another body" in answer.json()["detail"]


def test_a_call_that_makes_no_sense_leaves_the_key_free(serve: Any) -> None:
    ask = serve()

    assert 422 == post(ask, ["a"], groups=[]).status_code
    assert 422 == post(ask, ["a"], run="another").status_code
    assert 200 == post(ask, ["a"]).status_code


@pytest.mark.parametrize("key", ["", "x" * 256])
def test_a_key_that_is_none_is_refused(serve: Any, key: str) -> None:
    assert 400 == post(serve(), ["a"], {"Idempotency-Key": key}).status_code
