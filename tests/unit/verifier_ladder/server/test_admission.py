"""A busy server turns away what it can't take, and never what it has taken."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.server.admission import Admission, BusyError
from verifier_ladder.server.limits import Limits


def test_what_is_too_much_is_refused_with_a_time_to_come_again() -> None:
    admission = Admission(10)
    with admission.hold(6), pytest.raises(BusyError) as caught, admission.hold(5):
        pass

    assert caught.value.pause >= 1
    assert 0 == admission.waiting


def test_a_server_without_work_takes_any_call() -> None:
    admission = Admission(10)
    with admission.hold(1000):
        assert 1000 == admission.waiting


@given(st.lists(st.integers(1, 20), max_size=30))
def test_what_is_held_is_what_was_accepted_and_not_given_back(sizes: list[int]) -> None:
    admission = Admission(50)
    held: list[Any] = []
    for size in sizes:
        block = admission.hold(size)
        try:
            block.__enter__()
        except BusyError:
            assert admission.waiting + size > 50
        else:
            held.append((size, block))
        assert sum(size for size, _ in held) == admission.waiting
        if len(held) > 3:
            held.pop(0)[1].__exit__(None, None, None)
        assert 1 <= admission.pause() <= 60
    for _, block in held:
        block.__exit__(None, None, None)

    assert 0 == admission.waiting


def test_over_http_that_is_429_and_the_accepted_are_answered(
    serve: Any, campaign: vl.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    ask, gate, score = serve(limits=Limits(samples=3)), threading.Event(), campaign.score
    monkeypatch.setattr(campaign, "score", lambda *a, **k: (gate.wait(300), score(*a, **k))[1])

    async def run() -> tuple[Any, Any]:
        def call() -> Any:
            return ask.ask("POST", "/v1/score", json={"samples": ["a", "bb"]})

        first = asyncio.create_task(call())
        while not ask.service.admission.waiting:  # noqa: ASYNC110 - looks until it is so
            await asyncio.sleep(0)
        refused = await call()
        gate.set()
        return await first, refused

    first, refused = ask.runner.run(run())

    assert (200, [1.0, 2.0]) == (
        first.status_code, [reward["value"] for reward in first.json()["rewards"]]
    )  # fmt: skip
    assert 429 == refused.status_code
    assert int(refused.headers["retry-after"]) >= 1


def test_a_server_that_leaves_takes_nothing_new(serve: Any) -> None:
    ask = serve()
    ask.service.leave()

    assert 503 == ask("POST", "/v1/score", json={"samples": ["a"]}).status_code
    assert [503, 200] == [ask("GET", path).status_code for path in ("/readyz", "/healthz")]
