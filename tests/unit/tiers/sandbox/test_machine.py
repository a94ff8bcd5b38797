"""What the machine itself has too little of is no program's fault."""

import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from verifier_ladder.errors import SandboxError
from verifier_ladder.tiers.sandbox import Sandbox
from verifier_ladder.tiers.sandbox.machine import files_of

_THREADS = """
import threading
def solve(count):
    may_end = threading.Event()
    threads = [threading.Thread(target=may_end.wait) for _ in range(count)]
    try:
        for thread in threads: thread.start()
    finally:
        may_end.set()
    return count
"""
_MEMORY = "def solve(size): return len(bytearray(size))"
_WORKER = """
import os, resource, sys
from pathlib import Path
from verifier_ladder.tiers.sandbox import Input, Limits, Program, Sandbox
kind, source, steps = sys.argv[1], sys.argv[2], eval(sys.argv[3])
{before}
sandbox = Sandbox.open(backends=(kind,))
program = Program({{"main.py": source}})
for given, before, limits in steps:
    exec(before)
    try:
        print(sandbox.run(program, [Input((given,))], Limits(**limits))[0].ended)
    except Exception as error:
        print(type(error).__name__, error)
"""
Judge = Callable[..., list[str]]
Step = tuple[int, str, dict[str, Any]]


@pytest.fixture
def judge(sandbox: Sandbox) -> Judge:
    """`judge(source, steps, before)`: what a worker of its own says of each step.

    A step has the program's argument, what the worker does first, and limits.
    """

    def run(source: str, steps: list[Step], before: str) -> list[str]:
        ran = subprocess.run(
            [sys.executable, "-P", "-c", _WORKER.format(before=before), sandbox.backend.kind,
             source, repr(steps)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert not ran.stderr, ran.stderr
        return ran.stdout.splitlines()

    return run


@pytest.fixture
def group(require: Callable[..., None], until: Callable[..., None]) -> Iterator[Path]:
    """A control group of one's own, whose processes can be limited."""
    top = Path("/sys/fs/cgroup")
    place = top / "pids" if (top / "pids").is_dir() else top
    try:
        made = Path(tempfile.mkdtemp(prefix="vladder-test-", dir=place))
    except OSError as error:
        require("a control group", False, f"can't be made: {error}")  # noqa: FBT003
    try:
        require("a limit of processes", (made / "pids.max").exists(), "no controller pids")
        yield made
    finally:
        until(lambda: _is_gone(made))


def _is_gone(group: Path) -> bool:
    """Remove a group, unless a process of a sandbox that was just closed is still ending."""
    try:
        group.rmdir()
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return False
    return True


def test_a_full_control_group_is_the_machine_s(judge: Judge, group: Path) -> None:
    join = f"group = Path({str(group)!r}); (group / 'cgroup.procs').write_text(str(os.getpid()))"
    most = "(group / 'pids.max').write_text(str(int((group / 'pids.current').read_text()) + {}))"
    limits = {"processes": 16}

    full, fine, too_many = judge(
        _THREADS, [(8, most.format(4), limits), (8, most.format(32), limits), (99, "", limits)],
        join,
    )  # fmt: skip

    assert full.startswith("SandboxError a control group was full"), full
    assert "finished" == fine
    assert too_many in {"threads", "processes"}


def test_less_memory_than_was_promised_is_the_machine_s(judge: Judge) -> None:
    short, fine, too_much = judge(
        _MEMORY,
        [(2 << 30, "", {"memory": 4 << 30}), (1 << 20, "", {"memory": 4 << 30}),
         (2 << 30, "", {"memory": 64 << 20})],
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))",
    )  # fmt: skip

    assert short.startswith("SandboxError a candidate may have more than this machine"), short
    assert "ulimit -v" in short
    assert ("finished", "memory") == (fine, too_much)


def test_a_machine_on_which_nothing_can_be_noted_has_no_sandbox_rather_than_an_error_of_its_own(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> None:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)

    with pytest.raises(SandboxError, match="No usable temporary directory"):
        Sandbox(backend=sandbox.backend).start()


@pytest.mark.parametrize(
    ("groups", "there", "found"),
    [
        pytest.param(
            "0::/user/box\n", ["user/box/pids.events.local", "user/box/pids.events",
                               "user/pids.events"],
            ["user/box/pids.events.local", "user/pids.events"], id="version 2",
        ),
        pytest.param(
            "8:pids:/docker/x\n4:memory:/docker/x\n0::/\n", ["pids/pids.events"],
            ["pids/pids.events"], id="version 1, seen from inside a container",
        ),
        pytest.param("4:memory:/a\n", ["memory/a/pids.events"], [], id="another controller"),
        pytest.param("", [], [], id="none"),
    ],
)  # fmt: skip
def test_the_files_are_found_that_tell_of_a_process_s_control_groups(
    groups: str, there: list[str], found: list[str], tmp_path: Path
) -> None:
    for name in there:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    files = files_of(groups, str(tmp_path), "pids", "pids.events.local", "pids.events")

    assert [f"{tmp_path}/{name}" for name in found] == list(files)
