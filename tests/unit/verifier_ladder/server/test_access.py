"""Who reaches a route: hosts, origins, tokens, and how much may come in."""

import asyncio
from base64 import b64encode
from pathlib import Path
from typing import Any

import httpx
import pytest

import verifier_ladder as vl
from verifier_ladder.server.access import shown_secret
from verifier_ladder.server.limits import Limits
from verifier_ladder.server.tokens import TokenFile

BODY = {"samples": ["a"]}


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "tokens")


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200), ("LOCALHOST:8420", 200), ("127.0.0.1:1", 200), ("[::1]:8420", 200),
        ("evil.example", 421), ("localhost.evil.example", 421), ("", 421),
    ],
)  # fmt: skip
def test_only_known_names_are_answered(serve: Any, host: str, status: int) -> None:
    assert status == serve()("GET", "/healthz", headers={"Host": host}).status_code


def test_any_name_is_answered_if_so_asked(serve: Any) -> None:
    ask = serve(hosts=None)

    assert 200 == ask("GET", "/healthz", headers={"Host": "rewards.example"}).status_code


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://[", 403), ("http://[::1", 403),
        ("http://localhost:8420", 200), ("https://lab.example", 200), ("null", 403),
        ("http://evil.example", 403), ("http://localhost:1", 403),
    ],
)  # fmt: skip
def test_pages_of_other_sites_are_refused(serve: Any, origin: str, status: int) -> None:
    ask = serve(origins=["https://lab.example/"])
    headers = {"Host": "localhost:8420", "Origin": origin}

    assert status == ask("POST", "/v1/score", json=BODY, headers=headers).status_code


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_what_a_page_can_post_without_asking_is_refused(serve: Any, kind: str) -> None:
    answer = serve()(
        "POST", "/v1/score", content=b'{"samples": []}', headers={"Content-Type": kind}
    )

    assert 415 == answer.status_code


ANSWER = {"case": "0" * 64, "value": 1, "source": "x"}


@pytest.mark.parametrize("has_file", [False, True])
def test_without_tokens_everybody_scores_and_reads_and_nobody_answers(
    serve: Any, tokens: TokenFile, *, has_file: bool
) -> None:
    ask = serve(tokens=tokens if has_file else None)
    refused = [ask("GET", "/v1/cases"), ask("POST", "/v1/answers", json=ANSWER)]

    assert 200 == ask("POST", "/v1/score", json=BODY).status_code
    assert 200 == ask("GET", "/v1/rewards").status_code
    assert [401, 401] == [answer.status_code for answer in refused]
    assert all("--scope answer" in answer.json()["detail"] for answer in refused)


def test_everybody_answers_where_the_server_was_told_so_and_has_no_tokens(
    serve: Any, tokens: TokenFile
) -> None:
    ask = serve(tokens=tokens, anyone_may_answer=True)
    before = [ask("GET", "/v1/cases"), ask("POST", "/v1/answers", json=ANSWER)]
    tokens.add("scorer", ["score"])

    assert [200, 422] == [answer.status_code for answer in before]  # There is no such case.
    assert 401 == ask("GET", "/v1/cases").status_code


def test_with_tokens_only_their_holders_may_ask_for_what_they_were_given(
    serve: Any, tokens: TokenFile
) -> None:
    scorer, admin = tokens.add("scorer", ["score"]), tokens.add("boss", ["admin"])
    ask = serve(tokens=tokens)

    def status(path: str, headers: dict[str, str]) -> int:
        method = "POST" if path == "/v1/score" else "GET"
        body = {"json": BODY} if method == "POST" else {}
        return int(ask(method, path, headers=headers, **body).status_code)

    assert [401, 401, 401] == [
        status("/v1/score", headers) for headers in ({}, bearer("x"), bearer(scorer + "x"))
    ]
    assert [200, 200] == [status("/v1/score", bearer(s)) for s in (scorer, admin)]
    assert [403, 200] == [status("/v1/rewards", bearer(s)) for s in (scorer, admin)]
    assert [403, 200] == [status("/v1/cases", bearer(s)) for s in (scorer, admin)]
    assert 200 == status("/healthz", {})


def said(text: str) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": "output_text", "text": text}]}


LEARNERS = {
    "/slime": {"response": "ab"},
    "/openrlhf": {"query": ["pab"], "prompts": ["p"], "labels": [None]},
    "/verify": {"responses_create_params": {"input": "p"}, "response": {"output": [said("ab")]}},
}


def test_a_token_for_some_runs_scores_in_no_other(
    serve: Any, campaign: vl.Campaign, tokens: TokenFile
) -> None:
    blue = bearer(tokens.add("blue", ["score", "read"], runs=["blue/", "shared-"]))
    ask = serve(tokens=tokens, on_abstain=0.5)
    before, runs = campaign.cursor, campaign.ledger.runs("served")
    body = {"samples": ["a"], "step": 0}
    others: list[dict[str, Any]] = [
        {}, {"run": "green/1"}, {"run": "blue"}, {"run": campaign.run.name},
        {"run": "green/1", "evaluation": True}, {"run": "blue", "evaluation": True},
        {"run": "blue/eval"}, {"evaluation": True},
    ]  # fmt: skip
    refused = [
        ask("POST", "/v1/score", json=body | other, headers=blue | key)
        for other in others for key in ({}, {"Idempotency-Key": "k"})
    ]  # fmt: skip
    refused += [ask("POST", path, json=row, headers=blue) for path, row in LEARNERS.items()]

    assert {403} == {answer.status_code for answer in refused}
    assert all("runs that begin with blue/ or" in answer.json()["detail"] for answer in refused)
    assert (before, runs) == (campaign.cursor, campaign.ledger.runs("served"))
    for own in ({"run": "blue/1"}, {"run": "shared-x"}, {"run": "blue/1", "evaluation": True}):
        assert 200 == ask("POST", "/v1/score", json=body | own, headers=blue).status_code


def test_learners_score_with_a_token_for_the_servers_own_run(
    serve: Any, campaign: vl.Campaign, tokens: TokenFile
) -> None:
    own = bearer(tokens.add("own", ["score"], runs=[campaign.run.name]))
    ask = serve(tokens=tokens, on_abstain=0.5)
    answers = [ask("POST", path, json=row, headers=own) for path, row in LEARNERS.items()]

    assert {200} == {answer.status_code for answer in answers}
    assert 200 == ask("POST", "/v1/score", json=BODY, headers=own).status_code


def test_a_token_for_some_runs_answers_no_case(serve: Any, tokens: TokenFile) -> None:
    secret = tokens.add("blue", ["score"], runs=["blue/"])
    tokens.path.write_text(tokens.path.read_text().replace('"score"', '"answer","admin"'))
    ask = serve(tokens=TokenFile(tokens.path), anyone_may_answer=True)

    assert 403 == ask("GET", "/v1/cases", headers=bearer(secret)).status_code
    assert 403 == ask("POST", "/v1/answers", json=ANSWER, headers=bearer(secret)).status_code


def test_runs_that_one_token_names_are_taken_from_no_other(
    serve: Any, tokens: TokenFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verifier_ladder.server.service._MOST_RUNS", 3)
    greedy, other = (bearer(tokens.add(name, ["score"])) for name in ("greedy", "other"))
    ask = serve(tokens=tokens)

    def status(run: str, headers: dict[str, str]) -> int:
        body = BODY | {"run": run, "step": 0}
        return int(ask("POST", "/v1/score", json=body, headers=headers).status_code)

    assert [200, 200, 200, 422, 200] == [status(run, greedy) for run in "abcda"]
    assert [200, 200, 200, 200] == [status(run, other) for run in "adef"]


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def without_tokens(path: Path) -> None:
    path.write_text('{"tokens": []}')


def with_fields_of_other_kinds(path: Path) -> None:
    path.write_text(path.read_text().replace('"digest": "', '"digest": null, "x": "'))


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


@pytest.mark.parametrize(
    "change",
    [emptied, without_tokens, with_fields_of_other_kinds, a_folder, cut, Path.unlink],
)
def test_no_file_that_changes_opens_a_server(
    serve: Any, tokens: TokenFile, caplog: pytest.LogCaptureFixture, change: Any
) -> None:
    secret = tokens.add("boss", ["admin"])
    asks = [serve(tokens=tokens), serve(tokens=TokenFile(tokens.path))]
    assert [200, 200] == [
        ask("POST", "/v1/score", json=BODY, headers=bearer(secret)).status_code for ask in asks
    ]
    kept = tokens.path.read_bytes()
    change(tokens.path)
    told = []
    for ask in asks:
        ask.app.state.tokens._looked = float("-inf")  # As if a second had gone by.
        for headers in ({}, bearer("x"), bearer(secret)):
            told.append(ask("POST", "/v1/score", json=BODY, headers=headers))
            told += [ask("GET", path, headers=headers) for path in ("/v1/rewards", "/v1/cases")]

    assert {answer.status_code for answer in told} <= {401, 503}
    assert {401} == {answer.status_code for answer in (*told[:3], *told[9:12])}
    assert not any(str(tokens.path.parent) in answer.text for answer in told)
    assert change is without_tokens or str(tokens.path) in caplog.text

    if change is a_folder:
        tokens.path.rmdir()
    tokens.path.write_bytes(kept)
    for ask in asks:
        ask.app.state.tokens._looked = float("-inf")
        answer = ask("POST", "/v1/score", json=BODY, headers=bearer(secret))
        assert 200 == answer.status_code


def test_a_damaged_file_that_appears_opens_nothing(serve: Any, tokens: TokenFile) -> None:
    ask = serve(tokens=tokens)
    assert 200 == ask("POST", "/v1/score", json=BODY).status_code
    tokens.path.write_bytes(b"")
    tokens._looked = float("-inf")

    assert 401 == ask("POST", "/v1/score", json=BODY).status_code


def test_a_body_is_not_read_before_its_sender_is_known(serve: Any, tokens: TokenFile) -> None:
    tokens.add("scorer", ["score"])
    answer = serve(tokens=tokens)("POST", "/v1/score", json={"nonsense": 1})

    assert 401 == answer.status_code
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_learner_may_show_its_token_in_the_address(serve: Any, tokens: TokenFile) -> None:
    secret = tokens.add("slime", ["score"])
    ask = serve(tokens=tokens, on_abstain=0.5)
    answer = ask("POST", "/slime", json={"response": "ab"}, auth=("x", secret))

    assert (200, 2.0) == (answer.status_code, answer.json())


@pytest.mark.parametrize("header", ["Basic !", "Basic " + b64encode(b"\xff").decode(), "Digest a"])
def test_headers_that_show_nothing_open_nothing(header: str) -> None:
    assert not shown_secret(header)


def test_a_body_that_is_too_large_is_refused_by_its_length(serve: Any) -> None:
    ask = serve(limits=Limits(body=100))
    answer = ask("POST", "/v1/score", json={"samples": ["a" * 200]})

    assert 413 == answer.status_code


def test_a_body_that_says_no_length_is_counted(serve: Any) -> None:
    async def parts() -> Any:
        for _ in range(50):
            yield b"          "

    headers = {"Content-Type": "application/json"}
    answer = serve(limits=Limits(body=100))("POST", "/v1/score", content=parts(), headers=headers)

    assert 413 == answer.status_code


async def asked(app: Any, headers: list[tuple[bytes, bytes]], *messages: Any) -> list[Any]:
    """What an application answers to messages that a client of ours would not send."""
    sent: list[Any] = []
    coming = iter(messages)

    async def receive() -> Any:
        return next(coming)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST",
        "path": "/v1/score", "raw_path": b"/v1/score", "query_string": b"", "root_path": "",
        "scheme": "http", "headers": [(b"host", b"localhost"), *headers], "client": None,
        "server": None,
    }  # fmt: skip
    await app(scope, receive, send)
    return sent


def test_a_client_that_goes_away_gets_no_answer_and_leaves_nothing(serve: Any) -> None:
    ask = serve()
    part = {"type": "http.request", "body": b'{"sam', "more_body": True}
    headers = [(b"content-type", b"application/json"), (b"content-length", b"100")]
    sent = ask.runner.run(asked(ask.app, headers, part, {"type": "http.disconnect"}))

    assert [] == sent
    assert 0 == ask.app.door.held


@pytest.mark.parametrize("length", [b"x", b"-1", b"", b"9" * 4301])
def test_a_length_that_is_none_is_refused(serve: Any, length: bytes) -> None:
    ask = serve()
    sent = ask.runner.run(asked(ask.app, [(b"content-length", length)]))

    assert 400 == sent[0]["status"]


def test_what_nobody_thought_of_is_a_problem_of_ours(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = serve()
    monkeypatch.setattr(ask.service, "score", None)

    async def call() -> httpx.Response:
        transport = httpx.ASGITransport(ask.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            return await http.post("/v1/score", json=BODY)

    answer = ask.runner.run(call())

    assert (500, "application/problem+json") == (
        answer.status_code, answer.headers["content-type"]
    )  # fmt: skip
    assert "NoneType" not in answer.text


def test_bodies_together_may_hold_only_so_much(serve: Any) -> None:
    ask = serve(limits=Limits(held=100))

    async def ask_while_another_sends() -> tuple[int, int, int]:
        gate = asyncio.Event()

        async def slow() -> Any:
            yield b'{"samples": ["' + b"a" * 60
            await gate.wait()
            yield b'"]}'

        headers = {"Content-Type": "application/json"}
        first = asyncio.create_task(ask.ask("POST", "/v1/score", content=slow(), headers=headers))
        await asyncio.sleep(0)
        while not ask.app.door.held:  # noqa: ASYNC110 - looks until it is so
            await asyncio.sleep(0)
        second = await ask.ask("POST", "/v1/score", json={"samples": ["b" * 60]})
        gate.set()
        third = await first
        last = await ask.ask("POST", "/v1/score", json={"samples": ["b" * 60]})
        return second.status_code, third.status_code, last.status_code

    assert (429, 200, 200) == ask.runner.run(ask_while_another_sends())
