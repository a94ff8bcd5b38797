"""A program that is forked does what one does that is executed."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forked
import pytest

PROGRAM = """
import os, sys
print(__name__, sys.argv, sys.path[0], os.getcwd(), os.environ["WORD"], input(), os.getppid())
print(sorted(name for name in vars() if name[0] != "_"), os.listdir("/proc/self/fd"))
print("wrong", file=sys.stderr)
sys.exit(3)
"""


@pytest.mark.parametrize("command", [["-c", PROGRAM], ["-P", "-c", PROGRAM], ["program.py"]])
def test_both_find_and_say_the_same(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)

    def said(run: Callable[..., Any]) -> tuple[object, ...]:
        done = run(
            [sys.executable, *command, "a", "b"], cwd=tmp_path, input="asked\n", text=True,
            capture_output=True, env={**os.environ, "WORD": "told"},
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    assert (3, "wrong\n") == said(forked.run)[::2]
    assert said(subprocess.run) == said(forked.run)


def test_it_is_killed_as_any_child_is() -> None:
    program = "print('here', flush=True); import time; time.sleep(600)"
    with forked.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert b"here\n" == process.stdout.readline()
        process.kill()

    assert -9 == process.returncode


def test_the_command_in_a_shell_has_its_files_and_its_exit_code(tmp_path: Path) -> None:
    path = f"{forked.commands()}:{os.environ['PATH']}"
    done = subprocess.run(
        ["/bin/sh", "-c", "vladder --version | tr a-z A-Z; vladder nonsense 2> wrong"],
        cwd=tmp_path, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, check=False,
    )  # fmt: skip

    assert (2, True) == (done.returncode, done.stdout.startswith(b"VERIFIER-LADDER "))
    assert "nonsense" in (tmp_path / "wrong").read_text()


def test_it_begins_in_a_test_that_has_temporary_files_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    longest = tmp_path / ("x" * 100)  # No socket has a name as long as this.
    longest.mkdir()
    monkeypatch.setenv("TMPDIR", str(longest))
    monkeypatch.setattr("tempfile.tempdir", None)

    class Fresh(forked.Popen):
        modules = ("json",)

    with Fresh(
        [sys.executable, "-c", "import tempfile; print(tempfile.gettempdir())"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert (f"{longest}\n", None) == process.communicate()
