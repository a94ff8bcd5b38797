# ruff: noqa: ISC004 - programs of some lines, each in its place
"""The same on a machine that starves, and by workers that are stopped or killed in mid-check.

Honest work is never rejected, no attack is accepted, and nothing is lost.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from time import monotonic

import psutil
import pytest
from attacks import Attack, Fight, attack
from busy import busy_machine

from verifier_ladder.tiers.fast.code import CodeFunctions
from verifier_ladder.tiers.sandbox import Backend

MACHINE = ("sandbox", "engine", "tool")
"""Boundaries that may fail where a machine does, through no fault of a candidate."""
WALL = 1.0
SQUARES = {
    "calls": ["solve(3)", "solve(4)"],
    "expected": ["9", "16"],
    "limits": {"cpu": 1.0, "wall": WALL, "processes": 8},
}
BUSY = "import time\ndef solve(n):\n while time.process_time() < {}: pass\n return n * n"
HOSTILE: dict[str, tuple[str, str]] = {
    "a loop without end": ("def solve(n):\n while True: pass", BUSY.format(0.1)),
    "a sleep without end": (
        "import time\ndef solve(n): time.sleep(10 ** 6)",
        "import time\ndef solve(n): time.sleep(0.1); return n * n",
    ),
    "a bomb of processes": (
        "import os\ndef solve(n):\n while True:\n  try: os.fork()\n  except OSError: pass",
        "import os\ndef solve(n):\n if not os.fork(): os._exit(0)\n os.wait(); return n * n",
    ),
    "threads without end": (
        "import threading\ndef forever():\n while True: pass\ndef solve(n):\n"
        " for _ in range(4): threading.Thread(target=forever).start()\n forever()",
        "import threading, time\ndef solve(n):\n"
        " t = threading.Thread(target=time.sleep, args=(.05,)); t.start(); t.join()\n"
        " return n * n",
    ),
    "a lower priority": (
        "import os\ndef solve(n):\n os.nice(19)\n while True: pass",
        "import os\ndef solve(n): return os.getpriority(os.PRIO_PROCESS, 0) * 0 + n * n",
    ),
    "a forged value": (
        'import os\ndef solve(n): os.write(3, b\'v["i","9"]\'); os._exit(0)',
        BUSY.format(0.05),
    ),
    "an object that is equal to everything": (
        "class Same:\n def __eq__(self, other): return True\ndef solve(n): return Same()",
        BUSY.format(0.2),
    ),
}


def _hostile(names: list[str]) -> dict[str, Attack]:
    return {name: attack(*HOSTILE[name], SQUARES) for name in names}


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["a sleep without end", "an object that is equal to everything"], id="few"),
        pytest.param(list(HOSTILE), id="all", marks=pytest.mark.slow),
    ],
)
def test_a_starved_machine_rejects_nobody_and_accepts_no_attack(
    backend: Backend, tmp_path: Path, names: list[str]
) -> None:
    fight = Fight([CodeFunctions()], _hostile(names), tmp_path, backend, options={"workers": 2})
    with busy_machine():
        fight.run()

    fight.check(unknown=MACHINE)


# ---- Workers that are stopped

_MARK = f"at{os.getpid()}-"
"""What a process is called that is to be stopped, with a number behind it."""
_CALLED = (
    "import ctypes, time\nctypes.CDLL(None).prctl(15, b'{}', 0, 0, 0)\n"
    "def solve(n):\n time.sleep(0.2)\n return {}"
)


def _at_work() -> dict[str, psutil.Process]:
    """Processes that are to be stopped, by their names."""
    found = {}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if (name := process.name()).startswith(_MARK):
                found[name] = process
    return found


def _worker_of(process: psutil.Process) -> psutil.Process:
    family = [process, *process.parents()]
    return next(each for each in family if each.ppid() == os.getpid())


def _strike(process: psutil.Process, ends: signal.Signals, longer_than: float) -> None:
    """Stop a worker with all that runs for it, for a while; then let it go on, or kill it."""
    worker = _worker_of(process)
    family = [worker, *worker.children(recursive=True)]
    for each in family:
        with suppress(psutil.Error):
            each.suspend()
    until = monotonic() + longer_than
    while monotonic() < until and worker.is_running():
        Event().wait(0.01)
    if ends is signal.SIGKILL:
        worker.kill()
    for each in family:
        with suppress(psutil.Error):
            each.resume()


@contextmanager
def _striking(ends: signal.Signals, longer_than: float) -> Iterator[set[str]]:
    """Stop each process once that is called so, as soon as it is at work; who was struck."""
    struck, is_over = set[str](), Event()

    def strike() -> None:
        while not is_over.is_set():
            with suppress(psutil.Error, StopIteration):
                for name, process in _at_work().items():
                    if name not in struck:
                        struck.add(name)
                        _strike(process, ends, longer_than)
            is_over.wait(0.01)

    thread = Thread(target=strike)
    thread.start()
    try:
        yield struck
    finally:
        is_over.set()
        thread.join()


ENDS = {"goes on": signal.SIGCONT, "is killed": signal.SIGKILL}


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
def test_a_worker_that_is_stopped_in_mid_check_rejects_nobody(
    backend: Backend, tmp_path: Path, ends: signal.Signals
) -> None:
    """Longer than the program may take: it has not run for so long, it was stopped."""
    attacks = {
        "a wrong value": attack(
            _CALLED.format(f"{_MARK}0", "n + 6"), _CALLED.format(f"{_MARK}1", "n * n"), SQUARES
        )
    }
    fight = Fight([CodeFunctions()], attacks, tmp_path, backend)
    with _striking(ends, 1.5 * WALL) as struck:
        fight.run()

    fight.check()
    assert {f"{_MARK}0", f"{_MARK}1"} == struck
