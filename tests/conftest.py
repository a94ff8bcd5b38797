"""What all tests share: example counts, named absences, a browser."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

Require = Callable[[str, bool, str], None]
"""`require(name, present, why)`: the fixture below."""

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
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=90)

    def dom(self, page: Path) -> str:
        """Return the page's HTML after its scripts have run."""
        return self._run("--dump-dom", page.resolve().as_uri()).stdout

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
