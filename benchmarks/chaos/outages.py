"""What strikes the servers, and the network between them and the crew."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from time import sleep
from typing import Any

from chaos.cable import Cable
from chaos.crew import Crew
from redis import Redis

from verifier_ladder.scheduler.engines.bell import queues_for
from verifier_ladder.scheduler.engines.host import TIERS
from verifier_ladder.testing.servers import Server

Fault = Callable[[Crew, Random], None]


def kill_database(crew: Crew, rng: Random) -> None:
    """Kill PostgreSQL, and start it again after a while."""
    _restart(crew.place.database, rng)


def kill_broker(crew: Crew, rng: Random) -> None:
    """Kill Redis with all that it holds, and start it again after a while."""
    _restart(crew.place.broker, rng)


def _restart(server: Server | None, rng: Random) -> None:
    if server is not None:
        server.kill()
        sleep(rng.uniform(0.1, 2.0))
        server.start()


def revive(server: Server | None) -> None:
    """Start a server again that has ended by itself."""
    if server is not None and not server.is_up:
        server.kill()
        server.start()


def wipe_broker(crew: Crew, rng: Random) -> None:
    """Empty Redis: all messages are gone, and what Celery keeps of its queues."""
    del rng
    if crew.place.broker is not None:
        crew.place.broker.wipe()


def forge_messages(crew: Crew, rng: Random) -> None:
    """Put messages that nobody sent, and that can't be read, into Redis."""
    if crew.place.broker is not None:
        client: Any = Redis.from_url(crew.place.broker.url)
        for queue in queues_for(TIERS, ["cpu"]):
            client.lpush(queue, b"not JSON", b"{}", rng.randbytes(rng.randrange(1, 100)))
        client.close()


def slow_network(crew: Crew, rng: Random) -> None:
    """Have all messages between the crew and one server arrive late for a while."""
    cable = _any(crew, rng)
    cable.slow(rng.uniform(0.05, 0.3))
    sleep(rng.uniform(0.5, 2.0))
    cable.slow(0.0)


def cut_network(crew: Crew, rng: Random) -> None:
    """Break all connections to one server."""
    _any(crew, rng).cut()


def deaf_network(crew: Crew, rng: Random) -> None:
    """Close one half of all connections to a server: it hears, and is not heard."""
    _any(crew, rng).deafen()


def silent_network(crew: Crew, rng: Random) -> None:
    """Carry nothing between the crew and one server for a while, and break what had waited."""
    cable = _any(crew, rng)
    cable.hold()
    sleep(rng.uniform(0.5, 5.0))
    cable.go_on()


def lost_commit(crew: Crew, rng: Random) -> None:
    """Break a connection to the database just after it has committed, before it says so."""
    del rng
    crew.place.cables[0].lose_commit().wait(_PATIENCE)


def _any(crew: Crew, rng: Random) -> Cable:
    return rng.choice(crew.place.cables)


_PATIENCE = 10.0
"""Seconds in which somebody commits."""
SERVER_FAULTS: dict[str, Fault] = {
    "database": kill_database, "broker": kill_broker, "broker wiped": wipe_broker,
    "forged messages": forge_messages,
    "slow network": slow_network, "broken network": cut_network, "deaf network": deaf_network,
    "silent network": silent_network, "lost commit": lost_commit,
}  # fmt: skip
"""Faults of a crew on servers."""
