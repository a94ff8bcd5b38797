"""The line between a lane and its worker."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.errors import EngineError
from verifier_ladder.scheduler.engines.line import Line

LONG = 10.0


def backwards(request: bytes) -> bytes:
    return request[::-1]


@pytest.fixture
def line() -> Iterator[Line]:
    with closing(Line()) as line:
        yield line


def answered(line: Line, answer: Callable[[bytes], bytes]) -> threading.Thread:
    """Have a thread at the other end."""
    thread = threading.Thread(target=line.far.serve, args=(answer,), daemon=True)
    thread.start()
    return thread


def heard(line: Line, request: bytes) -> bytes:
    line.ask(request)
    while (answer := line.hear(LONG)) is None:
        pass
    return answer


@given(requests=st.lists(st.binary(max_size=200), min_size=1, max_size=8))
def test_each_request_gets_its_own_answer(requests: list[bytes]) -> None:
    with closing(Line()) as line:
        answered(line, backwards)

        assert list(map(backwards, requests)) == [heard(line, request) for request in requests]


def test_a_message_may_be_larger_than_the_socket_holds(line: Line) -> None:
    answered(line, backwards)
    large = bytes(range(256)) * 40_000

    assert backwards(large) == heard(line, large)


def test_who_waits_for_nobody_gets_nothing_and_may_wait_again(line: Line) -> None:
    line.ask(b"anybody there?")
    assert line.hear(0.001) is None
    assert line.hear(0.001) is None

    answered(line, backwards)
    assert b"?ereht ydobyna" == line.hear(LONG)


def test_a_large_request_that_nobody_reads_is_given_up_in_time(line: Line) -> None:
    line.ask(bytes(10_000_000))

    assert line.hear(0.001) is None
    assert line.hear(0.001) is None


def test_a_closed_end_is_noticed_at_once(line: Line) -> None:
    line.ask(b"hello")
    assert line.hear(0.001) is None
    line.far.close()

    with pytest.raises((EOFError, OSError)):
        line.hear(LONG)


def test_the_worker_stops_when_the_lane_hangs_up(line: Line) -> None:
    worker = answered(line, backwards)
    assert b"cba" == heard(line, b"abc")

    line.close()
    worker.join(LONG)
    assert not worker.is_alive()


def test_an_answer_that_is_said_to_be_longer_than_any_is_refused(line: Line) -> None:
    line.ask(b"how much?")
    line.hear(0.001)
    with socket.socket(fileno=os.dup(line.far._descriptor)) as far:
        far.sendall((2**60).to_bytes(8, "big"))

        with pytest.raises(EngineError, match=f"has {2**60} bytes"):
            line.hear(LONG)
