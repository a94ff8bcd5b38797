"""The own clock, beside processes as the kernel shows them."""

import os
import signal
import sys
from contextlib import suppress
from subprocess import Popen, TimeoutExpired
from time import monotonic

from verifier_ladder.scheduler.engines.ownclock import OwnClock

WAITS_FOR_ITS_CHILD = "import ctypes; c = ctypes.CDLL(None); c.vfork() == 0 and c.pause()"


def test_a_worker_that_waits_for_a_child_as_for_a_disk_has_its_time_only() -> None:
    started = Popen([sys.executable, "-S", "-c", WAITS_FOR_ITS_CHILD], start_new_session=True)
    try:
        clock, until = OwnClock(started.pid, 0.05), monotonic() + 300.0
        while clock.left > 0.0 and monotonic() < until:
            with suppress(TimeoutExpired):
                started.wait(clock.pause)
            clock.look(waits=False)
    finally:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()

    assert clock.is_spent
