"""What all tests share: example counts, named absences, a browser."""

import gc
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import monotonic, sleep
from typing import TypeVar

import cloudpickle
import forked
import pytest
from chromium import Tab, chromium
from hypothesis import HealthCheck, settings
from typer.main import get_command

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.schema import metadata
from verifier_ladder.testing.servers import PostgresqlServer, RedisServer, Server

S = TypeVar("S", bound=Server)
Require = Callable[[str, bool, str], None]
"""`require(name, present, why)`: the fixture below."""
Until = Callable[[Callable[[], object]], None]
"""`until(condition)`: the fixture below."""

NOT_RUN = "NOT RUN"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER_FLAGS = (
    "--headless",
    "--no-sandbox",  # Root in a container has no user namespaces; the pages are our own.
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

# The same examples in every run of `make test`; new ones in `make fuzz`. Examples run while other
# processes compute, so a time limit per example would only report the machine's load.
_common = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("default-run", _common, derandomize=True)
settings.register_profile("full", _common, max_examples=1_000)
settings.register_profile("fuzz", _common, max_examples=10_000)
settings.load_profile("default-run")


# A shell without a terminal starts what it runs in the background with Ctrl-C ignored, and the
# programs that the tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests start hundreds of processes. Where Python is told to keep no bytecode, each of them would
# compile anew all that it imports, which takes longer than most tests.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A user's process builds its commands once; to build them for each call takes longer than most.
pytest.MonkeyPatch().setattr("typer.testing._get_command", cache(get_command))

# Beside busy neighbours a worker that gives way to learners gets a hundredth of the machine, and
# tests wait for hundreds of them. What becomes of niceness is tested where pools are.
pytest.MonkeyPatch().setattr("verifier_ladder.scheduler.engines.dispatcher.NICENESS", 0)

gc.disable()  # Collecting tests leaves no garbage, and nothing that is collected goes away.


@pytest.fixture(scope="module", autouse=True)
def _workers_import_no_tests(request: pytest.FixtureRequest) -> None:
    """A worker that gets a verifier of a test imports neither the test's module nor pytest.

    Workers start in a tenth of the time, and tests start hundreds of them.
    """
    cloudpickle.register_pickle_by_value(request.module)


@pytest.fixture
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers begin with what they import: for files of tests that start many and end most.

    How workers are started is tested elsewhere.
    """
    monkeypatch.setattr("verifier_ladder.scheduler.engines.child.subprocess", forked.workers)


def pytest_collection_finish() -> None:
    """Look for garbage again, but never among the tests and the libraries that they loaded."""
    gc.freeze()
    gc.enable()


def _require(name: str, present: bool, why: str) -> None:  # noqa: FBT001  # Reads as a sentence.
    if present:
        return
    if os.environ.get("REQUIRE_ALL") == "1":
        pytest.fail(f"{name} is missing, and REQUIRE_ALL=1 asks for it: {why}", pytrace=False)
    pytest.skip(f"{NOT_RUN}: {name} is missing: {why}")


@pytest.fixture
def require() -> Require:
    """Skip a test that needs something which is not here, and say so in the run's last lines.

    With `REQUIRE_ALL=1`, which continuous integration sets, the absence is a failure.

        def test_report_opens(require: Require) -> None:
            require("chromium", shutil.which("chromium") is not None, "opens the report")
    """
    return _require


@pytest.fixture
def until() -> Until:
    """Wait for a condition on other processes, with a deadline."""

    def wait(condition: Callable[[], object]) -> None:
        deadline = monotonic() + 300.0
        while not condition():
            assert monotonic() < deadline, "the condition never came true"
            sleep(0.005)

    return wait


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was not run for want of a system package, apart from other skips."""
    for report in terminalreporter.stats.get("skipped", ()):
        reason = report.longrepr[2].removeprefix("Skipped: ") if report.longrepr else ""
        if reason.startswith(NOT_RUN):
            terminalreporter.write_line(f"{reason} ({report.nodeid})", yellow=True)


@dataclass(frozen=True)
class Browser:
    """Chromium without a window. Each call is a new process with an empty profile."""

    program: str
    profiles: Path

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        profile = self.profiles / f"profile-{sum(1 for _ in self.profiles.iterdir())}"
        command = [self.program, *BROWSER_FLAGS, f"--user-data-dir={profile}", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)

    def dom(self, page: Path) -> str:
        """Return the page's HTML after its scripts have run."""
        return self._run("--dump-dom", page.resolve().as_uri()).stdout

    def tab(self, *more: str) -> AbstractContextManager[Tab]:
        """A page that is used as a person does, with names of this machine and no other."""
        rules = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        flags = [*BROWSER_FLAGS, rules, *more]
        return chromium(self.program, flags, self.profiles / "tab")

    def screenshot(self, page: Path, picture: Path, size: tuple[int, int] = (1280, 1600)) -> Path:
        """Draw the page into a PNG file and return the file."""
        window = f"--window-size={size[0]},{size[1]}"
        self._run(window, f"--screenshot={picture}", page.resolve().as_uri())
        return picture


@pytest.fixture
def browser(require: Require, tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """Chromium, or the test is named as not run."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    require("chromium", program is not None, "looks at pages in a browser")
    return Browser(str(program), tmp_path_factory.mktemp("browser"))


@contextmanager
def _running(kind: type[S]) -> Iterator[S]:
    """A server, or the test is named as not run."""
    try:
        server = kind()
    except ConfigError as error:
        _require(kind.package, present=False, why=str(error))
        raise
    with server:
        yield server


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgresqlServer]:
    """A PostgreSQL server of this run; a database named `ledger` holds a ledger's tables."""
    with _running(PostgresqlServer) as server:
        server.execute("CREATE DATABASE ledger")
        open_ledger(server.url("ledger")).close()
        yield server


@pytest.fixture
def empty_postgresql(postgresql_server: PostgresqlServer) -> Callable[[], None]:
    """Empty the database of `postgresql` again."""

    def empty() -> None:
        postgresql_server.execute(_EMPTY, "ledger")

    return empty


@pytest.fixture
def own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have ledgers in PostgreSQL signed by a key of this test, not by the user's."""
    monkeypatch.setenv("VLADDER_KEY", str(tmp_path / "ledger.key"))


@pytest.fixture
def postgresql(postgresql_server: PostgresqlServer, own_key: None) -> str:  # noqa: ARG001
    """The URL of an empty ledger in PostgreSQL.

    One database is emptied for each test: a new one would cost a tenth of a second.
    """
    postgresql_server.execute(_EMPTY, "ledger")
    return postgresql_server.url("ledger")


@pytest.fixture
def new_database(
    postgresql_server: PostgresqlServer,
    own_key: None,  # noqa: ARG001
) -> Iterator[str]:
    """The URL of a database without tables."""
    url = postgresql_server.new_database()
    yield url
    postgresql_server.drop_database(url)


# Behind the guards' back; nobody may still be connected.
_EMPTY = "; ".join(
    [
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "  # noqa: ISC004
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
        "SET session_replication_role = replica",
        *(f"DELETE FROM {table}" for table in metadata.tables),  # noqa: S608 - our own tables
        "SELECT setval(oid::regclass, 1, false) FROM pg_class WHERE relkind = 'S'",
    ]
)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A Redis server of this run."""
    with _running(RedisServer) as server:
        yield server
