"""Workers end when their program does, however it ends."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

Until = Callable[[Callable[[], object]], None]

# No `if __name__ == "__main__"`, as in a notebook or a first script.
SCRIPT = """
import json, os, subprocess, sys, time
import verifier_ladder as vl
from verifier_ladder.scheduler.engines.pool import WorkerPool

print("begun", file=sys.stderr)

@vl.verifier(kind="text", version="1", timeout=60.0)
def busy(candidate):
    if candidate.content == "parent":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        with open("child", "w") as file:
            file.write(str(child.pid))
        time.sleep(60)
    return len(candidate.content) * FACTOR

FACTOR = 2.0
pool = WorkerPool(2)
first = pool.verify(busy, [vl.Candidate("text", "abc")]).result()
running = pool.verify(busy, [vl.Candidate("text", "parent")]) if "run" in sys.argv else None
while running and not (os.path.exists("child") and open("child").read()):
    time.sleep(0.01)
pids = pool.pids() + ([int(open("child").read())] if running else [])
print(json.dumps({"score": first.verdicts[0].score, "pids": pids}), flush=True)
if "fork" in sys.argv:
    child = os.fork()
    if not child:
        try:
            pool.verify(busy, [])
        except Exception as error:
            print(type(error).__name__, file=sys.stderr, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    again = pool.verify(busy, [vl.Candidate("text", "abc")]).result()
    print(again.verdicts[0].score, file=sys.stderr)
if "wait" in sys.argv:
    running.result()
"""


class Program:
    """A user's script in a process of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        script = folder / "script.py"
        script.write_text(SCRIPT)
        self.process = subprocess.Popen(
            [sys.executable, str(script), *arguments], cwd=folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.said: dict[str, Any] = json.loads(line) if line else {"error": self.rest()}

    def rest(self) -> tuple[str, str]:
        out, err = self.process.communicate(timeout=300)
        return out, err

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()

    def workers_are_gone(self) -> bool:
        return not any(alive(pid) for pid in self.said["pids"])


Start = Callable[..., Program]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Run the script; whatever the test finds, nothing of it outlives the test."""
    programs: list[Program] = []

    def run(*arguments: str) -> Program:
        programs.append(Program(tmp_path, *arguments))
        return programs[-1]

    yield run
    for program in programs:
        program.end()


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_script_without_a_guard_runs_once(start: Start) -> None:
    program = start()

    _, err = program.rest()

    assert 6.0 == program.said["score"]
    assert "begun\n" == err


def test_a_program_that_forgets_to_close_ends_at_once(start: Start, until: Until) -> None:
    program = start("run")

    program.rest()

    assert 0 == program.process.returncode
    until(program.workers_are_gone)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_die_with_a_killed_program(
    start: Start, until: Until, number: signal.Signals
) -> None:
    program = start("run", "wait")

    program.process.send_signal(number)
    program.process.wait(timeout=300)

    until(lambda: not any(alive(pid) for pid in program.said["pids"][:-1]))
    psutil.Process(program.said["pids"][-1]).kill()  # a tool's own child is the tool's to end


def test_ctrl_c_ends_the_program_and_all_its_workers(start: Start, until: Until) -> None:
    program = start("run", "wait")

    os.killpg(program.process.pid, signal.SIGINT)  # as a terminal does, to the whole group at once
    _, err = program.rest()

    assert "KeyboardInterrupt" in err
    until(program.workers_are_gone)


def test_a_forked_process_is_told_to_open_its_own_pool(start: Start) -> None:
    program = start("fork")

    _, err = program.rest()

    # What follows, if anything, is loky's own warning when the fork ends.
    assert ["begun", "PoolClosed", "6.0"] == err.split()[:3]
