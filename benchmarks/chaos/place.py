"""Where it happens: a folder, a ledger, and the servers that may be struck too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from verifier_ladder.testing.servers import PostgresqlServer, RedisServer


class Place(NamedTuple):
    """A ledger, and the folder in which everybody notes what they did."""

    ledger: str
    folder: Path
    database: PostgresqlServer | None = None
    broker: RedisServer | None = None

    @property
    def settings(self) -> dict[str, str]:
        """What the environment of every process says."""
        key = {"VLADDER_KEY": str(self.folder / "ledger.key")}
        return key | ({"VLADDER_BROKER": self.broker.url} if self.broker else {})


@contextmanager
def on_servers(folder: Path) -> Iterator[Place]:
    """A ledger in a PostgreSQL server, and a Redis server that rings."""
    with ExitStack() as stack:
        database = stack.enter_context(PostgresqlServer(durable=True))
        broker = stack.enter_context(RedisServer())
        yield Place(database.new_database(), folder, database, broker)
