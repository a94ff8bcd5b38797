"""Processor time of a process and of all that it has started."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from verifier_ladder import metering
from verifier_ladder.metering import Counter, family, seconds, seconds_of

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
SPIN = "import time\nwhile time.process_time() < 0.5: pass\n"
NEAR = 0.2
"""Ticks of a few processes, and what starting them takes on a busy machine."""


def spinning(after: str) -> subprocess.Popen[bytes]:
    """A child that has spun for half a cpu-second and then does something else."""
    child = subprocess.Popen(
        [sys.executable, "-c", f"{SPIN}\nprint(flush=True)\n{after}"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdout is not None
    child.stdout.readline()
    return child


def test_a_child_counts_while_it_lives_when_it_is_dead_and_when_it_was_waited_for() -> None:
    counter = Counter()
    child = spinning("input()")
    alive = counter.taken()
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    dead = counter.taken()
    child.communicate()
    waited = counter.taken()

    assert 0.5 <= alive <= 0.5 + NEAR
    assert dead <= NEAR
    assert waited <= NEAR


def test_the_tree_of_another_process_is_counted_with_its_grandchildren() -> None:
    child = spinning(
        f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {SPIN!r} + "
        "'print(flush=True); input()'], stdout=subprocess.PIPE); p.stdout.readline(); "
        "print(flush=True); input()"
    )
    assert child.stdout is not None
    child.stdout.readline()
    taken, members = seconds_of(child.pid), family(child.pid) or []
    child.kill()
    child.communicate()

    assert 1.0 <= taken <= 1.0 + NEAR
    assert 2 == len(members)
    assert (0.0, None) == (seconds_of(child.pid), family(child.pid))


def test_kernels_that_tell_of_no_children_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    child = spinning("input()")
    told = {member.pid for member in family(os.getpid()) or ()}
    monkeypatch.setattr(os.path, "exists", lambda _: False)
    found = {member.pid for member in family(os.getpid()) or ()}
    child.kill()
    child.communicate()

    assert {os.getpid(), child.pid} <= told == found


def test_a_report_counts_instead_of_the_processes_that_it_speaks_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    child = spinning("input()")
    monkeypatch.setattr(metering, "_SOURCES", [])
    seen = seconds()
    metering.report(lambda: 7.0, lambda: [child.pid])
    told = seconds()
    child.kill()
    child.communicate()

    assert 6.5 - NEAR <= told - seen <= 6.5 + NEAR


def counting(readings: list[float], monkeypatch: pytest.MonkeyPatch) -> Callable[[], float]:
    monkeypatch.setattr(metering, "seconds", iter(readings).__next__)
    return Counter().taken


def test_a_process_that_ended_during_a_look_is_not_charged_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken = counting([10.0, 5.0, 11.0], monkeypatch)

    assert [0.0, 1.0] == [taken(), taken()]


def test_what_nobody_waited_for_is_given_up_at_the_second_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken = counting([10.0, 5.0, 5.5, 6.5], monkeypatch)

    assert [0.0, 0.0, 1.0] == [taken(), taken(), taken()]


ORPHANS = """
import os, subprocess, sys
from verifier_ladder.metering import bury, family, keep_tree, seconds

keep_tree()
# Left at once: at the end of a program, its `Popen` would bury a child that has ended by then.
LEAVES = (
    "import os, subprocess, sys; left = subprocess.Popen([sys.executable, '-S', '-c', 'pass']); "
    "os._exit(0)"
)
kept = [subprocess.Popen([sys.executable, "-S", "-c", "raise SystemExit(3)"]) for _ in range(3)]
for _ in range(36):
    subprocess.run([sys.executable, "-c", LEAVES], check=True)
def dead():
    return sum(m.fields[0] == "Z" for m in family(os.getpid()))
while dead() < 39:
    pass
before = seconds()
bury()
assert 3 == dead(), dead()
assert abs(seconds() - before) < 0.5
assert [3, 3, 3] == [one.wait() for one in kept]
"""


def test_dead_orphans_are_buried_and_children_that_somebody_knows_are_not() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", ORPHANS], capture_output=True, text=True, check=False
    )

    assert (0, "") == (ended.returncode, ended.stderr)


def test_it_costs_little_where_there_are_no_children(monkeypatch: pytest.MonkeyPatch) -> None:
    def waited(*_: object) -> None:
        raise ChildProcessError

    monkeypatch.setattr(os, "waitid", waited)
    monkeypatch.setattr(metering, "family", lambda *_: pytest.fail("the tree was walked"))

    assert seconds() > 0.0
