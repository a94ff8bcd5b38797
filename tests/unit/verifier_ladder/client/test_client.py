"""Clients ask again when that helps, with the same key, and say what was refused."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.client import tries
from verifier_ladder.client.events import Events
from verifier_ladder.measurement import Bound
from verifier_ladder.server.messages import revision_json, reward_json
from verifier_ladder.tier import Tier

REWARD = vl.Reward(1.0, 0.5, Tier.FAST, 0, {"judge": 1.0}, "fine", None, pending=True)
ANSWER = {"run": "r", "step": 0, "cursor": 1, "rewards": [reward_json(REWARD, 0)]}


class Server:
    """Answers what it is told to, one after the other."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.asked = list(answers), []  # type: ignore[var-annotated]

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        status, body, *headers = answer
        return httpx.Response(status, json=body, headers=headers[0] if headers else {})


Ask = Callable[..., list[vl.Reward]]


@pytest.fixture(params=["with", "without"])
def ask(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Score with the client with or without an event loop; pauses are only noted."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(time, "sleep", pauses.append)
    monkeypatch.setattr(asyncio, "sleep", sleep)

    def score(server: Server, samples: Any = ("a",), **options: Any) -> list[vl.Reward]:
        score.pauses = pauses  # type: ignore[attr-defined]
        transport = httpx.MockTransport(server)
        if request.param == "without":
            with vl.Client("http://x", "secret") as client:
                client._http = httpx.Client(transport=transport, base_url="http://x")
                return client.score(list(samples), **options)

        async def run() -> list[vl.Reward]:
            async with vl.AsyncClient("http://x", "secret") as client:
                await client._http.aclose()
                client._http = httpx.AsyncClient(transport=transport, base_url="http://x")
                return await client.score(list(samples), **options)

        return asyncio.run(run())

    return score


def test_a_reward_arrives_as_it_was(ask: Ask) -> None:
    assert [REWARD] == ask(Server((200, ANSWER)))


def test_a_busy_server_is_asked_again_when_it_says_with_one_key(ask: Ask) -> None:
    problem = {"detail": "busy"}
    server = Server(
        (429, problem, {"Retry-After": "7"}), httpx.ConnectError("down"), (503, problem),
        (200, ANSWER),
    )  # fmt: skip

    assert [REWARD] == ask(server)
    assert [7.0, 1.0, 2.0] == ask.pauses  # type: ignore[attr-defined]
    keys = {request.headers["idempotency-key"] for request in server.asked}
    assert 1 == len(keys)
    assert 1 == len({request.content for request in server.asked})


def test_a_server_that_stays_away_is_an_error(ask: Ask) -> None:
    with pytest.raises(vl.EngineError, match="could not be asked"):
        ask(Server(*[httpx.ConnectError("down")] * tries.ATTEMPTS))


@pytest.mark.parametrize(
    ("status", "detail", "error"),
    [
        (422, "samples.0: no", vl.ConfigError), (401, "no token", vl.ConfigError),
        (500, "oh", vl.EngineError), (413, "large", vl.ConfigError),
    ],
)  # fmt: skip
def test_what_would_not_help_is_not_tried_again(
    ask: Ask, status: int, detail: str, error: type[Exception]
) -> None:
    server = Server((status, {"detail": detail}))

    with pytest.raises(error, match=detail):
        ask(server)
    assert 1 == len(server.asked)


def test_the_last_failure_is_told(ask: Ask) -> None:
    with pytest.raises(vl.LedgerError, match="the ledger is gone"):
        ask(Server(*[(503, {"detail": "the ledger is gone"})] * tries.ATTEMPTS))


def test_all_that_a_sample_says_is_sent(ask: Ask) -> None:
    candidate = vl.Candidate("text", b"\x00\xff", {"x": 1}, (vl.Turn("a", "b", {"c": 1}),))
    sample = vl.Sample(candidate, "run", 3, 4, "g", 8, "v2", 0.5)
    server = Server((200, ANSWER))
    ask(server, [sample], deadline="2 s")
    sent = json.loads(server.asked[0].content)

    assert ("run", 3, 2.0) == (sent["run"], sent["step"], sent["deadline"])
    assert [{
        "content": "AP8=", "encoding": "base64", "task": {"x": 1}, "position": 4, "group": "g",
        "turns": [{"action": "a", "observation": "b", "metadata": {"c": 1}}], "group_size": 8,
        "learner_version": "v2", "weight": 0.5,
    }] == sent["samples"]  # fmt: skip


def test_half_a_character_is_sent_as_decoders_write_it(ask: Ask) -> None:
    server = Server((200, ANSWER))
    ask(server, ["half \ud800"])

    assert ["half \ufffd"] == json.loads(server.asked[0].content)["samples"]


@pytest.mark.parametrize(
    "samples",
    [
        "abc", b"abc", vl.Candidate("text", "a"),
        [vl.Sample(vl.Candidate("text", "a"), step=step) for step in (1, 2)],
        [vl.Candidate("text", "a", {"x": {1, 2}})],
    ],
)  # fmt: skip
def test_what_can_not_be_sent_is_refused_before(samples: Any) -> None:
    with vl.Client("http://x") as client, pytest.raises(vl.ConfigError):
        client.score(samples)


@pytest.mark.parametrize("event", [None, "e"])
def test_an_answer_that_is_sent_again_is_one_delivery(event: str | None) -> None:
    server = Server((503, {"detail": "x"}, {"Retry-After": "0"}), (200, {"taken": False}))
    with vl.Client("http://x") as client:
        client._http = httpx.Client(transport=httpx.MockTransport(server), base_url="http://x")
        taken = client.answer(b"\x01" * 32, 2.5, source="lab", event=event)
    first, second = [json.loads(request.content) for request in server.asked]

    assert first == second
    assert {"case": "01" * 32, "value": 2.5, "source": "lab"} == {
        name: first[name] for name in ("case", "value", "source")
    }
    assert taken is False


@pytest.mark.parametrize("value", [True, False])
def test_yes_and_no_are_sent_as_such_for_a_case_by_its_hexadecimal_key(value: bool) -> None:  # noqa: FBT001
    server = Server((200, {"taken": True}))
    with vl.Client("http://x") as client:
        client._http = httpx.Client(transport=httpx.MockTransport(server), base_url="http://x")
        assert client.answer("01" * 32, value, source="lab")

    message = json.loads(server.asked[0].content)
    assert ("01" * 32, value) == (message["case"], message["value"])
    assert isinstance(message["value"], bool)


def test_a_bound_is_sent_in_words() -> None:
    server = Server((200, {"taken": True}))
    with vl.Client("http://x") as client:
        client._http = httpx.Client(transport=httpx.MockTransport(server), base_url="http://x")
        assert client.answer("01" * 32, Bound("<", 0.1), source="lab")

    message = json.loads(server.asked[0].content)
    assert ("< 0.1", False) == (message["bound"], "value" in message)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_no_answer(value: float) -> None:
    with vl.Client("http://x") as client, pytest.raises(vl.ConfigError, match="finite"):
        client.answer(b"", value, source="lab")


@pytest.mark.parametrize(("url", "attempts"), [("x:1", 1), ("ftp://x", 1), ("http://x", 0)])
def test_a_client_needs_an_address_and_an_attempt(url: str, attempts: int) -> None:
    with pytest.raises(vl.ConfigError):
        vl.Client(url, attempts=attempts)


@pytest.mark.parametrize("token", ["vladder_…", "two\nlines"])
def test_what_can_be_no_token_is_refused(token: str) -> None:
    with pytest.raises(vl.ConfigError, match="vladder token add"):
        vl.Client("http://x", token)


def test_revisions_are_read_page_by_page_and_followed_through_breaks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    made = [vl.Revision(n, "r", 0, n, REWARD, None, "g", "v", 0.1, 0.2) for n in range(1, 6)]

    def page(*which: int, more: bool) -> Any:
        shown = [revision_json(made[n - 1]) for n in which]
        return 200, {"revisions": shown, "cursor": max(which, default=3), "more": more}

    def stream(*which: int) -> Any:
        return b"".join(
            b"event: revision\nid: %d\ndata: %s\n\n"
            % (n, json.dumps(revision_json(made[n - 1])).encode())
            for n in which
        )

    class Mixed(Server):
        def __call__(self, request: httpx.Request) -> httpx.Response:
            if "event-stream" not in request.headers.get("accept", ""):
                return super().__call__(request)
            self.asked.append(request)
            return httpx.Response(200, content=self.answers.pop(0))

    pages = page(1, 2, more=True), page(more=True), page(more=False)
    server = Mixed(*pages, b": still here\nid: 3\n\n" + stream(4), page(5, more=False))
    with vl.Client("http://x") as client:
        client._http = httpx.Client(transport=httpx.MockTransport(server), base_url="http://x")
        following = client.revisions(follow=True)
        found = [next(following) for _ in range(4)]

    assert [made[0], made[1], made[3], made[4]] == found
    asked = [request.url.params.get("after") for request in server.asked]
    assert ["0", "2", "3", None, "4"] == asked
    assert "3" == server.asked[3].headers["last-event-id"]


def test_a_stream_that_had_nothing_to_tell_goes_on_from_where_it_had_looked() -> None:
    events = Events(3)

    assert [None] * 3 == [events.add(line) for line in (": still here", "id: 7", "")]
    assert 7 == events.last


@given(st.lists(st.tuples(st.integers(1, 99), st.text("ab\n:", max_size=9)), max_size=9))
def test_events_are_read_as_they_were_written(events: list[tuple[int, str]]) -> None:
    reader, found = Events(), []
    for number, text in events:
        data = [f"data: {line}" for line in text.split("\n")]
        for line in [": comment", f"id: {number}", "event: revision", *data, ""]:
            read = reader.add(line)
            if read is not None:
                found.append((reader.last, read.decode()))

    assert events == found


@pytest.mark.parametrize("said", [{"alarms": {"gaming_alarms": 2.0}}, {}])
def test_what_the_last_answer_said_of_alarms_is_kept(said: dict[str, Any]) -> None:
    def served() -> httpx.MockTransport:
        return httpx.MockTransport(Server((200, {**ANSWER, **said})))

    async def ask() -> Any:
        async with vl.AsyncClient("http://x") as client:
            client._http = httpx.AsyncClient(transport=served(), base_url="http://x")
            await client.score(["a"])
            return client.alarms

    with vl.Client("http://x") as client:
        assert client.alarms is None
        client._http = httpx.Client(transport=served(), base_url="http://x")
        client.score(["a"])
        assert said.get("alarms") == client.alarms
    assert said.get("alarms") == asyncio.run(ask())
