"""The distributed form on one machine, for a try: real servers, and worker hosts beside them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

HOSTS = 2
_PATIENCE = 30.0


@contextmanager
def fleet(out: Console, hosts: int = HOSTS) -> Iterator[str]:
    """Start PostgreSQL, Redis and worker hosts; gives the ledger's URL.

    While it lasts, campaigns of this process leave their dearer checks to the hosts. All of it
    ends with the block, the ledger too.

    Args:
        out: Where to say what was started.
        hosts: How many worker hosts.

    Raises:
        ConfigError: If the packages that carry the servers are not installed.
    """
    from verifier_ladder.testing.servers import PostgresqlServer, RedisServer

    with ExitStack() as stack:
        database = stack.enter_context(PostgresqlServer())
        broker = stack.enter_context(RedisServer())
        settings = {
            "VLADDER_LEDGER": database.new_database(), "VLADDER_ENGINE": "celery",
            "VLADDER_BROKER": broker.url,
        }  # fmt: skip
        stack.enter_context(_environment(settings))
        started = [stack.enter_context(_worker()) for _ in range(hosts)]
        out.print(
            f"PostgreSQL on port {database.port}, Redis on port {broker.port}, worker hosts "
            f"{' and '.join(str(process.pid) for process in started)}.\n",
            highlight=False,
        )
        yield settings["VLADDER_LEDGER"]
        out.print(
            "\nThe servers, and the ledger in them, end here; compose.yaml starts ones that last.",
            highlight=False,
        )


@contextmanager
def _environment(settings: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _worker() -> Iterator[subprocess.Popen[bytes]]:
    """One worker host, as `vladder worker start` makes it."""
    command = [sys.executable, "-m", "verifier_ladder.cli", "worker", "start", "--workers", "1"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # noqa: S603 - our own
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
