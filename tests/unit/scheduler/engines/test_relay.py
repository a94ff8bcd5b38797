"""The relay rings as often as there is work, and no oftener."""

from __future__ import annotations

from collections import Counter
from typing import cast

import pytest

import verifier_ladder as vl
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Queued
from verifier_ladder.scheduler.engines import relay as module
from verifier_ladder.scheduler.engines.relay import Relay

GPU = "verifier_ladder.simulation.gpu"
CPU = "verifier_ladder.simulation.cpu"


@vl.verifier(tier="simulation", kind="text", version="1")
def plain(_: vl.Candidate) -> float:
    return 0.0


@vl.verifier(tier="simulation", kind="text", version="1", cost=vl.Cost(gpu_seconds=1))
def hungry(_: vl.Candidate) -> float:
    return 0.0


class Queue:
    """A ledger of which only the queue is asked."""

    def __init__(self) -> None:
        self.waiting: dict[bytes, int] = {}
        self.on_gpu: dict[bytes, int] = {}

    def queued(self, *, now: float) -> list[Queued]:
        assert now
        lanes = ((False, self.waiting), (True, self.on_gpu))
        return [
            Queued("", "", digest, count, 0.0, gpu)
            for gpu, counts in lanes
            for digest, count in counts.items()
        ]

    def clock(self) -> float:
        return 1.0


class Rung:
    """Counts messages."""

    def __init__(self) -> None:
        self.sent = Counter[str]()
        self.is_up = True

    def ring(self, queue: str, times: int = 1) -> bool:
        self.sent[queue] += times
        return self.is_up


class Clock:
    """Time that stands still until it is told."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "monotonic", made)
    return made


@pytest.fixture
def queue() -> Queue:
    return Queue()


@pytest.fixture
def bell() -> Rung:
    return Rung()


@pytest.fixture
def relay(queue: Queue, bell: Rung) -> Relay:
    return Relay(cast("Ledger", queue), bell)


def look(relay: Relay, clock: Clock, after: float = 1.0) -> None:
    clock.now += after
    relay.look([plain, hungry])


def test_one_message_stands_for_a_hundred_checks(
    relay: Relay, queue: Queue, bell: Rung, clock: Clock
) -> None:
    queue.waiting = {plain.digest: 101, b"stranger": 500}
    queue.on_gpu = {hungry.digest: 7}

    look(relay, clock)

    assert {CPU: 2, GPU: 1} == bell.sent


def test_hosts_with_a_gpu_are_rung_for_the_checks_that_want_one(
    relay: Relay, queue: Queue, bell: Rung, clock: Clock
) -> None:
    queue.waiting, queue.on_gpu = {hungry.digest: 250}, {hungry.digest: 150}

    look(relay, clock)

    assert {CPU: 3, GPU: 2} == bell.sent


def test_what_was_rung_for_is_not_rung_for_again(
    relay: Relay, queue: Queue, bell: Rung, clock: Clock
) -> None:
    queue.waiting = {plain.digest: 150}
    look(relay, clock)
    look(relay, clock)
    queue.waiting = {plain.digest: 350}
    look(relay, clock)

    assert {CPU: 4} == bell.sent


def test_messages_that_were_heard_make_room(
    relay: Relay, queue: Queue, bell: Rung, clock: Clock
) -> None:
    for waiting in (150, 0, 150):
        queue.waiting = {plain.digest: waiting}
        look(relay, clock)

    assert {CPU: 4} == bell.sent


def test_lost_messages_are_sent_again_after_a_while(
    relay: Relay, queue: Queue, bell: Rung, clock: Clock
) -> None:
    queue.waiting = {plain.digest: 50}
    look(relay, clock)
    look(relay, clock, after=11.0)

    assert {CPU: 2} == bell.sent


def test_a_million_checks_do_not_flood_the_broker(
    relay: Relay, queue: Queue, bell: Rung, clock: Clock
) -> None:
    queue.waiting = {plain.digest: 1_000_000}

    look(relay, clock)

    assert {CPU: 256} == bell.sent


def test_a_broker_that_is_down_is_left_alone_for_a_while(
    relay: Relay, queue: Queue, bell: Rung, clock: Clock
) -> None:
    queue.waiting, bell.is_up = {plain.digest: 50}, False
    look(relay, clock)
    queue.waiting = {plain.digest: 500}
    look(relay, clock)
    before = bell.sent[CPU]
    look(relay, clock, after=11.0)

    assert (1, 6) == (before, bell.sent[CPU])  # None of the first was taken.
