"""The bell over a real Redis: hosts are woken, and a broker that is down only costs time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from threading import Event, Semaphore, Thread
from typing import Any

import pytest
from redis import Redis

import verifier_ladder as vl
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.scheduler.engines.bell import Bell, queue_name, queues_for
from verifier_ladder.scheduler.engines.ear import Ear
from verifier_ladder.scheduler.engines.host import WorkerHost
from verifier_ladder.testing.servers import RedisServer

# Celery advises against root, which containers run as.
pytestmark = pytest.mark.filterwarnings("ignore:.*superuser privileges")

QUEUE = queue_name(vl.Tier.SIMULATION, "cpu")


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def bell_cheap(_: vl.Candidate) -> float:
    return 1.0


@vl.verifier(tier="simulation", kind="text", version="1")
def bell_costly(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


LADDER = vl.Ladder("l", [bell_cheap, bell_costly], policy="all_tiers")


@pytest.fixture
def listening(redis_server: RedisServer) -> Iterator[Callable[[Callable[[], Any]], None]]:
    """Have a call made for every message to `QUEUE`, until the test ends."""
    workers = []

    def start(heard: Callable[[], Any]) -> None:
        worker = Ear(redis_server.url, [QUEUE], heard)
        workers.append(worker)
        Thread(target=worker.start, daemon=True).start()

    yield start
    for worker in workers:
        worker.stop()


def test_a_message_is_heard(
    redis_server: RedisServer, listening: Callable[[Callable[[], Any]], None]
) -> None:
    heard = Event()
    listening(heard.set)

    assert Bell(redis_server.url).ring(QUEUE)
    assert heard.wait(300)


def test_a_broker_that_was_wiped_carries_the_next_message(
    redis_server: RedisServer, listening: Callable[[Callable[[], Any]], None]
) -> None:
    heard = Semaphore(0)
    listening(heard.release)
    bell = Bell(redis_server.url)
    assert bell.ring(QUEUE)
    assert heard.acquire(timeout=300)

    redis_server.wipe()

    assert bell.ring(QUEUE)
    assert heard.acquire(timeout=300)


def test_a_broker_that_is_down_takes_no_messages() -> None:
    with RedisServer() as server:
        bell = Bell(server.url)
        server.kill()
        assert not bell.ring(QUEUE)


@pytest.mark.parametrize("url", ["http://localhost", "nonsense"])
def test_what_is_no_broker_is_refused(url: str) -> None:
    with pytest.raises(vl.ConfigError, match="give the URL of Redis"):
        Bell(url)


@pytest.mark.parametrize(
    "url", ["redis://me:secret@host:70000/0", "amqp://host:0", "redis://[::/0"]
)
def test_a_broker_that_can_not_be_is_refused_with_a_sentence(url: str) -> None:
    with pytest.raises(vl.ConfigError, match=r"Port out of range|no port|Invalid IPv6") as caught:
        Bell(url)
    assert "secret" not in str(caught.value)


def test_the_queues_of_a_host_follow_from_its_tiers_and_resources() -> None:
    tiers = [vl.Tier.SIMULATION, vl.Tier.HIGH_FIDELITY]

    assert [
        "verifier_ladder.simulation.gpu", "verifier_ladder.high_fidelity.gpu"
    ] == queues_for(tiers, ["gpu"])  # fmt: skip
    assert 6 == len(queues_for(tiers, None))


def test_celery_without_a_broker_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.delenv("VLADDER_BROKER", raising=False)

    with pytest.raises(vl.ConfigError, match="set VLADDER_BROKER"):
        vl.Campaign.open("c", ladder=LADDER, ledger=tmp_path / "ledger.db", engine="celery")


@pytest.fixture
def host(tmp_path: Any) -> Iterator[WorkerHost]:
    """A host that never looks by itself."""
    store: Ledger
    with open_ledger(tmp_path / "ledger.db") as store:
        made = WorkerHost(store, workers=1, longest_look=3600.0)
        made.wake()
        made.wait_idle(30)
        made.look = 3600.0
        yield made
        made.close()


def test_a_campaign_rings_for_a_host(
    redis_server: RedisServer, listening: Callable[[Callable[[], Any]], None], host: WorkerHost,
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("VLADDER_BROKER", redis_server.url)
    with vl.Campaign.open(
        "c", ladder=LADDER, ledger=tmp_path / "ledger.db", engine="celery", workers=1
    ) as campaign:
        host.catalog.refresh()
        campaign.score(["a", "bcd"])
        listening(host.wait_room)
        assert campaign.drain("300 s")
        values = sorted(revision.reward.value or 0.0 for revision in campaign.revisions())

    assert [1.0, 3.0] == values
    assert 2 == host.done


def test_messages_that_nobody_sent_are_dropped(
    redis_server: RedisServer, listening: Callable[[Callable[[], Any]], None]
) -> None:
    """Forged, truncated, pickled, of another task, and the same one twice."""
    heard = Semaphore(0)
    bell = Bell(redis_server.url)
    broker: Any = Redis.from_url(redis_server.url)
    assert bell.ring(QUEUE)
    (sent,) = broker.lrange(QUEUE, 0, -1)
    whole = json.loads(sent)
    stranger = {**whole, "headers": {**whole["headers"], "task": "os.system"}}
    pickled = {**whole, "content-type": "application/x-python-serialize"}
    broker.delete(QUEUE)
    for forged in (
        b"not JSON",
        sent[:50],
        b"[]",
        b"{}",
        json.dumps(stranger),
        json.dumps(pickled),
    ):
        broker.lpush(QUEUE, forged)
    listening(heard.release)
    broker.lpush(QUEUE, sent, sent)

    for _ in range(2):
        assert heard.acquire(timeout=300)
    assert bell.ring(QUEUE)
    assert heard.acquire(timeout=300)
