"""Services that async verifiers ask: a real server on this machine."""

import asyncio
import gc
import gzip
import pickle
import re
from collections.abc import Iterator
from typing import Any

import pytest
from services import Reply, Service

from verifier_ladder.asynchronous import wait_for
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.httpservice import HttpService


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as running:
        yield running


def asked(service: Service, **options: Any) -> HttpService:
    return HttpService(service.url, **{"timeout": 300.0, **options})


def said(ours: HttpService, message: Any = None) -> Any:
    return wait_for(ours.post_json(message or {}))


def test_what_is_posted_and_answered_is_json(service: Service) -> None:
    service.replies = [(201, {}, {"score": 0.5})]

    assert said(asked(service), {"text": "é"}) == {"score": 0.5}
    assert [{"text": "é"}] == [message for _, message in service.asked]


def test_a_path_follows_the_address(service: Service) -> None:
    ours = HttpService(service.url.removesuffix("/verify"), timeout=300.0)

    assert wait_for(ours.post_json({}, "/verify")) == {"verdicts": []}


def test_connections_are_kept(service: Service) -> None:
    ours = asked(service)
    for _ in range(3):
        said(ours)

    assert (3, 1) == (len(service.asked), service.connections)


def test_of_event_loops_that_have_ended_nothing_is_kept(service: Service) -> None:
    ours = asked(service)
    service.replies = [(200, {"Connection": "close"}, {})] * 6
    for _ in range(6):
        asyncio.run(ours.post_json({}))
    gc.collect()

    # By type: other objects of this process may say what they are only with a warning.
    loops = [one for one in gc.get_objects() if issubclass(type(one), asyncio.BaseEventLoop)]
    assert sum(loop.is_closed() for loop in loops) <= 1


def test_a_copy_has_connections_of_its_own(service: Service) -> None:
    ours = asked(service)
    said(ours)
    said(pickle.loads(pickle.dumps(ours)))  # noqa: S301 - our own bytes

    assert service.connections == 2


@pytest.mark.parametrize(
    "place", ["127.0.0.1:99999", "127.0.0.1:-1", "127.0.0.1:0", "a:b", "", ":80", "a b", "[::1"]
)
def test_an_address_that_can_not_be_is_refused_at_once(place: str) -> None:
    with pytest.raises(ConfigError, match="give http") as told:
        HttpService(f"http://ann:secret@{place}/score")

    assert "secret" not in str(told.value)


@pytest.mark.parametrize("password", ["open/sesame", "[open-sesame", "open@sesame/", "7/sesame"])
def test_no_part_of_a_password_that_spoils_its_address_is_repeated(password: str) -> None:
    with pytest.raises(ConfigError) as told:
        HttpService(f"http://ann:{password}@host/score")

    assert not {"open", "sesame", "ann"} & set(re.findall(r"\w+", str(told.value)))


def test_cookies_are_not_kept(service: Service) -> None:
    """What one candidate was answered with tells nothing to the next."""
    ours = asked(service)
    service.replies = [(200, {"Set-Cookie": "last=1"}, {})]
    said(ours)
    said(ours)

    assert not any("Cookie" in headers for headers, _ in service.asked)


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("$JUDGE_TOKEN", "secret"),
        ("Bearer $JUDGE_TOKEN", "Bearer secret"),
        ("cost$JUDGE_TOKEN", "cost$JUDGE_TOKEN"),
        ("a $5 bill", "a $5 bill"),
    ],
)
def test_secrets_come_from_the_environment(
    service: Service, monkeypatch: pytest.MonkeyPatch, given: str, sent: str
) -> None:
    ours = asked(service, headers={"Authorization": given})
    monkeypatch.setenv("JUDGE_TOKEN", "secret\n")  # As a file's content is.

    said(ours)

    assert [sent] == [headers["Authorization"] for headers, _ in service.asked]
    assert "secret" not in str(vars(ours))


def test_a_variable_that_is_not_set_is_named(service: Service) -> None:
    ours = asked(service, headers={"Authorization": "Bearer $NOT_THERE"})

    with pytest.raises(ToolError, match="set NOT_THERE in the environment"):
        said(ours)


@pytest.mark.parametrize("secret", ["", "two\nlines", "sëcret"])
def test_a_secret_that_is_no_header_is_never_told(
    service: Service, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    monkeypatch.setenv("JUDGE_TOKEN", secret)

    with pytest.raises(ToolError) as told:
        said(asked(service, headers={"Authorization": "Bearer $JUDGE_TOKEN"}))

    assert "set JUDGE_TOKEN in the environment, in printable ASCII" in str(told.value)
    assert not secret or secret not in str(told.value)


def test_half_characters_and_large_numbers_are_sent(service: Service) -> None:
    said(asked(service), {"text": "\ud800", "number": 10**30})

    assert [{"text": "\ud800", "number": 10**30}] == [message for _, message in service.asked]


def test_one_call_may_have_less_time_than_others(service: Service) -> None:
    service.replies = [(200, {}, "wait")]

    with pytest.raises(ToolError, match=r"no answer in 0\.2 s"):
        wait_for(asked(service).post(b"{}", within=0.2))


def test_an_address_that_is_none_is_the_services_fault() -> None:
    with pytest.raises(ToolError, match="could not be asked"):
        wait_for(HttpService("http://127.0.0.1").post(b"{}", ":port"))


def test_a_busy_service_is_asked_again(service: Service) -> None:
    packed = {"Retry-After": "0", "Content-Encoding": "gzip"}
    service.replies = [(503, {"Retry-After": "0"}, b""), (429, packed, gzip.compress(b""))]

    assert said(asked(service)) == {"verdicts": []}
    assert len(service.asked) == 3


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ((500, {}, {"error": "broken"}), "answered with status 500: .*broken"),
        ((302, {"Location": "http://localhost/"}, b""), "answered with status 302$"),
        ((429, {"Retry-After": "3600"}, b""), "answered with status 429"),
        ((200, {}, b"<html>"), "answered '<html>', not JSON"),
        ((200, {}, b" " * (17 * 1024 * 1024)), "more than 16777216 bytes"),
        ((200, {"Content-Encoding": "gzip"}, gzip.compress(bytes(2**25))), "packs its answers"),
    ],
)
def test_what_is_no_answer_is_the_services_fault(service: Service, reply: Reply, why: str) -> None:
    service.replies = [reply]

    with pytest.raises(ToolError, match=why):
        said(asked(service))


def test_silence_ends_at_the_time_limit(service: Service) -> None:
    service.replies = [(200, {}, "wait")]

    with pytest.raises(ToolError, match=r"no answer in 0\.3 s"):
        said(asked(service, timeout=0.3))


def test_a_service_that_is_not_there_is_told() -> None:
    with pytest.raises(ToolError, match="could not be asked"):
        said(HttpService("http://127.0.0.1:9"))


def test_it_travels_without_its_connections(service: Service) -> None:
    ours = asked(service)
    said(ours)

    assert said(pickle.loads(pickle.dumps(ours))) == {"verdicts": []}  # noqa: S301 - our own
    assert service.connections == 2


@pytest.mark.parametrize(
    "options",
    [{"url": "ftp://x"}, {"timeout": 0}, {"retries": -1}, {"headers": {"a": "é"}}],
    ids=str,
)
def test_what_can_not_be_a_service_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        HttpService(**{"url": "http://x", **options})
