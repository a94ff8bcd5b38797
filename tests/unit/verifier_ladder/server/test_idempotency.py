"""The same call under the same key has one answer; another call under it is refused."""

import asyncio
from functools import partial
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.server.idempotency import Answers

KEY = {"Idempotency-Key": "k-1"}


def post(ask: Any, samples: list[str], headers: dict[str, str] = KEY) -> Any:
    return ask("POST", "/v1/score", json={"samples": samples}, headers=headers)


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


def test_another_body_under_the_key_is_refused(serve: Any) -> None:
    ask = serve()
    post(ask, ["a"])
    answer = post(ask, ["b"])

    assert 422 == answer.status_code
    assert "another body" in answer.json()["detail"]


def test_what_failed_may_be_asked_for_again(
    serve: Any, campaign: vl.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = serve()
    with monkeypatch.context() as patch:
        patch.setattr(
            campaign, "score", lambda *_, **__: (_ for _ in ()).throw(vl.LedgerError("x"))
        )
        assert 503 == post(ask, ["a"]).status_code

    assert 200 == post(ask, ["a"]).status_code


@pytest.mark.parametrize("key", ["", "x" * 256])
def test_a_key_that_is_none_is_refused(serve: Any, key: str) -> None:
    assert 400 == post(serve(), ["a"], {"Idempotency-Key": key}).status_code


def test_answers_are_forgotten_when_they_are_too_many() -> None:
    from fastapi import Response

    async def run() -> tuple[list[bytes], int]:
        answers = Answers(most_bytes=250)
        made: list[str] = []

        async def make(name: str) -> Response:
            made.append(name)
            return Response(name * 100)

        for name in "abca":
            await answers.once(name, b"", partial(make, name))
        return [name.encode() for name in made], answers._bytes

    made, kept = asyncio.run(run())
    assert [b"a", b"b", b"c", b"a"] == made
    assert kept <= 250
