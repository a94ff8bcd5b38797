"""Where it happens: a folder, a ledger, and the servers that may be struck too."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from chaos.cable import Cable
from chaos.smalldisk import mount, unmount

from verifier_ladder.testing.servers import PostgresqlServer, RedisServer

_MEGABYTES = 512
_SMALL = {"max_wal_size": "128MB"}
"""So that PostgreSQL does not fill such a disk by itself."""


class Place(NamedTuple):
    """A ledger, and the folder in which everybody notes what they did."""

    ledger: str
    folder: Path
    database: PostgresqlServer | None = None
    broker: RedisServer | None = None
    cables: tuple[Cable, ...] = ()
    """What leads to the database, and to the broker."""
    disk: Path | None = None
    """The folder of a small disk, on which the ledger lies."""

    @property
    def settings(self) -> dict[str, str]:
        """What the environment of every process says."""
        key = {"VLADDER_KEY": str(self.folder / "ledger.key")}
        if self.broker is None:
            return key
        return key | {"VLADDER_BROKER": _through(self.cables[1], self.broker.url)}


@contextmanager
def on_disk(folder: Path) -> Iterator[Place]:
    """A ledger file."""
    with _small_disk(folder) as disk:
        yield Place(str((disk or folder) / "ledger.db"), folder, disk=disk)


@contextmanager
def on_servers(folder: Path) -> Iterator[Place]:
    """A ledger in a PostgreSQL server, and a Redis server that rings; cables lead to both."""
    with ExitStack() as stack:
        disk = stack.enter_context(_small_disk(folder))
        tempfile.tempdir = None if disk is None else str(disk)  # There servers keep their files.
        database = stack.enter_context(PostgresqlServer(_SMALL, durable=True))
        broker = stack.enter_context(RedisServer())
        tempfile.tempdir = None
        cables = tuple(stack.enter_context(Cable(server.port)) for server in (database, broker))
        ledger = _through(cables[0], database.new_database())
        yield Place(ledger, folder, database, broker, cables, disk)


@contextmanager
def _small_disk(folder: Path) -> Iterator[Path | None]:
    """A small disk, where this user may mount one; ask before any thread starts."""
    disk = folder / "disk"
    disk.mkdir()
    folder.chmod(0o711)  # Servers have a user of their own.
    is_there = mount(disk, _MEGABYTES)
    yield disk if is_there else None
    if is_there:
        unmount(disk)


def _through(cable: Cable, url: str) -> str:
    """The URL of a server at the near end of its cable."""
    address, slash, rest = url.rpartition("/")
    return f"{address.rpartition(':')[0]}:{cable.port}{slash}{rest}"
