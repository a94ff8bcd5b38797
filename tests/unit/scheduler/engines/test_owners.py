"""Owners of leases: who is dead is known for sure, or not claimed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.scheduler.engines.owners import has_died, new_owner

PEER = """
import sys
from verifier_ladder.scheduler.engines.owners import has_died, new_owner
print(new_owner(), flush=True)
for line in sys.stdin:
    print(has_died(line.strip()), flush=True)
"""
NEW_SPACE = ("unshare", "--pid", "--fork")
OWN_PROC = (*NEW_SPACE, "--mount-proc")
Peer = subprocess.Popen[str]


@contextmanager
def peer(*prefix: str) -> Iterator[tuple[str, Peer]]:
    """Another process, which says who it is and tells of others whether they have died."""
    with subprocess.Popen(
        [*prefix, sys.executable, "-c", PEER],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()


def told(process: Peer, owner: str) -> bool:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{owner}\n")
    process.stdin.flush()
    return process.stdout.readline().strip() == "True"


def test_a_process_that_lives_has_not_died_for_itself_or_for_others() -> None:
    with peer() as (owner, process):
        assert not has_died(owner)
        assert not told(process, owner)
        assert not told(process, new_owner())


def test_a_process_that_was_killed_has_died_before_and_after_it_is_reaped() -> None:
    with peer() as (owner, process):
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert has_died(owner)
        process.wait()
        assert has_died(owner)


def test_another_process_with_the_id_of_a_dead_one_does_not_stand_for_it() -> None:
    with peer() as (owner, _):
        *place, pid, started, number = owner.split(":")
        older = ":".join([*place, pid, f"{int(started) - 1}", number])
        assert has_died(older)
        assert not has_died(owner)


@pytest.mark.parametrize("part", [1, 2, 3], ids=["boot", "pid namespace", "time namespace"])
def test_nobody_of_another_kernel_or_namespace_is_told_dead(part: int) -> None:
    parts = new_owner().split(":")
    parts[part] = "0" if parts[part] != "0" else "1"
    parts[4] = "4194304"  # Above every process id.

    assert not has_died(":".join(parts))


@pytest.mark.parametrize("prefix", [NEW_SPACE, OWN_PROC], ids=["foreign proc", "own proc"])
def test_neighbours_in_other_pid_namespaces_never_tell_each_other_dead(
    prefix: Sequence[str],
) -> None:
    """Containers that share a host name: their processes can't see each other."""
    program = shutil.which("unshare")
    is_able = program and not subprocess.run([*OWN_PROC, "true"], check=False).returncode
    if not is_able:
        pytest.skip("NOT RUN: this user may not make a pid namespace")
    with peer(*prefix) as (inner, within), peer() as (outer, without):
        assert not has_died(inner)
        assert not told(without, inner)
        assert not told(within, outer)
        assert not told(within, new_owner())
        assert not told(within, inner)


@given(st.text() | st.builds("{}:{}".format, st.text(), st.integers()))
def test_names_that_nobody_here_has_given_are_of_nobody_who_died(owner: str) -> None:
    assert not has_died(owner)
    assert not has_died(f"{new_owner().rpartition(':')[0]}:{owner}")
