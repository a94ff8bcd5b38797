"""What one token asks for leaves room for the others."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.server import revisions
from verifier_ladder.server.limits import Limits
from verifier_ladder.server.shares import SharedPool, Shares
from verifier_ladder.server.tokens import TokenFile

CALLERS = ["blue", "green", "red"]
SLOW = 7
Sent = Callable[..., "asyncio.Task[Any]"]


class Gate:
    """Where samples that begin with "slow" are held up, in the thread that scores them."""

    def __init__(self, campaign: vl.Campaign) -> None:
        self.score, self.is_open, self.seen = campaign.score, threading.Event(), 0

    def __call__(self, samples: Any, **options: Any) -> list[vl.Reward]:
        if "slow" in str(samples[0]):
            self.seen += 1
            self.is_open.wait(300)
            self.is_open.set()  # One that nobody opens in time fails a test once.
        return self.score(samples, **options)


@pytest.fixture
def gate(campaign: vl.Campaign, monkeypatch: pytest.MonkeyPatch) -> Gate:
    made = Gate(campaign)
    monkeypatch.setattr(campaign, "score", made)
    return made


@pytest.fixture
def bearers(tmp_path: Path) -> tuple[TokenFile, dict[str, dict[str, str]]]:
    tokens = TokenFile(tmp_path / "tokens")
    made = {name: tokens.add(name, ["score"], runs=[f"{name}/"]) for name in CALLERS}
    return tokens, {name: {"Authorization": f"Bearer {made[name]}"} for name in CALLERS}


@pytest.fixture
def serving(serve: Any, bearers: Any) -> Callable[..., tuple[Any, Sent]]:
    """`serving(calls=4)`: an application with limits, and what sends it a call of a token."""

    def start(**limits: int) -> tuple[Any, Sent]:
        tokens, headers = bearers
        ask = serve(tokens=tokens, limits=Limits(**limits))

        def send(name: str, *samples: str, step: int = 0) -> "asyncio.Task[Any]":
            body = {"samples": samples, "run": f"{name}/1", "step": step}
            options = {"json": body, "headers": headers[name]}
            return asyncio.create_task(ask.ask("POST", "/v1/score", **options))

        return ask, send

    return start


async def until(is_so: Callable[[], object]) -> None:
    while not is_so():  # noqa: ASYNC110 - looks until it is so
        await asyncio.sleep(0)


def test_many_slow_calls_of_one_token_hold_up_no_other(serving: Any, gate: Gate) -> None:
    ask, send = serving(calls=4)

    async def run() -> tuple[Any, list[bool], list[Any]]:
        slow = [send("blue", f"slow {i}", step=i) for i in range(8)]
        slow += [send("red", f"slow {i}", step=i) for i in range(8)]
        await until(lambda: ask.service.admission.waiting == 16)
        green = await send("green", "abc")
        before = [call.done() for call in slow]
        gate.is_open.set()
        return green, before, await asyncio.gather(*slow)

    green, before, slow = ask.runner.run(run())

    assert (200, 3.0) == (green.status_code, green.json()["rewards"][0]["value"])
    assert not any(before)
    assert {200} == {answer.status_code for answer in slow}


def test_a_call_that_waits_for_its_turn_is_scored_though_its_client_has_gone(
    serving: Any, gate: Gate, campaign: vl.Campaign
) -> None:
    ask, send = serving(calls=2)

    async def run() -> None:
        slow = [send("blue", f"slow {i}", step=i) for i in range(3)]
        await until(lambda: ask.service.admission.waiting == 3)
        for call in slow:
            call.cancel()
        await asyncio.wait(slow)
        gate.is_open.set()
        await ask.service.close()

    ask.runner.run(run())

    assert 3 == gate.seen
    assert 3 == campaign.ledger.next_step("served", "blue/1")


def test_without_tokens_all_calls_at_one_time_may_be_of_anybody(serve: Any, gate: Gate) -> None:
    ask = serve(limits=Limits(calls=2))

    async def run() -> list[Any]:
        slow = [
            asyncio.create_task(ask.ask("POST", "/v1/score", json={"samples": [f"slow {i}"]}))
            for i in range(3)
        ]
        await until(lambda: gate.seen == 2)
        gate.is_open.set()
        return await asyncio.gather(*slow)

    assert [200] * 3 == [answer.status_code for answer in ask.runner.run(run())]


def test_samples_of_one_token_that_wait_leave_room_for_another(serving: Any, gate: Gate) -> None:
    ask, send = serving(samples=8)

    async def run() -> list[Any]:
        first = send("blue", *(f"slow {i}" for i in range(4)))
        await until(lambda: ask.service.admission.waiting == 4)
        told = [await send("blue", "a", step=1), await send("green", "a", "b")]
        gate.is_open.set()
        return [*told, await first]

    told = ask.runner.run(run())

    assert [429, 200, 200] == [answer.status_code for answer in told]
    assert "4 of them yours" in told[0].json()["detail"]


def test_bodies_of_one_token_leave_room_for_another(serving: Any, gate: Gate) -> None:
    ask, send = serving(held=1000)

    async def run() -> list[Any]:
        first = send("blue", "slow" + "x" * 600)
        await until(lambda: gate.seen)
        told = [await send("blue", "a" * 100, step=1), await send("green", "a" * 100)]
        gate.is_open.set()
        return [*told, await first]

    assert [429, 200, 200] == [answer.status_code for answer in ask.runner.run(run())]
    assert 0 == ask.app.door.held


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Pages after one cursor are held up until this is set."""
    held, read = threading.Event(), revisions.page

    def page(reader: Any, after: int, limit: int) -> Any:
        if after == SLOW:
            held.wait(300)
            held.set()  # One that nobody opens in time fails a test once.
        return read(reader, after, limit)

    monkeypatch.setattr(revisions, "page", page)
    return held


def test_a_token_that_only_reads_holds_up_no_score_and_no_other_reader(
    serve: Any, readers: threading.Event, tmp_path: Path
) -> None:
    tokens = TokenFile(tmp_path / "tokens")
    made = {name: tokens.add(name, ["score", "read", "answer"]) for name in CALLERS}
    headers = {name: {"Authorization": f"Bearer {made[name]}"} for name in CALLERS}
    ask = serve(tokens=tokens)

    async def run() -> tuple[list[Any], list[bool], list[Any]]:
        slow = [
            asyncio.create_task(ask.ask("GET", f"/v1/rewards?after={SLOW}", headers=headers[name]))
            for name in ("blue", "blue", "blue", "red") * 4
        ]
        await asyncio.sleep(0)
        green = {"headers": headers["green"]}
        told = [
            await ask.ask("POST", "/v1/score", json={"samples": ["abc"]}, **green),
            await ask.ask(
                "POST", "/v1/score", json={"samples": ["abc"]},
                headers={**headers["green"], "Idempotency-Key": "once"},
            ),
            await ask.ask("GET", "/v1/rewards", **green),
            await ask.ask("GET", "/v1/cases", **green),
            await ask.ask("GET", "/readyz"),
        ]  # fmt: skip
        before = [call.done() for call in slow]
        readers.set()
        return told, before, await asyncio.gather(*slow)

    told, before, slow = ask.runner.run(run())

    assert [200] * 5 == [answer.status_code for answer in told]
    assert not any(before)
    assert {200} == {answer.status_code for answer in slow}


def test_callers_that_wait_take_turns() -> None:
    order: list[str] = []

    async def run() -> None:
        pool = SharedPool(1, "turns")
        gate = threading.Event()
        first = pool.run("blue", gate.wait, 300)
        rest = [pool.run(name, order.append, name) for name in ("blue", "blue", "green", "blue")]
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(first, *rest)
        await pool.close()

    asyncio.run(run())

    assert ["blue", "green", "blue", "blue"] == order


@given(
    st.integers(1, 30),
    st.lists(st.tuples(st.sampled_from(CALLERS), st.integers(1, 5), st.booleans())),
)
def test_whoever_comes_finds_as_much_as_each_had_before_it_took_its_last(
    limit: int, moves: list[tuple[str, int, bool]]
) -> None:
    shares, had = Shares(limit), dict.fromkeys([*CALLERS], 0)
    for caller, amount, is_taken in moves:
        if is_taken and shares.has_room(caller, amount):
            shares.take(caller, amount)
            assert shares.has_room("new", had[caller])
            had[caller] += amount
        elif not is_taken and had[caller] >= amount:
            shares.give_back(caller, amount)
            had[caller] -= amount
        assert had == {name: shares.of(name) for name in had}
        assert sum(had.values()) == shares.taken <= limit
