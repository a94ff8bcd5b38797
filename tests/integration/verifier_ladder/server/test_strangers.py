"""Silent, slow and greedy connections of unknown senders stop nobody."""

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from time import time
from typing import Any
from urllib.parse import urlsplit

import pytest

import verifier_ladder as vl
from verifier_ladder.server.connections import STRANGERS
from verifier_ladder.server.tokens import TokenFile
from verifier_ladder.server.webhooks.signing import new_secret

JSON = "Host: localhost\r\nContent-Type: application/json\r\n"
LARGE = f"{JSON}Content-Length: 67108864\r\n\r\n"
SIGNED = f"webhook-id: a\r\nwebhook-timestamp: {int(time())}\r\nwebhook-signature: v1,AAAA\r\n"
SENT = {
    "nothing": "",
    "half of a line": "POST /v1/sc",
    "half of the headers": f"POST /v1/score HTTP/1.1\r\n{JSON}",
    "a length": f"POST /v1/score HTTP/1.1\r\n{LARGE}",
    "a length and a byte": f"POST /v1/answers HTTP/1.1\r\n{LARGE}[",
    "a length for a learner": f"POST /rl/set_reward HTTP/1.1\r\n{LARGE}[",
    "a length for a webhook": f"POST /v1/webhooks/lab HTTP/1.1\r\n{LARGE}",
    "a length with a signature": f"POST /v1/webhooks/lab HTTP/1.1\r\n{SIGNED}{LARGE}",
    "a length for nothing": f"POST /nowhere HTTP/1.1\r\n{LARGE}",
    "a length for a page": f"GET /healthz HTTP/1.1\r\n{LARGE}",
}

EACH = 120
"""Connections of each kind."""


@pytest.fixture
def served(start: Any, folder: Path) -> tuple[str, str]:
    """A server's address, and a token of it."""
    secret = TokenFile(folder / "ledger.db.tokens").add("trainer", ["score"])
    (folder / "hooks.toml").write_text(f'[sources.lab]\nsecrets = ["{new_secret()}"]\n')
    url = start("--webhooks", "hooks.toml", "--areal", "http://127.0.0.1:9").url
    return url, secret


@contextmanager
def connections(url: str, sent: str, count: int) -> Iterator[list[socket.socket]]:
    """Connections that have sent something, and stay."""
    place = urlsplit(url)
    assert place.hostname is not None
    with ExitStack() as stack:
        made = []
        for _ in range(count):
            made.append(
                stack.enter_context(
                    socket.create_connection((place.hostname, place.port), timeout=300)
                )
            )
            made[-1].sendall(sent.encode())
        yield made


def test_strangers_who_stay_stop_nobody(served: tuple[str, str]) -> None:
    url, secret = served
    for sent in SENT.values():
        with connections(url, sent, 20), vl.Client(url, secret, attempts=1) as client:
            answers = [client.score([f"a{i}" * 1000])[0].value for i in range(5)]
        assert [2000.0] * 5 == answers, sent


@pytest.fixture
def many_files() -> Iterator[None]:
    """Have this process open some thousand files, if it may."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] < 4 * EACH * len(SENT):
        pytest.skip(f"{before[1]} files are too few for {EACH * len(SENT)} connections")
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("many_files")
def test_more_than_a_thousand_strangers_stop_nobody_and_are_not_kept(
    served: tuple[str, str],
) -> None:
    url, secret = served
    kinds = list(SENT.values())
    with vl.Client(url, secret, attempts=1) as client:
        assert [1.0] == [reward.value for reward in client.score(["a"])]
        with ExitStack() as stack:
            made = []
            for kind in kinds:
                made += stack.enter_context(connections(url, kind, EACH))
            assert EACH * len(kinds) > STRANGERS
            # Known before they came, and known since.
            assert [2.0] == [reward.value for reward in client.score(["ab"])]
            with vl.Client(url, secret, attempts=1) as other:
                assert [3.0] == [reward.value for reward in other.score(["abc"])]
            for early in made[: EACH * len(kinds) - STRANGERS - 2]:
                assert is_ended(early)


def is_ended(connection: socket.socket) -> bool:
    """Whether the server has ended a connection, once all that it sent is read."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True


@pytest.mark.slow
def test_a_connection_that_stays_silent_or_slow_is_ended(served: tuple[str, str]) -> None:
    url, secret = served
    known = f"POST /v1/score HTTP/1.1\r\nAuthorization: Bearer {secret}\r\n{LARGE}["
    with ExitStack() as stack:
        made = [
            stack.enter_context(connections(url, sent, 1))[0] for sent in (*SENT.values(), known)
        ]
        assert all(map(is_ended, made))


@pytest.mark.slow
def test_requests_that_do_not_wait_for_their_answers_end_the_connection(
    served: tuple[str, str],
) -> None:
    url, _ = served
    request = f"GET /healthz HTTP/1.1\r\n{JSON}\r\n"
    with connections(url, request * 400, 1) as (made,):
        answers = b"".join(iter(lambda: made.recv(65536), b""))
    assert answers.count(b"HTTP/1.1 ") <= 2
    assert b"HTTP/1.1 400 " in answers


def test_requests_that_wait_for_their_answers_share_a_connection(served: tuple[str, str]) -> None:
    place = urlsplit(served[0])
    made = HTTPConnection(str(place.hostname), place.port, timeout=300)
    made.connect()
    socket_ = made.sock
    for page in ("/healthz", "/nowhere", "/openapi.json") * 20:
        made.request("GET", page)
        assert made.getresponse().read()
    assert made.sock is socket_
    made.close()


def test_a_known_sender_whose_body_does_not_come_is_told(served: tuple[str, str]) -> None:
    url, secret = served
    sent = f"POST /v1/score HTTP/1.1\r\nAuthorization: Bearer {secret}\r\n{LARGE}["
    with connections(url, sent, 1) as (only,):
        said = only.recv(65536)

    assert said.startswith(b"HTTP/1.1 408")
