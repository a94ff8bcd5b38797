"""Late truth over HTTP: pages, streams that are resumed, and answers that make revisions."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.server import revisions
from verifier_ladder.server.tokens import TokenFile


def answer(ask: Any, value: Any, **more: Any) -> Any:
    case = ask("GET", "/v1/cases").json()["cases"][0]["case"]
    body = {"case": case, "value": value, "source": "x", **more}
    return ask("POST", "/v1/answers", json=body)


def revised(ask: Any, world: vl.Campaign, values: Sequence[float]) -> list[Any]:
    """The revisions that some answers make."""
    for value in values:
        assert answer(ask, value).json() == {"taken": True}
    assert world.drain(300)
    return list(ask("GET", f"/v1/rewards?after={ask.start}").json()["revisions"])


def test_open_cases_are_told_with_their_questions(ask: Any) -> None:
    cases = ask("GET", "/v1/cases").json()["cases"]

    assert ["a", "bb", "ccc"] == sorted(c["candidate"]["content"].split()[0] for c in cases)
    assert all("How good is" in case["question"] for case in cases)


def test_an_answer_revises_the_reward(ask: Any, world: vl.Campaign) -> None:
    made = revised(ask, world, [7.0, 8.0])

    assert {7.0, 8.0} == {revision["reward"]["value"] for revision in made}
    assert ["world"] * 2 == [revision["reward"]["tier"] for revision in made]
    assert all(revision["advantage_change"] is not None for revision in made)
    assert list(made[0]) == [
        "cursor", "run", "step", "position", "reward", "previous", "group", "learner_version",
        "advantage", "advantage_change", "evaluation",
    ]  # fmt: skip


@pytest.mark.parametrize("run", ["", "train"])
def test_evaluation_has_steps_rewards_and_revisions_of_its_own(
    wait: Any, world: vl.Campaign, run: str
) -> None:
    ask = wait("trained")
    step = world.take_step()
    body = {"step": step, "groups": ["g"], "prompts": {"g": "Say it."}, "run": run}
    trained = ask.score([f"t {step} {run}"], **body)
    told = ask.score([f"e {step} {run}"], **body, evaluation=True)
    assert world.drain(300)
    for value in (7.0, 8.0, 9.0):
        answer(ask, value)
    assert world.drain(300)

    def runs(**params: Any) -> set[tuple[str, bool]]:
        page = ask("GET", "/v1/rewards", params={"after": ask.start, **params}).json()
        return {(revision["run"], revision["evaluation"]) for revision in page["revisions"]}

    own = run or world.run.name
    assert (own, f"{own}/eval") == (trained["run"], told["run"])
    assert {("train", False), (own, False)} == runs(evaluation=False)
    assert {(f"{own}/eval", True)} == runs(evaluation=True)
    assert runs() == runs(evaluation=False) | runs(evaluation=True)
    after = ask("GET", "/v1/rewards", params={"after": world.cursor, "evaluation": True}).json()
    assert [] == after["revisions"]


def test_pages_leave_nothing_out(ask: Any, world: vl.Campaign) -> None:
    every = revised(ask, world, [7.0, 8.0, 9.0])
    found: list[Any] = []
    after, more = ask.start, True
    while more:
        page = ask("GET", "/v1/rewards", params={"after": after, "limit": 1}).json()
        found += page["revisions"]
        after, more = page["cursor"], page["more"]

    assert every == found
    assert 3 == len(found)
    assert [] == ask("GET", "/v1/rewards", params={"after": after}).json()["revisions"]


def test_a_page_ends_after_a_number_of_entries_and_the_next_one_goes_on(
    ask: Any, world: vl.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = revised(ask, world, [7.0, 8.0, 9.0])
    monkeypatch.setattr(revisions, "_PASSED", 2)
    found: list[Any] = []
    after, more, looked = ask.start, True, []
    while more:
        page = ask("GET", "/v1/rewards", params={"after": after}).json()
        looked.append(page["cursor"] - after)
        found += page["revisions"]
        after, more = page["cursor"], page["more"]

    assert every == found
    assert world.cursor == after
    assert max(looked) == 2
    assert len(looked) > 3


def test_a_page_ends_after_a_number_of_samples_that_are_compared(
    ask: Any, world: vl.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = revised(ask, world, [7.0, 8.0, 9.0])
    monkeypatch.setattr(revisions, "_COMPARED", 5)  # Each revision goes over a group of three.
    found: list[Any] = []
    after, more, pages = ask.start, True, []
    while more:
        page = ask("GET", "/v1/rewards", params={"after": after}).json()
        pages.append(len(page["revisions"]))
        found += page["revisions"]
        after, more = page["cursor"], page["more"]

    assert every == found
    assert 1 == max(pages)


def test_an_answer_that_comes_twice_is_taken_once(ask: Any) -> None:
    case = ask("GET", "/v1/cases").json()["cases"][0]["case"]
    body = {"case": case, "value": 5, "source": "lab", "event": "e1"}
    taken = [ask("POST", "/v1/answers", json=body).json()["taken"] for _ in range(2)]

    assert [True, False] == taken


def test_an_answer_may_be_a_bound(ask: Any, world: vl.Campaign) -> None:
    case = ask("GET", "/v1/cases").json()["cases"][0]["case"]
    body = {"case": case, "source": "lab", "bound": "≤ 0.5"}

    assert {"taken": True} == ask("POST", "/v1/answers", json=body).json()

    verdict = world.ledger.verdicts([bytes.fromhex(case)])[bytes.fromhex(case)]
    assert {"relation": "<=", "value": 0.5} == verdict.evidence["bound"]


def test_an_answer_that_makes_no_sense_is_refused_and_the_case_stays_open(ask: Any) -> None:
    bodies: list[dict[str, Any]] = [
        {"value": "high"}, {"case": "00", "value": 1}, {"value": 1, "verdict": {}},
        {"verdict": {"outcome": "fine"}}, {"value": 1, "bound": "< 1"},
        {"bound": "1"}, {"source": ""}, {"case": "0" * 64, "value": 1},
    ]  # fmt: skip
    told = [answer(ask, **{"value": None, **body}).status_code for body in bodies]

    assert [422] * len(bodies) == told
    assert 3 == len(ask("GET", "/v1/cases").json()["cases"])


def test_of_many_cases_the_most_valuable_are_told(ask: Any) -> None:
    every = ask("GET", "/v1/cases").json()
    some = ask("GET", "/v1/cases?limit=2").json()

    assert (3, False) == (len(every["cases"]), every["more"])
    assert {"cases": every["cases"][:2], "more": True} == some
    assert 422 == ask("GET", "/v1/cases?limit=0").status_code


def test_a_verdict_may_carry_more_than_a_number(ask: Any, world: vl.Campaign) -> None:
    verdict = {"outcome": "accept", "score": 4.0, "uncertainty": 0.5, "unit": "points"}
    assert answer(ask, None, verdict=verdict).json() == {"taken": True}
    assert world.drain(300)
    (revision,) = ask("GET", f"/v1/rewards?after={ask.start}").json()["revisions"]

    assert (4.0, 0.5) == (revision["reward"]["value"], revision["reward"]["uncertainty"])


def test_a_stream_tells_what_is_there_and_what_comes_and_ends_with_the_server(
    ask: Any, world: vl.Campaign
) -> None:
    first = revised(ask, world, [7.0])

    async def listen() -> list[bytes]:
        told: list[bytes] = []
        stream = asyncio.create_task(streamed(ask.app, told, first[0]["cursor"] - 1))
        while not any(b"event: revision" in part for part in told):  # noqa: ASYNC110 - looks until it is so
            await asyncio.sleep(0)
        case = world.cases()[0].check_key
        await asyncio.to_thread(world.answer, case, 8.0, source="x")
        while sum(b"event: revision" in part for part in told) < 2:  # noqa: ASYNC110 - looks until it is so
            await asyncio.sleep(0.001)
        ask.service.leave()
        await stream
        return told

    told = ask.runner.run(listen())
    events = [part for part in told if part.startswith(b"event")]
    data = [json.loads(part.partition(b"data: ")[2]) for part in events]

    assert told[0].startswith(b"retry: ")
    assert [7.0, 8.0] == [revision["reward"]["value"] for revision in data]
    assert [b"id: %d" % revision["cursor"] for revision in data] == [
        part.split(b"\n")[1] for part in events
    ]


def test_a_stream_that_passes_over_much_says_how_far_it_is(
    ask: Any, world: vl.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first,) = revised(ask, world, [7.0])
    monkeypatch.setattr(revisions, "_PASSED", 1)

    async def listen() -> list[bytes]:
        told: list[bytes] = []
        stream = asyncio.create_task(streamed(ask.app, told, ask.start))
        while not any(b"event: revision" in part for part in told):  # noqa: ASYNC110 - looks until it is so
            await asyncio.sleep(0)
        ask.service.leave()
        await stream
        return told

    _, *passed = ask.runner.run(listen())[: first["cursor"] - ask.start + 1]
    *still, event = passed

    assert still == [
        b": still here\nid: %d\n\n" % n for n in range(ask.start + 1, first["cursor"])
    ]
    assert b"id: %d" % first["cursor"] in event


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "tokens")


def test_a_token_for_some_runs_is_told_of_no_other(
    wait: Any, serve: Any, world: vl.Campaign, tokens: TokenFile
) -> None:
    ask, step = wait("a"), world.take_step()
    for run in ("blue/1", "green/1"):
        ask.score([f"b {step}"], run=run, step=step, groups=["g"])
    assert world.drain(300)
    revised(ask, world, [7.0, 8.0])
    asked = serve(world, tokens=tokens)

    def runs(*prefixes: str) -> set[str]:
        secret = tokens.add(f"for {prefixes}", ["read"], runs=prefixes)
        after, more, found = ask.start, True, set()
        while more:
            params = {"after": after, "limit": 1}
            page = asked("GET", "/v1/rewards", params=params, headers=bearer(secret)).json()
            found |= {revision["run"] for revision in page["revisions"]}
            after, more = page["cursor"], page["more"]
        return found

    assert {"blue/1", "green/1", "train"} == runs()
    assert {"blue/1"} == runs("blue/")
    assert {"green/1", "train"} == runs("green/1", "tr")
    assert set() == runs("red")


def test_a_stream_ends_with_its_token(
    ask: Any, serve: Any, world: vl.Campaign, tokens: TokenFile
) -> None:
    (first,) = revised(ask, world, [7.0])
    secret = tokens.add("reader", ["read"])
    app = serve(world, tokens=tokens).app

    async def listen() -> list[bytes]:
        told: list[bytes] = []
        listening = streamed(app, told, first["cursor"] - 1, bearer(secret))
        stream = asyncio.create_task(listening)
        while not any(b"event: revision" in part for part in told):  # noqa: ASYNC110 - looks until it is so
            await asyncio.sleep(0)
        tokens.revoke("reader")
        await asyncio.to_thread(world.answer, world.cases()[0].check_key, 8.0, source="x")
        while not stream.done() and b"8.0" not in b"".join(told):  # noqa: ASYNC110 - looks until it is so
            await asyncio.sleep(0.001)
        stream.cancel()
        return told

    told = ask.runner.run(listen())

    assert 1 == sum(b"event: revision" in part for part in told)


async def streamed(
    app: Any, told: list[bytes], last: int, headers: Mapping[str, str] | None = None
) -> None:
    """Read a stream as a server would hand it on; httpx's transport waits for the end."""

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            assert 200 == message["status"]
        elif message["body"]:
            told.append(message["body"])

    sent = [(b"host", b"localhost"), (b"accept", b"text/event-stream"),
            (b"last-event-id", b"%d" % last)]  # fmt: skip
    sent += [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
        "path": "/v1/rewards", "raw_path": b"/v1/rewards", "query_string": b"", "root_path": "",
        "scheme": "http", "headers": sent, "client": None, "server": None,
    }  # fmt: skip
    await app(scope, receive, send)


@pytest.mark.parametrize("last", ["x", "-1", "1.5", "²", str(2**53), "9" * 4301])
def test_an_event_id_that_is_none_is_refused(serve: Any, last: str) -> None:
    headers = {"Accept": "text/event-stream", "Last-Event-ID": last.encode("latin-1", "replace")}

    assert 400 == serve()("GET", "/v1/rewards", headers=headers).status_code


@pytest.mark.parametrize("query", ["after=-1", "after=x", "limit=0", "limit=9999999", "after=1e3"])
def test_a_cursor_that_is_none_is_refused(serve: Any, query: str) -> None:
    assert 422 == serve()("GET", f"/v1/rewards?{query}").status_code
