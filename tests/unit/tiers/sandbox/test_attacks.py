"""Attacks on the sandbox itself: none hides what it takes, or harms another.

Beside each stands a control that uses the same means and is judged as it should be.
"""

import os
import signal
import subprocess
import sys
import threading
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from busy import busy_machine
from processes import named

from verifier_ladder.errors import SandboxError
from verifier_ladder.tiers.sandbox import (
    Ending,
    Input,
    Limits,
    Program,
    Sandbox,
    machine,
    zygoteprocess,
)
from verifier_ladder.tiers.sandbox import sandbox as sandbox_module

ONE = Program({"main.py": "def solve(): return 1"})

_YIELD = """
import os, signal, time
def burn():
    while time.process_time() < .3: pass
    os._exit(0)
def solve():
    if not os.fork():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            try:
                if not os.fork(): burn()
            except OSError: time.sleep(.01)
    while True: os.sched_yield()
"""


def test_a_candidate_that_starves_itself_has_run_too_long(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox_module, "_STARVED_SECONDS", 1.0)

    result = run(_YIELD, wall=0.5, cpu=1000.0, processes=12)

    assert Ending.WALL is result.ended, result


_HIDE = """
import os, signal, time
def solve(seconds):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        if not os.fork():
            while time.process_time() < seconds: pass
            os._exit(0)
        try: os.wait()
        except ChildProcessError: pass
"""


@pytest.mark.parametrize("seconds", [0.4, 0.01])
def test_the_time_of_children_whose_end_is_ignored_counts(seconds: float, run: Any) -> None:
    result = run(_HIDE, seconds, cpu=0.5)

    assert Ending.CPU is result.ended, result
    assert result.cpu > 0.5


_MEMORY_OF_A_THREAD = """
import os, threading, time
def fork():
    for _ in range(6):
        if not os.fork():
            a = b'x' * (50 << 20)
            time.sleep(1000)
    time.sleep(1000)
def solve():
    thread = threading.Thread(target=fork); thread.start(); thread.join()
"""


def test_children_of_a_thread_are_seen(run: Any) -> None:
    assert Ending.MEMORY is run(_MEMORY_OF_A_THREAD, memory=64 << 20).ended


_SCAN = """
import ctypes, os
def solve(parts):
    mark = ''.join(parts).encode()
    r, w = os.pipe()
    libc = ctypes.CDLL(None)
    libc.write.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
    libc.write.restype = ctypes.c_ssize_t
    libc.sbrk.restype = ctypes.c_void_p
    top = libc.sbrk(0)
    seeds = {id(x) >> 20 for x in (object(), [], {}, 'x' * 700, bytearray(5000), solve, os)}
    ranges = [(top - (16 << 20), top)] + [((s - 6) << 20, (s + 6) << 20) for s in seeds]
    found = set()
    for start, end in ranges:
        for at in range(start & ~4095, end, 4096):
            if (n := libc.write(w, at, 4096)) <= 0: continue
            page = os.read(r, n)
            while (i := page.find(mark)) >= 0:
                page = page[i + len(mark):]
                found.add(page[:8])
    return found
"""


def test_no_candidate_finds_what_an_earlier_one_was_given(sandbox: Sandbox) -> None:
    first = Program({"main.py": "# SOURCE-of-the-first-one\ndef solve(x): return 1"})
    scan = Program({"main.py": _SCAN + "own = 'OWN-' + str(6 * 7) + '-of-the-second'\n"})
    limits = Limits(cpu=20.0, wall=100.0)
    sandbox.run(first, [Input(("HIDDEN-of-the-first-one",)) for _ in range(3)])

    source, argument, own = sandbox.run(
        scan,
        [
            Input((("SOURCE-", "of-the-"),)),
            Input((("HIDDEN-", "of-the-"),)),
            Input((("OWN-4", "2-of-the-"),)),
        ],
        limits,
    )

    assert b"second" in {found[:6] for found in own.value}, own
    for result in (source, argument):
        assert b"first-on" not in result.value, result


BUSY: dict[str, str] = {
    "itself": "def solve(): burn()",
    "in a child": "def solve():\n if not os.fork(): burn(); os._exit(0)\n os.wait()",
    "in many children": "def solve():\n for _ in range(20):\n"
    "  if not os.fork(): burn(.02); os._exit(0)\n  os.wait()",
    "in a thread": "def solve():\n t = threading.Thread(target=burn); t.start(); t.join()",
}
_BURN = """
import os, threading, time
def burn(seconds=.4):
    while time.thread_time() < seconds: pass
"""


@pytest.mark.parametrize("kind", BUSY)
def test_an_honest_program_is_not_convicted_on_a_busy_machine(kind: str, run: Any) -> None:
    with busy_machine():
        result = run(_BURN + BUSY[kind], cpu=2.0, wall=0.8)

    assert Ending.FINISHED is result.ended, result


def test_what_is_seen_from_outside_is_the_program_s_own_on_a_failing_machine_too(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = count()
    monkeypatch.setattr(machine, "failures", lambda: machine.Failures(next(failed), 0))

    assert Ending.WALL is run("import time\ndef solve(): time.sleep(1000)", wall=0.2).ended
    flood = "import os\ndef solve():\n while True: os.write(1, b'x' * 9999)"
    assert Ending.OUTPUT is run(flood, output=4096).ended


DISTURBED = {
    "it was killed": "import os\ndef solve(): os.kill(os.getpid(), 9)",
    "a child of it was killed": "def solve(): raise ChildProcessError('it has ended')",
    "it has swallowed what it met": "def solve(): return None",
}


@pytest.mark.parametrize("source", DISTURBED.values(), ids=DISTURBED)
@pytest.mark.parametrize(
    ("failed", "why"), [("killed", "out of memory"), ("refused", r"full .*\(pids\.max\)")]
)
def test_what_a_machine_that_failed_may_have_brought_about_is_nobody_s_fault(
    source: str, failed: str, why: str, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = (machine.Failures(0, 0)._replace(**{failed: n}) for n in count())
    monkeypatch.setattr(machine, "failures", lambda: next(counts))

    with pytest.raises(SandboxError, match=why):
        run(source)


def test_a_worker_s_mask_of_files_and_its_signals_are_its_own(
    sandbox: Sandbox,
) -> None:
    kind = sandbox.backend.kind
    source = "import csv, wave, signal\ndef solve(): return signal.getsignal(17) == 0"
    old, ignored = os.umask(0o77), signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with Sandbox.open(backends=(kind,)) as strict:
            (result,) = strict.run(Program({"main.py": source}), [Input()])
            (ended,) = strict.run(Program({"main.py": "import os\nos.abort()"}), [Input()])
    finally:
        os.umask(old)
        signal.signal(signal.SIGCHLD, ignored)

    assert (Ending.FINISHED, True) == (result.ended, result.value), result
    assert (Ending.CRASHED, signal.SIGABRT) == (ended.ended, ended.signal)


def _zygote_of(sandbox: Sandbox) -> int:
    guard = sandbox.process
    return int(Path(f"/proc/{guard}/task/{guard}/children").read_text().split()[0])


def test_a_supervisor_that_was_ended_while_it_reported_is_nobody_s_fault(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not sandbox.gives("files"):
        return  # It reports little at once.
    zygote = _zygote_of(sandbox)
    taken = zygoteprocess._Stream.add

    def add(self: Any, part: bytes) -> bool:
        supervisors = Path(f"/proc/{zygote}/task/{zygote}/children").read_text().split()
        for each in supervisors if self.most == 1 << 40 else ():
            os.kill(int(each), signal.SIGKILL)
        return taken(self, part)

    monkeypatch.setattr(zygoteprocess._Stream, "add", add)
    source = "def solve(): open('large', 'wb').write(bytes(4 << 20))"
    with pytest.raises(SandboxError, match="while it reported"):
        sandbox.run(
            Program({"main.py": source}, keep=("large",)),
            [Input()],
            Limits(files=3, file_bytes=8 << 20),
        )
    monkeypatch.undo()

    assert [1] == [result.value for result in sandbox.run(ONE, [Input()])]


_FORKED = """
import os, sys, threading
from verifier_ladder.errors import SandboxError
from verifier_ladder.tiers.sandbox import Input, Program, Sandbox
sandbox = Sandbox.open(backends=(sys.argv[1],))
r, w = os.pipe()
source = "import os, time\\ndef solve():\\n os.write(1, b'x'); time.sleep(1000)"
thread = threading.Thread(target=sandbox.run, args=(Program({'main.py': source}), [Input()]))
thread.daemon = True
sandbox._lock.acquire()
child = os.fork()
if not child:
    try: sandbox.run(Program({'main.py': 'def solve(): return 1'}), [Input()])
    except SandboxError as error: os._exit(7 if 'another process' in str(error) else 8)
    os._exit(9)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
sandbox._lock.release()
child = os.fork()
if not child:
    os.read(r, 1); os._exit(0)
process = sandbox._zygote._process
sandbox.close()
print(process.returncode)
os.write(w, b'x')
os.waitpid(child, 0)
"""


def test_a_worker_that_forks_keeps_its_sandbox_to_itself(sandbox: Sandbox) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    told = subprocess.run(
        [sys.executable, "-P", "-c", _FORKED, sandbox.backend.kind],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )

    # The second: its zygote saw that the channel was closed, and was not killed.
    assert ["7", "0"] == told.stdout.split(), told.stderr


_LEFT = f"guard-{os.getpid()}"


def test_nothing_outlives_a_guard_that_is_killed(sandbox: Sandbox) -> None:
    source = (
        f"import ctypes, os, time\nctypes.CDLL(None).prctl(15, b'{_LEFT}', 0, 0, 0)\n"
        "def solve():\n os.fork(); os.fork()\n while True: time.sleep(100)"
    )
    errors: list[Exception] = []
    with Sandbox.open(backends=(sandbox.backend.kind,)) as own:
        guard = own.process

        def attempt() -> None:
            try:
                own.run(Program({"main.py": source}), [Input()], Limits(wall=1000.0))
            except SandboxError as error:
                errors.append(error)

        thread = threading.Thread(target=attempt)
        thread.start()
        while len(named(_LEFT)) < 4:
            assert thread.is_alive()
        os.kill(guard, signal.SIGKILL)
        thread.join()
        while named(_LEFT):  # The time limit of each test ends a wait that never ends.
            pass

    assert len(errors) == 1


def test_an_honest_neighbour_is_not_blamed_for_a_bomb(sandbox: Sandbox) -> None:
    bomb = "import os, time\ndef solve():\n while True:\n  try: os.fork()\n  except OSError: pass"
    honest = (
        "import threading, time\ndef solve():\n"
        " for _ in range(50):\n"
        "  t = threading.Thread(target=time.sleep, args=(.01,)); t.start(); t.join()\n"
        " return 'fine'"
    )
    ended: list[Any] = []
    with Sandbox.open(backends=(sandbox.backend.kind,)) as other:
        limits = Limits(processes=8, wall=100.0, cpu=1.0)
        thread = threading.Thread(
            target=lambda: ended.extend(other.run(Program({"main.py": bomb}), [Input()], limits))
        )
        thread.start()
        (result,) = sandbox.run(Program({"main.py": honest}), [Input()])
        thread.join()

    assert (Ending.FINISHED, "fine") == (result.ended, result.value), result
    assert ended[0].ended in {Ending.CPU, Ending.PROCESSES, Ending.CRASHED}


def test_what_was_sent_is_not_in_a_candidate_s_memory_beyond_its_limit(sandbox: Sandbox) -> None:
    source = "def solve(mib): return len(b'x' * (mib << 20))"
    program = Program({"main.py": source, "data": bytes(48 << 20)})
    limits = Limits(memory=48 << 20)

    small, large = sandbox.run(program, [Input((8,)), Input((64,))], limits)

    assert (Ending.FINISHED, 8 << 20) == (small.ended, small.value), small
    assert Ending.MEMORY is large.ended, large
